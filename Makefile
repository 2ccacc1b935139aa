# Everything that one does here, by name. `make` alone lists it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# PYTHON may name any Python from 3.11 on; left alone, the first one that is new enough is taken.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	if "$$p" -c '$(NEW_ENOUGH)' >/dev/null 2>&1; then echo "$$p"; exit; fi; done; echo python3)

VENV := .venv
BIN := $(VENV)/bin
# The demo uses the developers' environment where there is one, else a small one of its own.
DEMO_VENV = $(if $(wildcard $(VENV)/.project),$(VENV),.venv-demo)
PIP_QUIET := --quiet --disable-pip-version-check
# More for pytest or the benchmark: make test ARGS="tests/unit -k ids"
ARGS ?=

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environments ------------------------------------------------------------------------------

.PHONY: python
python:
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' 2>/dev/null || { \
		found="$$("$(PYTHON)" -c 'import platform; print(platform.python_version())' 2>/dev/null || echo 'no Python that runs')"; \
		echo "Checkrein needs Python 3.11 or newer; '$(PYTHON)' is $$found." >&2; \
		echo "Install one and name it: make PYTHON=python3.12 ..." >&2; exit 2; }

# $(call environment,FOLDER): a fresh virtual environment, or one clear sentence.
define environment
"$(PYTHON)" -m venv --clear $(1) || { \
	echo "'$(PYTHON)' cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
endef

# $(call install,FOLDER,LOCK): exactly what the lock file names, every file checked by its hash.
define install
$(1)/bin/python -m pip install $(PIP_QUIET) --require-hashes -r $(2)
endef

# $(call project,FOLDER): the project itself, in place, with nothing fetched.
define project
PYTHONWARNINGS=ignore $(1)/bin/python -m pip install $(PIP_QUIET) --no-deps --no-build-isolation --editable .
endef

.PHONY: setup
setup: $(VENV)/.project tree ## the developers' environment, pinned by hash; nothing to do when up to date

$(VENV)/.locked: requirements.lock | python
	@echo "installing requirements.lock into $(VENV) ..."
	@[ -x $(BIN)/python ] && $(BIN)/python -c '$(NEW_ENOUGH)' 2>/dev/null || { $(call environment,$(VENV)); }
	@$(call install,$(VENV),requirements.lock)
	@touch $@

$(VENV)/.project: $(VENV)/.locked pyproject.toml
	@$(call project,$(VENV))
	@touch $@

.PHONY: tree
tree: $(VENV)/.project
	@$(BIN)/python scripts/import_tree.py

.venv-demo/.locked: requirements-demo.lock | python
	@echo "installing requirements-demo.lock into .venv-demo ..."
	@[ -x .venv-demo/bin/python ] && .venv-demo/bin/python -c '$(NEW_ENOUGH)' 2>/dev/null || { $(call environment,.venv-demo); }
	@$(call install,.venv-demo,requirements-demo.lock)
	@touch $@

.venv-demo/.project: .venv-demo/.locked pyproject.toml
	@$(call project,.venv-demo)
	@touch $@

# --- running -----------------------------------------------------------------------------------

.PHONY: demo
demo: ## the main job from proposal to evidence, killed and recovered on the way
	@$(MAKE) --no-print-directory $(DEMO_VENV)/.project
	@$(DEMO_VENV)/bin/checkrein demo

.PHONY: bench
bench: setup ## the governed loop against LangChain's own, on the same Postgres
	$(BIN)/python -m checkrein.evals.benchmark $(ARGS)

.PHONY: opa
opa: setup ## find a real OPA, or build one with Go, once
	@$(BIN)/python -m checkrein.evals.opa_binary

.PHONY: parity
parity: setup opa ## the embedded engine and a real OPA, asked the same (ARGS=--quick for some)
	$(BIN)/python -m checkrein.evals.parity $(ARGS)

.PHONY: bench-policy
bench-policy: setup opa ## decisions a second in each engine, and the policy's share of an action
	$(BIN)/python -m checkrein.evals.benchmark_policy $(ARGS)

.PHONY: bench-effects
bench-effects: setup ## what an effect costs: commits, round trips, effects a second, recovery
	$(BIN)/python -m checkrein.evals.benchmark_effects $(ARGS)

.PHONY: repairs
repairs: setup ## programs with bugs, and models that claim to have mended them (ARGS=--quick for some)
	$(BIN)/pytest -q -n 2 -m "slow or not slow" tests/evals/test_repair_cases.py
	$(BIN)/python -m checkrein.evals.repairs $(ARGS)

.PHONY: crash
crash: setup ## the crash table, all of it (ARGS=--quick for some, ARGS="--cell NAME" for one)
	$(BIN)/checkrein crashtest $(ARGS)

.PHONY: studio
studio: setup ## LangGraph's dev server with the graph, offline; tasks come from examples/
	@echo "Sign in with a token, sent as Authorization: Bearer ...; one is made by"
	@echo "  $(BIN)/checkrein token issue --person bob --tenant local --scope run --scope approve"
	CHECKREIN_TASKS=examples LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=1 \
		LANGSMITH_TRACING=false $(BIN)/langgraph dev --no-browser --no-reload $(ARGS)

# --- checks ------------------------------------------------------------------------------------

.PHONY: test
test: setup ## the whole suite (ARGS="..." to choose)
	$(BIN)/pytest -n 2 $(ARGS)

.PHONY: test-slow
test-slow: setup ## the tests marked slow
	$(BIN)/pytest -n 2 -m slow $(ARGS)

.PHONY: lint
lint: setup ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: fmt
fmt: setup ## ruff: mend what can be mended, and format
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

.PHONY: types
types: setup ## mypy and pyright, both strict
	$(BIN)/mypy
	$(BIN)/pyright

.PHONY: imports
imports: setup ## who may import whom
	PYTHONPATH=.import_tree $(BIN)/lint-imports --no-cache

.PHONY: policy
policy: setup ## the shipped bundle compiles, and its own tests pass
	$(BIN)/checkrein policy check policy_rego/bundle
	$(BIN)/checkrein policy test policy_rego/bundle

.PHONY: requirements
requirements: setup ## checklist items and the tests that show them: docs/requirements.md
	$(BIN)/python scripts/requirements.py --sync

.PHONY: requirements-check
requirements-check: setup ## the same, written nowhere: fails if an item lost its test
	$(BIN)/python scripts/requirements.py --check

# --- upkeep ------------------------------------------------------------------------------------

COMPILE = --universal --generate-hashes --no-emit-index-url --no-emit-find-links --quiet \
	--custom-compile-command "make lock" --group build $(if $(UPGRADE),--upgrade)

.PHONY: lock
lock: | python ## resolve both lock files anew (UPGRADE=1 to take newer versions)
	@[ -x $(BIN)/python ] || { $(call environment,$(VENV)); }
	@[ -x $(BIN)/uv ] || $(BIN)/python -m pip install $(PIP_QUIET) uv
	$(BIN)/uv pip compile pyproject.toml $(COMPILE) -o requirements.lock \
		--extra dev --extra models --extra studio --extra demo --extra bench --extra opa --extra mcp
	$(BIN)/uv pip compile pyproject.toml $(COMPILE) -o requirements-demo.lock \
		--constraint requirements.lock --extra demo

.PHONY: clean
clean: ## remove what was built, the environments included
	rm -rf $(VENV) .venv-demo .import_tree build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
