"""Files that an earlier version wrote open unchanged, and everything answers as it did then.

The samples in `data`, and the answers in its `expected.json`, were written by `tests.samples.make`. Texts,
choices and counts are compared exactly; floats to a relative 1e-9, because linear algebra rounds differently
from machine to machine. Two kinds of floats depend more on rounding: what follows from sizes that are
estimated, which a search finds at a flat maximum (one size to 1e-7; two together to 1e-5, because their
search ends at steps of 1e-6, and ends elsewhere where BLAS uses AVX-512), and the weights
of designs, which a solver leaves as
soon as they are proved to be good enough (1e-3, the default gap). These, and what `rage`, `h_rage` and
`precision_tracking` measure, which follows from them, were written anew with the present solver; so was what
`bayes_gap` measures, when it began to break ties on purpose, and what `top_two_thompson` measures in a
simulation, when it began to look for the action that teaches most; its saved policy goes on as it did; and
what the check advises, when it began to try its advice.
"""

import json
import shutil

import numpy as np
import polars as pl
import pytest
from tests.samples import answers, policies
from tests.samples.studies import LOOKED_AT

import noisewise as nw

DATA = answers.DATA
EXPECTED = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
NOW, OLD = "studies", "studies-0.1.0"
#: What VAGE remembered and finds afresh now; a file may have it.
GONE = {"state.known.squared", "state.known.about"}
EVERY_STUDY = [(folder, name) for folder in (NOW, OLD) for name in EXPECTED[folder]]


def rounding_of(name):
    """How far the floats of a study may be off, relatively.

    Sizes that are estimated are where a search ends, which depends on the processor.
    """
    if name.endswith("estimated"):
        return 1e-5
    return 2e-6 if name.endswith("scatter") else 1e-9


def without_schema(certificate):
    """A certificate without its schema, and the hash that is computed differently in each."""
    return {name: value for name, value in certificate.items() if name not in ("schema", "rule", "data")}


