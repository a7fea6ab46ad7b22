PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: attack fuzz fuzz-schemas help setup run demo test test-newest test-lowest test-install check bench bench-gateway bench-supplier clients conformance requirements docs format clean rebuild

# The stamp holds the Python version and the folder it was made for: an environment made by another version, or copied
# from elsewhere, is rebuilt. When PYTHON is not named, a working environment is kept whatever version made it.
version_of = $(shell $(1) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
STAMP := $(shell cat $(READY) 2>/dev/null)
PRESENT := $(call version_of,$(BIN)/python)
ifeq ($(origin PYTHON) $(STAMP),file $(PRESENT) $(CURDIR))
WANTED := $(PRESENT)
else
WANTED := $(call version_of,$(PYTHON))
endif
MADE_FOR := $(WANTED) $(CURDIR)
ifneq ($(STAMP),$(MADE_FOR))
$(READY): rebuild
endif

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with everything the other targets need

$(READY): pyproject.toml constraints.txt
	@test -n "$(WANTED)" || { echo "No Python found as '$(PYTHON)'. Name one: make setup PYTHON=/path/to/python3"; exit 1; }
	@test "$(STAMP)" = "$(MADE_FOR)" || { \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Groundwire needs Python 3.11 or newer, and '$(PYTHON)' is $(WANTED). Name another: make setup PYTHON=python3.12"; exit 1; }; \
	  echo "Making $(VENV) with Python $(WANTED)"; \
	  $(PYTHON) -m venv --clear $(VENV); }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[all,dev]'
	@$(BIN)/python -m compileall -q src
	@echo "$(MADE_FOR)" > $@

rebuild:

run: setup ## Serve the gateway with sample tools and a sample conversation, on port 8741
	@bash scripts/run.sh $(BIN)

demo: setup ## Show a tool being built, called, replayed, used by a model, and audited
	@bash scripts/demo.sh $(BIN)

# "logical" rather than "auto": auto counts physical cores and would leave half of a small machine idle.
test: setup ## Run the tests (ARGS="-k name" narrows them)
	@$(BIN)/python -m pytest -n logical --maxprocesses 8 --max-worker-restart 2 $(ARGS)

# Environments of their own: .venv stays as `make setup` made it.
NEWEST := .venv-newest
test-newest: setup ## Run the tests of jobs, crashes and behaviours on the newest Python of this machine
	@bash scripts/test_newest.sh $(NEWEST) $(ARGS)

LOWEST := .venv-lowest
test-lowest: setup ## Run the tests of the core with the oldest allowed versions (ARGS narrows them)
	@bash scripts/test_lowest.sh $(LOWEST) $(ARGS)

test-install: setup ## Install the package without and with its extra for jobs, and try both
	@$(BIN)/python -m scripts.install_check

check: setup ## Run every static check and print the sizes
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m scripts.requirements --check
	@$(BIN)/python -m scripts.sizes

# Peers have heavy dependencies of their own, so each lives in an environment of its own.
PEERS := .venv-peers
$(PEERS)/ready: bench/peers.txt | $(READY)
	@grep -v '^#' bench/peers.txt | while IFS='|' read -r name packages; do \
		echo "Making $(PEERS)/$$name, which the benchmarks compare with"; \
		$(BIN)/python -m venv --clear $(PEERS)/$$name && \
		$(PEERS)/$$name/bin/python -m pip install --quiet --disable-pip-version-check $$packages || exit 1; \
	done
	@touch $@

bench: setup $(PEERS)/ready ## Measure against the bare equivalents and peers (ARGS are passed on)
	@PEERS=$(PEERS) $(BIN)/python -m bench $(ARGS)

# Portkey is measured where npm is.
bench-gateway: setup $(PEERS)/ready ## Measure the gateway beside other gateways (needs wrk)
	@command -v npm > /dev/null && test ! -d $(PEERS)/portkey && mkdir -p $(PEERS)/portkey && \
		(cd $(PEERS)/portkey && npm install --silent --no-fund --no-audit @portkey-ai/gateway) || true
	@PEERS=$(PEERS) $(BIN)/python -m bench.gateway $(ARGS)

bench-supplier: setup ## Ten thousand negotiations in a simulated day (ARGS=1000 for fewer)
	@$(BIN)/python -m bench.supplier $(ARGS)

# Some frameworks do not go together with the newest SDKs, which the other tests use.
CLIENTS := .venv-clients
$(CLIENTS)/ready: tests/gateway/frameworks.txt pyproject.toml | $(READY)
	@echo "Making $(CLIENTS), with agent frameworks"
	@$(BIN)/python -m venv --clear $(CLIENTS)
	@$(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/gateway/frameworks.txt -e '.[all]'
	@touch $@

clients: $(CLIENTS)/ready ## Have every agent framework talk with the gateway
	@$(CLIENTS)/bin/python -m pytest tests/gateway/test_frameworks.py $(ARGS)

conformance: setup ## Run the Model Context Protocol's own suite against our server (needs npx)
	@$(BIN)/python -m scripts.mcp_conformance $(ARGS)

fuzz: setup ## Hold the gateway to its own description (ARGS="-n 1000" is how hard)
	@$(BIN)/python -m scripts.fuzz $(or $(ARGS),-n 1000)

attack: setup ## Attack a server on this machine, five minutes at most (ARGS="--only NAME", --list, --sample)
	@$(BIN)/python -m scripts.attack $(ARGS)

fuzz-schemas: setup ## Look for schemas that pass the bounds and are slow (ARGS="-n 5000 --seed 7")
	@$(BIN)/python -m scripts.fuzz_schemas $(or $(ARGS),-n 2000)

requirements: setup ## Print which requirements are proved, context or open
	@$(BIN)/python -m scripts.requirements $(ARGS)

docs: setup ## Regenerate the reference pages
	@$(BIN)/python -m scripts.docs $(ARGS)

format: setup ## Format the code and apply safe fixes
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

clean: ## Remove the environment, caches and build output
	rm -rf $(VENV) $(PEERS) $(CLIENTS) $(NEWEST) $(LOWEST) build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
