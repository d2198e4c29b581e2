"""What all tests share."""

import os
import sys
from pathlib import Path

import hypothesis

# Tests run side by side: one BLAS thread each, set before NumPy is imported by any of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

# The same examples every time: a failure is a bug, not bad luck.
hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("fixed")
