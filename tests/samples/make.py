"""Makes the samples: files of today, and the answers that they gave when they were written.

    python -m tests.samples.make              # from the top of a clone, into tests/samples/data
    python -m tests.samples.make --overwrite  # again, when an answer was meant to change

It refuses to replace samples without ``--overwrite``: they are kept so that a later version can be compared
with the one that wrote them. Clocks and seeds are fixed; the only thing that differs between two runs is the
random id of every change of a study, and with it the hashes of its log. What version 0.1.0 wrote is made by
its own code, taken out of the repository (`COMMIT`) into a temporary folder.
"""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.samples import answers, policies
from tests.samples.studies import LOOKED_AT, OLD_STUDIES, STUDIES

import noisewise as nw

COMMIT = "001ea245d176e942cbc9acc4d0befc2b22ffddea"
ROOT = Path(__file__).parents[2]
NOW, OLD = "studies", "studies-0.1.0"


def write_studies(data: Path, folder: str, names: Iterable[str]) -> None:
    """One store with all the studies, and for each an exported log and a certificate."""
    home = data / folder
    home.mkdir(parents=True)
    storage = nw.open_store(home / "store.db", create=True)
    for name in names:
        study = STUDIES[name](storage, name)
        study.export(home / f"{name}.jsonl")
        (home / f"{name}.certificate.json").write_text(study.certificate().to_json(), encoding="utf-8")
    storage.close()


def write_old_studies(data: Path) -> None:
    """The same by version 0.1.0, and what it says of every log."""
    under_old("import tests.samples.make as made; made.old(data)", data)
    under_old(f"import tests.samples.earlier as made; made.write_bounds(data, {(OLD, NOW)!r})", data)


def under_old(command: str, data: Path) -> None:
    """Run a command under version 0.1.0, in a process of its own."""
    packed = subprocess.run(
        ["git", "-C", ROOT, "archive", "--format=tar", COMMIT, "src"], check=True, capture_output=True
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        places = os.pathsep.join([str(Path(folder) / "src"), str(ROOT)])
        code = f"import sys, pathlib; data = pathlib.Path(sys.argv[1]); {command}"
        environment = {**os.environ, "PYTHONPATH": places}
        subprocess.run([sys.executable, "-P", "-c", code, data.resolve()], check=True, env=environment)


def old(data: Path) -> None:
    """What runs under version 0.1.0."""
    if hasattr(nw, "verify_log"):
        raise RuntimeError(f"this must run under version 0.1.0; got the package in {nw.__file__}.")
    write_studies(data, OLD, OLD_STUDIES)


def study_answers(data: Path) -> dict[str, dict[str, Any]]:
    """What the studies of both stores answer."""
    found: dict[str, dict[str, Any]] = {NOW: {}, OLD: {}}
    for folder in (NOW, OLD):
        with tempfile.TemporaryDirectory() as copies:
            store = shutil.copy(data / folder / "store.db", copies)
            if folder == OLD:
                nw.migrate_store(store)
            storage = nw.open_store(store)
            for name in storage.names():
                study = nw.load_study(storage, name, clock=lambda: LOOKED_AT)
                found[folder][name] = answers.of_study(study)
            storage.close()
    return found


def write_policies(data: Path) -> dict[str, Any]:
    """Every policy after some rounds, and what it answers."""
    home, found = data / "policies", {}
    home.mkdir()
    for name in policies.names():
        policy = policies.make_policy(name)
        policies.proceed(policy)
        policy.save(home / f"{name}.npz")
        found[name] = answers.of_policy(nw.load_policy(home / f"{name}.npz"))
    return found


def write_simulations(data: Path) -> dict[str, Any]:
    """Parquet files, and what they hold."""
    found = {}
    for name, several in policies.simulations().items():
        nw.save_simulations(several, data / f"simulations-{name}.parquet")
        found[name] = [answers.of_simulation(one) for one in several]
    return found


def write_expected(data: Path, expected: dict[str, dict[str, Any]]) -> None:
    """One line per sample, so that a change shows which one it is about."""
    groups = (
        f"{json.dumps(group)}: {{\n"
        + ",\n".join(
            f"{json.dumps(name)}: {json.dumps(answer, allow_nan=False)}" for name, answer in found.items()
        )
        + "\n}"
        for group, found in expected.items()
    )
    (data / "expected.json").write_text("{\n" + ",\n".join(groups) + "\n}\n", encoding="utf-8")


def make(data: Path) -> None:
    """Write everything into a new folder."""
    write_studies(data, NOW, STUDIES)
    write_old_studies(data)
    expected = study_answers(data)
    expected["policies"] = write_policies(data)
    expected["simulations"] = write_simulations(data)
    expected["rules"] = {name: answers.of_rule(name) for name in policies.names()}
    expected["compiled"] = {name: answers.of_rule(name, compiled=True) for name in policies.COMPILED}
    expected["designs"] = answers.of_designs()
    expected["theory"] = answers.of_theory()
    write_expected(data, expected)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Make the samples that later versions are compared with.")
    parser.add_argument("--overwrite", action="store_true", help="replace the samples that are there")
    overwrite = parser.parse_args().overwrite
    if answers.DATA.exists() and not overwrite:
        parser.error(f"{answers.DATA} exists; to replace these samples, say --overwrite.")
    with tempfile.TemporaryDirectory(dir=answers.DATA.parent) as folder:
        draft = Path(folder) / "data"
        make(draft)
        shutil.rmtree(answers.DATA, ignore_errors=True)
        draft.rename(answers.DATA)


if __name__ == "__main__":
    main()
