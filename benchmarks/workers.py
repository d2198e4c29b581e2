"""Eight processes on one store, one of them killed ten times: nothing acknowledged may be lost."""

import tempfile
from pathlib import Path

from tests.support.postgres import NoPostgresError, running_server
from tests.support.workers import Outcome, run

from benchmarks.timing import Row


def rows() -> list[Row]:
    """Eight processes, 250 ask/tell each, one killed ten times."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        found.append(_row("SQLite", run(f"{folder}/s.db", Path(folder), workers=8, count=250, kills=10)))
    try:
        with running_server() as server, tempfile.TemporaryDirectory() as folder:
            outcome = run(server.address, Path(folder), workers=8, count=250, kills=10)
            found.append(_row("PostgreSQL", outcome))
    except NoPostgresError as reason:
        print(f"without PostgreSQL: {reason}")
    return found


def _row(store: str, outcome: Outcome) -> Row:
    for error in outcome.errors:
        print(error)
    wrong = outcome.lost + outcome.doubled + len(outcome.errors) + (not outcome.same)
    return Row(
        name=f"eight processes on {store}, one killed {outcome.kills} times: anything wrong",
        figure=wrong,
        unit="",
        target=0,
        detail=f"{outcome.acknowledged} acknowledged, {outcome.lost} lost, {outcome.doubled} doubled, "
        f"{outcome.waited} time-outs, {outcome.seconds:.0f} s",
    )
