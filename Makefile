# make setup  .venv with vez and the tools (PYTHON=python3.13; `make clean` first to change it)
# make demo   a tour in the terminal      make test    all tests but the long ones
# make check  lint, types, architecture   make bench   speed and memory, as ratios in one run
# make hooks  run the checks on each commit
# make test-long  what is not needed on each change: large state spaces, more seeds, mutants, the wheel and the sdist
# make coverage  the parallel tests of make test, and how much of the package they run, with a floor (PYTHON=python3.13)
# make test-pythons  the quick tests on every other Python that is found
# make crosscheck  the checker beside a naive explorer and beside the simulator (COUNT FIRST KIND CROSSCHECK_SECONDS)
# make campaign  every algorithm as real processes with every real fault (COUNT SEED CAMPAIGN_SECONDS JOBS)
# make campaign ETCD=1  releases against renewals, and reconnects, on a real etcd (RACES=100000 RECONNECTS=1000)
# make torture  a long campaign against the default engine, and its mutants (TORTURE_SECONDS=300)
# make regenerate  every golden and generated file (STEPS='picture goldens': only these)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PLAIN := $(VENV)/.plain
# Tests start some thousand Python processes; where this is set, each of them would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup hooks demo test test-long coverage test-pythons check types architecture bench torture crosscheck campaign regenerate clean

help:
	@sed -n 's/^# make /make /p' Makefile

$(PLAIN): pyproject.toml  # vez and what it depends on: all that the demo needs
	@sh tools/install $(PYTHON) $(VENV)
	@touch $@

$(STAMP): pyproject.toml  # the same environment, with the tools of development
	@sh tools/install $(PYTHON) $(VENV) dev
	@touch $@ $(PLAIN)

setup: $(STAMP)

hooks: setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check pre-commit
	@$(BIN)/pre-commit install

demo: $(PLAIN)
	@exec $(BIN)/python -m vez.cli.demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tools.unasync --check
	@$(MAKE) --no-print-directory -j 2 --output-sync types architecture

types: setup
	$(BIN)/mypy

architecture: setup
	$(BIN)/python -m pytest tests/test_architecture.py

test: check
	@sh tools/install-browser
	@sh tools/install-servers
	@sh tools/run-tests $(BIN)/python

test-long: setup
	@sh tools/run-tests $(BIN)/python long

coverage: setup
	@sh tools/run-tests $(BIN)/python coverage

test-pythons: setup
	@$(BIN)/python -m tools.pythons

bench: setup
	$(BIN)/python -m bench

crosscheck: setup
	$(BIN)/python -m tests.worlds.crosscheck $${COUNT:-2000} $${FIRST:-0} --kind $${KIND:-all} --seconds $${CROSSCHECK_SECONDS:-3600}

campaign: setup
ifdef ETCD
	@VEZ_RACES=$${RACES:-100000} VEZ_RECONNECTS=$${RECONNECTS:-1000} $(BIN)/python -m pytest -q tests/locks/etcd/test_races.py
else
	@$(BIN)/python -m tests.worlds.campaign --count $${COUNT:-1} --seed $${SEED:-$$(date +%s)} --seconds $${CAMPAIGN_SECONDS:-7200} --jobs $${JOBS:-2}
endif

torture: setup
	@VEZ_MUTANTS=all $(BIN)/python -m pytest -q tests/locks/engines/test_mutants.py
	@dir=$$(mktemp -d) && seed=$${SEED:-$$(date +%s)} && seconds=$${TORTURE_SECONDS:-300} && \
	  $(BIN)/vez torture --url "file://$$dir/turns" --workers 12 --seconds $$seconds --entries 20000 --seed $$seed && \
	  $(BIN)/vez torture --url "file://$$dir/turns" --seconds $$seconds --entries 100000 --seed $$seed --faults all \
	    --kinds lock,read-write,semaphore,election; \
	  code=$$?; rm -rf "$$dir"; exit $$code

regenerate: setup
	$(BIN)/python -m tools.regenerate $(STEPS)

clean:
	rm -rf $(VENV) $(VENV)-3.* build dist demo-out .mypy_cache .ruff_cache .pytest_cache .coverage
