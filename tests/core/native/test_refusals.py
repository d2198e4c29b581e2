"""What cannot be right is refused by the verbs in C, in one sentence; nothing is read beyond its end."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from noisewise.core import model as core_model
from noisewise.core import selection
from noisewise.core.native.verbs import extension

pytestmark = pytest.mark.skipif(extension is None, reason="the extension is not built")


def some_model():
    return core_model.new_dense(np.random.default_rng(0).standard_normal((3, 8)), 1.0)


@pytest.mark.parametrize("field", core_model.DenseModel._fields[1:])
def test_an_array_that_does_not_belong_to_the_model_is_refused(field):
    model = some_model()
    array = getattr(model, field)
    shorter = np.ascontiguousarray(array[..., :-1])
    with pytest.raises(
        ValueError, match=rf"^`{field}` must have \d+ entries to belong to the model; got \d+\.$"
    ):
        core_model.fold(model._replace(**{field: shorter}), 0, 1.0, 1.0)


@pytest.mark.parametrize("action", [-1, 8, 10**30])
def test_an_action_that_does_not_exist_is_refused(action):
    model = some_model()
    before = model.means.copy()
    with pytest.raises(IndexError):
        core_model.fold(model, action, 1.0, 1.0)
    with pytest.raises(IndexError):
        core_model.contrast_widths(model, action)
    with pytest.raises(IndexError):
        core_model.squared_covariances(model, np.array([0, min(action, 99)]), 1, np.ones(2))
    assert_array_equal(model.means, before)


def test_a_mask_of_another_length_is_refused():
    model = some_model()
    for function, arguments in (
        (selection.drop_ruled_out, (model, np.ones(7, np.bool_), 1.0)),
        (selection.most_optimistic, (model, np.ones(9, np.bool_), 1.0)),
        (selection.first_largest, (model.means, np.ones(7, np.bool_))),
        (selection.regret_bound, (model, np.ones(9, np.bool_), 0, 1.0)),
    ):
        with pytest.raises(ValueError, match="must have 8 entries"):
            function(*arguments)


def test_what_is_no_number_or_no_row_is_refused():
    model = some_model()
    with pytest.raises(TypeError):
        core_model.fold(model, 0, "one", 1.0)
    with pytest.raises(TypeError):
        core_model.fold(model, 0.5, 1.0, 1.0)
    with pytest.raises(TypeError):
        core_model.fold(model, 0, 1.0)
    with pytest.raises(TypeError):
        selection.first_largest(model.means)


def test_a_model_that_may_not_be_written_is_left_alone():
    model = some_model()
    means = model.means.copy()
    means.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        core_model.fold(model._replace(means=means), 0, 1.0, 1.0)


def test_masks_that_hold_other_bytes_than_0_and_1_are_read_safely():
    model = some_model()
    odd = np.full(8, 2, np.uint8).view(np.bool_)
    assert selection.first_largest(model.squared_widths, odd) == selection.first_largest(
        model.squared_widths, np.ones(8, np.bool_)
    )


def test_without_the_extension_everything_works_and_it_is_said():
    lines = (
        "import noisewise as nw, numpy as np",
        "from noisewise.core.native.verbs import engine_words, extension",
        "policy = nw.vaee(np.eye(3))",
        "for _ in range(5): policy.tell(policy.ask(), 1.0, 0.5)",
        "assert extension is None",
        "print(policy.recommend(), engine_words())",
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(lines)],
        env=os.environ | {"NOISEWISE_VERBS": "numpy"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "NumPy verbs" in done.stdout
