"""What a run says of its external files, and that runs with other files leave them alone."""

import hashlib

from tests.workflow.conftest import TINY

CONFIG = {
    "run": "own",
    "device": "cpu",
    "mirror": "mirror",
    "encoders": {"tiny-bert": TINY["encoders"]["tiny-bert"]},
    "metrics": {"strength": {"stimuli": ["stereoset-swapped"]}},
    "ask": {"inside": {"encoders": ["tiny-bert"], "methods": ["none"], "metrics": ["strength"]}},
}


def wikitext(name: str) -> str:
    article = f" \n = {name} = \n \n This is the text of {name} . His mother and her father read it . \n"
    return f"{article} {article}"


def test_two_runs_with_files_of_their_own_leave_each_others_alone(project):
    """Without a path of one's own the file is the catalogue's, here from a mirror; with one it lies beside it."""
    text = wikitext("mirror")
    place = project.folder / "mirror/wikitext-2/wiki.train.tokens"
    place.parent.mkdir(parents=True)
    place.write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    row = f"wikitext-2/wiki.train.tokens\t{len(text)}\t{digest}\tsomewhere\tsome\tnone"
    (place.parents[1] / "MANIFEST.tsv").write_text(f"path\tbytes\tsha256\tupstream\tlicence\tnote\n{row}\n")
    (project.folder / "mine.txt").write_text(wikitext("mine"))
    (project.folder / "words.txt").write_text(": family\nfather mother he she\n")
    texts = {"theirs": text, "mine": wikitext("mine")}
    for run, files in (("theirs", {}), ("mine", {"wikitext-2-train": "mine.txt"})):
        project.configure({**CONFIG, "run": run, "files": {"google-analogies": "words.txt", **files}}, f"{run}.yaml")

    def target(run: str) -> str:
        return f"results/{run}/data/texts/wikitext-2.txt"

    for run in texts:
        done = project.snakemake(target(run), config=f"{run}.yaml")
        assert done.returncode == 0, done.stdout + done.stderr
    for run, text in texts.items():
        assert (project.folder / target(run)).read_text() == text
        assert project.jobs(target(run), config=f"{run}.yaml") == {}
    (mine,) = (project.folder / "results/corpora").glob("wikitext-2-train.*[0-9a-f]")
    assert mine.read_text() == texts["mine"]
    assert (project.folder / "results/corpora/wikitext-2-train").read_text() == texts["theirs"]
    assert project.record(f"results/corpora/{mine.name}")["origin"]["source"] == "local"
