# Everything a person does with this project. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPILED := build/compiled/.ready
N ?= 20000
MINUTES ?= 20
# Tests wait for timers, processes and databases half of their time, so there may be more of them than cores.
WORKERS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 2) * 3 // 2)')

.DEFAULT_GOAL := help
.PHONY: help run sample test check fix compiled bench simulate soak clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY) ## set up, then check, store and run the sample workflow to its end
	$(BIN)/wonder validate samples/orders/orders.yaml
	$(BIN)/wonder run samples/orders/orders.yaml --input @samples/orders/order.json
	$(BIN)/wonder workflows show fulfil-order
	@echo
	@echo "Next: $(BIN)/wonder runs list, or $(BIN)/wonder query 'SELECT * FROM \"context_fulfil-order\"',"
	@echo "or break something in samples/orders/orders.yaml and run 'make run' again. $(BIN)/wonder --help lists all commands."

sample: $(READY) ## set up, then have texts judged by a scripted model; no key is needed
	$(BIN)/wonder run samples/judges/judges.yaml --input @samples/judges/texts.json --key first || test $$? -eq 3
	@echo
	@echo "Next: answer with $(BIN)/wonder answer ITEM '{\"accept\": true}', and run 'make sample' again: it goes on with the same run."
	@echo "samples/judges/README.md goes through it step by step."

# With bytecode kept, also where the environment forbids it: each worker would else compile all tests, for ten seconds.
test: $(READY) ## set up, then run all tests, on SQLite and on a real PostgreSQL
	env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(CURDIR)/.cache/bytecode \
	  $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: $(READY) ## format, lint, types and import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(READY) ## format, and fix what can be fixed automatically
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# As a user would install it, into a folder of its own: compiled modules in src/ would hide changes of their sources.
# Takes two to three minutes, so only when something has changed.
$(COMPILED): $(READY) hatch_build.py $(shell find src -name '*.py' -o -name '*.sql')
	rm -rf build/compiled
	WONDER_COMPILED=1 $(BIN)/uv pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps --reinstall \
	  --target build/compiled .
	@touch $@

compiled: $(COMPILED) ## compile the engine, into build/compiled

bench: $(READY) ## compile if there is a C compiler, then measure, as a table and in benchmarks/results/
	@$(MAKE) --no-print-directory compiled || echo "Nothing was compiled: the following is measured in pure Python, which takes nearly twice the CPU."
	PYTHONPATH=build/compiled $(BIN)/python -m benchmarks

simulate: $(READY) ## simulate N seeds (default 20,000) with injected failures
	$(BIN)/python -m simulation --seeds 0-$(N)

soak: $(READY) ## run all kinds of real failures and deep tests with new seeds for MINUTES (default 20)
	$(BIN)/python -m proof soak --minutes $(MINUTES)

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) build .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# uv installs everything in seconds where pip takes a minute; constraints.txt pins what was tested.
$(READY): pyproject.toml constraints.txt tests/peers/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Wonder needs Python 3.11 or newer; found $$($(PYTHON) --version). Name another one with: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
	  echo "Python's venv module is missing. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -r tests/peers/requirements.txt
	@touch $@
