# Every target but help and clean sets up .venv first; a finished setup costs nothing to repeat.

PY := .venv/bin/python
UV := .venv/bin/uv
STAMP := .venv/.stamp
DOCS_STAMP := .venv-docs/.stamp

# The same on every machine, whatever its owner exports: imports are byte-compiled once.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup lint test check docs bench quick soak demo pictures reference golden lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv with everything in requirements.txt

lint: setup ## check format, style, types and spelling
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	.venv/bin/codespell docs README.md CONTRIBUTING.md CHANGELOG.md src/deskmate/texts

test: setup ## run the tests
	@$(PY) -m pytest -n auto --dist worksteal

check: lint test ## lint and test

docs: $(DOCS_STAMP) ## build the documentation into build/site; a warning is an error
	@NO_COLOR=1 .venv-docs/bin/zensical build --clean --strict
	@$(PY) -m docs.site_check build/site

bench: setup ## measure the promised figures
	$(PY) -m benchmarks

quick: setup ## run every part of bench and soak in small counts: do they still work?
	$(PY) -m benchmarks --quick
	$(PY) -m benchmarks.soak --quick

soak: setup ## run the long fault runs
	$(PY) -m benchmarks.soak

demo: setup ## watch a rehearsed team at work, without a key or a network
	@$(PY) -m deskmate demo

reference: setup ## make docs/reference/commands.md again from the help of the commands
	$(PY) -m deskmate.faces.cli.reference_page > docs/reference/commands.md

pictures: setup ## make the pictures of the documentation again, from the running product
	$(PY) -m docs.pictures

golden: setup ## write the texts that models read into tests/texts/golden again; review the difference
	DESKMATE_GOLDEN=write $(PY) -m pytest -q tests/texts

lock: setup ## make the requirements files again from pyproject.toml, keeping versions that still fit
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra dev \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--output-file requirements.txt pyproject.toml
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --group docs \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--output-file requirements-docs.txt

clean: ## remove the environments, caches and builds
	rm -rf .venv .venv-docs .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): requirements.txt pyproject.toml
	@{ $(PY) --version && $(UV) --version; } >/dev/null 2>&1 || $(MAKE) --no-print-directory .venv/uv.txt
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

# For the tests that inject faults into system calls, and for the sandbox.
HAS_TOOLS = { command -v strace && command -v bwrap; } >/dev/null
INSTALL_TOOLS = test "$$(id -u)" = 0 && command -v apt-get && export DEBIAN_FRONTEND=noninteractive \
	&& timeout 120 apt-get update && timeout 120 apt-get install -y --no-install-recommends strace bubblewrap

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
		$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $@; \
	fi
