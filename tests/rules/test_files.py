"""Files that are not policies are refused in one sentence."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import noisewise as nw

FUZZ = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    policy = nw.vage(nw.ActionSet(np.eye(3), labels=["a", "b", "c"]))
    for k in range(6):
        policy.tell(k % 3, 0.1 * k, 0.5)
    path = tmp_path_factory.mktemp("policies") / "whole.npz"
    policy.save(path)
    return path


def refused(path, match="`"):
    """Loading raises a `ValueError` of one sentence."""
    with pytest.raises(ValueError, match=match) as caught:
        nw.load_policy(path)
    words = str(caught.value)
    assert words.startswith("`")
    assert "\n" not in words
    assert len(words) < 600
    return words


def loaded_or_refused(path):
    """The policy; None if it was refused in words."""
    try:
        return nw.load_policy(path)
    except ValueError as error:
        words = str(error)
    assert words.startswith("`")
    return None


def arrays_of(path):
    with np.load(path) as file:
        return dict(file)


def rewritten(whole, path, header=None, **arrays):
    """The same file with other arrays, or other entries in its header."""
    found = arrays_of(whole)
    said = json.loads(str(found["header"])) | (header or {})
    np.savez(path, **found | {"header": np.array(json.dumps(said))} | arrays)
    return path


@FUZZ
@given(share=st.floats(0.0, 1.0, exclude_max=True))
def test_a_file_cut_anywhere_is_refused(share, whole, tmp_path):
    content = whole.read_bytes()
    (tmp_path / "cut.npz").write_bytes(content[: int(share * len(content))])
    refused(tmp_path / "cut.npz", "written by policy.save")


@FUZZ
@given(place=st.floats(0.0, 1.0, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_changes_nothing(place, bit, whole, tmp_path):
    content = bytearray(whole.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    (tmp_path / "flipped.npz").write_bytes(content)
    policy = loaded_or_refused(tmp_path / "flipped.npz")
    if policy is None:
        return
    # Dates, permissions and padding of the archive say nothing about the policy.
    same = nw.load_policy(whole)
    assert policy.options == same.options
    assert np.array_equal(policy.estimate().means, same.estimate().means)
    assert np.array_equal(policy.estimate().widths, same.estimate().widths)


ODD = [None, True, -1, 0, 10**12, 10**400, 1e308, "text", [], {}, [[[1]]], {"a": {"b": 1}}]


@pytest.mark.parametrize("entry", ["rule", "options", "horizon", "actions", "set", "format"])
def test_a_header_with_odd_entries_is_refused_or_harmless(entry, whole, tmp_path):
    for value in ODD:
        path = rewritten(whole, tmp_path / "odd.npz", {entry: value})
        if entry == "horizon" and (value is None or isinstance(value, int)) and not isinstance(value, bool):
            assert nw.load_policy(path).n_told == 6  # vage has no use for it
        elif entry != "set" or not isinstance(value, dict):
            refused(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"sigmas": np.array([0.5, -1.0])},
        {"sigmas": np.ones((6, 1))},
        {"sigmas": np.array(["a"] * 6)},
        {"told": np.zeros(5, np.int64)},
        {"told": np.full(6, 77)},
        {"vectors": np.ones((10**6, 3), np.float32)[:3] * np.nan},
        {"rewards": np.zeros(5)},
    ],
    ids=lambda arrays: f"{next(iter(arrays))}-{next(iter(arrays.values())).dtype}",
)
def test_wrong_arrays_are_refused(arrays, whole, tmp_path):
    refused(rewritten(whole, tmp_path / "wrong.npz", **arrays))


def with_entry(whole, path, name, content):
    """The same archive with the raw bytes of one entry exchanged."""
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, content if entry.filename == name else old.read(entry))
    return path


def test_a_pickle_inside_is_not_run(tmp_path, whole):
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    path = with_entry(whole, tmp_path / "pickle.npz", "sigmas.npy", stream.getvalue())
    refused(path, "written by policy.save")


def test_a_rule_that_is_not_known_is_named(whole, tmp_path):
    path = rewritten(whole, tmp_path / "foreign.npz", {"rule": "sombodys_rule"})
    assert "'sombodys_rule'" in refused(path, "whose rule is known here")
