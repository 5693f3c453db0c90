import itertools
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import write_parquet
from biasflow.papers.liang2020 import figures
from biasflow.papers.liang2020.figures import ScoredSentence, sentences_page
from biasflow.papers.make import make_paper
from biasflow.papers.paper import load
from biasflow.results.figures import save_figure
from biasflow.results.scores import concatenate
from tests.unit.papers.liang2020.made_up import EMBEDDED, PLACES, run, scores


@pytest.fixture(scope="module")
def two():
    return concatenate([scores(layers=12), scores(encoder="b", layers=4)])


def test_a_row_of_panels_per_encoder_with_every_layer_and_both_lines(two):
    axes = figures.occtmp_by_layer(run(two)).axes
    assert len(axes) == 4
    diff, signed = axes[2:]  # encoder "tiny"
    points = next(line for line in diff.lines if len(line.get_xdata()) == 12)
    # The maker gives layer i the value 0.3 + i / 10.
    assert points.get_xdata().tolist() == list(range(12))
    assert points.get_ydata() == pytest.approx(0.3 + np.arange(12) / 10)
    dashed = {line.get_ydata()[0] for line in diff.lines if line.get_linestyle() == "--"}
    assert dashed == {0.111}
    level = [line.get_ydata()[0] for line in diff.lines if len(line.get_xdata()) == 2]
    assert sorted(level) == pytest.approx([0.111, 0.141])  # none, all layers
    assert [label.get_text() for label in axes[0].get_xticklabels()] == ["0", "1", "2", "3"]
    assert any(line.get_ydata()[0] == 0 for line in signed.lines)


def test_layers_stand_in_their_order_not_as_text(two):
    points = max(figures.occtmp_by_layer(run(two)).axes[2].lines, key=lambda line: len(line.get_xdata()))
    assert (np.diff(points.get_xdata()) == 1).all()


def test_perplexity_by_layer_is_the_mean_over_mask_seeds_on_the_encoder_of_the_main_table(two):
    plain, released = figures.perplexity_by_layer(run(two)).axes[:2]  # encoder "b", after masked-LM training
    points = next(line for line in plain.lines if len(line.get_xdata()) == 4)
    # The maker gives layer i and mask seed s the value 4 + i + s / 10, the released form half more.
    assert points.get_ydata() == pytest.approx([4.2, 5.2, 6.2, 7.2])
    level = [line.get_ydata()[0] for line in plain.lines if len(line.get_xdata()) == 2]
    assert sorted(level) == pytest.approx([4.2, 4.23])  # none, all layers
    own = next(line for line in released.lines if len(line.get_xdata()) == 4)
    assert own.get_ydata() == pytest.approx([4.7, 5.7, 6.7, 7.7])
    nothing = figures.perplexity_by_layer(run(scores(measures=["occtmp"])))
    assert not nothing.axes and "not asked for" in nothing.texts[0].get_text()


def test_the_embedded_run_is_drawn_too():
    assert len(figures.occtmp_by_layer(run(scores(sets=EMBEDDED))).axes) == 2


def test_the_line_of_all_layers_may_be_absent():
    elsewhere = run(scores(), places=PLACES | {"densray": "last"})
    level = [line for line in figures.occtmp_by_layer(elsewhere).axes[0].lines if len(line.get_xdata()) == 2]
    assert len(level) == 1


def test_without_single_layers_the_figure_says_why():
    reason = {"encoder": "tiny", "training": "pretrained", "method": "densray-each", "metric": "occtmp"}
    figure = figures.occtmp_by_layer(run(scores(layers=0), reasons=[reason | {"dataset": "-", "reason": "one layer"}]))
    assert not figure.axes and "tiny: not run: one layer" in figure.texts[0].get_text()


def test_the_untouched_encoder_and_every_layer_are_needed(two):
    without = two[~((two["encoder"] == "b") & (two["method"] == "none"))]
    with pytest.raises(BiasflowError, match=r"encoder b.*none"):
        figures.occtmp_by_layer(run(without))
    gap = two[~((two["setting"] == "layer[2]") & (two["metric"] == "occtmp_signed_diff") & (two["encoder"] == "b"))]
    with pytest.raises(BiasflowError, match=r"encoder b.*method densray.*layer\[2\]"):
        figures.occtmp_by_layer(run(gap))


