"""The current tree answers as recorded, apart from the changes that changes.toml names."""

import pytest
from tests.golden.comparison import not_allowed, read_changes
from tests.golden.kinds import all_kinds, read_records, replay


@pytest.mark.parametrize("kind", all_kinds())
def test_answers_are_those_recorded(kind):
    changes = [change for change in read_changes() if change.kind == kind]
    differing = []
    for one in replay(kind, read_records(kind)):
        if left := not_allowed(kind, one, changes):
            differing.append(
                f"{one.name} ({one.outcome}): {left[0].path}: {left[0].old!r} -> {left[0].new!r}"
            )
    assert not differing, "\n".join([f"{len(differing)} cases differ:", *differing[:10]])
    unused = [str(change) for change in changes if not change.used]
    assert not unused, f"changes.toml: nothing differs any more for {'; '.join(unused)}"


def test_every_intended_change_is_about_a_kind():
    assert {change.kind for change in read_changes()} <= set(all_kinds())
