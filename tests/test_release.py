"""A release that people can trust: what its files say agrees, and its archives hold what they must."""

import io
import re
import shlex
import shutil
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from tools import archives, lowest, release_check, release_facts

import noisewise as nw

ROOT = Path(__file__).parents[1]
TOLD = (
    "pyproject.toml",
    "constraints.txt",
    "CHANGELOG.md",
    "CITATION.cff",
    "README.md",
    "docs/quickstart.md",
    ".github/workflows/ci.yml",
    "src/noisewise/core/version.py",
)
VENDOR = "src/noisewise/server/pages/static/vendor"


@pytest.fixture
def tree(tmp_path):
    """The files that speak of a release, to be changed."""
    for name in TOLD:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / VENDOR, tmp_path / VENDOR)
    return tmp_path


def change(tree, name, before, after):
    text = (tree / name).read_text("utf-8")
    assert before in text
    (tree / name).write_text(text.replace(before, after), "utf-8")


def release(tree, number):
    """What the one who releases a version does by hand."""
    here = nw.__version__
    change(tree, "pyproject.toml", f'version = "{here}"', f'version = "{number}"')
    change(tree, "src/noisewise/core/version.py", here, number)
    change(tree, "CITATION.cff", f"version: {here}", f"version: {number}\ndate-released: 2026-11-17")
    if "## Unreleased" in (tree / "CHANGELOG.md").read_text("utf-8"):
        change(tree, "CHANGELOG.md", "## Unreleased", f"## {number}")
    else:
        change(tree, "CHANGELOG.md", f"## {here}\n", f"## {number}\n\n## {here}\n")


def test_what_the_files_say_of_this_version_agrees():
    assert release_facts.faults_of(ROOT) == []
    assert release_facts.version(ROOT) == nw.__version__


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("CITATION.cff", "\nversion: ", "\nversion: 9", "CITATION.cff must say the version"),
        ("src/noisewise/core/version.py", '= "', '= "9', "version.py must say the version"),
        ("CHANGELOG.md", "\n## 0.", "\n## 7.", "the newest version in CHANGELOG.md must be"),
        ("pyproject.toml", ":: 3.11", ":: 3.9", "contradicts requires-python"),
        (".github/workflows/ci.yml", '["3.11", ', '["3.10", "3.11", ', "ci.yml tests Python"),
        ("docs/quickstart.md", "| 3.11, ", "| 3.10, 3.11, ", "docs/quickstart.md says Python"),
        ("docs/quickstart.md", "NumPy | 2.", "NumPy | 3.", "docs/quickstart.md says NumPy 3."),
        ("pyproject.toml", '"numpy>=2.0",', '"numpy",', "must say the lowest version of numpy"),
        ("pyproject.toml", "uvicorn>=0", "uvicorn>=77.0", "has uvicorn .*, which pyproject.toml refuses"),
        ("pyproject.toml", "MIT AND 0BSD", "MIT", "must name 0BSD"),
        (f"{VENDOR}/README.md", "| 0BSD |", "| ? |", "README.md must say the licence of `htmx`"),
        ("pyproject.toml", "vendor/*/LICENSE", "vendor/u*/LICENSE", "must match .*vendor/htmx/LICENSE"),
    ],
)
def test_what_does_not_agree_is_named(tree, name, before, after, said):
    assert release_facts.faults_of(tree) == []
    change(tree, name, before, after)
    assert any(re.search(said, fault) for fault in release_facts.faults_of(tree))


def test_vendored_files_without_their_licence_are_named(tree):
    (tree / VENDOR / "htmx" / "LICENSE").unlink()
    assert release_facts.licences(tree) == [f"{VENDOR}/htmx must have the file LICENSE of what lies there."]


def test_a_tag_asks_for_more_than_a_commit_between_releases(tree):
    release(tree, "0.98.0")
    number = release_facts.version(tree)
    assert release_facts.faults_of(tree) == []
    assert release_facts.ready(tree, f"v{number}") == []
    assert release_facts.ready(tree, "v1.0.0") == [
        f"the tag must be v{number}, as pyproject.toml says; got v1.0.0."
    ]
    change(tree, "CHANGELOG.md", f"## {number}", f"## Unreleased\n\n## {number}")
    assert release_facts.ready(tree, f"v{number}") == []  # it is empty
    change(tree, "CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- Something new.\n")
    change(tree, "CITATION.cff", "date-released", "# date-released")
    faults = release_facts.ready(tree, f"v{number}")
    assert len(faults) == 2
    assert "`## Unreleased`" in faults[0]
    assert "date-released" in faults[1]


def test_missing_addresses_are_said_and_stop_nothing(tree):
    change(tree, "pyproject.toml", "[project.scripts]", "[project.urls]\nHomepage = 'x'\n\n[project.scripts]")
    assert release_facts.notes(tree) == []
    assert len(release_facts.notes(ROOT)) in (0, 3)


