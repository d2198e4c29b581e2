"""Clusters with TLS: the documented configuration lets in who has a certificate, and nobody else."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.support.clusters import dask_or_skip
from website.blocks import ROOT

WORK = """
import sys
import noisewise as nw
from distributed import Client, LocalCluster
from noisewise.core.spreading.workers import spread

if __name__ == "__main__":
    how = {"n_workers": 1, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": ":0"}
    with LocalCluster(protocol="tls://", **how) as cluster:
        address = cluster.scheduler_address
        print(address, flush=True)
        print(sorted(spread(abs, [-1, -2], address)), flush=True)
        sys.stdin.readline()
"""
PLAIN = """
import sys
from noisewise.core.spreading import dask_workers
dask_workers.TO_CONNECT = 3.0
dask_workers.connect(sys.argv[1])
"""


@pytest.fixture
def certificate(tmp_path):
    """One certificate for all, signed by itself, as it may be made for a cluster of one's own."""
    made = re.search(r"```text\n(openssl req .*?)```", page(), re.DOTALL)[1]
    command = made.replace("\\\n", " ").replace("/etc/dask/tls", str(tmp_path))
    try:
        subprocess.run(command, shell=True, check=True, capture_output=True)
    except FileNotFoundError:  # pragma: no cover - where there is no shell
        pytest.skip("needs openssl")
    except subprocess.CalledProcessError as failed:
        if failed.returncode == 127:
            pytest.skip("needs openssl")
        raise
    return tmp_path


def page():
    return (ROOT / "docs" / "clusters.md").read_text("utf-8")


def documented(folder):
    """The configuration of the page, for certificates in a folder."""
    text = re.search(r"```text\n# ~/.config/dask/noisewise.yaml.*?\n(distributed:.*?)```", page(), re.DOTALL)[
        1
    ]
    return textwrap.dedent(text).replace("/etc/dask/tls", str(folder))


def environment(folder):
    """Of a process whose Dask reads the configuration in a folder."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("DASK_")}
    return clean | {"DASK_CONFIG": str(folder), "PYTHONPATH": str(ROOT)}


def test_the_documented_configuration_encrypts_and_refuses_plain_clients(certificate, tmp_path):
    dask_or_skip()
    assert {file.name for file in certificate.iterdir()} == {"node.pem", "node.key"}
    assert oct((certificate / "node.key").stat().st_mode & 0o077) == "0o0"
    with_tls, without = tmp_path / "with", tmp_path / "without"
    with_tls.mkdir()
    without.mkdir()
    (with_tls / "noisewise.yaml").write_text(documented(certificate))
    (tmp_path / "work.py").write_text(WORK)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "work.py")], env=environment(with_tls), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        try:
            address = server.stdout.readline().strip()
            assert address.startswith("tls://127.0.0.1:")
            assert server.stdout.readline().strip() == "[(-2, 2), (-1, 1)]"
            for tried, said in (
                (address, "`on` must be reached with certificates at 'tls://"),
                (address.replace("tls", "tcp"), "`on` must lead to a Dask scheduler that answers"),
            ):
                found = subprocess.run(
                    [sys.executable, "-c", PLAIN, tried], env=environment(without), text=True,
                    capture_output=True, check=False,
                )  # fmt: skip
                assert found.returncode == 1
                assert said in found.stderr.splitlines()[-1]
        finally:
            server.stdin.close()
            server.wait(60)


def test_the_files_named_on_the_page_are_those_that_are_made(certificate):
    named = set(re.findall(r"[\w./-]+/(\w+\.(?:pem|key))", documented(Path("/etc/dask/tls"))))
    assert named == {file.name for file in certificate.iterdir()}
