"""What must not be lost: eight processes on one store, one of them killed; bits of a file turned over.

Nothing that was acknowledged may be lost or doubled, and no bit may change an answer in silence.
"""

import tempfile
from pathlib import Path

from tests.support.flips import flip_bits
from tests.support.postgres import NoPostgresError, running_server
from tests.support.workers import Outcome, run

from benchmarks.timing import Row

FLIPS = 1000


def rows() -> list[Row]:
    """Eight processes, 250 asks and tells each, one killed ten times; a thousand bits."""
    with tempfile.TemporaryDirectory() as folder:
        found = [_row("SQLite", run(f"{folder}/s.db", Path(folder), workers=8, count=250, kills=10))]
    try:
        with running_server() as server, tempfile.TemporaryDirectory() as folder:
            outcome = run(server.address, Path(folder), workers=8, count=250, kills=10)
            found.append(_row("PostgreSQL", outcome))
    except NoPostgresError as reason:
        print(f"without PostgreSQL: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        outcomes = flip_bits(FLIPS, 0, Path(folder))
    wrong = {name: count for name, count in outcomes.items() if name not in ("refused", "without effect")}
    detail = f"{outcomes['refused']} refused, {outcomes['without effect']} without effect; {', '.join(wrong)}"
    name = f"{FLIPS} bits turned over: answers changed in silence"
    return [*found, Row(name, len(wrong), "", 0, False, detail)]


def _row(store: str, outcome: Outcome) -> Row:
    wrong = outcome.lost + outcome.doubled + len(outcome.errors) + (not outcome.same)
    return Row(
        name=f"eight processes on {store}, one killed {outcome.kills} times: anything wrong",
        figure=wrong,
        unit="",
        target=0,
        detail=f"{outcome.acknowledged} acknowledged, {outcome.lost} lost, {outcome.doubled} doubled, "
        f"{outcome.waited} time-outs; {'; '.join(map(str, outcome.errors))}",
    )
