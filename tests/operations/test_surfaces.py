"""One more operation is one function: it appears at the shell, over HTTP, in the client and as a tool."""

import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.commands import run
from tests.support.servers import in_thread
from tests.support.web_stores import small_study

import noisewise as nw
from noisewise.assistant.tools import Permissions, Toolbox
from noisewise.assistant.worker import run_tool
from noisewise.client.study import RemoteStudy, method_of
from noisewise.core.refusals import RefusedError
from noisewise.operations import correct
from noisewise.operations.table import Arg, Group, Opt, Result, Role, load_table, operation
from noisewise.server.app import make_app

if TYPE_CHECKING:
    from noisewise.study import Study


# The operation begins here ...
@dataclass
class GiveUpOutcome(Result):
    """Options that were given up."""

    options: list[str]


@operation(Group.CORRECT, name="give-up", role=Role.OWNER, method="give_up", corrects=True)
def give_up(
    study: "Study", names: Annotated[list[str], Arg("Names.")], why: Annotated[str, Opt("Why.")] = "no"
) -> GiveUpOutcome:
    """Exclude several options."""
    if "A" in names:
        raise RefusedError("names", "must not have A", remedy="Leave {why} out.")
    for name in names:
        study.exclude(name, why)
    return GiveUpOutcome(names)


# ... and ends here.


@pytest.fixture
def declared(monkeypatch):
    """The operation in the table, as if its module had it."""
    monkeypatch.setattr(correct, "give_up", give_up, raising=False)
    load_table.cache_clear()
    monkeypatch.setattr(RemoteStudy, give_up.method, method_of(give_up), raising=False)
    yield
    monkeypatch.undo()
    load_table.cache_clear()


def test_an_operation_takes_at_most_fifteen_lines():
    source = inspect.getsource(inspect.getmodule(give_up.function))
    begin, end = (source.index(f"# {words}") for words in ("The operation begins", "... and ends"))
    lines = [line for line in source[begin:end].splitlines()[1:] if line.strip()]
    assert len(lines) <= 15


def test_an_operation_is_found_on_all_four_surfaces(declared, tmp_path):
    study = small_study(tmp_path / "s.db", "s")

    typed = run("give-up", str(tmp_path / "s.db"), "B", "--why", "sold", "--json")
    assert json.loads(typed.stdout)["options"] == ["B"]
    assert "Exclude several options." in run("give-up", "--help").stdout

    with in_thread(make_app(tmp_path / "s.db")) as address:
        remote = nw.load_study(address)
        remote.give_up(["C"], why="late")
        with pytest.raises(ValueError, match=r"`names` must not have A\. Leave `why` out\.") as refused:
            remote.give_up(["A"])
        assert type(refused.value) is RefusedError

    toolbox = Toolbox(Permissions(str(tmp_path / "s.db"), write=True))
    tool = toolbox.find("give-up")
    assert set(tool.schema()["properties"]) == {"names", "why", "study"}
    said = run_tool(tool, tool.request({"names": ["A"]}).given, json=True)
    assert said.refusal == '"names" must not have A. Leave "why" out.'

    excluded = [event.body["option"] for event in study.events() if event.kind == "exclude"]
    assert excluded == ["B", "C"]
