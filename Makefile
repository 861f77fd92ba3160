# Needs make and a Python of 3.11 or newer; everything else is installed into .venv.

PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$name -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo $$name; break; }; done)
PIP_INSTALL = .venv/bin/python -m pip install --quiet --disable-pip-version-check
DEMO ?= train hwf --data digits --preset best --image-size 8 --epochs 6

.DEFAULT_GOAL := help
.PHONY: help demo test browser lint torture mutants bench paper docs lock audit clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-7s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv found: install one, or run make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv

# Whether to go without hashes is decided here, never by what an index serves: a wrong hash is an error.
.venv/.installed: pyproject.toml constraints.txt requirements/locked.txt | .venv/bin/python
	@if grep -qx "# fits $$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))')" \
		requirements/locked.txt; then set -x; $(PIP_INSTALL) --require-hashes --no-deps -r requirements/locked.txt; \
	else echo "requirements/locked.txt has no hashes for this Python and platform: installing without." >&2; \
		set -x; $(PIP_INSTALL) -c constraints.txt hatchling -e '.[dev]'; fi
	$(PIP_INSTALL) -c constraints.txt torch
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	.venv/bin/python -m pip check
	@touch $@

demo: .venv/.installed ## Train on handwritten formulas with the digits that ship with scikit-learn.
	.venv/bin/softground $(DEMO)

test: export OMP_NUM_THREADS = 1
test: lint ## Lint, check types and run every test.
	.venv/bin/python -m pytest -n 2

browser: export OMP_NUM_THREADS = 1
browser: .venv/.installed ## Draw in the window on a run, and look at pages, in Chromium; installs that where it is missing.
	@for name in chromium chromium-browser google-chrome chrome; do command -v $$name >/dev/null && exit 0; done; \
	set -x; if [ "$$(id -u)" = 0 ]; then apt-get install --yes chromium; else sudo apt-get install --yes chromium; fi
	.venv/bin/python -m pytest tests/window tests/report/test_report_browser.py

lint: .venv/.installed ## Check format, style and types.
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

torture: export OMP_NUM_THREADS = 1
torture: .venv/.installed ## Kill, break and damage on purpose; count what survives.
	.venv/bin/python -m torture

.venv/.mutants: .venv/.installed
	$(PIP_INSTALL) -c constraints.txt --no-build-isolation -e '.[mutants]'
	@touch $@

mutants: export OMP_NUM_THREADS = 1
mutants: .venv/.mutants ## Break the mathematics in thousands of places and count what no test notices; takes hours.
	.venv/bin/mutmut run $(if $(JOBS),--max-children $(JOBS)) $(ONLY)
	.venv/bin/python -m tools.mutants

bench: .venv/.installed ## Measure speed, memory and growth; HWF=DIR takes the HWF set for the whole run.
	.venv/bin/python benchmarks/step.py
	.venv/bin/python benchmarks/inverse.py
	.venv/bin/python benchmarks/solvers.py
	.venv/bin/python benchmarks/memory.py
	.venv/bin/python benchmarks/whole_run.py $(if $(HWF),--data-dir $(HWF))
	.venv/bin/python benchmarks/growth.py
	.venv/bin/python benchmarks/tables.py

paper: .venv/.installed ## Measure the paper's tables again; DATA=DIR takes HWF and MNIST from there.
	.venv/bin/python -m papers.li2023 all $(if $(DATA),--data-dir $(DATA))

.venv/.docs: .venv/.installed
	$(PIP_INSTALL) -c constraints.txt --no-build-isolation -e '.[docs]'
	@touch $@

docs: export NO_MKDOCS_2_WARNING = 1
docs: .venv/.docs ## Build the documentation into site/; a warning is an error.
	.venv/bin/mkdocs build --strict

lock: | .venv/bin/python ## Write requirements/locked.txt anew, from constraints.txt and the index.
	.venv/bin/python tools/lock.py $(INDEX)

audit: .venv/.docs ## Check what is installed, and write the licences of all of it to docs/licences.md.
	.venv/bin/python -m pip check
	.venv/bin/python tools/licences.py

clean: ## Remove the environment, caches and build outputs; runs are kept.
	rm -rf .venv build dist site mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src papers tests -name __pycache__ -type d -prune -exec rm -rf {} +
