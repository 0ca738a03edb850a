# The commands of the project. Each makes .venv first when that is missing or out of date. `make help` lists them.

VENV   := .venv
PYTHON := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The stamp holds the folder it was made for: a .venv that was copied, moved, or lost its Python is made again, because
# it would run another checkout's code.
ifneq ($(shell $(PYTHON) -c '' 2>/dev/null && cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): again
endif

.DEFAULT_GOAL := help
.PHONY: again help install demo test test-rest test-all explore slow engines up up-kafka check format lint types contract snippets generate bench simulate faults real-model console-tour bench-peers

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## .venv with the pinned dependencies and the package

demo: $(STAMP) ## the whole path on the bundled sample: publish, extract, decay, query, rebuild
	@$(PYTHON) -m mnemolog.demo

test: $(STAMP) ## the tests that need no engine: five minutes on two quiet cores; CI=true tests the built wheel
	@$(PYTHON) tools/run_tests.py quick

test-rest: $(STAMP) ## the other tests: faults, deployment, and engines where Java, Maven and Go are there
	@$(PYTHON) tools/run_tests.py rest

test-all: $(STAMP) ## both; says what it left out and why, and with CI=true fails for it
	@$(PYTHON) tools/run_tests.py quick rest

explore: $(STAMP) ## draws examples and seeds that no test knows, for MINUTES=10; prints the seed of what it finds
	@$(PYTHON) tools/explore.py

slow: $(STAMP) ## runs what `make test` runs, and prints the tests over a second of processor time with their reasons
	@$(PYTHON) tools/slow_tests.py

engines: $(STAMP) ## fetches or builds Kafka, Weaviate, the registry, helm and docker-compose into ~/.cache/mnemolog
	@$(PYTHON) tools/fetch_engines.py
	@$(PYTHON) tools/fetch_tools.py

up: $(STAMP) ## the embedded server on http://127.0.0.1:8420, data in ./var
	@$(VENV)/bin/mnemolog up

up-kafka: $(STAMP) ## two workers on Kafka and Weaviate from the cache of `make engines`, data in ./var/kafka-try
	@$(PYTHON) tools/up_kafka.py $(OPTIONS)

check: format lint types contract snippets ## format, lint, types, import contract, the snippets of README.md and docs/

format: $(STAMP)
	$(VENV)/bin/ruff format --check .

lint: $(STAMP)
	$(VENV)/bin/ruff check .

types: $(STAMP)
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy tools tests $(wildcard bench/*.py bench/real_model/*.py examples/*.py)

contract: $(STAMP)
	$(VENV)/bin/lint-imports

snippets: $(STAMP)
	$(PYTHON) tools/run_snippets.py README.md docs

generate: $(STAMP) ## what follows from the code: schemas, golden bytes, rows of the reference, the table of operations, recorded outputs
	@$(PYTHON) tools/new_message.py
	@$(PYTHON) tools/reference_rows.py
	@$(PYTHON) tools/operations.py
	@$(PYTHON) tools/record_outputs.py

bench: $(STAMP) ## the benchmarks; prints ratios, writes bench/results/*.json
	@$(PYTHON) tools/run_benchmarks.py

real-model: $(STAMP) ## a small real model on 60 labelled windows, beside the rules: 1.1 GB and twenty minutes, by hand only
	@$(PYTHON) bench/real_model/real_model.py $(OPTIONS)

console-tour: $(STAMP) ## every page of the console in a real Chromium, which must be installed; writes docs/pictures
	@$(PYTHON) -m pip install --quiet --require-hashes --upgrade --target build/console-tour -r requirements-console-tour.txt
	@PYTHONPATH=build/console-tour $(PYTHON) tools/console_tour.py

bench-peers: $(STAMP) ## beside mem0 and PowerMem, which it installs into build/peers: by hand only
	@for peer in mem0 powermem; do test -x build/peers/$$peer/bin/python || $(PYTHON) -m venv build/peers/$$peer; done
	@build/peers/mem0/bin/pip install --quiet mem0ai==2.2.1
	@build/peers/powermem/bin/pip install --quiet powermem==1.1.7
	@$(PYTHON) bench/peers/compare.py

simulate: $(STAMP) ## the simulation tests with SEEDS=100 seeds
	@SEEDS=$${SEEDS:-100} $(PYTHON) -m pytest tests/simulation

faults: $(STAMP) ## the whole fault matrix on Kafka, an hour or more; writes the table of docs/evidence/reliability.md
	@$(PYTHON) tools/fault_matrix.py

$(STAMP): requirements.txt requirements-dev.txt pyproject.toml tools/install.sh
	@sh tools/install.sh $(VENV)
