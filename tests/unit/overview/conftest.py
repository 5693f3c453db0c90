"""The page of a small run."""

import pytest

from biasflow.overview.contents import contents
from biasflow.overview.overview import write_page, write_summary
from tests.unit.overview import made_up

LEDGER = [
    {"paper": "somebody2020", "numbers": "52", "reproduced": "7", "off": "3", "not_comparable": "40", "not_run": "2"}
    | {"no_value_of_ours": "12", "disputed_by_audit": "1", "reasons": "other encoder (40)"}
]


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overview")
    run = made_up.run()
    found = contents(*run)
    links = [
        {
            "title": "A paper",
            "citation": "Somebody (2020)",
            "files": [("What it shows.", "tables/a_table1.html")],
            "not_drawn": {"a_figure": "not asked for"},
        }
    ]
    tables = {"matrix": "tables/matrix.html"}
    write_page(
        found,
        folder / "index.html",
        about=made_up.about_them(found.encoders),
        glossary=made_up.words(run[0]),
        run="<small>",
        commit="0123456789abcdef",
        papers=links,
        tables=tables,
        files="unverified: 2 of 4 <files>",
        ledger=LEDGER,
    )
    about = made_up.about_them(found.encoders)
    write_summary(found, folder / "summary.txt", about=about, run="small", page="results/small/index.html")
    return folder / "index.html"
