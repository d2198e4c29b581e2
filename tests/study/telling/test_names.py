"""Names that look alike: one spelling is one name, and other names that look alike are noted."""

import pytest

import noisewise as nw
from noisewise.core.text import look_alikes

E_ONE, E_TWO = "caf\u00e9", "cafe\u0301"
A_ONE, A_TWO = "\u00c5", "\u212b"


@pytest.mark.parametrize(("one", "two"), [(E_ONE, E_TWO), (A_ONE, A_TWO), ("A", "A\u00a0"), ("A", " A ")])
def test_two_spellings_are_one_option(one, two):
    for first, second in ((one, two), (two, one)):
        study = nw.create_study(options=[first, "other"], eps=0.1)
        assert study.options == [one, "other"]
        assert study.tell(option=second, value=1.0, se=0.1).option == one
        study.tell_many({"option": [second], "value": [2.0], "se": [0.1]})
        study.tell_all([{"option": second, "value": 3.0, "se": 0.1}])
        study.exclude(second, "gone")
        study.include(first)
        with pytest.raises(ValueError, match="in the catalogue already"):
            study.add_options([second])
        assert study.notes == []


def test_two_spellings_are_one_block_key_item_and_study(tmp_path):
    study = nw.create_study(tmp_path / "s.db", name=E_TWO, options=["A", "B"], eps=0.1)
    study = nw.load_study(tmp_path / "s.db", E_TWO)
    one = study.tell(option="A", value=1.0, se=0.1, block=E_ONE, key=E_ONE)
    assert study.tell(option="A", value=1.0, se=0.1, block=E_TWO, key=E_TWO).number == one.number
    assert study.amend(E_TWO, "typo", 2.0).number == one.number
    (job,) = study.ask(1, block=E_TWO)
    assert job.block == E_ONE
    items = nw.create_study(options=["A", "B"], measure=nw.Items([E_TWO, "q"]), eps=0.1, seed=0)
    assert sorted(items.next_items("A")) == [E_ONE, "q"]
    items.tell(option="A", items={name: 1 for name in (E_TWO, "q")})
    with pytest.raises(ValueError, match="name each item once"):
        nw.create_study(options=["A", "B"], measure=nw.Items([E_TWO, E_ONE]), eps=0.1)


@pytest.mark.parametrize(
    ("one", "two"),
    [("A", "a"), ("A7", "\uff21\uff17"), ("a b", "a\u00a0b"), ("a b", "a  b"), ("fi", "\ufb01"),
     ("ab", "a\u200db"), ("Stra\u00dfe", "STRASSE"), ("a", "a\ufe0f")],
)  # fmt: skip
def test_different_names_that_look_alike_are_noted(one, two):
    study = nw.create_study(options=[one, two, "other"], eps=0.1)
    assert len(study.options) == 3
    (note,) = study.notes
    assert note.startswith("options that look alike are different ones:")
    study.tell(option="other", value=1.0, se=0.1, block=one, key=one)
    study.tell(option="other", value=1.0, se=0.1, block=two, key=two)
    assert [words.split()[0] for words in study.notes] == ["options", "blocks", "keys"]


def test_leading_zeros_make_different_names():
    study = nw.create_study(options=["7", "007"], eps=0.1)
    assert study.options == ["7", "007"]
    assert look_alikes(["7", "007", "07"]) == []
    assert look_alikes(["A", "\u0410"]) == [("A", "\u0410")]  # Cyrillic
    assert look_alikes(["5 mg", "5 \u03bcg"]) == []


@pytest.mark.parametrize("unseen", ["\u200b", "\ufeff", "\u00ad", "\u2060"])
def test_characters_that_cannot_be_seen_are_refused(unseen):
    with pytest.raises(ValueError, match="cannot be seen"):
        nw.create_study(options=[f"A{unseen}", "A"], eps=0.1)
