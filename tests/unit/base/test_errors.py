"""Ends of messages: the name that was meant, or some that may be."""

import pytest

from biasflow.base.errors import BiasflowError, headline, nearest, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07 \x1b[2J", r"\x1b]0;title\x07 \x1b[2J"),  # sets a title, clears the screen
        ("one\nbiasflow: all is well\r", r"one\nbiasflow: all is well\r"),
        ("\u202egpj.exe \u2028", r"\u202egpj.exe \u2028"),  # read from the right; ends a line
        ("\udc80", r"\udc80"),  # of a path that is no UTF-8, and could not be printed
        ("Ärztin 医生 C:\\new", "Ärztin 医生 C:\\new"),
    ],
)
def test_what_others_wrote_moves_no_cursor_and_ends_no_line(text, shown):
    assert printable(text) == headline(BiasflowError(text)) == shown
    assert headline(ValueError(f"a\n {text}")).startswith("ValueError: a ")
    assert printable(shown) == shown


def test_of_names_as_near_the_one_with_the_same_letters_is_meant():
    for known in (["leace", "rlace"], ["rlace", "leace"]):
        assert nearest("laece", known) == "did you mean 'leace'?"
    assert nearest("rlaec", ["leace", "rlace"]) == "did you mean 'rlace'?"


def test_many_names_are_not_all_listed():
    assert nearest("qqq", ["one", "two"]) == "there are: one, two" and nearest("qqq", []) == ""
    listed = nearest("x-far", [f"name{i}" for i in range(30)] + ["x"])
    assert listed.startswith("there are: x, ") and listed.count(",") == 9 and listed.endswith(" and 21 more")
