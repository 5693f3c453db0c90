"""What of a run is sent to somebody: its page, tables, figures and CSV files in one zip, which opens without a network
and is the same to the byte whenever it is made of the same files."""

import zipfile
from collections.abc import Collection, Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from biasflow.base.errors import BiasflowError
from biasflow.base.files import whole_file
from biasflow.base.paths import SHOWN
from biasflow.base.records import checked, contents

PAGE = "index.html"
BESIDE = (".csv", ".html", ".txt")  # of the files beside the page
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold: the files' own times are not in it
FETCHED = {"src", "srcset", "poster", "data"}  # attributes whose file a browser takes without being asked


def pack(folder: Path, archive: Path) -> list[str]:
    """Write the zip of a run's folder; returns the names of the files in it, below a folder of the run's name.

    BiasflowError, one line that names the file: a run without a page yet; a result that is not as its job wrote it; a
    page that fetches something from elsewhere, or links to a file that is not packed."""
    if not (folder / PAGE).is_file():
        raise BiasflowError(f"there is no {folder / PAGE} yet; let snakemake end the run first")
    files = sorted(_members(folder))
    checked(map(str, files))
    names = [file.relative_to(folder).as_posix() for file in files]
    for name in names:
        if name.endswith(".html"):
            _check_links(folder, name, names)
    with (
        whole_file(archive) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out,
    ):
        for file, name in zip(files, names, strict=True):
            about = zipfile.ZipInfo(f"{folder.name}/{name}", FIRST_DAY)
            about.external_attr, about.create_system = 0o644 << 16, 3  # also on Windows
            out.writestr(about, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return names


def _members(folder: Path) -> Iterator[Path]:
    yield from (path for path in folder.iterdir() if path.suffix in BESIDE)
    for name in SHOWN:
        yield from contents(folder / name)


class _Links(HTMLParser):
    """The addresses in a page: those that are fetched, and those that a click opens."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.opened: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name in FETCHED or (name == "href" and tag == "link")):
                self.fetched.append(value)
            elif value and name == "href":
                self.opened.append(value)


def _check_links(folder: Path, page: str, names: Collection[str]) -> None:
    links = _Links()
    links.feed((folder / page).read_text(encoding="utf-8"))
    for address in (*links.fetched, *links.opened):
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            if address in links.fetched and parts.scheme != "data":
                raise BiasflowError(f"{folder / page} fetches {address}, so that it would not open without a network")
        elif parts.path and _inside(page, parts.path) not in names:
            raise BiasflowError(
                f"{folder / page} links to {address}, which is no page, table or figure that is there; if one is "
                "missing yet, let snakemake end the run first"
            )


def _inside(page: str, path: str) -> str:
    """Where a link leads from a page, below the folder of the run."""
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / unquote(path)).parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
