# make demo: set up and run the main job.  make test: set up and run lint, types and tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINIMUM := .venv-minimum
export OMP_NUM_THREADS ?= 2
# The release of PyTorch that the adapters are tested with.
TORCH ?= torch==2.13.0

.PHONY: demo docs gallery test test-adapters test-dask test-slow test-minimum lint bench clean

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

# The adapters beside the libraries that they serve, which are large and not installed for the other tests.
test-adapters: $(VENV)/.installed-adapters
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 tests/adapters

# The site, in the folder site/: code of a page that fails, a broken link or a page that is not listed is an error.
docs: $(VENV)/.installed-docs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 tests/test_docs.py tests/test_gallery.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The pictures of the gallery and of the page on minima, drawn by the code of the pages.
gallery: $(VENV)/.installed-test
	$(BIN)/python tests/pages.py docs/gallery/*.md docs/optimize.md
	mv docs/optimize.png docs/images/
	rm docs/search.npz

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

$(VENV)/.installed-adapters: $(VENV)/.installed-test
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[test,adapters]"
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-test
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) $(MINIMUM) site .pytest_cache .mypy_cache .ruff_cache
