"""The arena: its cells, its figures against direct computation, resuming, its page and its command."""

import dataclasses
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import noisewise as nw
from noisewise.cli import app
from noisewise.simulation import action_noise
from noisewise.simulation.arena import (
    CELLS,
    Arena,
    Cell,
    Entry,
    Match,
    cells_named,
    load_arena,
    log_ratio_of_means,
    play,
    run_arena,
    write_page,
)

SMALL = [
    Cell("soare", "flat", {"dim": 3, "reach": 30.0}),
    Cell("sphere", "log-uniform", {"n_actions": 8, "reach": 4.0}),
]


def test_the_grid_is_five_instances_under_six_schedules():
    assert len(CELLS["grid"]) == 30
    assert len({cell.name for cell in CELLS["all"]}) == len(CELLS["all"])
    # All but those whose actions change from round to round or cannot be listed, and the one of a table.
    others = {"he-gu", "ball", "signs", "tirinzoni-degenne"}
    assert {cell.instance for cell in CELLS["all"]} == set(nw.instances.NAMES) - others
    assert cells_named(["soare-6"]) == [cell for cell in CELLS["grid"] if cell.instance == "soare"]
    assert cells_named(["soare-6", "grid"])[0] in CELLS["grid"]
    assert len(cells_named(["soare-6", "grid"])) == 30
    with pytest.raises(ValueError, match=r"got 'gridd'. Did you mean 'grid'\?"):
        cells_named(["gridd"])


@pytest.mark.parametrize("cell", CELLS["all"], ids=lambda cell: cell.name)
def test_every_cell_is_a_world(cell):
    env = cell.environment(50)
    world = env.world(50, 3, 1)
    assert world.sigma.shape == (50,)
    assert env.announced == cell.announced
    assert (np.ptp(world.action_sigma) > 0) == (cell.action_noise is not None)
    assert np.linalg.norm(world.theta) <= 1 + 1e-12
    json.dumps(env.describe())