def test_heat_maps_of_heads_and_outputs(two):
    heads, outputs, tiny_heads, tiny_outputs, *bars = figures.gender_shares(run(two)).axes
    assert len(bars) == 2
    mesh = tiny_heads.collections[0].get_array()
    # The maker gives layer i and head k the value i / 10 + k / 20, and the output 0.2 + i / 10.
    assert mesh.shape == (12, 2) and mesh[11, 1] == pytest.approx(1.15) and mesh[0, 0] == 0
    assert np.asarray(tiny_outputs.collections[0].get_array())[:, 0] == pytest.approx(0.2 + np.arange(12) / 10)
    assert heads.collections[0].get_array().shape == (4, 2)
    assert heads.collections[0].get_clim() == tiny_heads.collections[0].get_clim() == (0, pytest.approx(1.15))
    assert outputs.collections[0].get_clim() != heads.collections[0].get_clim()
    assert [text.get_text() for text in outputs.texts] == ["0.20", "0.30", "0.40", "0.50"]


def test_an_encoder_without_attention_values_has_an_empty_panel(two):
    only = two[~((two["encoder"] == "b") & two["part"].str.contains("attention"))]
    heads, outputs = figures.gender_shares(run(only)).axes[:2]
    assert not heads.collections and heads.texts and outputs.collections
    nothing = figures.gender_shares(run(scores(measures=["occtmp"])))
    assert not nothing.axes and "tiny: not run: not asked for" in nothing.texts[0].get_text()


@pytest.mark.parametrize("draw", [figures.occtmp_by_layer, figures.perplexity_by_layer, figures.gender_shares])
def test_text_is_legible_and_files_are_the_same_again(two, draw, tmp_path):
    figure = draw(run(two))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for axes in figure.axes:
        assert min((text.get_fontsize() for text in axes.texts), default=7) >= 7
        labels = [label.get_window_extent(canvas.get_renderer()) for label in axes.get_xticklabels()]
        assert not any(a.overlaps(b) for a, b in itertools.pairwise(labels))
    for name in ("a", "b"):
        save_figure(draw(run(two)), tmp_path / f"{name}.svg", tmp_path / f"{name}.pdf")
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    ElementTree.parse(tmp_path / "a.svg")


class Tokens(HTMLParser):
    """Collects (text, background, score) of every coloured token."""

    def __init__(self, page):
        super().__init__()
        self.found, self.attributes = [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.attributes = attributes if tag == "span" and "title" in attributes else None

    def handle_data(self, data):
        if self.attributes:
            background = self.attributes["style"].removeprefix("background: ")
            self.found.append((data, background, float(self.attributes["title"])))
            self.attributes = None


def page(values, **options):
    sentence = ScoredSentence([("x", value) for value in values], float(np.mean(values)))
    return sentences_page({"tiny": [sentence]}, title="t", **options)


def test_tokens_are_shown_as_they_are_with_their_scores():
    sentences = [
        ScoredSentence([("<b>she</b>", 0.9), ("&", 0.1)], 0.5),
        ScoredSentence([("he", -0.9), ("works", 0.1)], -0.4),
    ]
    html = sentences_page({"tiny": sentences}, title="<title> & more", caption="a <i>caption</i>")
    tokens = Tokens(html).found
    assert [(text, score) for text, _, score in tokens] == [
        ("<b>she</b>", 0.9),
        ("&", 0.1),
        ("he", -0.9),
        ("works", 0.1),
    ]
    assert "<i>" not in html and "<b>" not in html and "-0.400" in html and "0.500" in html


def test_colours_are_blue_below_and_vermilion_above_the_median():
    (_, low, _), (_, middle, _), (_, high, _) = Tokens(page([4.0, 5.0, 6.0])).found
    assert middle == "#ffffff"
    (r, _, b), (red, _, blue) = to_rgb(low), to_rgb(high)
    assert b > r and red > blue


def test_scores_beyond_the_quantile_have_the_same_colour():
    values = [0.0, 1.0, -1.0, 1.0, -1.0, 0.0, 50.0, 100.0, -50.0]
    colors = [background for _, background, _ in Tokens(page(values, quantile=0.6)).found]
    assert colors[6] == colors[7] == colors[1] and colors[8] == colors[2] != colors[1]
    whole = [background for _, background, _ in Tokens(page(values, quantile=1)).found]
    assert whole[6] != whole[7]


def test_equal_scores_are_white():
    assert {background for _, background, _ in Tokens(page([2.0, 2.0])).found} == {"#ffffff"}


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6))
def test_dark_text_can_be_read_on_every_background(values):
    def luminance(color):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
        return np.dot(linear, [0.2126, 0.7152, 0.0722])

    for _, background, _ in Tokens(page(values)).found:
        assert (luminance(background) + 0.05) / (luminance("#1a1a1a") + 0.05) > 4.5  # WCAG 2, level AA


