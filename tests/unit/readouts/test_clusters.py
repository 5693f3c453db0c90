"""Predicted clusters under methods: against the model as it is, the hooked model, and scorers trained one by one."""

import json
from pathlib import Path

import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import read_conll
from biasflow.encoders.edit import edited
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.readouts import clusters
from biasflow.readouts.predicted_clusters import COLUMNS, NAMES, TEXTS, load_clusters
from biasflow.readouts.predicted_clusters import read as read_given
from biasflow.readouts.source import Source
from biasflow.tasks.coreference import task
from biasflow.tasks.coreference.heads import StoredVectors, train_heads
from biasflow.tasks.coreference.model import (
    Examples,
    Recipe,
    TokenVectors,
    load_coreference,
    predict,
    predicted_clusters,
)
from biasflow.tasks.coreference.segments import SpecialTokens
from tests.unit.readouts.conftest import projection
from tests.unit.synthetic_conll import conll_text
from tests.unit.tasks.coreference.made_up import RECIPE, save_encoder, save_file, text

NUMBERS = {
    "train": range(4),
    "validation": range(4, 6),
    "test": range(6, 9),
    "pro": range(9, 13),
    "anti": range(12, 16),
}
EMPTY = "#begin document (nw/empty); part 000\n#end document\n"
SINGLE = conll_text("nw/single", [["john"]])
HEADS = {"head_seeds": [3, 4], "recipe": RECIPE}


EDITS = {
    "none": (),
    "early": (("layer[0]", projection(16, dimension=32, shift=1)),),
    "last": (("layer[-1]", projection(16, dimension=32, shift=2)),),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("clusters")
    make(path)
    return path


def make(path: Path) -> None:
    """A trained model, fitted methods, and the documents of every role."""
    for role, numbers in NUMBERS.items():
        more = (EMPTY, SINGLE) if role == "test" else ()
        save_file(path / f"{role}.conll", *(text(number, 3) for number in numbers), *more)
    data = {
        role: (save_file(path / f"{role}-of-task.conll", *(text(n, 3) for n in range(9))),) for role in clusters.LEARNT
    }
    options = {"strategy": "plain", "seed": 3, "recipe": RECIPE | {"epochs": 6}}
    task.train(save_encoder(path / "source"), path / "model", path / "work-of-task", data, **options)
    fitted = {name: (Active(name, "-", edits),) for name, edits in EDITS.items()}
    fitted["first"] = (Active("first", "-", (("layer[-1].cls", projection(1, dimension=32)),)),)
    fitted["idle"] = (Active("idle", "-", (("layer[-1]", Eraser.projection(torch.zeros(1, 32))),)),)
    save(Fitted(fitted, {name: [] for name in fitted}), path / "methods.safetensors")


def source(folder: Path, *methods: str, **options) -> Source:
    data = {role: (folder / f"{role}.conll",) for role in NUMBERS}
    return Source(folder / "model", methods, "coref", data, folder / "methods.safetensors", **options)


def read(folder: Path, output: Path, *methods: str, **options) -> dict:
    return clusters.read(source(folder, *methods), output, **{"head_seeds": [], "recipe": RECIPE} | options)


def predictions(path: Path) -> dict:
    """(method, head, head_seed, text) -> the clusters of its documents."""
    table = pd.read_parquet(path)
    assert list(table.columns) == COLUMNS and not table.duplicated(COLUMNS[:-1]).any()
    found = {}
    for (method, _, head, seed, name), rows in table.groupby([*NAMES, "text"]):
        assert rows["document"].tolist() == list(range(len(rows)))
        found[method, head, seed, name] = [
            tuple(tuple(map(tuple, cluster)) for cluster in json.loads(cell)) for cell in rows["clusters"]
        ]
    return found


def opened(folder: Path):
    return load_coreference(folder / "model"), {
        role: read_conll(folder / f"{role}.conll").documents for role in NUMBERS
    }


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory) -> Path:
    """The file of a run that was not killed, under all methods, with two retrained scorers."""
    path = tmp_path_factory.mktemp("whole") / "coref.parquet"
    read(folder, path, *EDITS, **HEADS)
    return path


