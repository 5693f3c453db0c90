"""The readout `probes`: how many nats it takes to send the genders of biographies, given their vectors.

File: a table, one row for each portion that is sent and one for the test of the probe of all rows (`tested`): method,
setting, split_seed, readout_seed (of the probe), control (labels in random order), keep (checkpoint: best, last),
portion (from 0; 0 is sent before any probe), tested, n (labels), nats (cross-entropy, summed over them; n log(2) in
portion 0), right (how many labels the probe has right; NaN in portion 0), epoch (whose weights; 0 without a probe)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scripts.biasflow.base.tabular import read_parquet, write_parquet
from scripts.biasflow.encoders.device import resolve_device
from scripts.biasflow.methods.fitted import load_for
from scripts.biasflow.readouts.files import METHOD, Axis
from scripts.biasflow.readouts.probe import CHECKPOINTS, Code, Sent, control_labels, probe_split, send
from scripts.biasflow.readouts.source import Source
from scripts.biasflow.readouts.states import States
from scripts.biasflow.tasks.occupation.data import held_out, women


def read(
    source: Source,
    output: Path,
    *,
    split_seeds: Sequence[int],
    probe_seeds: Sequence[int],
    fractions: Sequence[float],
    epochs: int,
) -> dict:
    """Send the genders of every split's test biographies under every method of the block.

    Roles: `biographies`; `first_token`, their vectors (readouts.first_token). Of the balanced test part of a split with
    seed s, 80 % are sent, 10 % stop the training, 10 % test the probe (the cut is not in the paper). Beside each code
    stands its control, the same with labels in random order. fractions: ends of the portions, in per cent. The probes
    of as many methods as memory holds, of all splits and seeds, are trained together. BiasflowError: whatever the
    splits and `probe.send` refuse, and a method that changes nothing."""
    device = resolve_device(source.device)
    bios = read_parquet(source.file("biographies"))
    vectors = States(source.file("first_token"), load_for(source))
    tests = {seed: held_out(bios, seed) for seed in split_seeds}
    used = np.unique(np.concatenate(list(tests.values())))
    is_woman = women(bios)[used]
    codes = [code for seed, rows in tests.items() for code in _codes(is_woman, np.searchsorted(used, rows), seed)]
    tables = [
        _table(
            axis,
            split_seeds,
            probe_seeds,
            send(
                X,
                codes,
                seeds=probe_seeds,
                fractions=[round(share / 100, 10) for share in fractions],  # 67.6 / 100 is just below 0.676
                epochs=epochs,
                device=device,
            ),
        )
        for axis, X in vectors.in_groups(used, device=device)
    ]
    write_parquet(pd.concat(tables, ignore_index=True), output)
    return {"device": str(device), "biographies": {str(seed): len(rows) for seed, rows in tests.items()}}


def _codes(z: np.ndarray, rows: np.ndarray, seed: int) -> tuple[Code, Code]:
    """The code of the rows' labels and its control."""
    train, dev, test = (rows[part] for part in probe_split(len(rows), seed))
    together, shuffled = np.concatenate([train, dev, test]), z.copy()
    shuffled[together] = control_labels(z[together], seed)
    return Code(z, train, dev, test), Code(shuffled, train, dev, test)


def _table(axis: Axis, split_seeds: Sequence[int], probe_seeds: Sequence[int], sent: Sent) -> pd.DataFrame:
    """`sent` as rows; its codes are those of `_codes`, split by split."""
    keep, method, code, seed, portion = (numbers.ravel() for numbers in np.indices(sent.nats.shape))
    names = pd.DataFrame(list(axis), columns=METHOD)
    return (
        names.iloc[method]
        .reset_index(drop=True)
        .assign(
            split_seed=np.array([str(each) for each in split_seeds])[code // 2],
            readout_seed=np.array([str(each) for each in probe_seeds])[seed],
            control=code % 2 == 1,
            keep=np.array(CHECKPOINTS)[keep],
            portion=portion,
            tested=portion == sent.n.shape[1] - 1,
            n=sent.n[code, portion],
            nats=sent.nats.ravel(),
            right=sent.right.ravel(),
            epoch=sent.epochs.ravel(),
        )
    )
