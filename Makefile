# `make demo` and `make test` do all the set-up themselves; they need python3 (3.11 or newer) and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test lint types unit bench clean

demo: $(VENV)/core.done
	$(BIN)/spectrata demo -o spectrata-demo

test: lint types unit

lint: $(VENV)/test.done
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: $(VENV)/test.done
	$(BIN)/mypy

unit: $(VENV)/test.done
	$(BIN)/python -m pytest -n auto -q

bench: $(VENV)/bench.done
	$(BIN)/python benchmarks/run.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24"

$(VENV)/core.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/test.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test]"
	touch $@

$(VENV)/bench.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[bench]"
	touch $@

clean:
	rm -rf $(VENV) spectrata-demo .pytest_cache .mypy_cache .ruff_cache
