"""Somebody's clusters: found by document and words in any files and order, or one line says what does not fit."""

import json

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.readouts.predicted_clusters import read
from tests.unit.synthetic_conll import conll_text

PRO, ANTI = (["The", "nurse", "said", pronoun, "left", "."] for pronoun in ("she", "he"))
GOLD = [((0, 1), (3, 3))]
LONG = [["Kim", "met", "Lee", "."], ["She", "waved", "/."]]
DATA = {
    "test": conll_text("nw/long", LONG, [((0, 0), (4, 4))]) + conll_text("nw/empty", []),
    "pro": "".join(conll_text(f"wb/pro/{n}", [PRO], GOLD) for n in range(3)),
    "anti": "".join(conll_text(f"wb/anti/{n}", [ANTI], GOLD) for n in range(3)),
}


class Folder:
    """Data and given files in a folder, and what is read of them."""

    def __init__(self, folder):
        self.folder = folder

    def data(self, **texts: str) -> dict:
        return {text: (self._write(f"{text}.conll", content),) for text, content in (DATA | texts).items()}

    def read(self, *given: str, name: str = "given{}.conll", **texts: str) -> dict[str, list]:
        """Text -> the clusters of its documents, of files with these contents."""
        files = [self._write(name.format(number), content) for number, content in enumerate(given)]
        self.facts = read(files, self.data(**texts), self.folder / "coref.parquet")
        table = pd.read_parquet(self.folder / "coref.parquet")
        assert (table[["method", "setting", "head", "head_seed"]] == ["none", "-", "own", "-"]).all(axis=None)
        found = {text: rows.sort_values("document") for text, rows in table.groupby("text")}
        for rows in found.values():
            assert list(rows["document"]) == list(range(len(rows)))
        return {text: list(map(json.loads, rows["clusters"])) for text, rows in found.items()}

    def _write(self, name, content):
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        return path


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def turned(text: str) -> str:
    """The documents of a text in the other order."""
    return "".join(reversed([f"#begin{document}" for document in text.split("#begin")[1:]]))


def test_the_data_themselves_are_predictions_in_any_files_and_order(folder):
    gold = {"test": [[[[0, 0], [4, 4]]], []], "pro": [[[[0, 1], [3, 3]]]] * 3, "anti": [[[[0, 1], [3, 3]]]] * 3}
    assert folder.read(*DATA.values()) == gold
    numbers = {"test": 2, "pro": 3, "anti": 3}
    assert folder.facts == {"documents": numbers, "repeated": dict.fromkeys(numbers, 0)}
    assert folder.read(turned(DATA["anti"] + DATA["test"]), turned(DATA["pro"])) == gold


def test_numbers_of_words_are_those_of_the_document_across_sentences(folder):
    theirs = conll_text("nw/long", LONG, [((0, 3), (4, 5)), ((2, 4), (5, 6)), ((0, 0), (2, 2))])
    (found, _) = folder.read(theirs + conll_text("nw/empty", []))["test"]
    assert found == [[[0, 0], [2, 2]], [[0, 3], [4, 5]], [[2, 4], [5, 6]]]


