"""What the page on the server tells to set up works: a real nginx in front, a unit of systemd, a backup."""

import contextlib
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.commands import run
from tests.support.requests import PATIENCE, call
from tests.support.servers import ServerProcess
from tests.support.web_stores import API, small_store

import noisewise as nw

PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text("utf-8")
NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}
SETTINGS = """
daemon off; worker_processes 1; user {user}; pid {folder}/pid; error_log {folder}/error.log info;
events {{ worker_connections 64; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; {location} }}
}}
"""


def block(kind):
    """What the page has in a block of this kind."""
    return re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1]


@contextlib.contextmanager
def nginx(folder, server, *, cut_off):
    """The address of a proxy that is set up as the page says."""
    if NGINX is None:
        pytest.skip("nginx is not installed (Debian: nginx-light)")
    end = "/;" if cut_off else ";"
    location = block("nginx").replace("http://127.0.0.1:8321;", f"http://127.0.0.1:{server}{end}", 1)
    folder.mkdir()
    # nginx takes over listening sockets that the variable NGINX names: no other process gets the port.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port, handle = listening.getsockname()[1], listening.fileno()
        names = {"folder": folder, "port": port, "location": location, "user": getpass.getuser()}
        (folder / "nginx.conf").write_text(SETTINGS.format(**names))
        process = subprocess.Popen(
            [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(handle,), env={**os.environ, "NGINX": f"{handle};"},
        )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@pytest.fixture
def store(tmp_path):
    return small_store(tmp_path)


@pytest.mark.long("servers")
@pytest.mark.parametrize("cut_off", [False, True], ids=["prefix kept", "prefix cut off"])
def test_a_team_works_through_nginx_with_a_prefix(store, tmp_path, cut_off):
    secret = run("token", "add", store, "Ann", "--role", "owner").stdout.splitlines()[1]
    bearer = {"Authorization": f"Bearer {secret}"}
    with (
        ServerProcess(store, "--root-path", "/lab") as server,
        nginx(tmp_path / "nginx", server.port, cut_off=cut_off) as url,
    ):
        assert call(url, "GET", f"/lab{API}/tea", **bearer)[0] == 200
        body = json.dumps({"option": "A", "value": 1.0, "se": 0.1})
        assert call(url, "POST", f"/lab{API}/tea/tells", body, **JSON, **bearer)[0] == 201
        assert call(url, "POST", f"/lab{API}/tea/imports", b"x" * 2_000_000, **JSON, **bearer)[0] == 400
        _sign_in_and_look(url, secret)
        server.process.terminate()
        server.process.wait(60)
        assert call(url, "GET", "/lab/healthz")[0] == 502
    logged = (tmp_path / "nginx" / "access.log").read_text() + (tmp_path / "nginx" / "error.log").read_text()
    assert "/lab/healthz" in logged
    assert secret not in logged
    assert nw.load_study(store).n_measurements == 4


def _sign_in_and_look(url, secret):
    """A browser signs in, is led to the prefix, and finds what its page names."""
    origin = {"Origin": url, "Sec-Fetch-Site": "same-origin"}
    form = f"token={secret}&next=%2Flab%2Fs%2Ftea%2F"
    status, headers, _ = call(url, "POST", "/lab/session", form, **FORM, **origin)
    assert (status, headers["location"].endswith("/lab/s/tea/")) == (303, True)
    assert "Path=/lab/" in headers["set-cookie"]
    cookie = {"Cookie": headers["set-cookie"].split(";")[0]}
    page = call(url, "GET", "/lab/s/tea/", **cookie)[2]
    assert "tea" in page
    found = re.findall(r'(?:href|src)="([^"#?]+)"', page)
    assert any("static/" in one for one in found)
    for one in found:
        assert not one.startswith("/"), f"{one} leaves the prefix"
    style = next(one for one in found if one.endswith(".css"))
    assert style.startswith("../../")
    assert call(url, "GET", f"/lab/{style.removeprefix('../../')}")[0] == 200
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert call(url, "POST", "/lab/s/tea/ask", "csrf_token=x", **FORM, **cookie, **foreign)[0] == 403


@pytest.mark.long("servers")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    unit = block("ini").replace("/opt/noisewise/bin/noisewise serve", f"{sys.executable} -m noisewise serve")
    (tmp_path / "noisewise.service").write_text(unit)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "noisewise.service")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "noisewise" in line]
    assert (done.returncode, ours) == (0, [])


@pytest.mark.long("servers")
def test_a_backup_is_made_while_the_server_is_told_something(store, tmp_path):
    with ServerProcess(store) as server:
        for number in range(5):
            body = json.dumps({"option": "A", "value": float(number), "se": 0.1})
            assert call(server.url, "POST", f"{API}/tea/tells", body, **JSON)[0] == 201
        assert run("backup", store, tmp_path / "copy.db").exit_code == 0
        assert call(server.url, "POST", f"{API}/tea/tells", body, **JSON)[0] == 201
    copy, here = nw.load_study(tmp_path / "copy.db"), nw.load_study(store)
    assert (copy.n_measurements, here.n_measurements) == (8, 9)
    assert copy.head == here.head_at(copy.n_events)
