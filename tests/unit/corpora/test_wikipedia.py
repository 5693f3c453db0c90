"""WikiText and Wikipedias: articles, paragraphs, sentences and natural text."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.wikipedia import chinese_sentences, read_chinese_wikipedia, read_paragraphs
from biasflow.corpora.wikitext import contents, natural_sentences, read_articles, running_text, sentences_of

# As upstream writes it: every line between spaces, headings between blank lines.
TEXT = """ \n = First article = \n \n The cat sat . It saw a <unk> there . She left her house . \n
 \n = = Section = = \n \n Every dog has its day ! \n Table row \n
 \n = Goals ; A = \n More text stands here . He won . \n
 \n = Nothing whole = \n \n Only <unk> here . \n
 \n = Second article = \n \n Dr. H. Smith came at 3 @.@ 5 km / h . \n""".replace("\n\n", "\n")
FIRST = [
    "The cat sat.",
    "It saw a <unk> there.",
    "She left her house.",
    "Every dog has its day!",
    "Table row",
    "More text stands here.",
    "He won.",
]
SECOND = ["Dr. H. Smith came at 3.5 km/h."]
WORDS = ["he", "king"], ["she", "her"]


@pytest.fixture
def tokens(tmp_path):
    (tmp_path / "wiki.tokens").write_text(TEXT, encoding="utf-8")
    return tmp_path / "wiki.tokens"


def test_documents_are_articles_with_all_their_sentences(tokens):
    assert sentences_of(read_articles(tokens)) == [FIRST, ["Only <unk> here."], SECOND]


def test_parquet_holds_the_same(tokens, tmp_path):
    rows = ["" if not line.strip() else f"{line}\n" for line in TEXT.removesuffix("\n").split("\n")]
    pa.parquet.write_table(pa.table({"text": rows}), tmp_path / "train")  # its bytes tell, not its name
    assert sentences_of(read_articles(tmp_path / "train")) == sentences_of(read_articles(tokens))
    assert running_text(tmp_path / "train") == TEXT


def test_what_the_text_is_made_of_and_what_its_sentences_leave_out(tokens):
    table = contents(read_articles(tokens), WORDS).set_index("kind")
    assert table.loc["heading", ["pieces", "words"]].tolist() == [5, 4 + 5 + 5 + 4 + 4]
    assert table.loc["sentence with <unk>", ["pieces", "words"]].tolist() == [2, 6 + 4]
    assert table.loc["no full stop", ["pieces", "words"]].tolist() == [1, 2]
    assert table.loc["one or two words", ["pieces", "words", "masculine", "feminine"]].tolist() == [1, 3, 1, 0]
    assert table.loc["whole sentence", ["pieces", "masculine", "feminine"]].tolist() == [5, 0, 2]
    assert table.loc["all", "words"] == len(TEXT.split()) == table["words"].iloc[:-1].sum()
    kept = table[["in_sentences", "in_whole_sentences"]]
    assert kept.loc["heading"].tolist() == ["no", "no"] and kept.loc["whole sentence"].tolist() == ["yes", "yes"]
    assert kept.loc["sentence with <unk>"].tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("tokenised", "natural"),
    [
        ("A well @-@ known 10 @,@ 000 and 3 @.@ 5 .", ["A well-known 10,000 and 3.5."]),
        ('He said : " Go ! " Then he went .', ['He said: "Go!"', "Then he went."]),
        ('" It ended . " She left .', ['"It ended."', "She left."]),
        ('He said , " I am . She is not . " They went .', ['He said, "I am.', 'She is not."', "They went."]),
        ("They don 't know O 'Brien 's dog .", ["They don't know O'Brien's dog."]),
        ("The players ' union spoke .", ["The players' union spoke."]),
        ("She sang ' Hello ' twice .", ["She sang 'Hello' twice."]),
        ("It rose ( by 5 % ) to £ 3 [ sic ] .", ["It rose (by 5%) to £3 [sic]."]),
        ("From 1977 – 83 a town – and a city – grew .", ["From 1977–83 a town – and a city – grew."]),
        ("H. americanus grows in the U.S. and St. John . Mr. A saw it .",
         ["H. americanus grows in the U.S. and St. John.", "Mr. A saw it."]),
        ("They bought Yahoo ! stock and more .", ["They bought Yahoo! stock and more."]),
        ("He won . ( She lost . ) They met .", ["He won.", "(She lost.)", "They met."]),
        ("What ? No one knew ... until then .", ["What?", "No one knew... until then."]),
        ("He left . <unk> came .", ["He left.", "<unk> came."]),
        ("", []),
    ],
)  # fmt: skip
def test_natural_text(tokenised, natural):
    assert [text for text, _ in natural_sentences(tokenised)] == natural


def test_characters_that_only_python_takes_for_line_ends_split_nothing(tmp_path):
    (tmp_path / "t").write_text(" = A title = \n \n One\u2028two three four . \n", encoding="utf-8")
    assert len(sentences_of(read_articles(tmp_path / "t"))[0]) == 1


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"Some other text .\n", "line 1"),
        (b"\xff\xfe", "UTF-8"),
        (b"PAR1 but not really", "read as Parquet"),
        (b" = Title = \n", "no sentence"),
        (b"\n = = Section = = \n\n", "line 2"),
        (b"", "no sentence"),
    ],
)
def test_a_file_that_is_not_wikitext(tmp_path, content, place):
    (tmp_path / "wiki").write_bytes(content)
    with pytest.raises(BiasflowError, match=f"wiki.*{place}"):
        read_articles(tmp_path / "wiki")


BLOCK = '<doc id="{0}" url="https://zh.wikipedia.org/wiki?curid={0}" title="{1}">\n{1}\n\n{2}\n\n</doc>\n'
ARTICLES = {
    "7": ("医生", "她是医生。他不是！\n历史.\n没有句号"),
    "8": ("空", ""),
    "9": ("律师", "「他来了。」她说。真的？"),
}
FIRST_WIKIPEDIA, LAST = ["她是医生。", "他不是！", "历史.", "没有句号"], ["「他来了。」", "她说。", "真的？"]


@pytest.fixture
def blocks(tmp_path):
    text = "".join(BLOCK.format(number, *article) for number, article in ARTICLES.items())
    (tmp_path / "wiki_00").write_text(text, encoding="utf-8")
    return tmp_path / "wiki_00"


def test_articles_have_all_sentences_but_no_title(blocks):
    assert read_chinese_wikipedia([blocks]) == [FIRST_WIKIPEDIA, LAST]


def test_parquet_holds_the_same_wikipedia(blocks, tmp_path):
    rows = {"id": list(ARTICLES), "title": [a for a, _ in ARTICLES.values()], "text": [b for _, b in ARTICLES.values()]}
    pa.parquet.write_table(pa.table(rows), tmp_path / "hub")  # its bytes tell, not its name
    assert read_chinese_wikipedia([tmp_path / "hub"]) == read_chinese_wikipedia([blocks])
    assert read_chinese_wikipedia([tmp_path / "hub", blocks]) == [FIRST_WIKIPEDIA, LAST]  # no article twice


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("甲。乙！丙？", ["甲。", "乙！", "丙？"]),
        ("他问：「谁？」她答。", ["他问：「谁？」", "她答。"]),
        ("真的！！是。", ["真的！！", "是。"]),
        ("2.5公里。 A. 乙", ["2.5公里。", "A. 乙"]),
        (" \n\n", []),
    ],
)
def test_sentences(text, sentences):
    assert chinese_sentences(text) == sentences


ENGLISH = [
    'Donna Smith was a judge.\n\nCareer \n\nHer career (in law) began early.  \nFamily\n- a list\nShe said: "No!"',
    "",
    None,
    "Café (born 1950)\nIs she a judge?\n\nReferences\n He was (they say.)",
]


def english(path, rows=ENGLISH, **options):
    pa.parquet.write_table(pa.table({"id": [str(i) for i in range(len(rows))], "text": rows}), path, **options)
    return path


def test_paragraphs_do_not_depend_on_row_groups(tmp_path):
    articles = [f"The article {number}.\nCareer\nIt ends." for number in range(2500)]
    one = list(read_paragraphs(english(tmp_path / "one", articles)))
    assert one == list(read_paragraphs(english(tmp_path / "many", articles, row_group_size=7)))
    assert one == [line for number in range(2500) for line in (f"The article {number}.", "It ends.")]


def test_paragraphs_of_a_file_that_is_none_are_named(tmp_path):
    (tmp_path / "page").write_text("<html>a login page.</html>")
    with pytest.raises(BiasflowError, match=r"page: .*Parquet"):
        next(read_paragraphs(tmp_path / "page"))
    pa.parquet.write_table(pa.table({"id": ["1"]}), tmp_path / "other")
    with pytest.raises(BiasflowError, match=r"other: .*column.*text"):
        next(read_paragraphs(tmp_path / "other"))
    whole = english(tmp_path / "cut", ["One."] * 5000).read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BiasflowError, match=r"cut: .*Parquet"):
        next(read_paragraphs(tmp_path / "cut"))
