"""The frame of every page of a run but its overview: title, style, and the way back to the overview."""

import jinja2

from biasflow.base.shipped import shipped

_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<link rel="icon" href="data:,">
<style>
{% block style %}
{% endblock %}
</style>
</head>
<body>
<nav class="screen"><a href="../index.html">Overview of the run</a></nav>
<main>
<h1>{{ title }}</h1>
{% block body %}
{% endblock %}
</main>
<script>
{% include "framed.js" %}
</script>
</body>
</html>
"""
ASSETS = shipped("results/assets")  # style and scripts, which pages include
_PAGES = jinja2.Environment(
    loader=jinja2.ChoiceLoader([jinja2.DictLoader({"frame": _FRAME}), jinja2.FileSystemLoader(ASSETS)]),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(style: str, body: str) -> jinja2.Template:
    """A page of this CSS and this template of HTML, to be rendered with its `title` and whatever they name."""
    blocks = (f"{{% block {name} %}}\n{text}{{% endblock %}}\n" for name, text in (("style", style), ("body", body)))
    return _PAGES.from_string("{% extends 'frame' %}\n" + "".join(blocks))
