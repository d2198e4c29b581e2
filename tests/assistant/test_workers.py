"""The processes behind the tools: reused, stopped, replaced."""

import asyncio
import sys

import pytest

import noisewise as nw
from noisewise.assistant.server import AT_ONCE, KEPT, Workers
from noisewise.assistant.tools import Permissions, Request, Toolbox


@pytest.fixture
def box(tmp_path):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=1.0)
    for option in "AB":
        study.tell(option=option, value=1.0, se=0.5)
    study._log.storage.close()
    return Toolbox(Permissions(str(tmp_path / "s.db"), write=True))


def held(talk, seconds=60.0, **options):
    """Run ``talk(workers)``, and end all processes."""

    async def holding():
        workers = Workers(seconds, **options)
        try:
            return await talk(workers)
        finally:
            await workers.close()
            assert all(process.returncode is not None for process in workers._all)

    return asyncio.run(holding())


def test_a_process_serves_many_calls_and_a_stopped_one_is_replaced(box):
    status, endless = box.find("status").request({}), box.find("plan").request({"paths": 10**6, "eps": 1e-3})

    async def talk(workers):
        for _ in range(3):
            assert (await workers.run(status)).refusal is None
        (first,) = workers._all
        call = asyncio.create_task(workers.run(endless))
        while first in workers._idle:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await first.wait() != 0
        assert (await workers.run(status)).refusal is None
        first_again = set(workers._idle)
        assert first not in first_again
        (second,) = first_again
        second.kill()
        await second.wait()
        return await workers.run(status)

    assert held(talk).refusal is None


@pytest.mark.long("assistants")
def test_at_most_a_few_commands_run_at_once(box):
    status = box.find("status").request({})

    async def talk(workers):
        answers = await asyncio.gather(*(workers.run(status) for _ in range(3 * AT_ONCE)))
        assert len(workers._idle) <= KEPT
        return answers, len(workers._all)

    answers, processes = held(talk)
    assert [answer.refusal for answer in answers] == [None] * 3 * AT_ONCE
    assert processes <= AT_ONCE


@pytest.mark.parametrize(
    "ending", ["import sys; sys.exit(1)", "import sys; sys.stdin.readline(); print('boo')"]
)
def test_a_process_that_ends_by_itself_is_told(ending):
    async def talk(workers):
        return await workers.run(Request("status", {}, ("s.db", False)))

    answer = held(talk, started_by=(sys.executable, "-c", ending))
    assert answer.refusal == "the process that ran it ended by itself; see `status`, and try again."
