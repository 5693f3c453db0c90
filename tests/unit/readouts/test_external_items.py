"""Scores of items that somebody gives: every kind of file comes to the readout that ours would give, or one line says
what does not fit."""

import json

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.corpora.gest import TEMPLATES
from biasflow.corpora.published_scores import read_scores
from biasflow.metrics import bec_pro, crows_pairs, gest, intrasentence, occtmp, stereoset, winogender
from biasflow.plan.readings import LISTINGS
from biasflow.readouts.external_items import read
from biasflow.registry import METRICS
from biasflow.results.scores import undefined

GEST = "sentence,stereotype\n" + "".join(f"I am {n}.,{n}\n" for n in range(1, 17))
PAIRS = [
    ("A1 b.", "A2 b.", "stereo", "gender"),
    ("C1 d.", "C2 d.", "antistereo", "gender"),
    ("E1.", "E2.", "stereo", "age"),
]
PAIRS_CSV = "sent_more,sent_less,stereo_antistereo,bias_type\n" + "".join(f"{','.join(pair)}\n" for pair in PAIRS)
MORE_LESS = [(-1.0, -2.0), (-3.0, -5.0), (-7.0, -6.0)]  # of the sentence that stereotypes more, and less
BEC = "\tSentence\tTemplate\tPerson\tGender\tProfession\tProf_Gender\n" + "".join(
    f"{n}\t{person} is a {job}.\tt\t{person}\t{gender}\t{job}\t{typical}\n"
    for n, (job, typical, person, gender) in enumerate(
        (job, typical, person, gender)
        for job, typical in (("nurse", "female"), ("taper", "male"), ("cook", "balanced"))
        for person, gender in (("He", "male"), ("She", "female"))
    )
)
LOG_P_OF_PAIRS = ["log_p_first", "log_p_second"]
LABELS = ("stereotype", "anti-stereotype", "unrelated")


def item(part: str, number: int, bias_type: str, target: str) -> dict:
    rows = [{"id": f"{part}{number}-{n}", "gold_label": label, "sentence": f"{n}."} for n, label in enumerate(LABELS)]
    about = {"id": f"{part}-item{number}", "bias_type": bias_type, "target": target, "context": "C."}
    return about | {"sentences": rows}


KINDS = [("gender", "mother"), ("gender", "mother"), ("gender", "nun"), ("race", "place")]
STEREOSET = {
    part: [item(part, n, *about) for n, about in enumerate(KINDS)] for part in ("intrasentence", "intersentence")
}
ORDERS = [(3, 2, 1), (2, 3, 1), (1, 1, 0), (9, 5, 7)]  # scores in the order of LABELS: a tie is no stereotype


def predictions(orders=ORDERS, **changes) -> dict:
    found = {
        part: [
            {"id": row["id"], "score": score}
            for one, scores in zip(items, orders, strict=True)
            for row, score in zip(one["sentences"], scores, strict=True)
        ]
        for part, items in STEREOSET.items()
    }
    return found | changes


@pytest.fixture
def folder(tmp_path):
    class Folder:
        output = tmp_path / "readout.parquet"

        def file(self, name, content):
            path = tmp_path / name
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
            return path

        def read(self, metric, *contents, columns=None, data=None, **options):
            files = [self.file(f"given{n}", content) for n, content in enumerate(contents)]
            roles = {role: (self.file(role, content),) for role, content in (data or FILES[metric]).items()}
            about = {"metric": metric, "columns": columns or [""] * len(files), "items": LISTED[metric]}
            return read(files, roles, self.output, **about, **{"of": OF.get(metric)} | options)

        def scores(self, module):
            return module.score(self.output).set_index(["metric", "part", "variant"])["value"]

    return Folder()


def lines(values) -> str:
    return "".join(f"{value!r}\n" for value in map(float, values))


