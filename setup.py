"""Builds the verbs in C. Everything else about the package is in pyproject.toml.

Without a C compiler the package is installed all the same, and the verbs run as NumPy.
"""

import os
import runpy
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE, WRITTEN = Path("src/noisewise/core/native/source"), Path("build/native")
#: Sums may be reordered where a loop says so (`omp simd`), and square roots need no `errno`. What debuggers
#: would be told is left out: it names folders of the machine that builds.
FLAGS = ["-O3", "-g0", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"]
#: For the sanitizers, for instance: NOISEWISE_CFLAGS="-fsanitize=address,undefined".
EXTRA = os.environ.get("NOISEWISE_CFLAGS", "").split()

#: Installing for work on it: `make` builds the extension afterwards, once, and again when a source changes.
LATER = os.environ.get("NOISEWISE_BUILD") == "later"


class Build(build_ext):
    """All sources at once: the same bodies are compiled for two kinds of processor."""

    def build_extensions(self):
        """Write the bindings, compile in threads, and link when all are there."""
        runpy.run_path(str(SOURCE / "generate.py"))["write"](WRITTEN)
        compile_one, compiler = getattr(self.compiler, "_compile", None), self.compiler
        if compile_one is None:  # Microsoft's compiler does them all by itself
            return super().build_extensions()
        link, under_way = compiler.link_shared_object, []

        def link_when_all_are_there(*arguments, **named):
            for one in under_way:
                one.result()
            return link(*arguments, **named)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            compiler._compile = lambda *arguments: under_way.append(pool.submit(compile_one, *arguments))
            compiler.link_shared_object = link_when_all_are_there
            super().build_extensions()


setup(
    cmdclass={"build_ext": Build},
    ext_modules=[]
    if LATER
    else [
        Extension(
            "noisewise.core.native._verbs",
            sources=[str(source) for source in sorted(SOURCE.glob("*.c"))],
            depends=[str(header) for header in sorted([*SOURCE.glob("*.h"), SOURCE / "generate.py"])],
            include_dirs=[np.get_include(), str(WRITTEN), str(SOURCE)],
            extra_compile_args=[] if sys.platform == "win32" else FLAGS + EXTRA,
            extra_link_args=EXTRA,
            optional=True,
        )
    ],
)
