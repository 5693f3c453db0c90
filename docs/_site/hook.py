"""What mkdocs does beside reading docs/: it adds the pages that are generated from the code, adds the Markdown files
that lie elsewhere in the project, turns links between all of these into links of the site, and links the first use of
each word of the glossary on a page to its definition."""

import posixpath
import re
import sys
from html import escape
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
ELSEWHERE = {  # file of the project -> page of the site
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "config/README.md": "configuration.md",
    "results/README.md": "results.md",
}
GENERATED = {  # file -> page of the site that stands in its place; a git host shows the file itself
    "README.md": "index.md",
    "scripts/biasflow/plan/schema.yaml": "reference/keys.md",
    "scripts/biasflow/registry.py": "reference/methods.md",
}
# GitHub needs no empty line before a list, mkdocs does.
BEFORE_LIST = re.compile(r"^(?!\s|\* |\|)(.+)\n(?=\* )", re.MULTILINE)
GLOSSARY = "concepts/words.md"
DEFINITION = re.compile(r"^\| \*\*([^*]{3,}?)\*\*[^|]*\| (.+?) \|", re.MULTILINE)
ALSO_VERBS = ("measure", "cost", "training")
AFTER_ARTICLE = "(?:(?<=a )|(?<=the )|(?<=each )|(?<=every )|(?<=of ))"
NO_PROSE = re.compile(r"(<(?:a|code|pre|h\d|th|nav|svg)\b.*?</(?:a|code|pre|h\d|th|nav|svg)>|<[^>]+>)", re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def on_config(config):
    """Add every card to the navigation."""
    sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]
    from cards import titles

    sections = [entry for section in config.nav for entries in section.values() for entry in entries]
    (cards,) = (entry["Cards"] for entry in sections if "Cards" in entry)
    cards += [{title: f"measures/{file}"} for file, title in titles().items()]
    return config


def on_files(files: Files, config) -> Files:
    """Add the generated pages and those from elsewhere to the pages of docs/."""
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


def on_page_content(html: str, page, config, files: Files) -> str:
    """Give every definition of the glossary an anchor, and link the words of other pages to it."""
    if page.file.src_uri == GLOSSARY:
        return re.sub(r"<td><strong>([^<]+)", lambda cell: f'<td id="{_anchor(cell[1])}"><strong>{cell[1]}', html)
    meanings = _meanings()
    glossary = posixpath.relpath(GLOSSARY.replace(".md", ".html"), posixpath.dirname(page.file.dest_uri) or ".")
    used: set[str] = set()

    def linked(word: re.Match) -> str:
        if word[1] in used:
            return word[0]
        used.add(word[1])
        return f'<a class="word" href="{glossary}#{_anchor(word[1])}" title="{escape(meanings[word[1]])}">{word[0]}</a>'

    longest_first = sorted(meanings, key=len, reverse=True)
    patterns = (f"{AFTER_ARTICLE}{word}" if word in ALSO_VERBS else word for word in longest_first)
    words = re.compile(rf"(?<![\w-])({'|'.join(patterns)})s?(?![\w-])")
    pieces = NO_PROSE.split(html)  # the odd ones are tags, links, code and headings
    return "".join(piece if number % 2 else words.sub(linked, piece) for number, piece in enumerate(pieces))


def _meanings() -> dict[str, str]:
    """The definition of every word of the glossary, without markup."""
    text = (ROOT / "docs" / GLOSSARY).read_text(encoding="utf-8")
    return {word: re.sub(r"[*`]", "", meaning) for word, meaning in DEFINITION.findall(text)}


def _anchor(word: str) -> str:
    return "word-" + re.sub(r"\W+", "-", word.lower())


def _of_site(link: re.Match, source: str, page: str, files: Files) -> str:
    image, text, target, anchor = link.groups(default="")
    if not target or "://" in target:
        return link[0]
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    to = (ELSEWHERE | GENERATED).get(file, file.removeprefix("docs/"))
    if files.get_file_from_path(to) is None:
        if not (ROOT / file).exists():
            return link[0]  # mkdocs says that there is no such file
        return text if text.strip("`") == file else f"{text} (`{file}`)"
    return f"{image}[{text}]({posixpath.relpath(to, posixpath.dirname(page) or '.')}{anchor})"