def test_noise_of_actions():
    rng = np.random.default_rng(0)
    vectors, theta = nw.instances.soare(6).draw(rng, np.ones(3))
    # Between the best and its competitor only the second direction counts; ties go to the lowest row.
    factors = action_noise.quiet_when_useless(vectors, theta, rng, quiet=0.2)
    assert factors.tolist() == [1.0, 1.0, 0.2, 0.2, 0.2, 1.0, 1.0]
    spread = action_noise.named("spread-out", low=0.5)(np.ones((1000, 2)), theta, rng)
    assert 0.5 <= spread.min() < 0.51
    assert 0.98 < spread.max() <= 1.0
    with pytest.raises(ValueError, match="`action_noise` must be one of"):
        action_noise.named("loud")
    with pytest.raises(ValueError, match="has no option 'lou'"):
        action_noise.named("spread-out", lou=1)
    env = nw.instances.soare(3).environment(np.ones(5), action_sigma=lambda vectors, theta, rng: [1.0])
    with pytest.raises(ValueError, match="`action_sigma` must have one number per action, 4; got 1"):
        env.world(5, 0, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("arena")
    run_arena(
        ["vaee", Entry("bold", "vage", {"challenge": 0.5})],
        SMALL,
        path,
        horizon=40,
        replications=6,
        on=1,
    )
    return path


def test_a_match_is_what_simulate_gives(folder):
    arena = load_arena(folder)
    assert arena.entries == ["vaee", "bold"]
    assert arena.cells == [cell.name for cell in SMALL]
    env = SMALL[1].environment(40)
    sim = nw.simulate(nw.vage(env.actions, challenge=0.5), env, horizon=40, replications=6, on=1)
    match = next(m for m in arena.matches if (m.cell, m.entry) == (SMALL[1].name, "bold"))
    rate = np.sqrt([(env.sigmas(40, 0, r) ** -2.0).sum() for r in range(6)])
    np.testing.assert_array_equal(match.regret, sim.simple_regret[:, -1] * rate)
    np.testing.assert_array_equal(match.found, sim.simple_regret[:, -1] <= 1e-12)
    np.testing.assert_array_equal(match.covered, sim.covered)
    for r in range(6):
        reached = np.flatnonzero(sim.bound[r] <= 8 * env.actions.dim / rate[r])
        assert match.certified[r] == bool(reached.size)
        at = reached[0] if reached.size else -1
        assert match.rounds[r] == sim.checkpoints[at]
        assert match.precision[r] == pytest.approx(sim.total_precision[r, at] / sim.total_precision[r, -1])
    assert match.microseconds > 0


def test_what_is_finished_is_not_played_again(folder, monkeypatch):
    from noisewise.simulation import arena

    files = sorted(folder.glob("*.npz"))
    assert len(files) == 4
    files[0].write_bytes(b"damaged")
    played = []
    monkeypatch.setattr(arena, "play", lambda fixture: played.append(fixture) or play(fixture))
    entries = ["vaee", Entry("bold", "vage", {"challenge": 0.5})]
    run_arena(entries, SMALL, folder, horizon=40, replications=6, on=1)
    assert len(played) == 1
    assert len(load_arena(folder).matches) == 4


def test_another_seed_or_option_is_another_match():
    from noisewise.simulation.arena import Fixture

    one = Fixture(SMALL[0], Entry("vaee", "vaee", {}), 40, 6, 0)
    others = [
        dataclasses.replace(one, seed=1),
        dataclasses.replace(one, horizon=41),
        dataclasses.replace(one, entry=Entry("vaee", "vaee", {"ridge": 2.0})),
        dataclasses.replace(one, cell=SMALL[1]),
    ]
    assert len({fixture.key() for fixture in [one, *others]}) == 5
    assert one.key() == dataclasses.replace(one).key()


def test_bad_entries_are_refused_before_anything_is_played(tmp_path):
    with pytest.raises(KeyError, match=r"unknown rule 'vagee'.*Did you mean 'vage'"):
        run_arena(["vagee"], SMALL, tmp_path / "new")
    with pytest.raises(TypeError, match=r"has no option 'shar'\. Did you mean 'share'"):
        run_arena([Entry("vage", "vage", {"shar": 1})], SMALL, tmp_path / "new")
    with pytest.raises(ValueError, match="`entries` must have different names; got 'vaee' twice"):
        run_arena(["vaee", "vaee"], SMALL, tmp_path / "new")
    with pytest.raises(ValueError, match="`cells` must hold at least one cell"):
        run_arena(["vaee"], [], tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(FileNotFoundError, match="`folder` must hold an arena"):
        load_arena(tmp_path)


def made_up(regrets):
    """An arena whose regrets are given as {entry: {cell: values}}."""
    matches = []
    for entry, cells in regrets.items():
        for cell, values in cells.items():
            values = np.asarray(values, dtype=float)
            yes = np.ones(values.size, dtype=bool)
            matches.append(Match(cell, entry, values, values == 0, yes, yes, values + 1, values, 1.5))
    return Arena(matches, 40, 4, 0)


def test_ratios_standings_and_ranks():
    rng = np.random.default_rng(0)
    base = {cell: rng.exponential(size=50) for cell in ("x", "y")}
    arena = made_up(
        {"a": base, "b": {"x": base["x"] / 2, "y": base["y"] * 4}, "c": {"x": [0.0] * 50, "y": base["y"]}}
    )
    ratios = arena.ratios("a").rows_by_key(["cell", "policy"], named=True, unique=True)
    # An exact multiple has no uncertainty at all: pairing pays.
    assert ratios["x", "b"]["ratio"] == pytest.approx(0.5)
    assert ratios["x", "b"]["high"] == pytest.approx(0.5)
    assert ratios["x", "c"]["ratio"] is None
    standings = arena.standings("a").rows_by_key("policy", named=True, unique=True)
    assert standings["b"]["geometric_mean"] == pytest.approx(math.sqrt(2))
    assert standings["b"]["worst"] == pytest.approx(4)
    assert standings["c"]["compared"] == 1
    assert standings["a"]["rank"] == pytest.approx((3 + 1.5) / 2)
    assert standings["b"]["rank"] == pytest.approx((2 + 3) / 2)
    with pytest.raises(ValueError, match="`against` must be one of 'a', 'b', 'c'; got 'd'"):
        arena.ratios("d")


def test_the_interval_of_a_ratio_covers_it():
    """Ratios of correlated means, 95 % intervals: 1500 of them miss at most 123 times (1e-6)."""
    rng, misses = np.random.default_rng(1), 0
    for _ in range(1500):
        common = rng.exponential(size=300)
        one, other = common + rng.exponential(size=300), common + 3 * rng.exponential(size=300)
        log_ratio, error = log_ratio_of_means(one, other)
        misses += abs(log_ratio - math.log(2 / 4)) > 1.96 * error
    assert misses <= 123
    assert misses >= 35  # and are not too wide


def test_the_page_has_everything_and_needs_no_network(tmp_path, folder):
    path = write_page(load_arena(folder), tmp_path / "arena.html", "vaee")
    text = path.read_text("utf-8")
    for part in ("<svg", "bold", SMALL[0].name, "Standings", "Every match"):
        assert part in text
    assert "<script" not in text
    assert "src=" not in text


def test_the_command_plays_prints_and_writes(tmp_path):
    command = ["arena", "-p", "vaee,vage:challenge=0.5", "--cells", "soare 6 / flat", "--horizon", "40"]
    command += ["--replications", "6", "--on", "1", "--out", str(tmp_path)]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "vage(challenge=0.5)" in shown.output
    assert (tmp_path / "arena.html").is_file()
    printed = CliRunner().invoke(app, [*command, "--json"])
    content = json.loads(printed.output)
    assert content["schema"] == "noisewise.arena/1"
    assert {row["policy"] for row in content["standings"]} == {"vaee", "vage(challenge=0.5)"}
    assert len(content["matches"]) == 2
    unknown = CliRunner().invoke(app, ["arena", "-p", "vaee", "--against", "vage", "--out", str(tmp_path)])
    assert unknown.exit_code != 0
