"""Build the site: `python -m website.build [folder]`, offline, warnings are errors."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from website.source_pages import ROOT, assemble

SITE = ROOT / "build" / "site"


def build(site: Path = SITE) -> int:
    """Write the site into a folder, which is emptied before; returns Sphinx's exit code."""
    with tempfile.TemporaryDirectory(prefix="noisewise-site-") as made:
        source = Path(made) / "source"
        assemble(source)
        shutil.rmtree(site, ignore_errors=True)
        command = [
            sys.executable,
            "-m",
            "sphinx",
            "--quiet",
            "--fail-on-warning",
            "--keep-going",
            "--jobs",
            "2",
        ]
        places = [
            "-c",
            str(Path(__file__).parent),
            "-d",
            str(Path(made) / "doctrees"),
            str(source),
            str(site),
        ]
        return subprocess.run([*command, *places], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if sys.argv[1:] else SITE))
