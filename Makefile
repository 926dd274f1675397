# Everything lives in .venv inside this checkout. `make demo` and `make test` are the two commands to know.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Made when cofit is installed with all that it needs to run, and when the tools of its developers are there too.
RUNTIME := $(VENV)/.runtime
STAMP  := $(VENV)/.ready
# Test processes at once: many tests wait rather than compute, so two more than the two cores that we count on.
WORKERS ?= 4
# A process that has nothing left takes tests from another one, which would else wait behind a long test.
SPREAD := -n $(WORKERS) --dist worksteal
DEMO   := build/demo
# How long `make soak` runs.
MINUTES ?= 60
# What `make mutants` breaks.
PACKAGE ?= sharing sampling privacy
# Tests and demos start hundreds of Python processes: compile each file once, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
NATIVE := CMakeLists.txt $(wildcard src/cofit/kernels/native/*)

.PHONY: help setup demo test test-all soak lint bench figures vectors mutants graph clean

help:            ## Show this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(RUNTIME): pyproject.toml $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) and compiling the kernels: a few minutes, the first time."
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(STAMP): $(RUNTIME)
	@echo "Installing the tools of developers into $(VENV)."
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

setup: $(STAMP)  ## Create .venv, compile the kernels, install cofit and the tools of its developers

demo: $(RUNTIME) ## Two hospitals train a private model, with real processes over TLS; results in build/demo
	$(BIN)/cofit demo --out $(DEMO) --force

test: setup      ## The tests (minutes)
	$(BIN)/python -m pytest -m "not slow" $(SPREAD)

test-all: setup  ## All tests, with the long statistical and soak suites
	$(BIN)/python -m pytest $(SPREAD)

soak: setup      ## Studies for MINUTES (60), with random kills and cuts; memory, files and descriptors in build/soak
	PYTHONPATH=tests $(BIN)/python -m support.soak --minutes $(MINUTES) --out build/soak

lint: setup      ## Style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup     ## Benchmarks; results as JSON in build/bench
	mkdir -p build/bench
	for name in epoch exchange share kernels rlwe functions sampling lines train scale predict schemes; do \
	  $(BIN)/cofit bench $$name --json > build/bench/$$name.tmp || exit 1; \
	  mv build/bench/$$name.tmp build/bench/$$name.json; cat build/bench/$$name.json; \
	done

figures: setup   ## Put the figures that commands print into README and docs; the tests tell when they are stale
	PYTHONPATH=tests $(BIN)/python -m support.figures
	COFIT_FIGURES=write $(BIN)/python -m pytest tests/e2e/pages $(SPREAD)

vectors: setup   ## Write the test vectors again; a difference is a change of a format
	PYTHONPATH=tests $(BIN)/python -m support.vectors

mutants: setup   ## Break PACKAGE on purpose, SAMPLE times at most, and count what its tests notice (hours without a SAMPLE)
	$(BIN)/python -m pip install --quiet --group mutants
	for package in $(PACKAGE); do \
	  PYTHONPATH=tests $(BIN)/python -m support.mutants $$package $(if $(SAMPLE),--sample $(SAMPLE)) || exit 1; \
	done

graph: setup     ## Draw the imports between packages into docs/images; the tests tell when the picture is stale
	PYTHONPATH=tests $(BIN)/python -m support.import_graph

clean:           ## Remove the environment, everything built, and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
