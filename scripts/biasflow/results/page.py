"""The frame of every page of a run but its overview: title, style, and the way back to the overview."""

import jinja2

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
<p><a href="../index.html">Overview of the run</a></p>
<h1>{{ title }}</h1>
{% block body %}
{% endblock %}
</body>
</html>
"""
_PAGES = jinja2.Environment(
    loader=jinja2.DictLoader({"frame": _FRAME}), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def page(style: str, body: str) -> jinja2.Template:
    """A page of this CSS and this template of HTML, to be rendered with its `title` and whatever they name."""
    blocks = (f"{{% block {name} %}}\n{text}{{% endblock %}}\n" for name, text in (("style", style), ("body", body)))
    return _PAGES.from_string("{% extends 'frame' %}\n" + "".join(blocks))
