# Every target sets up what it needs: a virtual environment in .venv with the pinned packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
SUBMISSIONS ?= data/sample_class/W1
WEEK ?= W1

.PHONY: help setup demo test browser-test pictures lab build sync-check execute matrix grade bench lint lock clean

help:  ## say what each target does
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; set PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e ".[dev]"
	@touch $@

setup: $(STAMP)  ## make the virtual environment and install the pinned packages

demo: setup  ## the whole way in three minutes: train, build the notebooks, grade a sample class
	$(BIN)/lmcourse train --corpus stories --threads 1 --out runs/demo --overwrite
	$(BIN)/autograde build
	$(BIN)/autograde grade W1 --submissions data/sample_class/W1 --jobs $(JOBS) --time-limit 10

test: setup  ## the test suite
	$(BIN)/python -m pytest -m "not browser"

browser-test: setup  ## the fast tests in a real browser (needs chromium)
	$(BIN)/python -m pytest -m browser

pictures: browser-test  ## take the pictures of the README again
	mkdir -p docs/images
	cp build/screenshots/widget-0-1280.png docs/images/packing-viewer.png
	cp build/screenshots/w1-4-wrong.png docs/images/check.png

lab: setup  ## JupyterLab at week 0
	$(BIN)/jupyter lab notebooks/week00_start.ipynb

build: setup  ## build the student notebooks and the check tables from solutions/
	$(BIN)/autograde build

sync-check: setup  ## fail when notebooks/ differs from what the build makes
	$(BIN)/autograde build --check

execute: setup  ## restart and run all of the solution notebooks
	$(BIN)/autograde execute

matrix: setup  ## which hidden test kills which mutant; fails when one survives
	$(BIN)/autograde matrix

grade: setup  ## grade a folder of submissions: make grade WEEK=W1 SUBMISSIONS=path JOBS=2
	$(BIN)/autograde grade $(WEEK) --submissions $(SUBMISSIONS) --jobs $(JOBS)

bench: setup  ## measure and print the tables in benchmarks/
	$(BIN)/python -m benchmarks.floor
	$(BIN)/python -m benchmarks.checks
	$(BIN)/python -m benchmarks.waiting

lint: setup  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lock:  ## write requirements.lock from the environment in .venv
	$(BIN)/python -m pip freeze --exclude-editable | sed -E 's/\+cpu$$//' | grep -v -E '^(pip|setuptools|wheel)=' > requirements.lock

clean:  ## remove what the commands made (never your notebooks or runs)
	rm -rf build .pytest_cache .ruff_cache
