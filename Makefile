# make demo: set up and run the main job.  make test: set up and run lint, types and tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINIMUM := .venv-minimum
export OMP_NUM_THREADS ?= 2

.PHONY: demo test test-dask test-slow test-minimum lint bench clean

demo: $(VENV)/.installed
	$(BIN)/heatgp reproduce all --quick

test: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not slow and not dask"

test-slow: $(VENV)/.installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m slow

# Clusters of two processes, which the fast tests do not start; Dask is installed for them alone.
test-dask: $(VENV)/.installed-test
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[test,dask]"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m dask tests/test_dask.py

# The oldest versions that pyproject.toml allows, in an environment of their own.
test-minimum: $(MINIMUM)/.installed-test
	OMP_NUM_THREADS=1 $(MINIMUM)/bin/python -m pytest -n 2 -m "not slow and not dask"

$(MINIMUM)/.installed-test: pyproject.toml .ci/minimum_versions.py
	$(PYTHON) -m venv --clear $(MINIMUM)
	$(MINIMUM)/bin/python .ci/minimum_versions.py > $(MINIMUM)/constraints.txt
	$(MINIMUM)/bin/pip install --quiet --disable-pip-version-check --constraint $(MINIMUM)/constraints.txt \
		--editable ".[test]"
	touch $@

bench: $(VENV)/.installed-test
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[bench]"
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[data]"
	touch $@

$(VENV)/.installed-test: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) $(MINIMUM) .pytest_cache .mypy_cache .ruff_cache
