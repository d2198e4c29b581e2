"""Action sets: any table of numbers, told about its oddities, refused with one sentence."""

import numpy as np
import pytest

import noisewise as nw


def test_an_array_is_used_without_a_copy_and_cannot_be_written():
    vectors = np.ones((3, 2))
    actions = nw.ActionSet(vectors)
    assert np.shares_memory(actions.vectors, vectors)
    with pytest.raises(ValueError, match="read-only"):
        actions.vectors[0, 0] = 2.0
    assert vectors.flags.writeable


def test_collinear_features_are_told():
    vectors = np.random.default_rng(0).standard_normal((20, 3))
    actions = nw.ActionSet(np.column_stack([vectors, vectors @ [1.0, 2.0, 3.0]]))
    assert actions.rank == 3
    assert "span only 3 dimensions" in actions.notes[0]
    assert "rank 3" in repr(actions)
    policy = nw.vaee(actions)
    for _ in range(60):
        policy.tell(policy.ask(), 0.5, 0.1)
    assert policy.estimate().regret_bound < 0.2  # before any measurement it is 17.7


def test_duplicates_and_zero_vectors_are_told_and_work():
    actions = nw.ActionSet([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [-0.0, 0.0], [0.0, 1.0]])
    assert actions.n_distinct == 3
    assert any("2 actions repeat" in note for note in actions.notes)
    assert any("2 actions have the zero vector" in note for note in actions.notes)
    policy = nw.vaee(actions)
    for _ in range(20):
        action = policy.ask()
        assert action in (0, 4)
        policy.tell(action, 1.0, 0.5)
    assert policy.recommend() in (0, 4)


def test_a_memory_map_of_float32_works(tmp_path):
    vectors = np.random.default_rng(1).standard_normal((50, 4)).astype(np.float32)
    stored = np.memmap(tmp_path / "vectors.bin", dtype=np.float32, mode="w+", shape=vectors.shape)
    stored[:] = vectors
    mapped, held = nw.vaee(nw.ActionSet(stored)), nw.vaee(vectors.astype(float))
    assert mapped.actions.vectors.dtype == np.float32
    for t in range(30):
        assert mapped.ask() == held.ask()
        for policy in (mapped, held):
            policy.tell(policy.ask(), 0.1 * t, 0.3)


def test_labels_stand_for_rows():
    actions = nw.ActionSet(np.eye(2), labels=["steel", "brass"])
    assert actions.index("brass") == 1
    policy = nw.vaee(actions)
    policy.tell("steel", 1.0, 0.1)
    assert "steel" in repr(policy.estimate())
    with pytest.raises(ValueError, match="Did you mean 'steel'"):
        policy.tell("stell", 1.0, 0.1)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, np.nan]], "finite numbers; got .*nan.* in row 0, column 1"),
        ([[1.0], [np.inf]], "in row 1, column 0"),
        ([], "two dimensions"),
        (np.zeros((0, 3)), "at least one action"),
        (np.zeros((3, 0)), "at least one action"),
        ([1.0, 2.0], "two dimensions"),
        ([[1.0], [1.0, 2.0]], "table of numbers"),
        ([["a", "b"]], "table of numbers"),
        (np.full((2, 2), 1e200), "rescale"),
    ],
)
def test_bad_vectors_are_refused_in_one_sentence(vectors, message):
    with pytest.raises(ValueError, match=f"^`vectors` must .*{message}"):
        nw.ActionSet(vectors)


def test_bad_labels_are_refused():
    with pytest.raises(ValueError, match=r"each of the 2 actions once; got 3"):
        nw.ActionSet(np.eye(2), labels=["a", "b", "c"])
    with pytest.raises(ValueError, match="got 'a' twice"):
        nw.ActionSet(np.eye(2), labels=["a", "a"])