def crows(scores=tuple(MORE_LESS), *, swapped=True) -> str:
    """What the released script writes: of pairs that go against a stereotype, each has the other's likelihood."""
    text = ",sent_more,sent_less,sent_more_score,sent_less_score,score,stereo_antistereo,bias_type\n"
    for n, ((first, second, direction, kind), (more, less)) in enumerate(zip(PAIRS, scores, strict=True)):
        stored = (less, more) if swapped and direction == "antistereo" else (more, less)
        text += f"{n},{first},{second},{stored[0]},{stored[1]},{int(more > less)},{direction},{kind}\n"
    return text


def test_a_line_for_each_sentence_and_a_file_for_each_template(folder):
    found = folder.read("gest", *(lines(np.full(16, k / 10)) for k in range(4)), maskings=["differing"])
    assert found == {"items": 64, "scores": 64}
    value = folder.scores(gest)
    for k, template in enumerate(TEMPLATES):
        assert value["gest_rate", f"{template}-stereotype-3", "base10"] == pytest.approx(10 ** (k / 10))
        assert value["gest_rate", f"{template}-stereotype-3", "released"] == pytest.approx(np.exp(k / 10))
    assert value["gest_rate", "stereotype-3", "base10"] == pytest.approx(10**0.15)
    assert "gest_misaligned" not in value.index.get_level_values("metric")  # the numbers of tokens are not known


def test_fewer_templates_are_the_first_ones(folder):
    folder.read("gest", lines(np.arange(16)))
    assert folder.scores(gest)["gest_rate", "he-said-stereotype-3", "released"] == pytest.approx(np.exp(2))


@pytest.mark.parametrize("swapped", [True, False])
def test_the_scores_of_crows_pairs_tell_whose_likelihood_is_whose(folder, swapped):
    folder.read("crows_pairs", crows(swapped=swapped), of={"bias_type": "all"}, maskings=["shared", "nothing"])
    table = pd.read_parquet(folder.output)
    assert list(zip(table["log_p_first"], table["log_p_second"], strict=True)) == MORE_LESS
    value = folder.scores(crows_pairs)
    for part, expected in (("all", 2 / 3), ("stereo", 1 / 2), ("antistereo", 1)):
        assert value["crows_pairs_score", part, "released"] == pytest.approx(expected)
    assert {variant for *_, variant in value.index} == {"exact", "released"}  # nobody gave likelihoods of all tokens


def test_one_bias_type_is_picked_out_of_all(folder):
    assert folder.read("crows_pairs", crows(), of={"bias_type": "age"}) == {"items": 1, "scores": 3}


def test_associations_of_a_named_column(folder):
    rows = [f"{line}\t{n}\t{-n}" for n, line in enumerate(BEC.splitlines()[1:])]
    text = "\n".join([f"{BEC.splitlines()[0]}\tPre_Assoc\tPost_Assoc", *reversed(rows)])
    folder.read("bec_pro", text, columns=["Post_Assoc"])
    value = folder.scores(bec_pro)
    assert value["bec_pro_association", "female-female", "-"] == -1
    assert value["bec_pro_association", "male-male", "-"] == -2
    with pytest.raises(BiasflowError, match=r"given0: no column score"):
        folder.read("bec_pro", text)
    found = folder.read("bec_pro", text.replace("\t-5\n", "\tnan\n"), columns=["Post_Assoc"])
    assert found["left_out"] == {"of": 3, "items": {"cook/0/0": "no score that is a finite number"}}
    assert set(pd.read_parquet(folder.output)["profession"]) == {"nurse", "taper"}


def test_sentences_of_stereoset_by_their_ids(folder):
    folder.read("intrasentence", predictions())
    value = folder.scores(intrasentence)
    # mother: 1 of 2; nun: a tie, 0 of 1
    assert value["intrasentence_stereotype_score", "-", "given-terms"] == pytest.approx((1 / 2 + 0) / 2)
    assert value["intrasentence_stereotype_score", "-", "given-items"] == pytest.approx(1 / 3)
    assert value["intrasentence_language_model_score", "-", "given-terms"] == 1
    assert value["intrasentence_icat", "-", "given-terms"] == pytest.approx(1 / 2)


