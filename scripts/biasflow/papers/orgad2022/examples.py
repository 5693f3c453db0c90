"""Figure 2: a biography before and after scrubbing."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from biasflow.base.genders import FEMALE, MALE
from biasflow.papers.frames import Run
from biasflow.papers.orgad2022.halves import RAW
from biasflow.papers.orgad2022.items import read_item
from biasflow.results.page import page

_COLUMNS = ["gender", "profession", "version", "text"]
_PERSONS = {FEMALE: "a woman", MALE: "a man"}
_PAGE = page(
    style="""\
body { font: 15px/1.6 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2rem; max-width: 70rem; }
h1 { font-size: 1.2rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; border-bottom: 2px solid #1a1a1a; }
th, td { padding: .35rem .7rem; text-align: left; vertical-align: top; }
thead th { box-shadow: inset 0 2px #1a1a1a, inset 0 -1px #1a1a1a; }
tbody th { font-weight: normal; white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
del { background: #f6d5c3; padding: 0 .15rem; border-radius: .15rem; }
""",
    body="""\
<p>{{ caption }}</p>
{% for heading, rows in sections %}
<h2>{{ heading }}</h2>
<table>
<thead>
<tr><th scope="col">Scrubbing</th><th scope="col">Words</th><th scope="col">Text</th></tr>
</thead>
<tbody>
{% for version, parts in rows %}
<tr>
<th scope="row">{{ version }}</th>
<td class="number">{{ parts | selectattr(1) | list | length }}</td>
<td>{% for text, out in parts %}{% if out %}<del>{{ text }}</del>{% else %}{{ text }}{% endif %}{% endfor %}</td>
</tr>
{% endfor %}
</tbody>
</table>
{% endfor %}
""",
)


def figure2(run: Run, caption: str) -> str:
    """Return a page of the biographies in the file `scrubbed_examples`, with the words marked that scrubbing
    removes."""
    table = read_item(run, "scrubbed_examples", _COLUMNS, keep_default_na=False)
    sections = []
    for (gender, profession), versions in table.groupby(["gender", "profession"], sort=False):
        texts = versions.set_index("version")["text"]
        rows = [(name if name != RAW else "none (raw)", [*marked(texts[RAW], text)]) for name, text in texts.items()]
        sections.append((f"{_PERSONS[gender]}, {profession.replace('_', ' ')}", rows))
    return _PAGE.render(title="Biographies before and after scrubbing", caption=caption, sections=sections)


def marked(raw: str, scrubbed: str) -> Iterator[tuple[str, bool]]:
    """Yield the raw text in parts, each with whether scrubbing removed it; blanks and punctuation are kept.

    A scrubbed word becomes one "_", so that words correspond by their place; where several became one, or the source
    left out more, by the longest common blocks."""
    words, left = (re.findall(r"\w+|\W+", text) for text in (raw, scrubbed))
    if len(words) == len(left):
        kept = {place for place, pair in enumerate(zip(words, left, strict=True)) if len({*pair}) == 1}
    else:
        blocks = SequenceMatcher(None, words, left, autojunk=False).get_matching_blocks()
        kept = {place for block in blocks for place in range(block.a, block.a + block.size)}
    for place, word in enumerate(words):
        yield word, place not in kept and word[0].isalnum()
