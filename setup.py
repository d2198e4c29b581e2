"""Builds the verbs in C. Everything else about the package is in pyproject.toml.

Without a C compiler the package is installed all the same, and the verbs run as NumPy.
"""

import os
import sys
from pathlib import Path

import numpy as np
from setuptools import Extension, setup

SOURCE = Path("src/noisewise/core/native/source")
#: Sums may be reordered where a loop says so (`omp simd`), and square roots need no `errno`. What debuggers
#: would be told is left out: it names folders of the machine that builds.
FLAGS = ["-O3", "-g0", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"]
#: For the sanitizers, for instance: NOISEWISE_CFLAGS="-fsanitize=address,undefined".
EXTRA = os.environ.get("NOISEWISE_CFLAGS", "").split()

#: Installing for work on it: `make` builds the extension afterwards, once, and again when a source changes.
LATER = os.environ.get("NOISEWISE_BUILD") == "later"

setup(
    ext_modules=[]
    if LATER
    else [
        Extension(
            "noisewise.core.native._verbs",
            sources=[str(source) for source in sorted(SOURCE.glob("*.c"))],
            depends=[str(header) for header in sorted(SOURCE.glob("*.h"))],
            include_dirs=[np.get_include()],
            extra_compile_args=[] if sys.platform == "win32" else FLAGS + EXTRA,
            extra_link_args=EXTRA,
            optional=True,
        )
    ]
)
