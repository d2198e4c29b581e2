import itertools

import numpy as np
import pytest

from noisewise.charts.draw import COLOURS, look, make_span, spread

# Full protanopia, deuteranopia and tritanopia on linear RGB, after Machado, Oliveira and Fernandes (2009).
SIGHT = {
    "full": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])


def lab(colour, sight="full"):
    """Lightness (0 to 100) and the two colour axes of CIELAB."""
    encoded = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(SIGHT[sight]) @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_the_colours_differ_in_grey_and_stand_out_from_white():
    lightness = sorted(lab(colour)[0] for colour in COLOURS)
    assert min(np.diff(lightness)) > 5
    assert lightness[-1] < 75


@pytest.mark.parametrize("sight", SIGHT)
def test_the_colours_differ_for_colour_blind_readers(sight):
    for one, other in itertools.combinations(COLOURS, 2):
        assert np.linalg.norm(lab(one, sight) - lab(other, sight)) > 15


def test_the_first_eight_series_differ_in_colour_shape_and_dash():
    for part in zip(*(look(number) for number in range(8)), strict=True):
        assert len(set(part)) == 8


def test_no_two_of_512_series_look_the_same():
    assert len({look(number) for number in range(512)}) == 512


def test_labels_are_moved_apart_and_stay_in_order():
    wanted = [100.0, 0.0, 99.0, 98.0, 50.0]
    places = spread(wanted, 10.0, 0.0, 100.0)
    assert np.diff(sorted(places)).min() > 10.0 - 1e-9
    assert np.argsort(places).tolist() == np.argsort(wanted).tolist()
    assert min(places) >= 0.0
    assert max(places) <= 100.0


@pytest.mark.parametrize("log", [True, False])
def test_a_place_on_an_axis_leads_back_to_its_value(log):
    span = make_span([0.01, 3.0, 700.0], log=log, pixels=640, air=0.02)
    assert span.value_at(span.place(4.2)) == pytest.approx(4.2)
