# make run    set up and open the app          make test      set up, check, and run the tests but those that are thorough
# make setup  only prepare .venv               make test-all  make test with all tests, in about an hour
# make check  style, types, arrows: the first half of make test
.DEFAULT_GOAL := help
.PHONY: help run test test-all setup setup-dev browser loops lint types arrows check pytest elsewhere ready-elsewhere coverage format bench lock clean

PY := .venv/bin/python
# Any Python 3 can run the set-up script, which then looks for a supported one.
BOOTSTRAP := $(or $(EVENHAND_PYTHON),$(shell command -v python3 || command -v python3.13 || command -v python3.12 || command -v python3.11))
# Arguments of the app: make run ARGS="--port 8600 --no-browser"
ARGS ?=
# Processes of the tests: as many as cores, at most 4 (each browser module starts a server and a Chromium). Of its own nproc says no more
# than OMP_NUM_THREADS, which is of threads.
N_CORES := $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 2)
N_TEST_PROCESSES ?= $(shell [ $(N_CORES) -gt 4 ] && echo 4 || echo $(N_CORES))

help:
	@grep -E '^# make|^#   ' Makefile | sed 's/^# //'
	@echo "Also: make lint, types, arrows, loops, pytest, elsewhere, coverage, format, bench, lock, clean"

run: setup
	@exec $(PY) -m evenhand app $(ARGS)

setup:
	@test -n "$(BOOTSTRAP)" || { echo "Evenhand needs Python 3.11, 3.12 or 3.13, and found none: sudo apt-get install python3" >&2; exit 1; }
	@"$(BOOTSTRAP)" scripts/setup.py

setup-dev:
	@test -n "$(BOOTSTRAP)" || { echo "Evenhand needs Python 3.11, 3.12 or 3.13, and found none: sudo apt-get install python3" >&2; exit 1; }
	@"$(BOOTSTRAP)" scripts/setup.py --dev

browser: setup-dev
	@$(PY) scripts/browser.py

lint: setup-dev
	@$(PY) -m ruff check --no-cache .
	@$(PY) -m ruff format --no-cache --check .

types: setup-dev
	@$(PY) -m mypy

arrows: setup-dev
	@.venv/bin/lint-imports

check: lint types arrows

# Which loops: all of them, where none is named.
LOOPS ?=

loops: setup-dev
	@$(PY) scripts/compile_loops.py $(LOOPS)

# Of the tests that are long for what they assert (walks in a browser, many processes, real data, many kinds of models): none, all, or a
# share, as in 2/36.
THOROUGH ?= none

# One thread of linear algebra a process: the processes take all cores already, and threads that wait for one another burn what they have.
pytest: setup-dev browser
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PY) -m pytest -n $(N_TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --thorough $(THOROUGH) $(PYTEST_EXTRA)

# What may depend on the Python or on the processor: continuous integration tries it with others of both. No test of it certifies, so
# the loops of certifications, two thirds of the compiling, are left out.
elsewhere ready-elsewhere: LOOPS = models searches
ready-elsewhere: loops
elsewhere: THOROUGH = all
elsewhere: ready-elsewhere
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 EVENHAND_TESTS_LOOPS="$(LOOPS)" $(PY) -m pytest -n $(N_TEST_PROCESSES) --dist loadfile --thorough $(THOROUGH) tests/search tests/models/test_shared_variants.py tests/measures/test_estimate.py tests/measures/test_exact.py tests/oracle/test_oracle.py tests/measures/test_plausibility.py

coverage: PYTEST_EXTRA = --cov --cov-report=term:skip-covered
coverage: THOROUGH = all
coverage: pytest

# Everything is run, so that one answer tells all that is wrong; the tests come last. The loops that they need are compiled meanwhile.
test: setup-dev
	@status=0; $(MAKE) --no-print-directory -k -j 2 -O check loops || status=1; $(MAKE) --no-print-directory pytest || status=1; exit $$status

test-all: export THOROUGH = all
test-all: test

format: setup-dev
	@$(PY) -m ruff check --fix-only . && $(PY) -m ruff format .

bench: setup-dev browser
	@for script in $$(grep -l '__main__' benchmarks/*.py); do $(PY) -m "benchmarks.$$(basename "$$script" .py)" || exit 1; done

lock: setup-dev
	@$(PY) scripts/lock.py $(if $(UPGRADE),--upgrade)

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .coverage* htmlcov
