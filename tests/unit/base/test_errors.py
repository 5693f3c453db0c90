"""Ends of messages: the name that was meant, or some that may be."""

from biasflow.base.errors import nearest


def test_of_names_as_near_the_one_with_the_same_letters_is_meant():
    for known in (["leace", "rlace"], ["rlace", "leace"]):
        assert nearest("laece", known) == "did you mean 'leace'?"
    assert nearest("rlaec", ["leace", "rlace"]) == "did you mean 'rlace'?"


def test_many_names_are_not_all_listed():
    assert nearest("qqq", ["one", "two"]) == "there are: one, two" and nearest("qqq", []) == ""
    listed = nearest("x-far", [f"name{i}" for i in range(30)] + ["x"])
    assert listed.startswith("there are: x, ") and listed.count(",") == 9 and listed.endswith(" and 21 more")
