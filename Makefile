# Needs make and a Python of 3.11 or newer; everything else is installed into .venv (or VENV=DIR). Where uv is installed,
# it does that in seconds, from the same lock; UV= goes without it.

PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$name -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo $$name; break; }; done)
VENV = .venv
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check
UV := $(shell command -v uv)
# uv does not read pip's settings, and a folder of wheels that they name may hold the build of torch that is wanted.
LINKS = $(addprefix --find-links=,$(sort $(shell $(PIP) config list | sed -n "s/.*find-links='\(.*\)'/\1/p" | sed 's/\\n/ /g')))
INSTALL = $(if $(UV),$(UV) pip install --quiet --python $(VENV)/bin/python $(LINKS),$(PIP) install -qq --no-compile)
MATRIX = 3.12 3.13
DEMO ?= train hwf --data digits --preset best --image-size 8 --epochs 6

.DEFAULT_GOAL := help
.PHONY: help demo test browser lint matrix wheel torture mutants bench paper docs lock audit clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-7s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv found: install one, or run make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# Whether to go without hashes is decided here, never by what an index serves: a wrong hash is an error.
$(VENV)/versions.txt: requirements.txt | $(VENV)/bin/python
	@sed -n 's/^\(# \)\{0,1\}\([a-z0-9.-]*==[^ ]*\).*/\2/p' requirements.txt > $@

# What pip warns of is its settings (a folder of wheels that is missing, say); what it cannot do is an error.
$(VENV)/.installed: pyproject.toml requirements.txt $(VENV)/versions.txt
	@echo "Installing into $(VENV): about 1.3 GB, most of it torch. This takes 1 to 3 minutes, once."
	@echo "  1 of 3: libraries"
	@if grep -qx "# fits $$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))')" \
		requirements.txt; then $(INSTALL) --require-hashes --no-deps -r requirements.txt; \
	else echo "    requirements.txt has no hashes for this Python and platform: installing without." >&2; \
		$(INSTALL) -c $(VENV)/versions.txt hatchling -e '.[dev]'; fi
	@echo "  2 of 3: torch"
	@$(INSTALL) -c $(VENV)/versions.txt torch
	@echo "  3 of 3: softground"
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@wrong=$$($(PIP) check) || { echo "$$wrong" >&2; exit 1; }
	@touch $@

demo: export PYTHONDONTWRITEBYTECODE =  # pip compiles nothing: what the first run imports, the others find compiled
demo: $(VENV)/.installed ## Train on handwritten formulas with the digits that ship with scikit-learn.
	@echo "Training: 3,000 formulas of which only the value is known, about 15 seconds on 2 cores."
	$(VENV)/bin/softground $(DEMO)

test: export OMP_NUM_THREADS = 1
test: export PYTHONDONTWRITEBYTECODE =  # many tests start processes: what one has compiled, the others read
test: lint ## Lint, check types and run every test.
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal $(TESTS)

matrix: ## The same with each Python of MATRIX that is installed and that torch has a build for; TESTS=… takes some tests.
	@for version in $(MATRIX); do venv=.venv-$$version; make="$(MAKE) VENV=$$venv PYTHON=python$$version"; \
		python$$version -c 'import ensurepip' >/dev/null 2>&1 || { echo "Python $$version: skipped, not installed"; continue; }; \
		$$make $$venv/versions.txt && $$venv/bin/python -m pip install --quiet --dry-run --no-deps -c $$venv/versions.txt torch \
			|| { echo "Python $$version: skipped, pip finds no torch for it"; continue; }; \
		$$make test || exit; done

wheel: $(VENV)/.installed ## Build the wheel and try it in an environment of its own; FRESH=1 installs every extra there.
	$(VENV)/bin/python -m tools.wheel $(if $(FRESH),--fresh $(LINKS))

browser: export OMP_NUM_THREADS = 1
browser: $(VENV)/.installed ## Draw in the window on a run, and look at pages, in Chromium; installs that where it is missing.
	@for name in chromium chromium-browser google-chrome chrome; do command -v $$name >/dev/null && exit 0; done; \
	set -x; if [ "$$(id -u)" = 0 ]; then apt-get install --yes chromium; else sudo apt-get install --yes chromium; fi
	$(VENV)/bin/python -m pytest tests/window tests/report/test_report_browser.py

lint: $(VENV)/.installed ## Check format, style and types.
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

torture: export OMP_NUM_THREADS = 1
torture: $(VENV)/.installed ## Kill, break and damage on purpose; count what survives.
	PYTHONPATH=tests $(VENV)/bin/python -m torture

$(VENV)/.mutants: $(VENV)/.installed
	$(INSTALL) -c $(VENV)/versions.txt --no-build-isolation -e '.[mutants]'
	@touch $@

mutants: export OMP_NUM_THREADS = 1
mutants: $(VENV)/.mutants ## Break the mathematics in places and count what no test notices: hours, or SAMPLE=500 at random.
	$(VENV)/bin/$(if $(SAMPLE),python -m tools.sampled $(SAMPLE) $(or $(SEED),0),mutmut) run $(if $(JOBS),--max-children $(JOBS)) $(ONLY)
	$(VENV)/bin/python -m tools.mutants

bench: $(VENV)/.installed ## Measure speed and memory; HWF=DIR takes the HWF set for the whole run.
	$(VENV)/bin/python benchmarks/step.py
	$(VENV)/bin/python benchmarks/inverse.py
	$(VENV)/bin/python benchmarks/solvers.py
	$(VENV)/bin/python benchmarks/memory.py
	$(VENV)/bin/python benchmarks/whole_run.py $(if $(HWF),--data-dir $(HWF))
	$(VENV)/bin/python benchmarks/tables.py

paper: $(VENV)/.installed ## Measure the paper's tables again; DATA=DIR takes HWF and MNIST from there.
	$(VENV)/bin/python -m papers.li2023 all $(if $(DATA),--data-dir $(DATA))

$(VENV)/.docs: $(VENV)/.installed
	$(INSTALL) -c $(VENV)/versions.txt --no-build-isolation -e '.[docs]'
	@touch $@

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.docs ## Build the documentation into site/; a warning is an error.
	$(VENV)/bin/mkdocs build --strict

lock: | $(VENV)/bin/python ## Write requirements.txt anew: its versions, and the hashes that the index lists.
	$(VENV)/bin/python tools/lock.py $(INDEX)

audit: $(VENV)/.docs ## Check what is installed, and print the licences of all of it.
	$(PIP) check
	$(VENV)/bin/python tools/licences.py

clean: ## Remove the environment, caches and build outputs; runs are kept.
	rm -rf .venv .venv-* build dist site mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src papers tests -name __pycache__ -type d -prune -exec rm -rf {} +
