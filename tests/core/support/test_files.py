"""Files are written whole or not at all."""

import numpy as np
import pytest

from noisewise.core.support.files import save_arrays


def test_arrays_come_back_as_they_were_and_no_others(tmp_path):
    given = {"values": np.arange(3.0), "words": np.array(["a", "bc"]), "count": 4, "name": "kept"}
    save_arrays(tmp_path / "a.npz", given)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as read:
        assert set(read) == set(given)
        for name, values in given.items():
            assert (read[name] == np.asarray(values)).all()


def test_what_only_a_pickle_could_hold_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match="`second` must be an array of numbers or texts; got objects"):
        save_arrays(tmp_path / "a.npz", {"first": np.zeros(2), "second": [object()]})
    assert not list(tmp_path.iterdir())