def test_the_own_scorer_predicts_what_the_model_does_under_every_method(folder, whole):
    found, ((model, tokenizer), documents) = predictions(whole), opened(folder)
    for method, edits in EDITS.items():
        for name in TEXTS:
            with edited(model, edits):
                expected = predict(model, tokenizer, documents[name])
            assert found[method, "own", "-", name] == expected, (method, name)
    assert any(found["none", "own", "-", "pro"])
    assert len({str([found[method, "own", "-", name] for name in TEXTS]) for method in EDITS}) == len(EDITS)


def test_retrained_scorers_are_those_trained_alone_on_the_documents_as_they_are(folder, whole, tmp_path):
    found, ((model, tokenizer), documents) = predictions(whole), opened(folder)
    encode = TokenVectors(model.base_model, SpecialTokens.of(tokenizer))

    def stored(documents, dtype):
        pieces = model.reading.segmenter(model, tokenizer)(documents)
        with torch.inference_mode():
            states = torch.cat([encode(each) for each in pieces if len(each)])
        return pieces, StoredVectors(states.to(dtype), model.device)

    for method, edits in EDITS.items():
        for seed in HEADS["head_seeds"]:
            with edited(model, edits):
                learnt, vectors = stored((*documents["train"], *documents["validation"]), torch.float16)
                texts = {name: stored(documents[name], torch.float32) for name in TEXTS}
            split = len(documents["train"])
            dev = Examples(documents["validation"], learnt[split:])
            options = {"recipe": Recipe.of(RECIPE), "seeds": [seed], "work": tmp_path / f"{method}-{seed}"}
            ((_, scorer, _),) = train_heads(vectors, learnt[:split], dev, **options)
            for name, (pieces, vectors) in texts.items():
                expected = predicted_clusters(scorer, vectors, pieces)
                assert found[method, "retrained", str(seed), name] == expected, (method, seed, name)


def test_a_head_predicts_every_document_once(whole, tmp_path):
    found = load_clusters(whole, "pro", 4)
    assert found.heads["head"].tolist() == ["own", "retrained", "retrained"] * 3 and found.places.shape == (9, 4)
    expected = predictions(whole)
    for names, places in zip(found.heads.itertuples(index=False), found.places, strict=True):
        assert [found.answers[place][0] for place in places] == [0, 1, 2, 3]
        of_head = expected[names.method, names.head, names.head_seed, "pro"]
        assert [found.answers[place][1] for place in places] == of_head
    with pytest.raises(BiasflowError, match="4 documents"):
        load_clusters(whole, "pro", 5)
    with pytest.raises(BiasflowError, match="no prediction"):
        load_clusters(whole, "dev", 4)
    table = pd.read_parquet(whole)
    table.loc[table["text"] == "pro", "clusters"] = "[[1]]"
    table.to_parquet(tmp_path / "broken.parquet")
    with pytest.raises(BiasflowError, match=r"broken.parquet: clusters '\[\[1\]\]'"):
        load_clusters(tmp_path / "broken.parquet", "pro", 4)


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
        self.facts = read_given(files, self.data(**texts), self.folder / "coref.parquet")
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
def files(tmp_path):
    return Folder(tmp_path)


def turned(text: str) -> str:
    """The documents of a text in the other order."""
    return "".join(reversed([f"#begin{document}" for document in text.split("#begin")[1:]]))


def test_the_data_themselves_are_predictions_in_any_files_and_order(files):
    gold = {"test": [[[[0, 0], [4, 4]]], []], "pro": [[[[0, 1], [3, 3]]]] * 3, "anti": [[[[0, 1], [3, 3]]]] * 3}
    assert files.read(*DATA.values()) == gold
    numbers = {"test": 2, "pro": 3, "anti": 3}
    assert files.facts == {"documents": numbers, "repeated": dict.fromkeys(numbers, 0)}
    assert files.read(turned(DATA["anti"] + DATA["test"]), turned(DATA["pro"])) == gold


