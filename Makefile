# `make demo` and `make test` do all the set-up themselves; they need python3 (3.11 or newer) and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test lint types unit browser bench clean

demo: $(VENV)/core.done
	$(BIN)/spectrata demo -o spectrata-demo

test: lint types unit

lint: $(VENV)/test.done
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: $(VENV)/test.done
	$(BIN)/mypy

unit: $(VENV)/test.done browser
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -q

# The tests of the report page drive a real Chromium: found, or installed where that is allowed.
browser:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
		command -v google-chrome >/dev/null || [ -n "$$SPECTRATA_CHROMIUM" ]; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "installing chromium for the browser tests"; apt-get -qq update && apt-get -qq install -y chromium >/dev/null; \
	elif [ -n "$$CI" ]; then echo "error: no Chromium, which the browser tests need" >&2; exit 1; \
	else echo "note: no Chromium found, so the browser tests are skipped; install it, or set SPECTRATA_CHROMIUM to its path" >&2; fi

bench: $(VENV)/bench.done
	$(BIN)/python benchmarks/run.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24"

$(VENV)/core.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[report]"
	touch $@

$(VENV)/test.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test]"
	touch $@

$(VENV)/bench.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[bench]"
	touch $@

clean:
	rm -rf $(VENV) spectrata-demo .pytest_cache .mypy_cache .ruff_cache
