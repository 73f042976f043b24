# `make demo` and `make test`: each, alone, on a fresh machine, sets up .venv/ and does its job.

PYTHON ?= python3
BIN := .venv/bin

# The tested CPU pins, except where an NVIDIA GPU answers: there torch has to be a CUDA build.
CONSTRAINT := $(if $(shell nvidia-smi -L 2>/dev/null),,-c constraints/vision-cpu.txt)

.PHONY: demo test setup clean

demo: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/demo.sh

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist loadgroup

setup: .venv/ready

.venv/ready: pyproject.toml constraints/vision-cpu.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  f"wattmark needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}. Try make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet $(CONSTRAINT) --editable '.[vision,nvidia,report,dev]'
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
