"""The page of comparisons says what the kept runs say, and the runs can be played again."""

import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "comparisons.md").read_text("utf-8")
KEPT = json.loads((ROOT / "docs" / "comparisons.json").read_text("utf-8"))


def benchmark(module, *arguments):
    """Tests import no benchmark; this one is a program."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    command = [sys.executable, "-m", f"benchmarks.rivals.{module}", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def section(world):
    """The part of the page on one world."""
    return re.search(rf"^### {world}$(.*?)(?=^### |^<!-- figures: end)", PAGE, re.I | re.M | re.S)[1]


def test_the_tables_of_the_page_are_made_from_the_kept_runs():
    done = benchmark("page", "--check")
    assert done.returncode == 0, done.stderr


def test_everyone_met_the_same_seeds():
    for worlds in KEPT["cells"].values():
        for cell in worlds.values():
            assert [run["seed"] for run in cell["runs"]] == list(range(len(cell["runs"])))


@pytest.mark.parametrize("world", [name for name, cell in KEPT["cells"]["noisewise"].items() if cell["runs"]])
def test_figures_of_the_page_follow_from_the_runs(world):
    """A few of them, reckoned here in another way."""
    runs = KEPT["cells"]["noisewise"][world]["runs"]
    rows = [line.split(" | ") for line in section(world).splitlines() if line.startswith("| noisewise | ")]
    named, claims = rows
    best = sum(run["losses"][0] == 0.0 for run in runs)
    assert named[1] == str(len(runs))
    assert named[2].startswith(f"{100 * best / len(runs):.0f} % ")
    assert named[3].partition(" ± ")[0] == f"{statistics.fmean(run['losses'][0] for run in runs):.2g}"
    made = [run["claimed"] for run in runs if run["claimed"] is not None]
    assert claims[1] == f"{len(made)} of {len(runs)}"
    if len(made) == len(runs):
        assert claims[2].startswith(f"{statistics.median(made):.0f} (")


def test_a_kept_run_can_be_played_again():
    """One that needs nothing but NumPy."""
    for rival in ("uniform", "peeking"):
        done = benchmark("play", rival, '{"equal error bars": [3, 4]}')
        (run,) = json.loads(done.stdout)["runs"]
        kept = KEPT["cells"][rival]["equal error bars"]["runs"][3]
        assert {name: run[name] for name in ("losses", "claimed", "claim_loss")} == {
            name: kept[name] for name in ("losses", "claimed", "claim_loss")
        }


def test_a_rival_that_is_not_installed_is_left_out_with_its_reason():
    if "skipped" not in (done := json.loads(benchmark("play", "kn", '{"many options": [0, 0]}').stdout)):
        pytest.skip("sim-tools is installed here")
    assert done["skipped"].startswith("sim-tools is not installed here")


def beside(rival, world):
    """The cell of a rival and a world in the first two tables of the page."""
    part = re.search(r"^## All beside noisewise$(.*?)^## ", PAGE, re.M | re.S)[1]
    tables = re.findall(r"(?:^\|.*\n)+", part, re.M)
    for head, _, *rows in (table.splitlines() for table in tables):
        titles = head.removesuffix(" |").split(" | ")
        for cells in (row.removesuffix(" |").split(" | ") for row in rows):
            if cells[0] == f"| {world}" and rival in titles:
                return cells[titles.index(rival)]
    raise LookupError(f"no cell for {rival} in {world}")


@pytest.mark.parametrize("world", ["equal error bars", "paired items"])
def test_multiples_of_measurements_are_geometric_means_over_common_seeds(world):
    ours, theirs = (KEPT["cells"][name][world]["runs"] for name in ("noisewise", "uniform"))
    pairs = [(a["claimed"], b["claimed"]) for a, b in zip(ours, theirs, strict=False)]
    assert all(a and b for a, b in pairs), "a claim is missing: this test would have to know the cap"
    expected = statistics.geometric_mean(b / a for a, b in pairs)
    shown = beside("A/B/n in turn, one planned look", world)
    assert shown.lstrip("*").startswith(f"{expected:.2g}\N{NO-BREAK SPACE}(")


def test_what_is_bold_has_an_interval_on_its_side():
    """Of multiples below 1, of losses below 0."""
    part = re.search(r"^## All beside noisewise$(.*?)^## ", PAGE, re.M | re.S)[1]
    claims, losses = part.split("**Loss of the option")
    for text, bound in ((claims, 1.0), (losses, 0.0)):
        bold = re.findall(r"\| \*\*(\S+)\s\((\S+)\sto\s(\S+)\)\*\*", text)
        assert all(float(low) <= float(mean) <= float(high) <= bound for mean, low, high in bold)


def test_the_paragraph_about_a_rival_begins_with_where_it_is_better():
    for name in (
        "A/B/n with one",
        "A/B/n with peek",
        "Optuna",
        "Ax",
        "BoTorch",
        "OCBA",
        "KN",
        "bayesianbandits",
    ):
        first = re.search(rf"^### {name}.*\n\n(.*)$", PAGE, re.M)[1]
        begins = (
            r"(\*\*(better|fewer) than noisewise|nowhere clearly (better|fewer) than noisewise|not enough)"
        )
        assert re.match(f"[A-Z][a-z ]+: {begins}", first)
