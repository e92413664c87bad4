# make demo   a tour in the terminal      make test    everything, as CI runs it
# make check  lint, types, architecture   make bench   speed and memory, as ratios in one run
# make hooks  run the checks on each commit
# make coverage  how much of the package the quicker tests run, with a floor
# make test-pythons  the quick tests on every other Python that is found
# make crosscheck  thousands of random protocols: the checker beside an explorer that shares no code (COUNT=2000)
# make torture  a long campaign against the default engine (TORTURE_SECONDS=300)
# make regenerate  every golden and generated file (STEPS='picture goldens': only these)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PLAIN := $(VENV)/.plain

.DEFAULT_GOAL := help
.PHONY: help setup hooks demo test coverage test-pythons check bench torture crosscheck regenerate clean

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
	@exec $(BIN)/python -m vez.demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

test: check
	@sh tools/install-browser
	@sh tools/install-servers
	@code=0; \
	echo "in parallel:"; $(BIN)/python -m pytest -n 2 --dist loadgroup -m "not serial" || code=1; \
	echo "one by one, what measures time or loads the machine:"; $(BIN)/python -m pytest -m serial || code=1; \
	exit $$code

# Tracing makes the simulator and the checker about three times slower, so this is not part of make test.
coverage: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow and not serial and not browser" --cov

test-pythons: setup
	@$(BIN)/python -m tools.pythons

bench: setup
	$(BIN)/python -m bench

crosscheck: setup
	$(BIN)/python -m tests.crosscheck $${COUNT:-2000} $${FIRST:-0}

torture: setup
	@dir=$$(mktemp -d) && seed=$${SEED:-$$(date +%s)} && \
	  $(BIN)/vez torture --url "file://$$dir/turns" --workers 12 --seconds $${TORTURE_SECONDS:-300} --entries 20000 --seed $$seed; \
	  code=$$?; rm -rf "$$dir"; exit $$code

regenerate: setup
	$(BIN)/python -m tools.regenerate $(STEPS)

clean:
	rm -rf $(VENV) $(VENV)-3.* build dist demo-out .mypy_cache .ruff_cache .pytest_cache .coverage