def test_words_tell_documents_of_one_name_apart(folder):
    """Files whose documents are numbered alike, as pro- and anti-stereotypical ones may be."""
    sides = {name: conll_text("0", [words], GOLD) for name, words in (("pro", PRO), ("anti", ANTI))}
    theirs = [conll_text("0", [ANTI]), conll_text("0", [PRO], GOLD)]
    assert folder.read(*theirs, **sides) == {"pro": [[[[0, 1], [3, 3]]]], "anti": [[]]}
    assert set(folder.read(theirs[0], **sides)) == {"anti"}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (turned(DATA["pro"]).partition("#begin document (wb/pro/1)")[0],
         r"pro\.conll: document \(wb/pro/0\); part 000: is missing, as the first of 2, in .*given0\.conll"),
        (DATA["pro"] + conll_text("wb/pro/3", [PRO]),
         r"given0\.conll: document \(wb/pro/3\); part 000: is in none of .*test\.conll"),
        (DATA["pro"].replace("said", "says", 1),
         r"given0\.conll: document \(wb/pro/0\); part 000: word 3 is 'says', not 'said' as in .*pro\.conll"),
        (conll_text("wb/pro/0", [PRO[:-1]]),
         r"given0\.conll: document \(wb/pro/0\); part 000: has 5 words, not 6 as in .*pro\.conll"),
        (conll_text("wb/pro/0", [[*PRO, "."]]), r"document \(wb/pro/0\); part 000: has 7 words, not 6"),
        (DATA["pro"] + DATA["pro"], r"given0\.conll: document \(wb/pro/0\); part 000: line 28: there is a second"),
        ("", r"given0\.conll: no document"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line_with_file_and_document(folder, given, named):
    with pytest.raises(BiasflowError, match=named) as raised:
        folder.read(given)
    assert "\n" not in str(raised.value) and not (folder.folder / "coref.parquet").exists()


def test_a_span_in_two_clusters_stays_in_the_order_of_the_file_and_is_counted(folder):
    theirs = DATA["pro"].replace("\t(1)\n", "\t(7)|(1)\n", 1)
    assert folder.read(theirs)["pro"][0] == [[[0, 1], [3, 3]], [[3, 3]]]
    theirs = DATA["pro"].replace("\t(1\n", "\t(7)|(1\n", 1).replace("\t(1)\n", "\t(1)|(7)\n", 1)
    assert folder.read(theirs)["pro"][0] == [[[0, 0], [3, 3]], [[0, 1], [3, 3]]]
    assert folder.facts["repeated"] == {"pro": 1}


JSON = [
    {
        "doc_key": f"{key}_0",
        "tokens": words,
        "sentences": [["[CLS]", "the", "nur", "##se", "said", words[3], "left", ".", "[SEP]"]],
        "subtoken_map": [0, 0, 1, 1, 2, 3, 4, 5, 5],
        "clusters": [[[1, 3], [5, 5]]],
        "predicted_clusters": [[[4, 4], [7, 7]], [[5, 5], [1, 3]]],
    }
    for side, words in (("pro", PRO), ("anti", ANTI))
    for key in (f"wb/{side}/{n}" for n in range(3))
]
IN_WORDS = [[[2, 2], [5, 5]], [[0, 1], [3, 3]]]  # in the order of the file


@pytest.mark.parametrize("lines", [False, True])
def test_json_files_of_pieces(folder, lines):
    text = "\n".join(map(json.dumps, JSON)) + "\n\n" if lines else json.dumps(JSON)
    assert folder.read(text, name="given{}.json") == {"pro": [IN_WORDS] * 3, "anti": [IN_WORDS] * 3}


@pytest.mark.parametrize(("start", "inner"), [("", "##"), ("\u2581", ""), ("\u0120", "")])
def test_words_are_made_of_pieces_where_a_file_has_pieces_alone(folder, start, inner):
    theirs = []
    for document in JSON:
        _, the, nur, se, *others, _ = document["sentences"][0]
        pieces = ["<s>", *(start + piece for piece in (the, nur)), inner + se.removeprefix("##")]
        pieces += [*(start + piece for piece in others), "</s>"]
        theirs.append({**document, "sentences": [pieces[:3], pieces[3:]]})
        del theirs[-1]["tokens"]
    assert folder.read(json.dumps(theirs), name="given{}.json") == {"pro": [IN_WORDS] * 3, "anti": [IN_WORDS] * 3}


def test_json_files_of_words_without_names_are_found_by_their_words(folder):
    one = {side: conll_text(f"wb/{side}", [words], GOLD) for side, words in (("pro", PRO), ("anti", ANTI))}
    theirs = [{"sentences": [words[:2], words[2:]], "clusters": [[[0, 1], [3, 3]]]} for words in (ANTI, PRO)]
    found = folder.read(json.dumps(theirs), name="given{}.jsonl", **one)
    assert found == {"pro": [[[[0, 1], [3, 3]]]], "anti": [[[[0, 1], [3, 3]]]]}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        *(
            ({"predicted_clusters": wrong}, r"document 1 \(wb/pro/0_0\): the cluster .* is no list of mentions")
            for wrong in (
                [[[1, 99]]],
                [[[-1, 2]]],
                [["a", "b"]],
                [[1, 3], [5, 5]],  # one level short
                ["1", "3", "5", "5"],
                [1, 3],
                [[[[1, 3]]]],
                [[[1, 3, 5]]],
                [[[1, 3], [5]]],
                [[[1.5, 3]]],
            )
        ),
        ({"predicted_clusters": [[[5, 1]]]}, "document 1 .*: the mention .3, 0. is not within its 6 words"),
        ({"subtoken_map": [0, "x"]}, "document 1 .*: subtoken_map is no list"),
        ({"predicted_clusters": None}, "document 1 .*: has no list predicted_clusters or clusters"),
        ({"tokens": PRO[:-1], "predicted_clusters": []}, r"document \(wb/pro/0\); part 0: has 5 words, not 6"),
        ({"tokens": [*PRO[:-1], "!"]}, r"document \(wb/pro/0\); part 0: word 6 is '!'"),
    ],
)
def test_json_files_that_do_not_fit_are_one_line_with_file_and_document(folder, change, named):
    with pytest.raises(BiasflowError, match=rf"given0\.json: {named}"):
        folder.read(json.dumps([JSON[0] | change, *JSON[1:]]), name="given{}.json")
