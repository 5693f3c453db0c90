"""What mkdocs does beside reading docs/: it adds the pages that are generated from the code, adds the Markdown files
that lie elsewhere in the project, and turns links between all of these into links of the site."""

import posixpath
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
ELSEWHERE = {  # file of the project -> page of the site
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "config/README.md": "configuration.md",
    "results/README.md": "results.md",
}
# GitHub needs no empty line before a list, mkdocs does.
BEFORE_LIST = re.compile(r"^(?!\s|\* |\|)(.+)\n(?=\* )", re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def on_files(files: Files, config) -> Files:
    """Add the generated pages and those from elsewhere to the pages of docs/."""
    sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]
    from reference import pages

    texts = pages() | {page: (ROOT / file).read_text(encoding="utf-8") for file, page in ELSEWHERE.items()}
    for page, text in texts.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page, config, files: Files) -> str:
    """Point every link of a page at the site; a link to a file that is no page becomes its name."""
    source = {page: file for file, page in ELSEWHERE.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    markdown = BEFORE_LIST.sub(r"\1\n\n", markdown)
    return LINK.sub(lambda link: _of_site(link, source, page.file.src_uri, files), markdown)


def _of_site(link: re.Match, source: str, page: str, files: Files) -> str:
    image, text, target, anchor = link.groups(default="")
    if not target or "://" in target:
        return link[0]
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    to = ELSEWHERE.get(file, file.removeprefix("docs/"))
    if files.get_file_from_path(to) is None:
        if not (ROOT / file).exists():
            return link[0]  # mkdocs says that there is no such file
        return text if text.strip("`") == file else f"{text} (`{file}`)"
    return f"{image}[{text}]({posixpath.relpath(to, posixpath.dirname(page) or '.')}{anchor})"
