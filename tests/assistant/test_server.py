"""A server for assistants, in a process of its own: what it offers, refuses, survives and keeps to itself."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from mcp import MCPError
from tests.support.assistants import SERVER, refused, said, with_assistant, with_configured_assistant
from tests.support.commands import run
from tests.support.waiting import wait_until

import noisewise as nw

#: A plan that is not there within a second or two.
LONG_PLAN = {"paths": 1_000_000, "eps": 1e-3}
TELL = [sys.executable, "-m", "noisewise", "tell"]


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "s.db"
    study = nw.create_study(path, options=["A", "B", "C"], eps=1.0)
    for option, value in (("A", 1.0), ("B", 2.0), ("C", 3.0)):
        study.tell(option=option, value=value, se=0.5)
    study._log.storage.close()
    return path


@pytest.fixture
def log(tmp_path):
    return tmp_path / "errors.txt"


def measured(store):
    return nw.load_study(store, read_only=True).n_measurements


def head(store):
    return nw.load_study(store, read_only=True).head


@pytest.mark.long("assistants")
def test_a_server_reads_and_changes_nothing_unless_it_may(store, log):
    before = head(store)

    async def talk(client):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        assert not {"tell", "void", "init", "report", "backup", "run", "simulate"} & set(tools)
        assert "error bar" in client.instructions
        assert "Never invent an error bar" in client.instructions
        for name in sorted(set(tools) - {"import"}):
            given = {"candidate": "A", "baseline": "B"} if name == "gate" else {}
            result = await client.call_tool(name, given)
            assert not result.is_error, (name, result.content)
        rows = await said(client, "import", table="option,value,se\nA,1.5,0.1\n")
        assert (rows["told"], rows["dry_run"]) == (1, True)
        assert (await said(client, "ask", n=2))["dry_run"] is True
        return await refused(client, "tell", what="A", value=1.0)

    sentence = with_assistant(talk, store, log=log)
    assert sentence == (
        '"tell" changes the study or writes a file, and this server only reads: a person can start it with '
        "--allow-write."
    )
    assert head(store) == before
    assert nw.load_study(store, read_only=True).pending == []


def test_an_assistant_asks_tells_and_gets_a_certificate(tmp_path, log):
    truth = {"A": 1.0, "B": 3.0, "C": 2.0}
    store = tmp_path / "new.db"

    async def talk(client):
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        assert tools["void"].destructive_hint
        assert not tools["tell"].read_only_hint
        assert not tools["tell"].destructive_hint
        assert tools["certify"].read_only_hint
        await said(client, "init", options=list(truth), eps=0.5)
        for _ in range(20):
            certificate = (await said(client, "certify"))["certificate"]
            if certificate["reached"]:
                return certificate
            (job,) = (await said(client, "ask"))["jobs"]
            await said(client, "tell", what=job["id"], value=truth[job["option"]], se=0.1)
        raise AssertionError("no certificate")

    certificate = with_assistant(talk, store, "--allow-write", log=log)
    assert certificate["option"] == "B"
    assert certificate == json.loads(nw.load_study(store, read_only=True).certificate().to_json())
    assert log.read_text() == ""


@pytest.mark.long("assistants")
def test_assistants_and_other_processes_write_to_the_same_study(store, log):
    async def talk(client):
        others = [
            await asyncio.create_subprocess_exec(*TELL, str(store), option, "1.5", "--se", "0.5")
            for option in "ABC"
        ]
        told = [client.call_tool("tell", {"what": "A", "value": 1.0 + k, "se": 0.5}) for k in range(8)]
        assert not any(result.is_error for result in await asyncio.gather(*told))
        assert [await other.wait() for other in others] == [0, 0, 0]
        return (await said(client, "status"))["measurements"]

    assert with_assistant(talk, store, "--allow-write", log=log) == 3 + 8 + 3
    assert measured(store) == 14
    assert run("verify", store).exit_code == 0


@contextmanager
def another_writer(store):
    """While it holds the store, everybody reads and nobody writes."""
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@pytest.mark.long("assistants")
def test_a_tool_that_takes_too_long_is_stopped_and_the_others_are_answered(store, log):
    async def talk(client):
        await said(client, "status")  # its process has started
        with another_writer(store):  # a tell waits for it, for longer than the server lets it
            waiting = asyncio.create_task(client.call_tool("tell", {"what": "A", "value": 1.0, "se": 0.5}))
            assert (await said(client, "status"))["measurements"] == 3
            assert not waiting.done()
            result = await waiting
        assert result.is_error
        assert (await said(client, "status"))["measurements"] == 3
        return result.content[0].text

    sentence = with_assistant(talk, store, "--allow-write", "--seconds", 30, log=log)
    assert sentence == "it took longer than 30 s, and was stopped; see `status`."


@pytest.mark.long("assistants")
def test_the_certificate_of_every_study_is_a_resource(store, log):
    nw.create_study(nw.open_store(store), name="a b/é", options=["A", "B"], eps=1.0)

    async def talk(client):
        found = {one.name: one.uri for one in (await client.list_resources()).resources}
        assert set(found) == {"certificate of study", "certificate of a b/é"}
        for uri in (*found.values(),):
            (content,) = (await client.read_resource(uri)).contents
            assert json.loads(content.text)["schema"] == "noisewise.certify/1"
        for wrong in ("noisewise://study/none/certificate", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(wrong)

    with_assistant(talk, store, log=log)


@pytest.mark.long("assistants")
def test_a_long_answer_comes_in_words_and_a_longer_one_is_cut(tmp_path, log):
    store = tmp_path / "long.db"
    study = nw.create_study(store, options=["A", "B"], eps=1.0)
    study.tell_many([{"option": "AB"[k % 2], "value": float(k % 7), "se": 1.0} for k in range(400)])

    async def talk(client):
        worth = await client.call_tool("worth", {})
        exported = await client.call_tool("export", {})
        return worth, exported

    worth, exported = with_assistant(talk, store, log=log)
    assert worth.structured_content is None
    assert "Your 400 measurements carry" in worth.content[0].text
    assert len(exported.content[0].text) < 61_000
    assert "characters more, which were left out." in exported.content[0].text


REQUESTS = [
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "status", "arguments": {}}},
    {"id": 3, "method": "tools/call", "params": {"name": "tell", "arguments": {"what": "A", "value": "x"}}},
    {"id": 4, "method": "tools/call", "params": {"name": "export", "arguments": {"what": "measurements"}}},
]  # fmt: skip


@pytest.fixture
def server(store):
    """A server, and a function that sends it lines."""
    command = [sys.executable, *SERVER, str(store), "--allow-write"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, **pipes) as process:

        def send(lines):
            process.stdin.write("".join(f"{line}\n" for line in lines))
            process.stdin.flush()

        yield process, send


@pytest.mark.long("assistants")
def test_standard_output_carries_the_protocol_only_and_nonsense_ends_nothing(server):
    process, send = server
    lines = [json.dumps({"jsonrpc": "2.0", **request}) for request in REQUESTS]
    lines[2:2] = ["{nonsense", '"\\ud800"', "[]", ""]
    send(lines)
    answers = {}
    while not {1, 2, 3, 4} <= set(answers):
        answer = json.loads(process.stdout.readline())
        assert answer["jsonrpc"] == "2.0"
        answers[answer.get("id")] = answer
    process.stdin.close()
    assert process.stdout.read() == ""
    assert process.wait() == 0
    assert answers[2]["result"]["structuredContent"]["measurements"] == 3
    assert answers[3]["result"]["isError"] is True
    assert len(answers[4]["result"]["structuredContent"]["rows"]) == 3


@pytest.mark.long("assistants")
def test_an_assistant_that_is_gone_leaves_no_traceback(server):
    process, send = server
    process.stdout.close()
    send(json.dumps({"jsonrpc": "2.0", **request}) for request in REQUESTS[:1])
    process.stdin.close()
    assert process.wait() == 0
    assert "Traceback" not in process.stderr.read()


def computed(parent):
    """Processor seconds of the processes that another one has started."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    fields = [Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split() for child in children]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


