"""A worker needs the standard library alone: neither compiled parts nor tables are loaded."""

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.servers import in_thread

import noisewise as nw
from noisewise.server.app import make_app

HEAVY = ("numpy", "polars", "scipy", "psycopg", "fastapi", "pydantic", "narwhals", "typer")


def test_asking_telling_and_a_run_load_nothing_heavy(tmp_path):
    nw.create_study(tmp_path / "s.db", name="s", options=["A", "B"], eps=1.0)
    script = textwrap.dedent(f"""
        import sys
        import noisewise as nw
        study = nw.load_study(sys.argv[1])
        (job,) = study.ask()
        study.tell(job, 1.0, se=0.1)
        study.tell(option="B", value=3.0, se=0.1, key="mine")
        study.fail(study.ask()[0], "broken")
        str(study.certificate()), repr(study), study.pending, study.options
        study.run(lambda job: ({{"A": 1.0, "B": 3.0}}[job.option], 0.1), workers=2, progress=False)
        print(*[name for name in {HEAVY!r} if name in sys.modules])
    """)
    with in_thread(make_app(tmp_path / "s.db")) as address:
        done = subprocess.run([sys.executable, "-c", script, address], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")
