# make demo   a tour in the terminal      make test    everything, as CI runs it
# make check  lint, types, architecture   make bench   speed and memory, as ratios in one run
# make hooks  run the checks on each commit
# make torture  a long campaign against the default engine (TORTURE_SECONDS=300)
# make regenerate  every golden and generated file (STEPS='picture goldens': only these)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup hooks demo test check bench torture regenerate clean

help:
	@sed -n 's/^# make /make /p' Makefile

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"vez needs Python 3.11 or newer, {sys.executable} is {v[0]}.{v[1]}; try: make PYTHON=python3.12 setup")'
	@$(PYTHON) -m venv $(VENV) || { echo "no venv module: install your distribution's python3-venv package" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: $(STAMP)

hooks: setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check pre-commit
	@$(BIN)/pre-commit install

demo: setup
	@$(BIN)/python -m vez.demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

test: check
	@sh tools/install-browser
	@sh tools/install-servers
	$(BIN)/python -m pytest

bench: setup
	$(BIN)/python -m bench

torture: setup
	@dir=$$(mktemp -d) && seed=$${SEED:-$$(date +%s)} && \
	  $(BIN)/vez torture --url "file://$$dir/turns" --workers 12 --seconds $${TORTURE_SECONDS:-300} --entries 20000 --seed $$seed; \
	  code=$$?; rm -rf "$$dir"; exit $$code

regenerate: setup
	$(BIN)/python -m tools.regenerate $(STEPS)

clean:
	rm -rf $(VENV) build dist demo-out .mypy_cache .ruff_cache .pytest_cache