def test_a_file_is_missed_in_either_archive():
    tracked = ["src/noisewise/a.py", "src/noisewise/core/native/source/v.c", "README.md", ".ci/run"]
    files = {"noisewise/a.py": b""}
    assert archives.missing_from_wheel(files, tracked) == []
    assert archives.missing_from_wheel({}, tracked) == ["the wheel lacks noisewise/a.py."]
    assert archives.missing_from_sdist(dict.fromkeys(tracked[:3], b""), tracked, [".ci/"]) == []
    assert archives.missing_from_sdist({}, ["README.md"], [".ci/"]) == ["the sdist lacks README.md."]


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("../evil.py", "sdist", "outside of its folder"),
        ("/etc/evil", "wheel", "outside of its folder"),
        ("noisewise/__pycache__/a.pyc", "wheel", "left over"),
        ("build/lib/a.py", "sdist", "left over"),
        ("tests/test_a.py", "wheel", "the repository does not have"),
        ("notes.txt", "sdist", "the repository does not have"),
    ],
)
def test_what_does_not_belong_there_is_named(name, kind, said):
    (fault,) = archives.not_wanted({name: b""}, ["src/noisewise/a.py"], kind)
    assert said in fault


def test_what_belongs_there_is_not_named():
    tracked = ["src/noisewise/a.py"]
    wheel = {
        "noisewise/a.py": b"",
        "noisewise/core/native/_verbs.cpython-311.so": b"",
        "n-1.dist-info/RECORD": b"",
    }
    assert archives.not_wanted(wheel, tracked, "wheel") == []
    sdist = {"src/noisewise/a.py": b"", "PKG-INFO": b"", "setup.cfg": b"", "src/n.egg-info/SOURCES.txt": b""}
    assert archives.not_wanted(sdist, tracked, "sdist") == []


def test_paths_of_the_builders_machine_are_found():
    files = {"a.py": b"HOME = '/somewhere/build-1/a'", "b.md": b"see /home/ann/x", "c.py": b"/tmp/x"}
    assert archives.paths_inside(files, ["/somewhere/build-1"], "wheel") == [
        "a.py in the wheel names the folder /somewhere/build-1 of the machine that made it."
    ]
    assert len(archives.paths_inside({"a.py": b"'/home" + b"/berta/x.db'"}, [], "sdist")) == 1
    assert len(archives.paths_inside({"v.so": b"\0/tmp/build-env-x/numpy.h\0"}, [], "wheel")) == 1


def test_licences_are_looked_for_in_the_archives():
    files = {"p/vendor/htmx/htmx.min.js": b"", "n.dist-info/licenses/LICENSE": b""}
    assert archives.licences_inside(files, "wheel") == [
        "the wheel has files of others without their licence: p/vendor/htmx."
    ]
    assert archives.licences_inside({"p/vendor/htmx/LICENSE": b"", **files}, "wheel") == []
    assert archives.licences_inside({"a": b""}, "sdist") == ["the sdist lacks our own LICENSE."]


def test_archives_are_read_without_their_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "n.whl", "w") as wheel:
        wheel.writestr("n/a.py", "1")
    with tarfile.open(tmp_path / "n.tar.gz", "w:gz") as sdist:
        member = tarfile.TarInfo("n-1/src/a.py")
        member.size = 1
        sdist.addfile(member, io.BytesIO(b"1"))
    assert archives.read_wheel(tmp_path / "n.whl") == {"n/a.py": b"1"}
    assert archives.read_sdist(tmp_path / "n.tar.gz") == {"src/a.py": b"1"}


def test_the_lowest_versions_are_the_lower_ends_of_all_extras():
    asked = {
        "dependencies": ["numpy>=2.0", "typer>=0.15,<0.29"],
        "optional-dependencies": {
            "a": ["psycopg[binary]>=3.2"],
            "b": ["numpy>=2.1; python_version < '3.14'"],
        },
    }
    pinned = lowest.lower_ends(asked)
    assert str(pinned["typer"]) == "typer==0.15"
    assert str(pinned["psycopg"]) == "psycopg[binary]==3.2"
    assert str(pinned["numpy"]) == 'numpy==2.1; python_version < "3.14"'
    with pytest.raises(ValueError, match="must say the lowest version of numpy"):
        lowest.lower_ends({"dependencies": ["numpy<3"]})
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert set(lowest.lower_ends(ours["project"])) >= {"numpy", "scipy", "fastapi"}


def test_the_commands_of_the_release_check_are_those_of_the_readme():
    said = (ROOT / "README.md").read_text("utf-8")
    for command in release_check.COMMANDS:
        if command[0] not in ("demo", "verify"):
            assert shlex.join(["noisewise", *command]) in said, command
    assert all((ROOT / place).exists() for place in release_check.SOME_TESTS)


def test_the_hooks_call_what_make_lint_calls():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    for line in (ROOT / "Makefile").read_text("utf-8").partition("\nlint:")[2].splitlines()[1:6]:
        program = line.split()[0].removeprefix("$(BIN)/")
        assert f"entry: .venv/bin/{program}" in hooks
    assert "http" not in hooks
