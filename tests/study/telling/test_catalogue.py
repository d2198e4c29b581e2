"""Options from files, frames and lists: merged, encoded, whitened, refused by name."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import noisewise as nw
from noisewise.study.telling.catalogue import OptionCatalogue, whiten
from noisewise.study.telling.options import read_catalogue

ALLOYS = """\
alloy,Cr,Ni,kind,cost
A-1,0.1,0.3,cast,2
A-2,0.1,0.6,rolled,2
A-3,0.35,0.1,cast,5
A-4,0.35,0.45,forged,1
A-3,0.35,0.1,cast,5
"""


def read(options, **changes):
    return read_catalogue(
        options, **{"id": None, "features": None, "cost": None, "needs_features": True, **changes}
    )


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "alloys.csv"
    path.write_text(ALLOYS)
    return path


def test_a_file_gives_names_features_categories_and_costs(csv):
    found = read(csv, id="alloy")
    assert found.ids == ["A-1", "A-2", "A-3", "A-4"]
    assert found.columns == ["Cr", "Ni", "kind=forged", "kind=rolled"]
    assert found.costs == [2.0, 2.0, 5.0, 1.0]
    assert_allclose(found.values[3], [0.35, 0.45, 1.0, 0.0])
    assert "1 duplicate row was merged: A-3." in found.notes
    assert "kind is a category of 3 levels; 'cast' is the reference level." in found.notes


@pytest.mark.parametrize("ending", ["tsv", "parquet"])
def test_other_kinds_of_files_give_the_same(csv, tmp_path, ending):
    table, path = pl.read_csv(csv), tmp_path / f"alloys.{ending}"
    if ending == "tsv":
        table.write_csv(path, separator="\t")
    else:
        table.write_parquet(path)
    assert read(str(path), id="alloy").fingerprint == read(csv, id="alloy").fingerprint


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "mapping"])
def test_frames_of_other_libraries_give_the_same(csv, library):
    table = pl.read_csv(csv)
    if library == "mapping":
        frame = table.to_dict(as_series=False)
    else:
        frame = table.to_pandas() if library == "pandas" else table.to_arrow()
    assert read(frame, id="alloy").fingerprint == read(csv, id="alloy").fingerprint


def test_a_plain_list_is_enough_for_independent_options():
    study = nw.create_study(options=["A", "B", 7], eps=0.1)
    assert study.options == ["A", "B", "7"]


def test_it_survives_a_file_and_notices_changes(csv):
    plain = read(csv, id="alloy").to_plain()
    assert OptionCatalogue.from_plain(plain).fingerprint == plain["sha256"]
    plain["values"][0][0] = 0.2
    with pytest.raises(ValueError, match="was changed after the study was made"):
        OptionCatalogue.from_plain(plain)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Mo": [1.0, None]}, r"option 'b' has no value for Mo\. Fill it, drop the option, or use `model="),
        ({"Mo": [1.0, np.nan]}, r"option 'b' has no value for Mo"),
        ({"Mo": [1.0, np.inf]}, r"option 'b' has inf for Mo"),
        ({"id": ["a", None]}, r"every option must have a name in column 'id'; row 2 has none"),
        ({"id": ["a", " "]}, r"row 2 has none"),
        ({"id": ["a", "a"]}, r"option 'a' is in 2 rows that differ: Cr is 1 and 2"),
        ({"cost": [1.0, 0.0]}, r"option 'b' must have a cost above 0; got 0\.0"),
    ],
)
def test_bad_rows_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        read({"id": ["a", "b"], "Cr": [1, 2], **change})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "aloy"}, "`id` must name columns of `options`.*got 'aloy'. Did you mean 'alloy'"),
        ({}, "`id` must name the column that holds the options' names"),
        ({"id": "alloy", "features": ["Mo"]}, "`features` must name columns"),
        ({"id": "alloy", "features": []}, "`features` must name at least one column"),
        ({"id": "alloy", "features": ["alloy"]}, "must not contain the column of names"),
        ({"id": "alloy", "cost": "price"}, "`cost` must name columns"),
    ],
)
def test_wrong_columns_are_refused(csv, arguments, message):
    with pytest.raises(ValueError, match=message):
        read(csv, **arguments)


def test_wrong_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a file that exists"):
        read(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="must be a file that ends in one of"):
        read("options.xls")
    with pytest.raises(TypeError, match=r"must be a file .* got float"):
        read(3.0)


def test_whitened_features_make_theta_the_spread_of_the_options():
    """``‖θ‖²`` is the variance of the option values over the catalogue, whatever the features' units."""
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(30, 3)) @ np.diag([1.0, 1e4, 1e-3]) + [5.0, -1e5, 0.0]
    table = {"id": list(range(30)), "a": raw[:, 0], "b": raw[:, 1], "c": raw[:, 2], "d": raw[:, 0] + 2.0}
    catalogue = read(table)
    whitening = whiten(catalogue)
    features = whitening.apply(catalogue.values)
    assert_allclose(features.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(features.T @ features / 30, np.eye(3), atol=1e-12)
    theta = rng.normal(size=3)
    assert (features @ theta).var() == pytest.approx(theta @ theta)
    assert whitening.notes == (
        "feature d is a combination of a (collinear): 4 columns, rank 3. "
        "Continuing in the 3-dimensional space; the certificate is unaffected.",
    )


def test_constant_and_repeated_features_are_told():
    catalogue = read({"id": ["a", "b", "c"], "x": [1.0, 2.0, 2.0], "y": [3.0, 3.0, 3.0]})
    notes = whiten(catalogue).notes
    assert notes[0].startswith("y: the same for all options")
    assert notes[1].startswith("1 options repeat the features of another (such as b, c)")
    with pytest.raises(ValueError, match="`features` must differ between options"):
        whiten(read({"id": ["a", "b"], "x": [1.0, 1.0]}))


def test_a_header_whose_first_cell_is_empty_is_not_taken_for_a_title(tmp_path):
    path = tmp_path / "o.csv"
    path.write_text(",color,shape\na,red,round\nb,blue,flat\n")
    with pytest.raises(ValueError, match="has a cell in a column without a name"):
        nw.create_study(options=path, eps=1.0)
