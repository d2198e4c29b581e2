"""Events are found by their kind and by a text, in every store alike."""

import noisewise as nw
from noisewise.study.log.events import numbers_of


def test_events_are_found_by_kind_and_text(open_storage):
    store = open_storage()
    study = nw.create_study(store, name="found", options=["A", "Ä_b", "100% c"], eps=0.1)
    other = nw.create_study(store, name="another", options=["A", "B"], eps=0.1)
    other.tell(option="A", value=1.0, se=0.1, note="needle")
    study.tell(option="A", value=1.0, se=0.1, note='a Needle, with "quotes" and a \\ stroke')
    study.tell(option="Ä_b", value=1.0, se=0.1)
    study.tell(option="100% c", value=1.0, se=0.1)
    study.void("m-2", "the needle!")
    find = lambda kind=None, text="": numbers_of(store, "found", kind, text)  # noqa: E731
    assert find() == [1, 2, 3, 4]
    assert find("tell") == [1, 2, 3]
    assert find("amend") == []
    assert find(text="NEEDLE") == [1, 4]
    assert find("void", "needle") == [4]
    assert find(text='with "quotes"') == find(text="\\ stroke") == [1]
    assert find(text="Ä_b") == [2]
    assert find(text="0% c") == [3]
    assert find(text="A%") == find(text="Ä.b") == []
    assert find(text="needle!") == [4]