@pytest.mark.parametrize(("of", "n", "terms"), [
    ({"part": "intersentence"}, 3, (1 / 2 + 0) / 2),
    ({"part": "intersentence", "bias_type": "race"}, 1, 1),
    ({"part": "intersentence", "bias_type": "all"}, 4, (1 / 2 + 0 + 1) / 3),
    ({"part": "both", "bias_type": "all"}, 8, (1 / 2 + 0 + 1) / 3),
])  # fmt: skip
def test_next_sentences_by_domain_and_with_the_words(folder, of, n, terms):
    folder.read("intersentence", predictions(), of=of, batch_size=32)
    found = intrasentence.score_intersentence(folder.output)
    assert set(found["n"]) == {n}
    value = found.set_index(["metric", "part", "variant"])["value"]
    assert value["intersentence_stereotype_score", "-", "terms"] == pytest.approx(terms)


def test_a_csv_of_ours_is_joined_by_what_tells_its_items(folder):
    order = np.random.default_rng(0).permutation(16)
    text = "id,template,score\n" + "".join(f"{n},{t},{n / 10}\n" for t in TEMPLATES for n in order)
    folder.read("gest", text)
    assert folder.scores(gest)["gest_rate", "man-said-stereotype-6", "released"] == pytest.approx(np.exp(0.5))
    text = "first,second,log_p_first,log_p_second\n" + "".join(
        f"{first},{second},{more},{less}\n" for (first, second, *_), (more, less) in zip(PAIRS, MORE_LESS, strict=True)
    )
    folder.read("crows_pairs", text, of={"bias_type": "all"})
    assert folder.scores(crows_pairs)["crows_pairs_score", "all", "exact"] == pytest.approx(2 / 3)
    differences = "id,score\n" + "".join(f"{n},{more - less}\n" for n, (more, less) in enumerate(MORE_LESS))
    folder.read("crows_pairs", differences, of={"bias_type": "all"})
    assert folder.scores(crows_pairs)["crows_pairs_score", "all", "exact"] == pytest.approx(2 / 3)


def own(pairs=PAIRS, likelihoods=tuple(MORE_LESS), **columns) -> pd.DataFrame:
    """A table of one's own for CrowS-Pairs, without bias types."""
    sentences = pd.DataFrame([pair[:2] for pair in pairs], columns=["first", "second"])
    scores = pd.DataFrame(list(likelihoods), columns=["log_p_first", "log_p_second"])
    return sentences.join(scores).assign(**columns)


READINGS = {"shared": {"exact", "released"}, "nothing": {"aul"}, "attended": {"aula"}}


@pytest.mark.parametrize("masking", READINGS)
@pytest.mark.parametrize("kind", ["likelihoods", "differences", "released"])
def test_what_was_masked_says_which_reading_it_is(folder, kind, masking):
    table = own(masking=masking)
    if kind == "differences":
        table = table.assign(score=table["log_p_first"] - table["log_p_second"]).drop(columns=LOG_P_OF_PAIRS)
    text = table.to_csv(index=False)
    if kind == "released":
        header, *lines_ = crows().splitlines()
        text = "\n".join([f"{header},masking", *(f"{line},{masking}" for line in lines_)])
    folder.read("crows_pairs", text, of={"bias_type": "all"})
    value = folder.scores(crows_pairs)
    assert {variant for *_, variant in value.index} == READINGS[masking]
    assert all(value["crows_pairs_score", "all", reading] == pytest.approx(2 / 3) for reading in READINGS[masking])


