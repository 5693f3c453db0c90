"""The readout `probes`: how many nats it takes to send genders, given vectors: of texts, or of words.

Which rows are sent, in which readings (`data`), says a module of the task (`tasks.cuts`).

File: a table, one row for each portion that is sent and one for the test of the probe of all rows (`tested`): method,
setting, data (the reading), split_seed ("-" where the probe's seed is that of the split), readout_seed (of the probe),
control (labels in random order), keep (checkpoint: best, last), portion (from 0; 0 is sent before any probe), tested, n
(labels), nats (cross-entropy, summed over them; n log(2) in portion 0), right (how many labels the probe has right; NaN
in portion 0), epoch (whose weights; 0 without a probe), answers (of the test, label by label: `probe.Sent`)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.by_name import module_named
from biasflow.base.tabular import write_parquet
from biasflow.encoders.device import resolve_device
from biasflow.readouts.files import METHOD, Axis
from biasflow.readouts.probe import CHECKPOINTS, Code, Sent, send
from biasflow.readouts.source import Source, load_for
from biasflow.readouts.states import States
from biasflow.tasks.cuts import Cut


def read(source: Source, output: Path, *, cuts: str, epochs: int, hidden: int = 0, **options) -> dict:
    """Send the genders of the rows of vectors under every method of the block.

    Roles: `vectors` (a file that readouts.states reads), and those of the cuts. cuts: the full name of a module;
    options: of its `cuts`. Beside each code stands its control, the same with labels in random order. hidden: units of
    the probe's hidden layer, 0 for a linear probe. The probes of as many methods as memory holds, of all readings,
    splits and seeds, are trained together. BiasflowError: whatever the cuts and `probe.send` refuse, and a method that
    changes nothing."""
    device = resolve_device(source.device)
    labels, all_cuts = module_named(cuts).cuts(source.data, **options)
    vectors = States(source.file("vectors"), load_for(source))
    used = np.unique(np.concatenate([cut.rows for cut in all_cuts]))
    codes, names = _codes(labels, used, all_cuts)
    options = {"epochs": epochs, "hidden": hidden, "device": device}
    groups = vectors.in_groups(used, device=device)
    tables = [_table(axis, names, send(X, codes, **options)) for axis, X in groups]
    write_parquet(pd.concat(tables, ignore_index=True), output)
    readings = dict.fromkeys(cut.data for cut in all_cuts)
    sent = {reading: sorted({len(cut.train) for cut in all_cuts if cut.data == reading}) for reading in readings}
    return {"device": str(device), "sent": sent}


def _codes(labels: np.ndarray, used: np.ndarray, cuts: Sequence[Cut]) -> tuple[list[Code], pd.DataFrame]:
    """The codes of the labels of the `used` rows and their controls; the names of each in the table."""
    codes, names, z = [], [], labels[used]
    for cut in cuts:
        train, dev, test = (np.searchsorted(used, part) for part in (cut.train, cut.dev, cut.test))
        shuffled = cut.control[used]
        for seed in cut.seeds:
            for control, sent in ((False, z), (True, shuffled)):
                codes.append(Code(sent, train, dev, test, seed, shuffled=cut.shuffled, mixed=cut.mixed))
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
        answers=np.where(portion == sent.n.shape[1] - 1, sent.answers[keep, method, code], b""),
    )
