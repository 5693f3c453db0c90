"""Where the tests write what a paper has."""

from pathlib import Path

from biasflow.papers.paper import PaperText


def files_in(text: PaperText, folder: Path) -> dict[str, list[Path]]:
    """Role of every target -> its files in a folder: what `make.make_paper` writes."""
    return {target.role: [folder / file for file in target.files] for target in text.targets}