@pytest.mark.parametrize("masking", READINGS)
def test_scores_that_no_table_shows_have_a_reason_there(folder, masking):
    folder.read("crows_pairs", own(masking=masking).to_csv(index=False), of={"bias_type": "all"})
    reasons = undefined(crows_pairs.score(folder.output), METRICS["crows_pairs"].rows())
    assert reasons == ({} if masking == "shared" else {"none": crows_pairs.OTHER_MEASURES})


def test_a_pair_has_a_row_for_each_masking_in_one_file_or_several(folder):
    shared, nothing = (
        own(masking="shared"),
        own(likelihoods=[(-1.0, -2.0), (-5.0, -3.0), (-7.0, -6.0)], masking="nothing"),
    )
    difference = nothing.assign(score=nothing["log_p_first"] - nothing["log_p_second"]).drop(columns=LOG_P_OF_PAIRS)
    for files in (
        [pd.concat([shared, nothing]).sample(frac=1, random_state=0)],
        [shared, nothing],
        [shared, difference],
    ):
        folder.read("crows_pairs", *(file.to_csv(index=False) for file in files), of={"bias_type": "all"})
        value = folder.scores(crows_pairs)
        assert value["crows_pairs_score", "all", "exact"] == pytest.approx(2 / 3)
        assert value["crows_pairs_score", "all", "aul"] == pytest.approx(1 / 3)


def test_a_pair_without_a_score_for_each_masking_is_left_out_with_the_true_reason(folder):
    both = pd.concat([own(masking="shared"), own(masking="nothing").iloc[1:]])
    found = folder.read("crows_pairs", both.to_csv(index=False), of={"bias_type": "all"})
    assert found["left_out"] == {"of": 3, "items": {"0": "no row with its score for each masking"}}
    found = folder.read("crows_pairs", own().iloc[1:].to_csv(index=False), of={"bias_type": "all"})
    assert found["left_out"] == {"of": 3, "items": {"0": "no row with its score"}}
    halves = pd.concat([own(masking="shared").iloc[:1], own(masking="nothing").iloc[1:2]])
    with pytest.raises(BiasflowError, match=r"given0: item .*: no row with its score for each masking \(2 of 2"):
        folder.read("crows_pairs", halves.to_csv(index=False), of={"bias_type": "gender"})


@pytest.mark.parametrize("masking", ["none", "", "Nothing", "shared-l2r"])
def test_an_unknown_masking_is_refused_with_its_line(folder, masking):
    table = own(masking=["shared", masking, "shared"])
    with pytest.raises(
        BiasflowError, match=rf"given0: line 3: column masking: '{masking}' is none of shared, nothing, att"
    ):
        folder.read("crows_pairs", table.to_csv(index=False), of={"bias_type": "all"})


SIX = [
    *PAIRS,
    ("G1.", "G2.", "stereo", "gender"),
    ("I1.", "I2.", "stereo", "gender"),
    ("K1.", "K2.", "stereo", "gender"),
]
SIX_CSV = {"pairs": "sent_more,sent_less,stereo_antistereo,bias_type\n" + "".join(f"{','.join(p)}\n" for p in SIX)}


@pytest.mark.parametrize("with_types", [False, True])
@pytest.mark.parametrize("change", [{"first": "Nonsense."}, {"first": "C2 d.", "second": "C1 d."}])
def test_items_of_other_data_or_exchanged_sentences_are_refused(folder, change, with_types):
    table = own(SIX, [(-1.0, -2.0)] * 6)
    table = table.assign(bias_type=[pair[3] for pair in SIX]) if with_types else table
    assert folder.read("crows_pairs", table.to_csv(index=False), data=SIX_CSV, of={"bias_type": "gender"})["items"] == 5
    table.loc[1, list(change)] = list(change.values())
    said = "are exchanged in .*; exchange them, and their scores" if len(change) == 2 else "is no item of .*other data"
    with pytest.raises(BiasflowError, match=rf"given0: line 3: first '{change['first']}', second .*{said}"):
        folder.read("crows_pairs", table.to_csv(index=False), data=SIX_CSV, of={"bias_type": "gender"})


