# `make demo` and `make test` work from a fresh clone with nothing but Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# What is installed: for the demo, for tests and lint, for the site.
BASE := $(VENV)/.base
STAMP := $(VENV)/.installed
SITE := $(VENV)/.site
# The verbs in C; where there is no compiler this says so, and NumPy does their work.
VERBS := $(VENV)/.verbs
# Work spread over processes wants one BLAS thread each.
export OPENBLAS_NUM_THREADS ?= 1
# Tests start Python more than a hundred times: what it compiled of our sources it shall find the next time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-long coverage size oracle evaluations compare slowest lint docs sanitize bench lowest release-check format clean

demo: $(VERBS)
	$(BIN)/noisewise demo
	@echo "For a table of your own: $(BIN)/noisewise init mine.db --from results.csv --eps 0.5, and then $(BIN)/noisewise certify mine.db"

# The short suite: some ten minutes of processor time, shared by all processors.
test: $(STAMP) $(VERBS)
	$(BIN)/python -m pytest -n auto

# Everything: browsers, clusters, stores under kill, wheels, all runs of statistical tests, every page.
test-long: $(STAMP) $(SITE) $(VERBS) oracle evaluations
	$(PIP) --group release
	$(BIN)/python -m website.build
	NOISEWISE_TESTS=long $(BIN)/python -m pytest -n auto

# The current releases of Inspect and lm-eval, in build/evaluations; without them their tests are skipped.
evaluations: $(STAMP)
	@test -d build/evaluations/lm_eval || \
		$(BIN)/python -m pip install --quiet --target build/evaluations inspect_ai lm_eval || \
		echo "Inspect and lm-eval could not be installed: their tests will be skipped."

# The lines of src that the short suite executes, child processes included.
coverage: $(STAMP) $(VERBS)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --fail-under=92

# Code lines, modules and call paths against their targets.
size: $(STAMP)
	@$(BIN)/python -m tools.size

# Version 0.2.0, from its commit, in build/oracle.
oracle: $(STAMP)
	$(BIN)/python -m tools.oracle

# Random studies, new ones every time, fed to 0.2.0 and to this tree. `make compare EXAMPLES=1000` for more.
compare: oracle $(VERBS)
	NOISEWISE_COMPARE=fresh EXAMPLES=$(or $(EXAMPLES),200) $(BIN)/python -m pytest -q -rs tests/golden/test_oracle.py -m long

# The short suite, and the tests that took most processor time.
slowest: $(STAMP) $(VERBS)
	$(BIN)/python -m pytest -n auto -p tools.spent || true
	$(BIN)/python -m tools.spent

# Every page, with references made from the code, in build/site; offline, and a warning is an error.
docs: $(SITE) $(VERBS)
	$(BIN)/python -m website.build
	@echo "Open build/site/index.html"

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs benchmarks tools website *.md CITATION.cff

# The verbs in C, built with the address and undefined-behaviour sanitizers, under the tests that call every
# binding. Unoptimised: that is built four times as fast, and nothing is optimised away that could be wrong.
SANITIZERS := -O0 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SANITIZED := tests/core/native tests/core/test_independent.py tests/rules/test_vage_races.py
sanitize: $(STAMP) $(VERBS)
	NOISEWISE_CFLAGS="$(SANITIZERS)" $(BIN)/python setup.py --quiet build --build-base build/sanitized --build-lib build/sanitized/lib
	LD_PRELOAD=$$(cc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=build/sanitized/lib \
		$(BIN)/python -m pytest -q -p no:cacheprovider -p no:xdist $(SANITIZED)

bench: $(STAMP) $(VERBS)
	$(PIP) --group bench
	$(BIN)/python -m benchmarks --out bench.json

# The short suite with the lowest versions that pyproject.toml accepts, in build/lowest.
lowest: $(STAMP)
	$(BIN)/python -m tools.lowest

# Builds, looks into, installs and uses what would be released. `make release-check TAG=v0.2.0` for a release.
release-check: $(STAMP)
	$(PIP) --group release
	$(BIN)/python -m tools.release_check $(if $(TAG),--tag $(TAG)) $(if $(KEEP),--keep $(KEEP))

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache

$(VERBS): $(BASE) setup.py $(wildcard src/noisewise/core/native/source/*)
	@echo "Compiling the arithmetic, if there is a C compiler ..."
	@$(BIN)/python setup.py --quiet build_ext --inplace >$(VENV)/build.log 2>&1 || true
	@$(BIN)/python -m compileall -q src/noisewise # a command starts in half the time
	@$(BIN)/python -m noisewise.core.native
	@touch $(VERBS)

# The demo needs the package and what it imports, nothing else; tools for tests come with `make test`.
$(BASE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "noisewise needs Python 3.11 or newer; found " + sys.version.split()[0])'
	@echo "Making .venv and installing noisewise with what it imports (NumPy, SciPy, Polars, ...) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) setuptools numpy
	@NOISEWISE_BUILD=later $(PIP) --no-build-isolation --editable .
	@touch $(BASE)

$(STAMP): $(BASE)
	@echo "Installing the tools for tests, types and style ..."
	@$(PIP) --upgrade "pip>=25.1"
	@NOISEWISE_BUILD=later $(PIP) --no-build-isolation --group dev --editable ".[charts]"
	@touch $(STAMP)

$(SITE): $(STAMP)
	@echo "Installing what builds the site (Sphinx, MyST, furo) ..."
	@$(PIP) --group docs
	@touch $(SITE)