def assert_as_kept(found, kept, relative=1e-9):
    wrong = answers.differences(found, kept, relative=relative)
    assert not wrong, "\n".join(wrong[:20])


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Copies of the stores; that of 0.1.0 is brought to the present tables."""
    copies = {folder: tmp_path_factory.mktemp("stores") / "store.db" for folder in (NOW, OLD)}
    for folder, copy in copies.items():
        shutil.copy(DATA / folder / "store.db", copy)
    with pytest.raises(ValueError, match="migrate"):
        nw.open_store(copies[OLD])
    nw.migrate_store(copies[OLD])
    return copies


@pytest.fixture
def opened(stores, tmp_path):
    """Opens a study in a copy of its own, because looking at what comes next writes to it."""
    used = []

    def study(folder, name):
        used.append(nw.open_store(shutil.copy(stores[folder], tmp_path)))
        return nw.load_study(used[-1], name, clock=lambda: LOOKED_AT)

    yield study
    for storage in used:
        storage.close()


@pytest.mark.parametrize("folder", [NOW, OLD])
def test_a_store_holds_the_studies_it_held_and_they_fit_their_hashes(folder, stores):
    verdicts = nw.verify_log(stores[folder])
    assert [verdict.study for verdict in verdicts] == list(EXPECTED[folder])
    assert all(verdict.fits for verdict in verdicts)


@pytest.mark.parametrize(("folder", "name"), EVERY_STUDY)
def test_a_log_is_exported_as_it_was_and_fits_its_hashes(folder, name, opened, tmp_path):
    kept = DATA / folder / f"{name}.jsonl"
    assert all(verdict.fits for verdict in nw.verify_log(kept))
    if folder == NOW:
        opened(NOW, name).export(tmp_path / "again.jsonl")
        assert (tmp_path / "again.jsonl").read_bytes() == kept.read_bytes()


@pytest.mark.parametrize(("folder", "name"), EVERY_STUDY)
def test_a_study_rebuilt_from_its_log_has_the_same_head_and_certificate(folder, name):
    storage = nw.MemoryStorage()
    assert nw.rebuild_study(DATA / folder / f"{name}.jsonl", storage) == name
    study, kept = nw.load_study(storage, clock=lambda: LOOKED_AT), EXPECTED[folder][name]
    assert study.head == kept["head"]
    said = json.loads(study.certificate().to_json()) | {"text": str(study.certificate())}
    assert_as_kept(without_schema(said), without_schema(kept["certificate"]), rounding_of(name))


@pytest.mark.parametrize(("folder", "name"), EVERY_STUDY)
def test_a_study_in_a_store_answers_as_it_did(folder, name, opened):
    study, kept = opened(folder, name), EXPECTED[folder][name]
    looked = study.ask(3, sigma=0.2, dry_run=True)
    found = answers.of_study(study)
    for one in (found, kept := dict(kept)):
        one["certificate"] = without_schema(one["certificate"])
    assert_as_kept(found, kept, rounding_of(name))
    assert [[job.id, job.option, job.why] for job in looked] == kept["next"]


@pytest.mark.parametrize("name", EXPECTED["policies"])
def test_a_saved_policy_goes_on_as_it_did(name, tmp_path):
    kept = DATA / "policies" / f"{name}.npz"
    policy = nw.load_policy(shutil.copy(kept, tmp_path))
    policy.save(tmp_path / "again.npz")
    with np.load(kept) as before, np.load(tmp_path / "again.npz") as after:
        assert set(before) - GONE == set(after)
        for array in after:
            np.testing.assert_array_equal(after[array], before[array], err_msg=array)
    assert_as_kept(answers.of_policy(policy), EXPECTED["policies"][name])


@pytest.mark.parametrize("name", EXPECTED["rules"])
def test_a_rule_measures_what_it_did(name):
    assert_as_kept(answers.of_rule(name), EXPECTED["rules"][name])


@pytest.mark.parametrize("name", EXPECTED["compiled"])
def test_a_compiled_rule_measures_what_it_did(name):
    assert_as_kept(answers.of_rule(name, compiled=True), EXPECTED["compiled"][name])
    assert EXPECTED["compiled"][name]["pulled"] == EXPECTED["rules"][name]["pulled"]


@pytest.mark.parametrize("name", EXPECTED["simulations"])
def test_simulations_in_a_file_are_what_they_were(name, tmp_path):
    kept = DATA / f"simulations-{name}.parquet"
    read = nw.load_simulations(shutil.copy(kept, tmp_path))
    assert_as_kept([answers.of_simulation(one) for one in read], EXPECTED["simulations"][name])
    nw.save_simulations(read, tmp_path / "again.parquet")
    assert pl.read_parquet(tmp_path / "again.parquet").equals(pl.read_parquet(kept))
    before, after = (
        json.loads(pl.read_parquet_metadata(path)["noisewise"]) for path in (kept, tmp_path / "again.parquet")
    )
    assert before | {"versions": None} == after | {"versions": None}


def test_simulations_run_again_give_what_is_in_the_files():
    for name, several in policies.simulations().items():
        assert_as_kept([answers.of_simulation(one) for one in several], EXPECTED["simulations"][name])


def test_designs_are_what_they_were():
    assert_as_kept(answers.of_designs(), EXPECTED["designs"], 1e-3)


def test_the_numbers_of_the_theory_are_what_they_were():
    assert_as_kept(answers.of_theory(), EXPECTED["theory"])


def test_an_answer_that_changed_is_noticed():
    kept = EXPECTED["policies"]["vaee"]
    assert not answers.differences(kept, kept)
    for changed in (
        kept | {"pulls": [*kept["pulls"][:-1], kept["pulls"][-1] + 1]},
        kept | {"why": kept["why"] + "."},
        kept | {"after": kept["after"] | {"radius": kept["after"]["radius"] * (1.0 + 2e-9)}},
        {name: kept[name] for name in ("before", "why", "pulls")},
    ):
        assert answers.differences(changed, kept)
