"""The Chinese Wikipedia: articles and sentences. The English one: paragraphs."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.wikipedia import chinese_sentences, read_chinese_wikipedia, read_paragraphs

BLOCK = '<doc id="{0}" url="https://zh.wikipedia.org/wiki?curid={0}" title="{1}">\n{1}\n\n{2}\n\n</doc>\n'
ARTICLES = {
    "7": ("医生", "她是医生。他不是！\n历史.\n没有句号"),
    "8": ("空", ""),
    "9": ("律师", "「他来了。」她说。真的？"),
}
FIRST, LAST = ["她是医生。", "他不是！", "历史.", "没有句号"], ["「他来了。」", "她说。", "真的？"]


@pytest.fixture
def blocks(tmp_path):
    text = "".join(BLOCK.format(number, *article) for number, article in ARTICLES.items())
    (tmp_path / "wiki_00").write_text(text, encoding="utf-8")
    return tmp_path / "wiki_00"


def test_articles_have_all_sentences_but_no_title(blocks):
    assert read_chinese_wikipedia([blocks]) == [FIRST, LAST]


def test_parquet_holds_the_same(blocks, tmp_path):
    rows = {"id": list(ARTICLES), "title": [a for a, _ in ARTICLES.values()], "text": [b for _, b in ARTICLES.values()]}
    pa.parquet.write_table(pa.table(rows), tmp_path / "hub")  # its bytes tell, not its name
    assert read_chinese_wikipedia([tmp_path / "hub"]) == read_chinese_wikipedia([blocks])
    assert read_chinese_wikipedia([tmp_path / "hub", blocks]) == [FIRST, LAST]  # no article twice


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
