"""CoNLL-2012 files: brackets, errors that name document and line, and that nothing is lost on the way back."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import (
    merge_clusters,
    new_document,
    plain_word,
    read_conll,
    read_predictions,
    repeated_spans,
    without_singletons,
    write_conll,
)
from tests.unit.synthetic_conll import conll_text, documents_of

SENTENCES = [["The", "nurse", "saw", "her", "."], ["She", "left", "."]]
CLUSTERS = [((0, 1), (5, 5)), ((3, 3),)]
NURSE = conll_text("nw/a", SENTENCES, CLUSTERS)
OTHER = conll_text("nw/b", [["It", "rained"]])
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=6)


def cells(*cells: str) -> str:
    """A document whose words have these coreference cells."""
    text = conll_text("nw/c", [[f"w{number}" for number in range(len(cells))]])
    lines = text.split("\n")
    for number, cell in enumerate(cells, start=1):
        lines[number] = lines[number][:-1] + cell
    return "\n".join(lines)


def clusters(folder, *of_words: str):
    return documents_of(folder, cells(*of_words))[0].clusters


@pytest.mark.parametrize("separator", ["\t", "   "])
def test_columns_are_split_at_tabs_or_blanks(tmp_path, separator):
    text = conll_text("nw/a", SENTENCES, CLUSTERS, pos="DT NN VBD PRP . PRP VBD .".split(), separator=separator)
    (document,) = documents_of(tmp_path, text)
    assert (document.key, document.part, document.name) == ("nw/a", "000", "(nw/a); part 000")
    assert document.words == ("The", "nurse", "saw", "her", ".", "She", "left", ".")
    assert document.pos[3] == "PRP" and set(document.speakers) == {"Speaker#1"} and set(document.names) == {"*"}
    assert document.sentences == (0, 0, 0, 0, 0, 1, 1, 1)
    assert list(document.sentence_words()) == [range(5), range(5, 8)]
    assert document.clusters == (((0, 1), (5, 5)), ((3, 3),))
    assert without_singletons(document.clusters) == document.clusters[:1]


def test_a_word_may_hold_a_blank_where_tabs_part_the_columns(tmp_path):
    (document,) = documents_of(tmp_path, conll_text("k", [["two words", "\u00a0"]]))
    assert document.words == ("two words", "\u00a0")


@pytest.mark.parametrize(
    ("of_words", "expected"),
    [
        (["(1", "1)"], [((0, 1),)]),
        (["(1(3)", "1)"], [((0, 0),), ((0, 1),)]),
        (["(1|(3", "1)3)"], [((0, 1),), ((0, 1),)]),
        (["(12", "(12", "12)", "12)"], [((0, 3), (1, 2))]),
        (["(1", "1)|(1", "1)"], [((0, 1), (1, 2))]),
        (["(1", "(1)|1)"], [((0, 1), (1, 1))]),
        (["(1", "(2", "1)", "2)"], [((0, 2),), ((1, 3),)]),
        (["-", "_", "*", ""], []),
    ],
)
def test_brackets(save, of_words, expected):
    path = save(cells(*of_words))
    assert [document.clusters for document in read_predictions(path)] == [tuple(expected)]


def test_a_comment_ends_no_sentence(tmp_path):
    lines = OTHER.split("\n")
    (document,) = documents_of(tmp_path, "\n".join([*lines[:2], "# said", *lines[2:]]))
    assert document.sentences == (0, 0)


BROKEN = {
    "closed, not opened": (cells("-", "7)"), 3),
    "opened, not closed": (cells("-", "(7", "-"), 3),
    "no bracket": (cells("-", "7"), 3),
    "nothing between": (cells("(1)||(2)"), 2),
    "columns": (cells("-", "-").replace("\t*\t-\t-\t-\t", "\t", 1), 2),
    "no end": (cells("-", "-").replace("#end document\n", ""), 4),
    "same name": (OTHER, 1),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_document_is_named_with_its_line_or_dropped(save, kind):
    text, line = BROKEN[kind]
    path = save(OTHER + text)
    with pytest.raises(BiasflowError) as error:
        read_conll(path)
    name = "(nw/b); part 000" if text == OTHER else "(nw/c); part 000"
    assert f"{path}: document {name}: line {OTHER.count(chr(10)) + line}: " in str(error.value)
    corpus = read_conll(path, broken="drop")
    assert corpus.dropped == (name,) and [document.key for document in corpus.documents] == ["nw/b"]


def test_a_document_that_does_not_end_before_the_next(save):
    path = save(cells("-").replace("#end document\n", "") + OTHER)
    with pytest.raises(BiasflowError, match=r"document \(nw/c\); part 000: line 3: .*#end document"):
        read_conll(path)
    assert [document.key for document in read_conll(path, broken="drop").documents] == ["nw/b"]


@pytest.mark.parametrize(
    ("text", "line"), [(f"{OTHER}nw/b\t0\t0\tlost\n", 6), (OTHER.replace("; part 000", ""), 1), ("1\tone\n", 1)]
)
def test_what_belongs_to_no_document_is_an_error_always(save, text, line):
    for broken in ("error", "drop"):
        with pytest.raises(BiasflowError, match=f"line {line}"):
            read_conll(save(text), broken=broken)


def test_files_without_documents(save, tmp_path):
    for path in (save(""), save("\n# nothing\n"), tmp_path / "absent.conll", tmp_path):
        with pytest.raises(BiasflowError, match=str(path)):
            read_conll(path)
    (tmp_path / "latin").write_bytes(OTHER.encode() + "é".encode("latin-1"))
    with pytest.raises(BiasflowError, match=f"line {OTHER.count(chr(10)) + 1}: byte"):
        read_conll(tmp_path / "latin")


def crosses(one, other):
    (a, b), (c, d) = sorted((one, other))
    return a < c < b < d or one == other


@st.composite
def texts(draw):
    """Documents with nested and crossing mentions of several clusters; within one cluster none cross."""
    documents = []
    for key in draw(st.lists(st.from_regex(r"[a-z]{2}/\w{1,5}", fullmatch=True), min_size=1, max_size=3, unique=True)):
        sentences = draw(st.lists(st.lists(WORDS, min_size=1, max_size=5), max_size=4))
        n = sum(map(len, sentences))
        places = st.tuples(*[st.integers(0, max(n - 1, 0))] * 2).map(lambda pair: tuple(sorted(pair)))
        found = []
        for spans in draw(st.lists(st.lists(places, min_size=1, max_size=4), max_size=4 if n else 0)):
            kept = []
            for span in spans:
                if not any(crosses(span, other) for other in kept):
                    kept.append(span)
            found.append(tuple(sorted(kept)))
        separator, between = draw(st.sampled_from(["\t", " ", "    "])), draw(st.sampled_from(["|", ""]))
        documents.append((conll_text(key, sentences, found, separator=separator, between=between), sentences, found))
    return documents


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts(), st.sampled_from(["", "\ufeff", "# made by hand\n\n"]), st.sampled_from(["\n", "\r\n"]))
def test_reading_and_writing_lose_nothing(tmp_path, documents, start, line_end):
    path, copy = tmp_path / "gold.conll", tmp_path / "copy.conll"
    text = (start + "".join(text for text, _, _ in documents)).replace("\n", line_end)
    path.write_bytes(text.encode())
    corpus = read_conll(path)
    for document, raw, (_, sentences, expected) in zip(
        corpus.documents, read_predictions(path), documents, strict=True
    ):
        assert [[document.words[i] for i in words] for words in document.sentence_words()] == sentences
        assert replace(raw, clusters=tuple(sorted(raw.clusters))) == replace(document, clusters=tuple(sorted(expected)))
        assert document.clusters == merge_clusters(tuple(expected))
        assert {span for cluster in expected for span in cluster} == {s for c in document.clusters for s in c}
    write_conll(corpus.documents, copy)
    assert copy.read_bytes() == path.read_bytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts())
def test_new_documents_are_read_as_they_were_made(tmp_path, documents):
    made = []
    for number, (_, sentences, clusters) in enumerate(documents):
        cells = ["NN"] * sum(map(len, sentences))
        arguments = (f"nw/{number}", sentences, tuple(clusters))
        if any(crosses(*pair) for cluster in merge_clusters(tuple(clusters)) for pair in combinations(cluster, 2)):
            with pytest.raises(BiasflowError, match=rf"\(nw/{number}\); part 012: .* cross"):
                new_document(*arguments, pos=cells, names=cells, part="012")
        else:
            made.append(new_document(*arguments, pos=cells, names=cells, part="012"))
    if made:
        write_conll(made, tmp_path / "made.conll")
        assert read_conll(tmp_path / "made.conll").documents == tuple(made)


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(3, 6)), min_size=1, max_size=3), max_size=5))
def test_merged_clusters_share_no_span_and_keep_together_what_was(clusters):
    merged = merge_clusters(tuple(map(tuple, clusters)))
    spans = [span for cluster in merged for span in cluster]
    assert len(spans) == len(set(spans)) and set(spans) == {span for cluster in clusters for span in cluster}
    for cluster in clusters:
        assert sum(set(cluster) <= set(other) for other in merged) == 1
    assert merge_clusters(merged) == merged == merge_clusters(tuple(map(tuple, reversed(clusters))))


@pytest.mark.parametrize("separator", ["\t", "  "])
def test_an_edited_word_changes_its_own_bytes_only(tmp_path, separator):
    text = conll_text("nurse/1", [["nurse", "nurse/1", "nurse"]], [((0, 0), (2, 2))], separator=separator)
    (document,) = documents_of(tmp_path, text)
    edited = document.with_words(["nurse", "nurse/1", "doctors"])
    assert edited.text == "doctors".join(text.rsplit("nurse", 1))
    renamed = edited.renamed("nurse/2")
    assert renamed.text == conll_text(
        "nurse/2", [["nurse", "nurse/1", "doctors"]], [((0, 0), (2, 2))], separator=separator
    )
    path = tmp_path / "both.conll"
    write_conll([document, renamed], path)
    assert [each.words for each in read_conll(path).documents] == [document.words, edited.words]


@pytest.mark.parametrize("words", [["It"], ["It", ""], ["It", "has rained"], ["It", "\n"]])
def test_words_that_would_break_the_columns(tmp_path, words):
    with pytest.raises(BiasflowError, match=r"\(nw/b\); part 000"):
        documents_of(tmp_path, OTHER)[0].with_words(words)


def test_two_documents_of_one_name_are_not_written(tmp_path):
    (document,) = documents_of(tmp_path, OTHER)
    with pytest.raises(BiasflowError, match=r"\(nw/b\); part 000"):
        write_conll([document, document], tmp_path / "twice.conll")
    assert not (tmp_path / "twice.conll").exists()


def test_a_document_without_a_last_line_end_can_be_followed_by_another(tmp_path):
    first, second = documents_of(tmp_path, NURSE, OTHER.rstrip("\n"))
    write_conll([second, first], tmp_path / "turned.conll")
    assert (tmp_path / "turned.conll").read_text() == OTHER + NURSE


@pytest.mark.parametrize("separator", ["\t", "  "])
@pytest.mark.parametrize("columns", [[3, -1], [0, 1, 2, 3, -1], [0, 1, 2, 3, 4, 5, -1]], ids=len)
def test_predictions_may_have_fewer_columns(save, columns, separator):
    lines = [line.split("\t") for line in (NURSE + OTHER).split("\n")]
    fewer = [separator.join(cells[i] for i in columns) if len(cells) > 1 else cells[0] for cells in lines]
    path = save("\n".join(fewer))
    found, whole = read_predictions(path), read_conll(save(NURSE + OTHER, "gold.conll")).documents
    assert [each.words for each in found] == [each.words for each in whole]
    assert [each.clusters for each in found] == [each.clusters for each in whole]
    assert [each.sentences for each in found] == [each.sentences for each in whole]
    assert "".join(each.text for each in found) == "\n".join(fewer)
    with pytest.raises(BiasflowError, match=rf"\(nw/a\); part 000: line 2: {len(columns)} columns"):
        read_conll(save("\n".join(fewer)))


def test_predicted_clusters_stand_in_the_order_in_which_the_file_names_them(save):
    """As the reference scorer numbers them: of one cell, mentions of one word come first."""
    (document,) = read_predictions(save(cells("(3|(9)", "3)|(9", "9)|(1)|(9)")))
    assert document.clusters == (((0, 0), (1, 2), (2, 2)), ((0, 1),), ((2, 2),))
    assert repeated_spans(document.clusters) == 1


def test_predictions_of_three_or_four_columns_do_not_say_which_is_the_word(save):
    for columns in ("nw/a\tThe\t-", "nw/a\t0\tThe\t-"):
        path = save(f"#begin document (nw/a); part 000\n{columns}\n#end document\n")
        with pytest.raises(BiasflowError, match=r"\(nw/a\); part 000: line 2: . columns"):
            read_predictions(path)


def test_the_sign_before_a_full_stop_goes():
    assert [plain_word(word) for word in ("/.", "/?", "/", "a/.", ".")] == [".", "?", "/", "a/.", "."]