ENDS = {"left": 0, "killed": -signal.SIGKILL, "interrupted": 130}


@pytest.mark.long("assistants")
@pytest.mark.parametrize("end", ENDS)
def test_a_server_that_ends_takes_all_its_processes_with_it(end, server):
    process, send = server
    lines = [json.dumps({"jsonrpc": "2.0", **request}) for request in REQUESTS[:3]]
    send(lines)
    for _ in range(2):
        process.stdout.readline()
    before = computed(process.pid) + 0.2
    plan = {"id": 9, "method": "tools/call", "params": {"name": "plan", "arguments": LONG_PLAN}}
    send([json.dumps({"jsonrpc": "2.0", **plan})])
    wait_until(lambda: computed(process.pid) > before, "the plan")
    if end != "left":
        process.send_signal(signal.SIGKILL if end == "killed" else signal.SIGINT)
        process.wait()
    process.stdin.close()
    assert process.wait() == ENDS[end]
    # Standard error belongs to the workers as well: it ends with the last of them.
    assert "Traceback" not in process.stderr.read()


@pytest.mark.long("assistants")
def test_the_configuration_that_is_printed_starts_the_server(store, log, monkeypatch):
    monkeypatch.chdir(store.parent)
    done = run("mcp", "s.db", "--allow-write", "--print-config")
    (configured,) = json.loads(done.stdout)["mcpServers"].values()
    assert configured["args"][-2:] == [str(store), "--allow-write"]

    async def talk(client):
        return (await said(client, "status"))["measurements"]

    monkeypatch.chdir(os.sep)
    assert with_configured_assistant(talk, configured, log=log) == 3


def test_a_configuration_shows_no_password():
    done = run("mcp", "postgresql://ann:secret@host/db", "--print-config")
    assert "secret" not in done.stdout
    (configured,) = json.loads(done.stdout)["mcpServers"].values()
    assert configured["env"] == {"NOISEWISE_STORE": "postgresql://ann:***@host/db"}
    assert "postgresql" not in str(configured["args"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "mcp needs a STORE: a file, or an address, which may also be in NOISEWISE_STORE."),
        (("s.db", "--seconds", "0"), "--seconds must be above 0; got 0."),
        (("s.db", "--files", "nowhere"), "--files must be a folder; there is none called 'nowhere'."),
    ],
)
def test_a_server_that_cannot_be_started_says_why(arguments, sentence):
    assert str(run("mcp", *arguments).exception) == sentence


def test_without_its_package_the_command_says_what_to_install(store):
    code = "import sys; sys.modules['mcp'] = None\nfrom noisewise.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp", store], capture_output=True, text=True, check=False, input=""
    )
    assert done.returncode == 2
    assert done.stderr == "Error: `noisewise mcp` needs the package mcp: pip install 'noisewise[mcp]'.\n"
