# Every target but help and clean sets up .venv first; a finished setup costs nothing to repeat.

PY := .venv/bin/python
UV := .venv/bin/uv
STAMP := .venv/.stamp
DOCS_STAMP := .venv-docs/.stamp

# For test-all-pythons and coverage: the versions, and tests to run instead of all.
PYTHONS := 3.11 3.12 3.13
TESTS :=

# Two for each processor, because many tests wait for processes and screens.
PARALLEL := -n $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN)))) --dist worksteal
# What make quick runs. No test there starts more than a few processes.
QUICK := tests/core tests/contracts tests/formats tests/texts tests/stores tests/config tests/tools tests/queries \
	tests/runtime tests/scenarios/test_story.py tests/faces/cli/test_cli.py \
	tests/test_architecture.py tests/test_behaviours.py tests/test_public_api.py tests/test_rooms.py

# The same on every machine, whatever its owner exports: imports are byte-compiled once.
unexport PYTHONDONTWRITEBYTECODE
# People behind a company's proxy: trust the certificates that the system trusts. Older versions of uv know the second.
export UV_SYSTEM_CERTS := true
export UV_NATIVE_TLS := true

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup lint quick test test-all-pythons check docs dist try-dist bench smoke soak demo pictures conformance reference golden lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv with everything in requirements.txt

lint: setup ## check format, style, types and spelling
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	.venv/bin/codespell docs README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md src/deskmate/texts

quick: setup ## run the tests of the rules while you edit: under a minute on two cores
	@echo "Left out: tests that kill, attack or start processes, screens, providers, documentation, and tests marked slow."
	@echo "make test runs everything."
	@HYPOTHESIS_PROFILE=quick $(PY) -m pytest -q $(PARALLEL) -m "not soak and not slow" $(QUICK)

test: setup browser postgres ## run all tests that a change must pass: about twelve minutes on two cores
	@$(PY) -m pytest $(PARALLEL) --durations=20 --durations-min=1

test-all-pythons: browser postgres $(PYTHONS:%=.test-on-%) ## run the tests on every Python of PYTHONS, each in its own .venv-VERSION

.test-on-%: .venv-%/.stamp
	@.venv-$*/bin/python --version
	@.venv-$*/bin/python -m pytest $(PARALLEL) $(TESTS)

coverage: setup ## run the tests and show which lines they reach; no number is required
	@rm -rf build/coverage && mkdir -p build/coverage
	@$(PY) -m coverage run -m pytest -q $(PARALLEL) $(TESTS)
	@$(PY) -m coverage combine --quiet && $(PY) -m coverage json --quiet -o build/coverage/report.json
	@$(PY) -m tests.coverage_table build/coverage/report.json

check: lint test ## lint and test

docs: $(DOCS_STAMP) ## build the documentation into build/site; a warning is an error
	@NO_COLOR=1 .venv-docs/bin/zensical build --clean --strict
	@$(PY) -m docs.site_check build/site

dist: setup ## build the wheel and the source archive into dist, without a network
	@rm -rf dist
	$(UV) build --quiet --offline --no-build-isolation --python $(PY) --out-dir dist
	@ls dist

try-dist: dist ## install the wheel into clean environments and use it from another folder
	@UV=$(CURDIR)/$(UV) .ci/try_dist

bench: setup ## measure the promised figures
	$(PY) -m benchmarks

smoke: setup ## run every part of bench and soak in small counts: do they still work?
	$(PY) -m benchmarks --quick
	$(PY) -m benchmarks.soak --quick

soak: setup ## run the long fault runs, and the tests of make test with large counts
	$(PY) -m benchmarks.soak

demo: setup ## watch a rehearsed team at work, without a key or a network
	@$(PY) -m deskmate demo

conformance: setup ## run all of MCP's own conformance suite on `deskmate mcp serve`: needs npm, the network and Node 22
	$(PY) -m tests.faces.mcp.conformance

reference: setup ## make docs/reference/commands.md again from the help of the commands
	$(PY) -m deskmate.faces.cli.reference_page > docs/reference/commands.md

pictures: setup ## make the pictures of the documentation again, from the running product
	$(PY) -m docs.pictures
	$(PY) -m docs.import_graph > docs/pictures/imports.svg

golden: setup ## write the texts and schemas that models read again, into tests/texts/golden and src; review the difference
	DESKMATE_GOLDEN=write $(PY) -m pytest -q tests/texts tests/tools/test_tool_set.py

lock: ## make the requirements files again from pyproject.toml, keeping versions that still fit
	@$(HAS_UV) || $(MAKE) --no-print-directory .venv/uv.txt
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra dev \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--output-file requirements.txt pyproject.toml
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --group docs \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--output-file requirements-docs.txt

