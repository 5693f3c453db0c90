"""What of a run is sent to somebody: its page, tables, figures and CSV files in one zip, which opens without a network
and is the same to the byte whenever it is made of the same files."""

import zipfile
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import whole_file
from biasflow.base.paths import SHOWN
from biasflow.base.records import checked, contents

PAGE = "index.html"
BESIDE = (".csv", ".html", ".txt")  # of the files beside the page
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold: the files' own times are not in it


def pack(folder: Path, archive: Path) -> list[str]:
    """Write the zip of a run's folder; returns the names of the files in it, below a folder of the run's name.

    BiasflowError, one line that names the file: a run without a page yet; a result that is not as its job wrote it."""
    if not (folder / PAGE).is_file():
        raise BiasflowError(f"there is no {folder / PAGE} yet; let snakemake end the run first")
    beside = [path for path in folder.iterdir() if path.suffix in BESIDE]
    files = sorted([*beside, *(file for name in SHOWN for file in contents(folder / name))])
    checked(map(str, files))
    names = [file.relative_to(folder).as_posix() for file in files]
    with whole_file(archive) as temporary, zipfile.ZipFile(temporary, "w") as out:
        for file, name in zip(files, names, strict=True):
            about = zipfile.ZipInfo(f"{folder.name}/{name}", FIRST_DAY)
            about.external_attr, about.create_system = 0o644 << 16, 3  # also on Windows
            out.writestr(about, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return names