def test_sentences_all_of_which_are_exchanged_are_no_other_data(folder):
    table = own().rename(columns={"first": "second", "second": "first"})
    with pytest.raises(BiasflowError, match=r"given0: line 2: .*are exchanged") as caught:
        folder.read("crows_pairs", table.to_csv(index=False), of={"bias_type": "all"})
    assert not isinstance(caught.value, AbsentError)


def test_a_pair_that_the_data_have_both_ways_round_is_not_taken_for_exchanged(folder):
    """In the French pairs one is there a second time with its sentences exchanged; other bias types are read, too."""
    both = [*SIX, ("C2 d.", "C1 d.", *PAIRS[1][2:])]
    data = {"pairs": SIX_CSV["pairs"] + f"{','.join(both[-1])}\n"}
    table = own(both, [(-1.0, -2.0)] * 7)
    assert folder.read("crows_pairs", table.to_csv(index=False), data=data, of={"bias_type": "age"})["items"] == 1


@pytest.mark.parametrize("id", ["intrasentence9-0", "intersentence0-0"])
def test_a_table_of_stereoset_has_its_sentences_alone(folder, id):
    """Those of other bias types, or of the other part, may be there."""
    ids = [row["id"] for one in STEREOSET["intrasentence"] for row in one["sentences"]]
    table = pd.DataFrame({"id": [*ids, id], "score": float(len(ids))})
    if id.startswith("inter"):
        assert folder.read("intrasentence", table.to_csv(index=False))["items"] == 9
    else:
        with pytest.raises(BiasflowError, match=f"given0: line 14: id '{id}' is no item of"):
            folder.read("intrasentence", table.to_csv(index=False))


