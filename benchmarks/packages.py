"""Pairs of sentences through other people's packages and through ours, item by item and timed.

    python -m benchmarks.packages ENCODER PAIRS OUTPUT [--environments FOLDER] [--limit N]

ENCODER: the folder of an encoder with a masked-LM head; PAIRS: the file of CrowS-Pairs, whose pairs about gender are
scored; OUTPUT: the CSV file of the comparison. Each package is installed into an environment of its own (venv and pip
need a network), since mlm-bias needs numpy below 2 and bias-scope a newer one."""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.timing import one_thread
from biasflow.base.tabular import write_csv
from biasflow.corpora.crows_pairs import items
from biasflow.readouts import likelihoods, pair_tokens
from biasflow.readouts.source import Source

HERE = Path(__file__).parent
TORCH = "torch==2.13.0"
PACKAGES = {  # name -> what pip installs, and the script that asks the package
    "mlm-bias": (["mlm-bias==0.1.7", TORCH], "_mlm_bias.py"),
    "bias-scope": (["bias-scope[torch]==0.2.0", TORCH], "_bias_scope.py"),
}
EQUAL = (
    1e-3  # largest difference of two scores that are the same, in nats: sums of about 15 log probabilities in float32
)
SIDES = ("first", "second")
CROWS = {"items": "biasflow.corpora.crows_pairs", "of": {"bias_type": "gender"}}
# What mlm-bias removes from a sentence before it computes crr and dp (utils/experiments.py, line 11).
PUNCTUATION = re.compile(r"[^A-Za-z0-9 _\-]+")


def main(encoder: Path, pairs: Path, output: Path, environments: Path, limit: int | None) -> None:
    environments.mkdir(parents=True, exist_ok=True)
    sentences = items(pairs, bias_type="gender")[["first", "second"]][:limit]
    (environments / "pairs.json").write_text(json.dumps(sentences.to_numpy().tolist()), encoding="utf-8")
    theirs = {name: ask(name, encoder, environments) for name in PACKAGES}
    ours(encoder, sentences[:1])  # the first call of a model takes longer
    own = ours(encoder, sentences)
    rows = [row for name in PACKAGES for row in compared(name, theirs[name], own)]
    write_csv(pd.DataFrame(rows), output)
    print(pd.DataFrame(rows).to_string(index=False))


def ask(name: str, encoder: Path, environments: Path) -> dict[str, list]:
    """Measure -> the scores of both sentences of all pairs and the seconds, by a package in its environment, which is
    made if it is not there."""
    requirements, script = PACKAGES[name]
    python = environments / name / "bin/python"
    if not python.is_file():
        venv.create(environments / name, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *requirements], check=True)
    command = [python, HERE / script, encoder.resolve(), environments / "pairs.json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=environments)
    return json.loads(done.stdout)


def ours(encoder: Path, sentences: pd.DataFrame) -> dict[str, tuple[np.ndarray, float]]:
    """Measure -> our scores [2, pairs], and the processor seconds of the readout that they are from; crr, dp and sss
    are from one."""
    plain = {name: readout(encoder, sentences, name) for name in ("shared", "nothing", "tokens")}
    without = sentences.map(lambda text: " ".join(PUNCTUATION.sub("", text).split()))
    different = without["first"] != without["second"]
    if not different.all():
        raise SystemExit("biasflow: a pair differs in punctuation only, which mlm-bias removes; leave it out")
    cleaned = readout(encoder, without, "tokens")

    def sides(table: pd.DataFrame, column: str, by: str | None = None) -> np.ndarray:
        return np.stack([table[f"{column}_{side}"] / (table[f"{by}_{side}"] if by else 1) for side in SIDES])

    (shared, a), (nothing, b), (tokens, c), (other, d) = *plain.values(), cleaned
    return {
        "csps": (sides(shared, "log_p"), a),
        "aul": (sides(nothing, "log_p", "tokens"), b),
        "sss": (sides(tokens, "differing"), c),
        "crr": (sides(other, "crr"), d),
        "dp": (sides(other, "delta_p"), d),
    }


def readout(encoder: Path, sentences: pd.DataFrame, what: str) -> tuple[pd.DataFrame, float]:
    """What our readouts say of pairs: tokens masked one by one (shared) or not at all (nothing), or ranks (tokens)."""
    with tempfile.TemporaryDirectory() as name, one_thread():
        file, output = Path(name, "pairs.csv"), Path(name, "output.parquet")
        columns = {"first": "sent_more", "second": "sent_less"}
        sentences.rename(columns=columns).assign(stereo_antistereo="stereo", bias_type="gender").to_csv(file)
        source = Source(encoder, ("none",), "pairs", {"pairs": (file,)})
        started = time.process_time()
        if what == "tokens":
            pair_tokens.read(source, output, **CROWS)
        else:
            likelihoods.read(source, output, maskings=[what], **CROWS)
        return pd.read_parquet(output), time.process_time() - started


def compared(name: str, theirs: Mapping[str, list], own: Mapping[str, tuple[np.ndarray, float]]) -> Iterator[dict]:
    """A row for each measure of a package: how many scores are equal to ours, and the ratio of the times."""
    for measure, found in theirs.items():
        if measure.partition(",")[0] not in own:
            continue
        (values, seconds), (mine, own_seconds) = found, own[measure.partition(",")[0]]
        difference = np.abs(np.array(values, dtype=float) - mine)
        yield {
            "package": name,
            "measure": measure,
            "scores": difference.size,
            "equal": int((difference <= EQUAL).sum()),
            "largest difference": np.nanmax(difference),
            "same preference": int((np.sign(np.subtract(*values)) == np.sign(np.subtract(*mine))).sum()),
            "pairs": difference.shape[1],
            "seconds": seconds,
            "our seconds": own_seconds,
            "ratio": seconds / own_seconds,
        }


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("encoder", "pairs", "output"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--environments", type=Path, default=Path(tempfile.gettempdir(), "biasflow-packages"))
    parser.add_argument("--limit", type=int)
    return parser.parse_args(words)


if __name__ == "__main__":
    main(**vars(arguments(sys.argv[1:])))