def test_numbers_of_words_are_those_of_the_document_across_sentences(files):
    theirs = conll_text("nw/long", LONG, [((0, 3), (4, 5)), ((2, 4), (5, 6)), ((0, 0), (2, 2))])
    (found, _) = files.read(theirs + conll_text("nw/empty", []))["test"]
    assert found == [[[0, 0], [2, 2]], [[0, 3], [4, 5]], [[2, 4], [5, 6]]]


def test_words_tell_documents_of_one_name_apart(files):
    """Files whose documents are numbered alike, as pro- and anti-stereotypical ones may be."""
    sides = {name: conll_text("0", [words], GOLD) for name, words in (("pro", PRO), ("anti", ANTI))}
    theirs = [conll_text("0", [ANTI]), conll_text("0", [PRO], GOLD)]
    assert files.read(*theirs, **sides) == {"pro": [[[[0, 1], [3, 3]]]], "anti": [[]]}
    assert set(files.read(theirs[0], **sides)) == {"anti"}


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
def test_what_does_not_fit_is_one_line_with_file_and_document(files, given, named):
    with pytest.raises(BiasflowError, match=named) as raised:
        files.read(given)
    assert "\n" not in str(raised.value) and not (files.folder / "coref.parquet").exists()


def test_a_span_in_two_clusters_stays_in_the_order_of_the_file_and_is_counted(files):
    theirs = DATA["pro"].replace("\t(1)\n", "\t(7)|(1)\n", 1)
    assert files.read(theirs)["pro"][0] == [[[0, 1], [3, 3]], [[3, 3]]]
    theirs = DATA["pro"].replace("\t(1\n", "\t(7)|(1\n", 1).replace("\t(1)\n", "\t(1)|(7)\n", 1)
    assert files.read(theirs)["pro"][0] == [[[0, 0], [3, 3]], [[0, 1], [3, 3]]]
    assert files.facts["repeated"] == {"pro": 1}


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
def test_json_files_of_pieces(files, lines):
    text = "\n".join(map(json.dumps, JSON)) + "\n\n" if lines else json.dumps(JSON)
    assert files.read(text, name="given{}.json") == {"pro": [IN_WORDS] * 3, "anti": [IN_WORDS] * 3}


@pytest.mark.parametrize(("start", "inner"), [("", "##"), ("\u2581", ""), ("\u0120", "")])
def test_words_are_made_of_pieces_where_a_file_has_pieces_alone(files, start, inner):
    theirs = []
    for document in JSON:
        _, the, nur, se, *others, _ = document["sentences"][0]
        pieces = ["<s>", *(start + piece for piece in (the, nur)), inner + se.removeprefix("##")]
        pieces += [*(start + piece for piece in others), "</s>"]
        theirs.append({**document, "sentences": [pieces[:3], pieces[3:]]})
        del theirs[-1]["tokens"]
    assert files.read(json.dumps(theirs), name="given{}.json") == {"pro": [IN_WORDS] * 3, "anti": [IN_WORDS] * 3}


def test_json_files_of_words_without_names_are_found_by_their_words(files):
    one = {side: conll_text(f"wb/{side}", [words], GOLD) for side, words in (("pro", PRO), ("anti", ANTI))}
    theirs = [{"sentences": [words[:2], words[2:]], "clusters": [[[0, 1], [3, 3]]]} for words in (ANTI, PRO)]
    found = files.read(json.dumps(theirs), name="given{}.jsonl", **one)
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
def test_json_files_that_do_not_fit_are_one_line_with_file_and_document(files, change, named):
    with pytest.raises(BiasflowError, match=rf"given0\.json: {named}"):
        files.read(json.dumps([JSON[0] | change, *JSON[1:]]), name="given{}.json")