@pytest.mark.parametrize(
    ("sentences", "named"),
    [
        ([], "none"),
        ([ScoredSentence([("a", 1.0)], 1.0), ScoredSentence([], 0.0)], "sentence 1"),
        ([ScoredSentence([("a", 1.0), ("b", float("nan"))], 1.0)], "sentence 0.*token 1"),
        ([ScoredSentence([("a", 1.0)], float("inf"))], "sentence 0"),
    ],
)
def test_what_cannot_be_shown_is_named(sentences, named):
    with pytest.raises(BiasflowError, match=named):
        sentences_page({"tiny": sentences}, title="t")


@pytest.mark.parametrize("quantile", [0, -0.5, 1.5])
def test_the_quantile_is_a_share(quantile):
    with pytest.raises(BiasflowError, match="quantile"):
        page([1.0, 2.0], quantile=quantile)


def write_pieces(pieces, path, cut=()):
    """What the readout writes of one method."""
    frame = pd.DataFrame(pieces, columns=["sentence", "piece", "score"])
    about = {"method": "densray", "setting": "-", "place": "layer[3]", "truncated": frame["sentence"].isin(cut)}
    write_parquet(frame.assign(**about), path)


def test_the_page_says_how_many_sentences_were_cut(tmp_path):
    write_pieces([(0, "she", 0.9), (0, "a", 0.1), (7, "he", -0.9)], tmp_path / "t.parquet", cut=[0])
    files = {"token_scores": {"tiny": tmp_path / "t.parquet"}}
    assert "tiny: the ends of 1 sentences are cut" in figures.sentences(
        run(scores(measures=["occtmp"]), files=files), ""
    )


def test_the_page_reads_the_pieces_of_every_encoder_and_sorts_the_sentences(tmp_path):
    for name, shift in (("tiny", 0.0), ("b", 5.0)):
        pieces = [(0, "she", 0.9 + shift), (0, "NA", 0.1 + shift), (7, "he", -0.9 + shift), (7, "##s", shift)]
        write_pieces(pieces, tmp_path / f"{name}.parquet")
    files = {"token_scores": {name: tmp_path / f"{name}.parquet" for name in ("tiny", "b")}}
    html = figures.sentences(run(scores(measures=["occtmp"]), files=files), "A caption.")
    found = [(text, score) for text, _, score in Tokens(html).found]
    assert found[:4] == [("he", -0.9), ("##s", 0.0), ("she", 0.9), ("NA", 0.1)]
    assert found[4:] == [(text, score + 5) for text, score in found[:4]]
    assert (
        "<h2>tiny, densray, layer[3]</h2>" in html
        and "<h2>b, densray, layer[3]</h2>" in html
        and "<p>A caption.</p>" in html
    )
    # Every encoder has a scale of its own.
    assert [color for _, color, _ in Tokens(html).found[:4]] == [color for _, color, _ in Tokens(html).found[4:]]


def test_without_scores_of_tokens_the_page_says_so():
    assert "Not run" in figures.sentences(run(scores(measures=["occtmp"])), "A caption.")


def test_the_whole_paper_is_made_in_the_same_bytes(tmp_path):
    write_pieces([(0, "she", 0.5)], tmp_path / "tokens.parquet")
    whole = run(
        scores(layers=1), files={"token_scores": {"tiny": tmp_path / "tokens.parquet"}}, encoders=["tiny", "gone"]
    )
    text = load("liang2020")
    files = [f for kind in ("tables", "figures", "pages") for t in text.targets(kind) for f in text.files(kind, t)]
    for name in ("first", "again"):
        make_paper("liang2020", whole, text.files_in(tmp_path / name))
    for file in files:
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
