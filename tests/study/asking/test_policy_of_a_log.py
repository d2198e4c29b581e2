"""Policies come from logs as well: one that cannot ask is refused in one sentence, and can be replaced."""

import pytest

import noisewise as nw
from noisewise.study.log.events import first_row


def opened(policy):
    """A study whose log has this policy."""
    made = nw.create_study(options=["A", "B"], eps=0.5, policy=policy.get("name", "race"), seed=1)
    plain = made.specification.to_plain()
    changed = {**plain["policy"]["options"], **policy.get("options", {})}
    options = {name: value for name, value in changed.items() if value != "missing"}
    storage = nw.MemoryStorage()
    storage.create("study", [first_row(plain | {"policy": {**plain["policy"], "options": options}})])
    study = nw.load_study(storage)
    for name in ("A", "B"):
        study.tell_many([{"option": name, "value": 1.0, "se": 0.5}] * 2)
    return study


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"options": {"sharpness": "missing"}}, "`sharpness` must be a number; got None"),
        ({"options": {"sharpness": -1.0}}, "`sharpness` must be a finite number above 0; got -1"),
        ({"options": {"sharpness": "50"}}, "`sharpness` must be a number; got '50'"),
        ({"name": "vage", "options": {"share": "missing"}}, "vage lacks the option 'share'"),
        ({"name": "vage", "options": {"zzz": 1}}, "zzz"),
        ({"name": "vage", "options": {"delta": -1}}, "`delta` must lie strictly between 0 and 1"),
        ({"name": "vage", "options": {"ridge": "x"}}, "`ridge` must be"),
    ],
    ids=str,
)
def test_options_that_no_study_is_made_with_are_refused(policy, said):
    study = opened(policy)
    assert study.certificate().option is not None
    for question in (study.ask, lambda: study.plan(0.5, paths=2)):
        with pytest.raises(
            ValueError, match=r"^the policy of this study is not valid: .*`set_policy`"
        ) as refusal:
            question()
        assert said in str(refusal.value)
    study.set_policy("uniform")
    assert study.ask()


def test_a_policy_that_is_not_installed_is_named():
    study = nw.create_study(options=["A", "B"], eps=0.5)
    plain = study.specification.to_plain()
    storage = nw.MemoryStorage()
    storage.create("study", [first_row(plain | {"policy": {"name": "mine", "version": "1", "options": {}}})])
    with pytest.raises(ValueError, match=r"policy of this study is not valid: unknown rule 'mine'"):
        nw.load_study(storage).ask()
