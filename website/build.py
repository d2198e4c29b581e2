"""Build the site: `python -m website.build [folder]`, offline, warnings are errors.

Its pictures are made anew, by the code on the pages that show them.
"""

import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from website import pictures
from website.blocks import ROOT
from website.source_pages import assemble

SITE = ROOT / "build" / "site"


def build(site: Path = SITE) -> int:
    """Write the site into a folder, which is emptied before; returns Sphinx's exit code."""
    with tempfile.TemporaryDirectory(prefix="noisewise-site-") as made:
        source = Path(made) / "source"
        assemble(source)
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            list(pool.map(partial(pictures.make, folder=source / "images"), pictures.pages()))
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
