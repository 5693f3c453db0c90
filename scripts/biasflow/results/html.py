"""A table as an HTML page: the first sentence of its caption, the rest folded; columns that say nothing are named, not
shown."""

from collections.abc import Collection, Mapping

import pandas as pd

from biasflow.results.captions import first_sentence
from biasflow.results.latex import LONG_TEXT  # up to which a column does not wrap
from biasflow.results.page import page

_PAGE = page(
    style="""\
{% include "base.css" %}
h1 { font-size: 1.2rem; }
.caption { max-width: 60rem; }
.filter { display: block; margin: .6rem 0 0; }
.scroll { overflow: auto; max-height: 90vh; }
th, td { padding: .25rem .6rem; max-width: 24rem; }
thead th { position: sticky; top: 0; z-index: 2; max-width: 9rem; box-shadow: inset 0 -1px var(--ink); }
tbody th { font-weight: normal; }
td.number, td.short, tbody th { white-space: nowrap; }
tbody th.long { white-space: normal; min-width: 12rem; }
.published { color: var(--quiet); }
tbody tr > .difference { background: var(--ours); font-style: italic; }
@media print { tbody th.long { min-width: 0; } thead th { box-shadow: none; } }
""",
    body="""\
<div class="caption" id="caption">
<p>{{ first }}</p>
{% if rest or everywhere or empty %}
<details><summary>More about this table</summary>
{% if rest %}
<p>{{ rest }}</p>
{% endif %}
{% if everywhere %}
<p>These columns have one value in all rows and are not shown: {{ everywhere | join("; ") }}.</p>
{% endif %}
{% if empty %}
<p>These columns are empty and are not shown: {{ empty | join(", ") }}.</p>
{% endif %}
</details>
{% endif %}
<p class="screen">This table as <a href="{{ title }}.csv">CSV</a> and as <a href="{{ title }}.tex">LaTeX</a>.</p>
</div>
<div class="scroll" tabindex="0" role="region" aria-labelledby="caption">
<table aria-labelledby="caption" style="--columns: {{ columns | length }}">
<thead>
<tr>
{% for header, kind in columns %}
<th scope="col"{% if kind %} class="{{ kind }}"{% endif %}>{{ header }}</th>
{% endfor %}
</tr>
</thead>
<tbody>
{% for row in rows %}
<tr>
{% for cell, kind in row %}
{% if loop.first %}
<th scope="row"{% if kind %} class="{{ kind }}"{% endif %}>{{ cell }}</th>
{% else %}
<td{% if kind %} class="{{ kind }}"{% endif %}>{{ cell }}</td>
{% endif %}
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
<script>
{% include "table.js" %}
{% include "filter.js" %}
</script>
""",
)


def html_table(
    shown: pd.DataFrame,
    *,
    headers: Mapping[str, str],
    numeric: Collection[str],
    roles: Mapping[str, str],
    caption: str,
    title: str,
) -> str:
    """The page of a table of texts. headers: column -> what readers see; numeric: columns that are set to the right;
    roles: column -> "published" or "difference", for those that are.

    Of several rows a column that is empty, or the same in all of them, is left out and named below the caption."""
    values = {column: shown[column].unique() for column in shown}
    alike = [column for column in shown if len(shown) > 1 and len(values[column]) == 1]
    if len(alike) == len(shown.columns):
        alike = []  # nothing would be left
    kept = [column for column in shown if column not in alike]
    kinds = [_kind(shown[column], column in numeric, roles.get(column)) for column in kept]
    first, rest = first_sentence(caption)
    return _PAGE.render(
        title=title,
        first=first,
        rest=rest,
        everywhere=[f"{headers[column]}: {values[column][0]}" for column in alike if values[column][0]],
        empty=[headers[column] for column in alike if not values[column][0]],
        columns=list(zip((headers[column] for column in kept), kinds, strict=True)),
        rows=[list(zip(row, kinds, strict=True)) for row in shown[kept].itertuples(index=False, name=None)],
    )


def _kind(column: pd.Series, is_number: bool, role: str | None) -> str:
    length = "number" if is_number else "short" if max(map(len, column), default=0) <= LONG_TEXT else "long"
    return f"{length} {role}" if role else length
