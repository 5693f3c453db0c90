"""What a run says of its external files."""

import hashlib
import json

from biasflow.base.tabular import read_text_csv
from biasflow.corpora.origins import remark
from tests.workflow.conftest import TINY

CONFIG = {
    "run": "own",
    "device": "cpu",
    "mirror": "mirror",
    "encoders": {"tiny-bert": TINY["encoders"]["tiny-bert"]},
    "metrics": {"strength": {"stimuli": ["stereoset-swapped"]}},
    "ask": {"inside": {"encoders": ["tiny-bert"], "methods": ["none"], "metrics": ["strength"]}},
}


def test_a_mirror_whose_manifest_agrees_with_a_wrong_file(project):
    wrong = b'{"data": {"intersentence": []}}'
    place = project.folder / "mirror/stereoset"
    place.mkdir(parents=True)
    (place / "dev.json").write_bytes(wrong)
    row = f"stereoset/dev.json\t{len(wrong)}\t{hashlib.sha256(wrong).hexdigest()}\tsomewhere\tsome\tquite exact"
    (place.parent / "MANIFEST.tsv").write_text(f"path\tbytes\tsha256\tupstream\tlicence\tnote\n{row}\n")
    project.configure(CONFIG, "own.yaml")
    done = project.snakemake("results/own/files.csv", config="own.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    origin = json.loads((project.folder / "results/corpora/stereoset-dev.provenance.json").read_text())["origin"]
    assert origin["byte_equal_to_upstream"] is False and origin["verified_by"] == "manifest"
    files = read_text_csv(project.folder / "results/own/files.csv")
    assert list(files["name"]) == ["stereoset-dev"] and "not byte-equal to upstream: stereoset-dev" in remark(files)
