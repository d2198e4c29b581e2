"""Results: frames, summaries, paired comparisons, and files that give everything back."""

import dataclasses
import json
from dataclasses import fields

import numpy as np
import polars as pl
import pytest
from scipy import stats

import noisewise as nw
from noisewise.simulation.files import FORMAT, KEY

SPHERE = nw.instances.sphere(12, 3)
ENV = SPHERE.environment(nw.schedules.named("log-uniform", low=0.05, high=2.0))


def run(rule="vaee", env=ENV, *, horizon=40, replications=15, seed=2, options=None, **settings):
    policy = nw.make_policy(rule, env.actions, **(options or {}))
    shared = {"horizon": horizon, "replications": replications, "seed": seed}
    return nw.simulate(policy, env, **shared | settings)


@pytest.fixture(scope="module")
def sim():
    return run(stop="gap", eps=0.6, options={"delta": 0.1, "explore": "candidates"})


@pytest.fixture(scope="module")
def other():
    return run("round_robin")


def assert_same(one, two):
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(two, field.name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, field.name
            assert np.array_equal(left, right), field.name
        else:
            assert type(left) is type(right), field.name
            assert left == right, field.name


@pytest.mark.parametrize("checkpoints", [None, [40], [1, 2, 40], [5], [3, 17]])
def test_the_actions_measured_stand_in_the_frame_in_order(checkpoints):
    sim = run(checkpoints=checkpoints)
    measured = sim.frame().filter(replication=3)["measured"]
    assert measured.explode().to_list() == sim.pulled[3].tolist()
    lengths = np.diff([0, *sim.checkpoints[:-1], 40])
    assert measured.list.len().to_list() == lengths.tolist()


@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_a_summary_has_students_interval(sim, confidence):
    summary = sim.summary(confidence)
    assert summary["rounds"].to_list() == sim.checkpoints.tolist()
    assert np.allclose(summary["mean"], sim.simple_regret.mean(axis=0), rtol=1e-14)
    assert np.allclose(summary["cumulative"], sim.cumulative_regret.mean(axis=0), rtol=1e-14)
    assert np.allclose(summary["precision"], sim.total_precision.mean(axis=0), rtol=1e-14)
    assert np.allclose(summary["bound"], sim.bound.mean(axis=0), rtol=1e-14)
    spread = stats.sem(sim.simple_regret, axis=0)
    assert (spread > 0.0).all()
    low, high = stats.t.interval(confidence, 14, loc=sim.simple_regret.mean(axis=0), scale=spread)
    # SciPy 1.13 has twelve digits of the quantile.
    assert np.allclose(summary["low"], low, rtol=1e-11, atol=1e-12)
    assert np.allclose(summary["high"], high, rtol=1e-11, atol=1e-12)


def test_a_comparison_is_of_pairs(sim, other):
    table = nw.compare([sim, other], against="round_robin", confidence=0.9)
    assert table["policy"].to_list() == ["vaee", "round_robin"]
    assert table["against"].to_list() == ["round_robin"] * 2
    differences = sim.simple_regret[:, -1] - other.simple_regret[:, -1]
    row = table.row(0, named=True)
    interval = stats.ttest_1samp(differences, 0.0).confidence_interval(0.9)
    assert row["mean"] == pytest.approx(sim.simple_regret[:, -1].mean())
    assert row["difference"] == pytest.approx(differences.mean())
    assert row["low"] == pytest.approx(interval.low)
    assert row["high"] == pytest.approx(interval.high)
    assert row["better"] == (differences < 0).mean()
    assert row["worse"] == (differences > 0).mean()
    assert table.row(1, named=True)["difference"] == 0.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": 3}, "`simulations` must share their seed, or their noise is not common; got 2 and 3."),
        ({"horizon": 30}, "`simulations` must share their horizon,"),
        ({"replications": 8}, "`simulations` must share their replications,"),
        ({"env": SPHERE.environment(nw.schedules.log_uniform)}, "`simulations` must share their world,"),
        (
            {"env": nw.instances.sphere(12, 4).environment(nw.schedules.log_uniform)},
            "`simulations` must share",
        ),
        ({"checkpoints": [5]}, "`simulations` must share their last checkpoint, where they are compared;"),
    ],
)
def test_a_comparison_refuses_what_is_not_common(sim, settings, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
        nw.compare([sim, run("round_robin", **settings)])
    assert str(caught.value).startswith(message)


def test_a_comparison_with_nobody_is_refused(sim):
    with pytest.raises(ValueError, match="`against` must be one of vaee; got 'vae'"):
        nw.compare([sim], against="vae")
    with pytest.raises(ValueError, match="`simulations` must hold at least one simulation; got none"):
        nw.compare([])


def test_a_saved_simulation_comes_back_exactly(sim, tmp_path):
    sim.save(tmp_path / "one.parquet")
    (loaded,) = nw.simulation.load_simulations(tmp_path / "one.parquet")
    assert_same(loaded, sim)
    assert loaded.options["explore"] == "candidates"
    assert loaded.stop == {"name": "gap", "eps": 0.6}
    assert loaded.world["schedule"] == {"name": "log-uniform", "options": {"low": 0.05, "high": 2.0}}
    assert [path.name for path in tmp_path.iterdir()] == ["one.parquet"]


def test_several_simulations_share_a_file(sim, other, tmp_path):
    """Of other worlds, horizons, checkpoints and numbers of replications, two of them with one name."""
    given = nw.Environment(np.eye(3), [0.8, 0.5, 0.0], np.geomspace(1.0, 0.1, 25), noise="rademacher")
    sims = [
        sim,
        other,
        run("round_robin", given, horizon=25, replications=3, seed=7, checkpoints=[2, 9]),
        run("weighted_oful", given, horizon=20, replications=1, checkpoints=[5], options={"scale": 0.1}),
    ]
    nw.simulation.save_simulations(sims, tmp_path / "all.parquet")
    loaded = nw.simulation.load_simulations(str(tmp_path / "all.parquet"))
    assert len(loaded) == 4
    for one, two in zip(loaded, sims, strict=True):
        assert_same(one, two)
    assert np.array_equal(loaded[0].covered, sim.covered)
    assert nw.compare(loaded[:2]).equals(nw.compare(sims[:2]))


def test_several_uses_of_a_rule_are_named_by_the_options_that_differ(sim):
    wide = run(options={"norm_bound": 2.0})
    plain = run()
    table = nw.compare([plain, wide, run("round_robin")], against="vaee (norm_bound=2.0)")
    assert table["policy"].to_list() == ["vaee (norm_bound=1.0)", "vaee (norm_bound=2.0)", "round_robin"]
    assert set(table["against"]) == {"vaee (norm_bound=2.0)"}
    assert nw.compare([plain, plain])["policy"].to_list() == ["vaee", "vaee"]


def test_a_file_that_is_no_simulation_gets_one_sentence(sim, tmp_path):
    sim.save(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "foreign.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    (tmp_path / "empty.parquet").touch()
    for share in (0.0, 0.3, 0.9):
        (tmp_path / f"cut-{share}.parquet").write_bytes(whole[: 10 + int(share * len(whole))])
    (tmp_path / "headless.parquet").write_bytes(whole[200:])
    for path in sorted(set(tmp_path.iterdir()) - {tmp_path / "whole.parquet"}):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
            nw.simulation.load_simulations(path)
        message = f"`path` must be a file written by noisewise; {str(path)!r} is not, or is damaged."
        assert str(caught.value) == message


def test_a_newer_file_gets_one_sentence(sim, tmp_path):
    header = json.dumps({"format": FORMAT + 1, "runs": []})
    sim.frame().write_parquet(tmp_path / "new.parquet", metadata={KEY: header})
    with pytest.raises(ValueError, match=rf"of format {FORMAT}; '.*new.parquet' has {FORMAT + 1}"):
        nw.simulation.load_simulations(tmp_path / "new.parquet")


def test_a_missing_file_or_folder_gets_one_sentence(sim, tmp_path):
    with pytest.raises(FileNotFoundError, match="`path` must be a Parquet file; there is no file"):
        nw.simulation.load_simulations(tmp_path / "nothing.parquet")
    with pytest.raises(FileNotFoundError, match=r"`path` must be in a folder that exists; got '.*x.parquet'"):
        sim.save(tmp_path / "nowhere" / "x.parquet")
    with pytest.raises(ValueError, match="`simulations` must hold at least one simulation; got none"):
        nw.simulation.save_simulations([], tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_the_old_file_and_no_draft(sim, other, tmp_path, monkeypatch, error):
    path = tmp_path / "x.parquet"
    other.save(path)

    def interrupted(frame, target, **_):
        with open(target, "wb") as file:
            file.write(b"PAR1 half a file")
        raise error

    monkeypatch.setattr(pl.DataFrame, "write_parquet", interrupted)
    with pytest.raises(error):
        sim.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.parquet"]
    assert_same(nw.simulation.load_simulations(path)[0], other)


def test_options_that_no_file_can_hold_get_one_sentence(tmp_path):
    sim = dataclasses.replace(run(replications=1), options={"odd": object()})
    with pytest.raises(TypeError, match="options of policy and world must be plain numbers and strings"):
        sim.save(tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []
