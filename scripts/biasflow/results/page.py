"""The frame of every page of a run but its overview: title, style, and the way back to the overview."""

import jinja2

from biasflow.base.shipped import shipped

ASSETS = shipped("results/assets")  # style and scripts, which pages include
PAGES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(ASSETS), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def page(style: str, body: str) -> jinja2.Template:
    """A page of this CSS and this template of HTML, to be rendered with its `title` and whatever they name."""
    blocks = (f"{{% block {name} %}}\n{text}{{% endblock %}}\n" for name, text in (("style", style), ("body", body)))
    return PAGES.from_string("{% extends 'frame.html' %}\n" + "".join(blocks))
