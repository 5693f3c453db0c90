import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib.figure import Figure

from biasflow.base.errors import BiasflowError
from biasflow.results.figures import save_figure, style


def drawn():
    with style():
        figure = Figure(figsize=(2, 1))
        figure.subplots().plot([0, 1], [1, 0], label="a line")
    return figure


def test_files_are_the_same_again_and_hold_no_date(tmp_path):
    for name in ("a", "b"):
        save_figure(drawn(), tmp_path / f"{name}.svg", tmp_path / f"{name}.pdf")
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert (
        b"CreationDate" not in (tmp_path / "a.pdf").read_bytes()
        and b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()
    )


def test_a_folder_that_cannot_be_written_leaves_no_part(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((BiasflowError, OSError)):
        save_figure(drawn(), tmp_path / "file" / "a.svg", tmp_path / "a.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_somebodys_name_in_a_figure_is_only_text(tmp_path):
    """No formula of TeX, which would fail or be set, and no tag in the SVG."""
    name = r"$\evil{$ --> <script>alert(1)</script> & $x_1$"
    with style():
        figure = Figure(figsize=(2, 1))
        axes = figure.subplots()
        axes.plot([0, 1], [1, 0], label=name)
        axes.set_title(name)
        axes.legend()
        figure.text(0.5, 0.5, name)
        save_figure(figure, tmp_path / "a.svg", tmp_path / "a.pdf")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert not [element for element in root.iter() if "script" in str(element.tag)]