clean: ## remove the environments, caches and builds
	rm -rf .venv .venv-* .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): requirements.txt pyproject.toml
	@echo "Setting up .venv: about a minute, once"
	@$(HAS_UV) || $(MAKE) --no-print-directory .venv/uv.txt
	$(UV) pip sync --quiet --python $(PY) --require-hashes --compile-bytecode requirements.txt
	$(UV) pip install --quiet --python $(PY) --no-deps --no-build-isolation --editable .
	@$(HAS_TOOLS) || echo "strace or bubblewrap is missing: installing them, where that is allowed"
	@$(HAS_TOOLS) || { $(INSTALL_TOOLS); } >/dev/null 2>&1 \
		|| echo "strace or bubblewrap is not installed: tests that need them are skipped, commands run unconfined"
	@touch $@

# The builder of the documentation has an environment of its own, so that the tests need none of its packages.
$(DOCS_STAMP): requirements-docs.txt | $(STAMP)
	@$(UV) venv --quiet --clear --python $(PY) .venv-docs
	@$(UV) pip sync --quiet --python .venv-docs/bin/python --require-hashes requirements-docs.txt
	@touch $@

HAS_UV = { $(PY) --version && $(UV) --version; } >/dev/null 2>&1

# An interpreter of pyenv, whose own commands work only for the versions that are switched on; else what uv finds.
PYENV_PYTHON = $(lastword $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/$*.*/bin/python))

.PRECIOUS: .venv-%/.stamp
.venv-%/.stamp: requirements.txt pyproject.toml | $(STAMP)
	@$(UV) venv --quiet --clear --no-python-downloads --python $(or $(PYENV_PYTHON),$*) .venv-$* 2>/dev/null || { \
		echo "Python $* was not found. Install it, for example with: uv python install $*"; \
		echo "Or name the versions to test: make test-all-pythons PYTHONS='3.11 3.13'"; exit 1; }
	$(UV) pip sync --quiet --python .venv-$*/bin/python --require-hashes --compile-bytecode requirements.txt
	$(UV) pip install --quiet --python .venv-$*/bin/python --no-deps --no-build-isolation --editable .
	@touch $@

# For the tests of the web page. Without it they are skipped. In CI they fail.
.PHONY: browser
browser:
	@$(HAS_BROWSER) || echo "chromium is missing: installing it, where that is allowed"
	@$(HAS_BROWSER) || { $(MAY_INSTALL) && timeout 300 apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 \
		|| echo "chromium is not installed: tests of the web page are skipped"

# For the tests of teams in a database. They start servers of their own: the one that the package starts is not used.
.PHONY: postgres
postgres:
	@$(HAS_POSTGRES) || echo "PostgreSQL is missing: installing it, where that is allowed"
	@$(HAS_POSTGRES) || { $(MAY_INSTALL) && timeout 300 apt-get install -y --no-install-recommends postgresql; } >/dev/null 2>&1 \
		|| echo "PostgreSQL is not installed: tests of teams in a database are skipped"

# For the tests that inject faults into system calls, and for the sandbox.
HAS_TOOLS = { command -v strace && command -v bwrap; } >/dev/null
HAS_BROWSER = { command -v chromium || command -v chromium-browser; } >/dev/null
HAS_POSTGRES = { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1
MAY_INSTALL = test "$$(id -u)" = 0 && command -v apt-get && export DEBIAN_FRONTEND=noninteractive \
	&& timeout 120 apt-get update
INSTALL_TOOLS = $(MAY_INSTALL) && timeout 120 apt-get install -y --no-install-recommends strace bubblewrap

# A pip before 24.2 knows the system's certificates only if told. On macOS they are in no file.
CA_FILE = $(firstword $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt))
PIP_CERTS = PIP_CERT="$${PIP_CERT:-$${SSL_CERT_FILE:-$(CA_FILE)}}"

# The installer in the locked version: by a uv that is already there, else by the pip of a new environment.
.PHONY: .venv/uv.txt
.venv/uv.txt:
	@if command -v uv >/dev/null; then \
		uv venv --quiet --clear --python '>=3.11' .venv; \
	else \
		python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
			|| { echo "python3 must be Python 3.11 or newer: install it, or install uv"; exit 1; }; \
		python3 -c 'import ensurepip, venv' 2>/dev/null \
			|| { echo "python3 cannot make virtual environments: run 'apt install python3-venv', or install uv"; exit 1; }; \
		python3 -m venv --clear .venv; \
	fi
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.txt > $@
	@if command -v uv >/dev/null; then \
		uv pip install --quiet --python $(PY) --require-hashes -r $@; \
	else \
		$(PIP_CERTS) $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $@; \
	fi
