# `make demo` and `make test` do all the set-up themselves; they need python3 (3.11 or newer) and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
QUIET = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
SHORT = "not gpu and not long"
# One more than there are cores: tests wait for browsers, and for programs that they stop.
WORKERS = $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1 )))

.PHONY: demo reproduce test test-all lint types unit coverage browser packages minimal installed lowest oracles notebooks mutants release docs bench clean

demo: $(VENV)/core.done
	$(BIN)/spectrata demo -o spectrata-demo

# The paper's tasks with a verdict on every claim, in a smaller size (minutes); the whole: python -m reproduction --help.
reproduce: $(VENV)/test.done
	$(BIN)/python -m reproduction --quick -o spectrata-reproduction

test: lint types unit

# What `make test` leaves out: the fuzzer, planted faults, a Dask cluster, the worked examples, the quick
# study, browsers; and four times the cases of the laws.
test-all: $(VENV)/test.done browser
	$(QUIET) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -q -m "long and not gpu"
	$(QUIET) HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n $(WORKERS) -q tests/test_laws*.py tests/test_composition.py

lint: $(VENV)/test.done
	$(BIN)/ruff check src reproduction tests benchmarks docs examples tools
	$(BIN)/ruff format --check src reproduction tests benchmarks docs tools examples/gallery examples/tutorials
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml

types: $(VENV)/test.done
	$(BIN)/mypy

unit: $(VENV)/test.done browser
	$(QUIET) $(BIN)/python -m pytest -n $(WORKERS) -q -m $(SHORT)

# Lines and branches per package. Compiled kernels cannot be traced: their tests run again without the compiler.
# Six files share a process and a record, so that a process
# that dies loses few.
JIT_OFF = tests/test_kernels.py tests/test_graph_rows.py tests/test_large_strata.py
# Programs that tests start in other folders write their records here, too.
RECORDS = COVERAGE_FILE="$(CURDIR)/.coverage"

coverage: $(VENV)/test.done browser
	$(BIN)/python -m pip install --quiet -c constraints.txt "coverage>=7.10"
	$(BIN)/python -m coverage erase
	printf '%s\n' src reproduction $(wildcard tests/test_*.py) | \
		$(QUIET) $(RECORDS) xargs -P 2 -n 6 $(BIN)/python -m coverage run -m pytest -q -p no:xdist
	$(QUIET) $(RECORDS) NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=mutants $(BIN)/python -m coverage run -m pytest -q -p no:xdist \
		-W ignore::RuntimeWarning $(JIT_OFF)
	$(BIN)/python -m coverage combine -q && $(BIN)/python -m coverage json -q -o $(VENV)/coverage.json
	$(BIN)/python tools/coverage_table.py $(VENV)/coverage.json

# The tests of the report page drive a real Chromium: found, or installed where that is allowed. Where that fails,
# these tests are skipped with a reason.
browser:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
		command -v google-chrome >/dev/null || [ -n "$$SPECTRATA_CHROMIUM" ]; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && echo "installing chromium for the browser tests" && \
		apt-get -qq -o DPkg::Lock::Timeout=120 update && \
		apt-get -qq -o DPkg::Lock::Timeout=600 install -y chromium >/dev/null; then :; \
	else echo "note: no Chromium found, so the browser tests are skipped; install it, or set SPECTRATA_CHROMIUM to its path" >&2; fi

# The wheel is built from the source archive, and the archive's own tests run on the installed wheel: MINIMAL has only
# what the core needs, FULL every extra. Each in an environment of its own, made anew.
MINIMAL = $(VENV)-minimal
FULL = $(VENV)-installed
LOWEST = $(VENV)-lowest

packages: $(VENV)/test.done
	rm -rf dist && $(BIN)/python -m build --outdir dist >/dev/null
	mkdir dist/source && tar xzf dist/spectrata-*.tar.gz --strip-components 1 -C dist/source
	if [ -d ../shared ]; then ln -s "$(abspath ../shared)" dist/shared; fi

minimal: packages
	rm -rf $(MINIMAL) && $(PYTHON) -m venv $(MINIMAL)
	$(MINIMAL)/bin/python -m pip install --quiet -c constraints.txt dist/spectrata-*.whl hypothesis pytest pytest-xdist
	cd dist/source && SPECTRATA_MINIMAL=1 $(QUIET) "$(abspath $(MINIMAL))/bin/python" -m pytest -n $(WORKERS) -q -m $(SHORT) tests

installed: packages browser
	rm -rf $(FULL) && $(PYTHON) -m venv $(FULL)
	$(FULL)/bin/python -m pip install --quiet -c constraints.txt "$$(echo dist/spectrata-*.whl)[test]"
	cd dist/source && $(QUIET) "$(abspath $(FULL))/bin/python" -m pytest -n $(WORKERS) -q -m $(SHORT) tests

# Other packages are new beside these old ones, and deprecate what the old ones do.
lowest: packages
	rm -rf $(LOWEST) && $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet -c lowest.txt dist/spectrata-*.whl hypothesis pytest pytest-xdist
	cd dist/source && SPECTRATA_MINIMAL=1 $(QUIET) "$(abspath $(LOWEST))/bin/python" -m pytest -n $(WORKERS) -q -m $(SHORT) \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning tests

# Numbers that other libraries compute too. Elsewhere what is not installed is skipped; here it is a failure.
ORACLES = $(VENV)-oracles

oracles: $(ORACLES)/done
	SPECTRATA_ORACLES=1 $(QUIET) $(ORACLES)/bin/python -m pytest -q tests/oracles

$(ORACLES)/done: pyproject.toml constraints.txt
	rm -rf $(ORACLES) && $(PYTHON) -m venv $(ORACLES)
	$(ORACLES)/bin/python -m pip install --quiet -c constraints.txt -e ".[oracles]" hypothesis pytest
	# These pin others of their own, which the constraints would fight for hours.
	$(ORACLES)/bin/python -m pip install --quiet "anndata>=0.11" "brainspace>=0.1.20" "squidpy>=1.6" "torch==2.13.0"
	touch $@

# What cells show in JupyterLab and marimo, in a real browser.
NOTEBOOKS = $(VENV)-notebooks

notebooks: $(NOTEBOOKS)/done browser
	SPECTRATA_NOTEBOOKS=1 $(QUIET) $(NOTEBOOKS)/bin/python -m pytest -q tests/notebooks

$(NOTEBOOKS)/done: pyproject.toml constraints.txt
	rm -rf $(NOTEBOOKS) && $(PYTHON) -m venv $(NOTEBOOKS)
	$(NOTEBOOKS)/bin/python -m pip install --quiet -c constraints.txt -e ".[notebooks]" hypothesis pytest
	touch $@

# Does a test fail when a line is wrong? A sample, for an hour of one core; more: python tools/mutants.py --help.
mutants: $(VENV)/test.done
	$(BIN)/python tools/mutants.py

# Built twice with the same bytes, checked, and left in dist/; nothing is uploaded.
release: $(VENV)/test.done
	$(BIN)/python tools/release.py

# The gallery's scripts run while the site is built; then every link and anchor is followed, without a network.
docs: $(VENV)/docs.done
	$(QUIET) $(BIN)/sphinx-build -W --keep-going -n -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

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

$(VENV)/docs.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	touch $@

$(VENV)/bench.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[bench]"
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-minimal $(VENV)-installed $(VENV)-lowest $(VENV)-oracles $(VENV)-notebooks dist docs/_build docs/gallery docs/tutorials docs/api/generated docs/api/pictures spectrata-demo spectrata-reproduction .pytest_cache .mypy_cache .ruff_cache
