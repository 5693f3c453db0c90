"""Results in a storage of Snakemake's: a job reads and writes where its rule says, not where a script thinks."""

import shutil

import pytest

TARGET = "results/tiny/tables/dawkins2024_audit.csv"


@pytest.mark.skipif(shutil.which("rsync") is None, reason="the storage plugin `fs` needs rsync")
def test_a_table_is_made_in_a_storage_and_its_record_stays_here(project, tmp_path):
    storage = ["--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "store")]
    storage += ["--shared-fs-usage", "persistence", "software-deployment", "sources", "source-cache"]
    done = project.snakemake(TARGET, *storage)
    assert done.returncode == 0, done.stdout + done.stderr
    stored = {path.suffix for path in (tmp_path / "store/results/tiny/tables").iterdir()}
    assert stored == {".csv", ".tex", ".html"} and not (project.folder / TARGET).exists()
    assert (project.folder / "results/tiny/provenance/tables/dawkins2024_audit.csv.json").is_file()
    again = project.snakemake("-n", TARGET, *storage)
    assert "Nothing to be done" in again.stdout + again.stderr