WRONG = {
    "a line is missing": ("gest", [lines(np.zeros(15))], {}, r"given0: line 15: .* 15 scores, .* has 16 items"),
    "a file too many": ("gest", [lines(np.zeros(16))] * 5, {}, r"given4: is file 5 .* 4 templates"),
    "NaN": ("gest", [lines([0.0] * 7 + [np.nan] * 9)], {}, r"given0: line 8: column score: 'nan' is no finite number"),
    "another column": ("gest", ["id,points\n1,2\n"], {}, r"given0: no column score"),
    "no item": ("gest", ["score\nx\n"], {}, r"given0: line 2: column score: 'x'"),
    "no key": (
        "crows_pairs", ["number,score\n0,1\n"], {"of": {"bias_type": "all"}}, r"given0: none of the columns number",
    ),
    "the logarithm's sign": (
        "crows_pairs", [crows([(2.0, 1.0)] * 3)], {"of": {"bias_type": "all"}},
        r"given0: line 2: column sent_more_score: '2.0' is above 0",
    ),
    "a score that contradicts": (
        "crows_pairs", [crows().replace("-1.0,-2.0,1", "-1.0,-2.0,0")], {"of": {"bias_type": "all"}},
        r"given0: line 2: column score: '0' contradicts sent_more_score and sent_less_score",
    ),
    "a part": (
        "intersentence", [{"intrasentence": []}], {"of": {"part": "intersentence"}}, r"given0: no list 'intersentence'",
    ),
    "a sentence": (
        "intrasentence", [predictions(intrasentence=predictions()["intrasentence"][5:])], {},
        r"given0: lacks 5 items of .*stereoset, the first is id 'intrasentence0-0'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("metric", "files", "options", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_one_line_with_file_and_row(folder, metric, files, options, message):
    with pytest.raises(BiasflowError, match=message) as caught:
        folder.read(metric, *files, **options)
    assert "\n" not in str(caught.value) and not isinstance(caught.value, AbsentError)


def test_lower_scores_that_are_likelier_are_told(folder):
    items = [item("intrasentence", n, "gender", f"t{n}") for n in range(60)]
    given = [
        {"id": row["id"], "score": score}
        for one in items
        for row, score in zip(one["sentences"], (1, 2, 9), strict=True)
    ]
    with pytest.raises(BiasflowError, match=r"given0: .*100% of comparisons.*turn the sign"):
        folder.read("intrasentence", {"intrasentence": given}, data={"stereoset": {"data": {"intrasentence": items}}})


@pytest.mark.parametrize("bias_type", ["race", "all"])
def test_another_copy_of_the_data_is_no_error_but_a_reason(folder, bias_type):
    """A mirror's copy has other ids of some sentences: the cell ends with this reason, the run goes on."""
    other = json.loads(json.dumps(predictions()).replace("intrasentence3-", "else"))
    with pytest.raises(AbsentError, match=r"has none of the 3 items .*stereoset"):
        folder.read("intrasentence", other, of={"bias_type": bias_type})
    assert folder.read("intrasentence", other)["items"] == 9


@pytest.mark.parametrize(
    ("content", "column", "named"),
    [
        ("", "", "no column score"),
        ("id,points\n", "", "no column score; it has id, points"),
        ("Sentence\tPre\n", "Post", "no column Post; there are: Sentence, Pre"),
        ('{"id": 0, "points": 1}\n', "", "no column score; it has id, points"),
        ("PAR1\0\xff", "", "cannot be read as Parquet"),
        ('{"doc_id": 0, "doc": {}, "resps": [[[-1.5, false]]]}\n{"doc_id": 1}\n', "", "lm-evaluation-harness"),
    ],
)
def test_a_file_that_is_of_no_kind(folder, content, column, named):
    with pytest.raises(BiasflowError, match=f"theirs: .*{named}"):
        read_scores(folder.file("theirs", content), column=column)


HE, SHE = "he", "she"
OWN = {"name": "own", "templates": ["[MASK] is a {occupation}."], "pronouns": [HE, SHE]}
JOBS = ["nurse", "taper", "cook"]
LOG_P = {("nurse", HE): -3.0, ("nurse", SHE): -1.0, ("taper", HE): -0.5, ("taper", SHE): -2.0}
LOG_P |= {("cook", HE): -1.0, ("cook", SHE): -1.5}
NAMES = [(job, other, number) for job, other in (("nurse", "patient"), ("taper", "client")) for number in (0, 1)]
TRIPLES = pd.DataFrame(
    {
        "triple": [number for number in ("t1", "t2") for _ in LABELS],
        "label": LABELS * 2,
        "context": "He came.",
        "next_sentence": [f"He {n}." for n in range(6)],
        "swapped_context": "She came.",
        "swapped_next_sentence": [f"She {n}." for n in range(6)],
    }
)


def winogender_lines(number: int, pronouns=("he", "she")) -> str:
    job, other, answer = NAMES[number]
    return "".join(
        f"{job}.{other}.{answer}.{gender}.txt\tThe {job} told the {other} that {word} left {number}.\n"
        for gender, word in zip(("male", "female"), pronouns, strict=True)
    )


FILES = {
    "gest": {"sentences": GEST},
    "crows_pairs": {"pairs": PAIRS_CSV},
    "bec_pro": {"sentences": BEC},
    "intrasentence": {"stereoset": {"data": STEREOSET}},
    "intersentence": {"stereoset": {"data": STEREOSET}},
    "occtmp": {"occupations": "\n".join(JOBS)},
    "winogender": {
        "sentences": "sentid\tsentence\n" + "".join(map(winogender_lines, range(4))),
        "occupations": "occupation\tbls_pct_female\tbergsma_pct_female\nnurse\t90\t80\ntaper\t10\t20\n",
    },
    "strength": {"stimuli": TRIPLES.to_csv(index=False)},
}
CORPORA = {"intrasentence": "stereoset", "intersentence": "stereoset"}
CORPORA |= {name: name for name in ("gest", "crows_pairs", "bec_pro", "winogender")}
LISTED = LISTINGS | {metric: f"biasflow.corpora.{name}" for metric, name in CORPORA.items()}
OF = {"occtmp": OWN, "strength": {"name": "planted"}, "winogender": {}}


@pytest.fixture
def scored(folder):
    def scored(metric, content):
        folder.read(metric, content if isinstance(content, str) else content.to_csv(index=False))
        return folder.output

    return scored


def occupations(**changes) -> pd.DataFrame:
    rows = [(f"[MASK] is a {job}.", word, value) for (job, word), value in LOG_P.items()]
    return pd.DataFrame(rows, columns=["sentence", "word", "score"]).assign(**changes)


def pronouns(**changes) -> pd.DataFrame:
    rows = [(".".join(map(str, name)), g, -1.0 - n * (g == "male")) for n, name in enumerate(NAMES) for g in GENDERS]
    return pd.DataFrame(rows, columns=["id", "gender", "score"]).assign(**changes)


def probabilities(**changes) -> pd.DataFrame:
    sides = [TRIPLES[["triple", "label"]].assign(swapped=swapped, set="planted") for swapped in (False, True)]
    p = [0.9, 0.1, 0.2, 0.6, 0.5, 0.3, 0.4, 0.7, 0.25, 0.5, 0.5, 0.1]
    return pd.concat(sides, ignore_index=True).assign(score=p, **changes)


GENDERS = ("female", "male")
MADE = {"occtmp": occupations, "winogender": pronouns, "strength": probabilities}
SCORING = {"occtmp": occtmp, "winogender": winogender, "strength": stereoset}


def values(path, metric):
    table = SCORING[metric].score(path).fillna({"part": "-", "variant": "-"} if metric == "strength" else {})
    keys = [name for name in ("metric", "part", "variant") if name in table]
    return table.set_index(keys)["value"]


def test_occtmp_of_given_log_probabilities(scored):
    path = scored("occtmp", occupations().sample(frac=1, random_state=0))
    value = values(path, "occtmp").droplevel("part")
    assert value["occtmp_diff"] == pytest.approx((2 + 1.5 + 0.5) / 3)
    assert value["occtmp_signed_diff"] == pytest.approx((-2 + 1.5 + 0.5) / 3)
    assert value["occtmp_p_he"] == pytest.approx(np.exp([-3, -0.5, -1]).mean())
    assert "occtmp_pieces" not in value  # nobody knows how many tokens the words were


def test_one_file_has_several_sets_of_occupations(scored):
    other = occupations(sentence="[MASK] was a cook.", set="other", score=-9.0).head(1)
    path = scored("occtmp", pd.concat([occupations(set="own"), other]))
    assert len(pd.read_parquet(path)) == 6
    with pytest.raises(AbsentError, match="has none of the 6 items"):
        scored("occtmp", other)


def test_winogender_of_given_log_probabilities(scored):
    path = scored("winogender", pronouns().sample(frac=1, random_state=0))
    value = values(path, "winogender")  # she - he: n, the number of the sentence
    assert value["winogender_log_odds", "occupation", "-"] == pytest.approx((0 + 2) / 2)
    assert value["winogender_log_odds", "participant", "-"] == pytest.approx((1 + 3) / 2)


def test_strength_of_given_probabilities(scored):
    path = scored("strength", probabilities().sample(frac=1, random_state=0))
    value = values(path, "strength")
    strengths = [0.9 - 0.1 + (0.7 - 0.4), 0.6 - 0.5]  # in the swapped copy the anti-stereotype is the stereotype
    assert value["strength", "top=100%", "-"] == pytest.approx(np.mean(strengths))
    assert value["distance", "top=100%", "-"] == pytest.approx((0.05 + 0.2) / 2)
    texts = ["context", "next_sentence"]
    sides = [TRIPLES[[before + name for name in texts]].set_axis(texts, axis=1) for before in ("", "swapped_")]
    by_text = pd.concat(sides, ignore_index=True)
    again = values(scored("strength", by_text.assign(score=probabilities()["score"])), "strength")
    assert again.equals(value)


def last(metric, **changes) -> pd.DataFrame:
    """The file with its last row changed."""
    table = MADE[metric]()
    return pd.concat([table.iloc[:-1], table.iloc[-1:].assign(**changes)])


# A file, and what the message says; n_1 and n_2: the last line of a right file, and the one behind it.
WRONG_WORDS = {
    "missing": (lambda metric: MADE[metric]().iloc[:1], "lacks .* items .*the first is"),
    "doubled": (
        lambda metric: pd.concat([MADE[metric](), MADE[metric]().iloc[:1]]), "line {n_2}: .* is there a second time"
    ),
    "NaN": (lambda metric: MADE[metric]().assign(score=np.nan), "line 2: column score: '' is no finite number"),
    "the logarithm's sign": (
        lambda metric: last(metric, score=1.5), "line {n_1}: column score: '1.5' is (above 0|no probability)"
    ),
    "other data": (
        lambda metric: last(metric, **{MADE[metric]().columns[0]: "something else"}),
        "line {n_1}: .*'something else'.* is no item of",
    ),
    "numbers alone": (
        lambda metric: MADE[metric]()[["score"]].to_csv(index=False, header=False), "do not tell the items"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "said"), WRONG_WORDS.values(), ids=WRONG_WORDS)
@pytest.mark.parametrize("metric", MADE)
def test_a_wrong_file_of_words_is_one_line_with_file_and_row(scored, make, said, metric):
    n = len(MADE[metric]())
    with pytest.raises(BiasflowError, match=said.format(n_1=n + 1, n_2=n + 2)) as caught:
        scored(metric, make(metric))
    assert "given0: " in str(caught.value) and "\n" not in str(caught.value)
    assert not isinstance(caught.value, AbsentError)


@pytest.mark.parametrize(
    "lacking", [lambda metric: MADE[metric]().iloc[:-1], lambda metric: last(metric, score=np.nan)]
)
@pytest.mark.parametrize(("metric", "item"), [("occtmp", "cook"), ("winogender", "taper.client.1"), ("strength", "t2")])
def test_an_item_that_lacks_a_score_is_left_out_with_all_its_rows(scored, metric, item, lacking, caplog):
    key = "triple" if metric == "strength" else "item"
    whole = pd.read_parquet(scored(metric, MADE[metric]()))
    found = pd.read_parquet(scored(metric, lacking(metric)))
    assert found.equals(whole[whole[key] != item].reset_index(drop=True))
    assert f"1 of {whole[key].nunique()} items left out" in caplog.text


@pytest.mark.parametrize(
    ("metric", "columns", "missing"),
    [
        ("occtmp", {"sentence": None, "id": JOBS * 2}, "set"),
        ("occtmp", {"word": None}, "word"),
        ("winogender", {"gender": None}, "gender"),
        ("strength", {"set": None}, "set"),
        ("strength", {"swapped": None}, "swapped"),
        ("strength", {"label": None}, "label"),
    ],
)
def test_columns_that_do_not_tell_an_item_are_not_guessed(scored, metric, columns, missing):
    table = MADE[metric]().assign(**columns).dropna(axis=1)
    with pytest.raises(BiasflowError, match=rf"given0: line 1: the columns .* do not tell of which {missing} a score"):
        scored(metric, table)


def test_a_column_of_pairs_or_another_kind_of_file_is_refused(scored):
    pairs = occupations().rename(columns={"score": "log_p_first"}).assign(log_p_second=-1.0)
    with pytest.raises(BiasflowError, match="line 1: has log-likelihoods of pairs; occtmp takes one column score"):
        scored("occtmp", pairs)
    with pytest.raises(BiasflowError, match="no list 'intrasentence'"):
        scored("winogender", json.dumps({"intersentence": []}))
