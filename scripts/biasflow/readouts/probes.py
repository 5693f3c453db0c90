"""The readout `probes`: how many nats it takes to send the genders of biographies, given their vectors.

Whose genders these are is not the same in the paper (Orgad et al. 2022) and in its authors' public script:

    released   the script: the training part of a split whose seed is the probe's, with its validation and test part for
               stopping and testing; as many women and men as there are. A fine-tuned model was trained on 65 % of them
    same-seed  the same, with the model's seed as the probe's (all splits of the block for a model without a seed): it
               was trained on all of them
    paper      the text ("the test set"): of the balanced test part of the model's split, on which the model was not
               trained, 80 % are sent, 10 % stop the training, 10 % test the probe (the cut is ours)

File: a table, one row for each portion that is sent and one for the test of the probe of all rows (`tested`): method,
setting, data (of DATA), split_seed ("-" where the probe's seed is that of the split), readout_seed (of the probe),
control (labels in random order), keep (checkpoint: best, last), portion (from 0; 0 is sent before any probe), tested, n
(labels), nats (cross-entropy, summed over them; n log(2) in portion 0), right (how many labels the probe has right; NaN
in portion 0), epoch (whose weights; 0 without a probe)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from scripts.biasflow.base.errors import check_choice
from scripts.biasflow.base.tabular import read_parquet, write_parquet
from scripts.biasflow.encoders.device import resolve_device
from scripts.biasflow.methods.fitted import load_for
from scripts.biasflow.readouts.files import METHOD, Axis
from scripts.biasflow.readouts.probe import CHECKPOINTS, Code, Sent, control_labels, probe_split, send
from scripts.biasflow.readouts.source import Source
from scripts.biasflow.readouts.states import States
from scripts.biasflow.tasks.occupation.data import held_out, split, women

RELEASED, SAME_SEED, PAPER = DATA = ("released", "same-seed", "paper")
NA = "-"  # a key of the table of scores that does not apply


@dataclass(frozen=True)
class Cut:
    """Rows of the biographies that are sent, stop the training, and test the probe; the seed of the cut (and of its
    control), and those of its probes."""

    data: str
    split_seed: str
    seed: int
    probe_seeds: Sequence[int]
    parts: Sequence[np.ndarray]

    @property
    def rows(self) -> np.ndarray:
        return np.concatenate(self.parts)


def read(
    source: Source,
    output: Path,
    *,
    data: Sequence[str],
    split_seeds: Sequence[int],
    probe_seeds: Sequence[int],
    fractions: Sequence[float],
    epochs: int,
) -> dict:
    """Send the genders of biographies under every method of the block, in each reading of `data`.

    Roles: `biographies`; `first_token`, their vectors (readouts.first_token). Beside each code stands its control, the
    same with labels in random order. fractions: ends of the portions, in per cent. The probes of as many methods as
    memory holds, of all readings, splits and seeds, are trained together. BiasflowError: whatever the splits and
    `probe.send` refuse, a reading that is none, and a method that changes nothing."""
    device = resolve_device(source.device)
    bios = read_parquet(source.file("biographies"))
    vectors = States(source.file("first_token"), load_for(source))
    cuts = [cut for reading in data for cut in cuts_of(bios, reading, split_seeds, probe_seeds)]
    used = np.unique(np.concatenate([cut.rows for cut in cuts]))
    codes, names = _codes(women(bios)[used], used, cuts)
    tables = [
        _table(
            axis,
            names,
            send(
                X,
                codes,
                fractions=[round(share / 100, 10) for share in fractions],  # 67.6 / 100 is just below 0.676
                epochs=epochs,
                device=device,
            ),
        )
        for axis, X in vectors.in_groups(used, device=device)
    ]
    write_parquet(pd.concat(tables, ignore_index=True), output)
    sent = {reading: sorted({len(cut.parts[0]) for cut in cuts if cut.data == reading}) for reading in data}
    return {"device": str(device), "sent": sent}


def cuts_of(bios: pd.DataFrame, reading: str, split_seeds: Sequence[int], probe_seeds: Sequence[int]) -> Iterator[Cut]:
    """The cuts of a reading of DATA for a model that is read on the splits of `split_seeds`."""
    check_choice("probes: data", reading, DATA)
    if reading == PAPER:
        for seed in split_seeds:
            rows = held_out(bios, seed)
            yield Cut(reading, str(seed), seed, probe_seeds, [rows[part] for part in probe_split(len(rows), seed)])
        return
    for seed in probe_seeds if reading == RELEASED else split_seeds:
        parts = split(bios["profession"], seed)
        yield Cut(reading, NA, seed, [seed], [parts.train, parts.validation, parts.test])


def _codes(z: np.ndarray, used: np.ndarray, cuts: Sequence[Cut]) -> tuple[list[Code], pd.DataFrame]:
    """The codes of the labels z of the `used` rows and their controls; the names of each in the table."""
    codes, names = [], []
    for cut in cuts:
        train, dev, test = (np.searchsorted(used, part) for part in cut.parts)
        together, shuffled = np.concatenate([train, dev, test]), z.copy()
        shuffled[together] = control_labels(z[together], cut.seed)
        for seed in cut.probe_seeds:
            for control, labels in ((False, z), (True, shuffled)):
                codes.append(Code(labels, train, dev, test, seed))
                names.append((cut.data, cut.split_seed, str(seed), control))
    return codes, pd.DataFrame(names, columns=["data", "split_seed", "readout_seed", "control"])


def _table(axis: Axis, names: pd.DataFrame, sent: Sent) -> pd.DataFrame:
    """`sent` as rows; `names` are those of its codes."""
    keep, method, code, portion = (numbers.ravel() for numbers in np.indices(sent.nats.shape))
    methods = pd.DataFrame(list(axis), columns=METHOD)
    return pd.concat(
        [methods.iloc[method].reset_index(drop=True), names.iloc[code].reset_index(drop=True)], axis=1
    ).assign(
        keep=np.array(CHECKPOINTS)[keep],
        portion=portion,
        tested=portion == sent.n.shape[1] - 1,
        n=sent.n[code, portion],
        nats=sent.nats.ravel(),
        right=sent.right.ravel(),
        epoch=sent.epochs.ravel(),
    )
