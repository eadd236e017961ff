# Needs Python 3.11 or newer and make; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# TensorFlow is measured against and nothing else: it has an environment of its own.
BENCH := .venv-bench
SHARED ?= ../shared/data

# MiniRocket is compiled once an installation, half a minute that no run should wait for.
COMPILE := $(BIN)/python -c "from snellen.tasks.isolated.model.rocket import warm_up; warm_up()"

.DEFAULT_GOAL := help
.PHONY: help demo test check bench golden full evaluation docs clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

demo: $(VENV)/installed-train ## make a corpus whose truth is known, audit it, train on it, write the report
	$(BIN)/snellen demo -o runs/demo

test: check ## static checks, then all tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/installed-test ## format, lint, types and import floors
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/installed-test ## speed ratios against the usual libraries, measured in one process
	$(BIN)/python bench/report_ratio.py --json docs/results/bench-report.json
	$(BIN)/python bench/bootstrap_ratio.py --json docs/results/bench-bootstrap.json
	@if $(MAKE) --no-print-directory $(BENCH)/installed; then \
	  $(BENCH)/bin/python bench/predict_ratio.py --json docs/results/bench-predict.json; \
	else echo "bench/predict_ratio.py skipped: tensorflow-cpu cannot be installed here"; fi

golden: $(VENV)/installed-test ## write the golden files anew; read the diff before committing it
	SNELLEN_REMAKE_GOLDEN=1 $(BIN)/python -m pytest -q -p no:randomly tests/golden
	git diff --stat -- tests/golden

full: $(VENV)/installed-test ## the main job on the real data beside the project, and how long it took (SHARED=folder)
	@for set in isl_kinect30 auslan_uci; do \
	  started=$$(date +%s); \
	  $(BIN)/snellen run isolated $(SHARED)/$$set -o runs/$$set || exit 1; \
	  cp runs/$$set/ladder.json docs/results/$$set.ladder.json; \
	  echo "$$set: $$(( $$(date +%s) - started )) s, report: $(CURDIR)/runs/$$set/report.html"; \
	done
	@# INCLUDE's official split leaks, so the audit exits with 1.
	$(BIN)/snellen audit isolated $(SHARED)/include_meta --json > docs/results/include50.audit.json; test $$? -le 1
	$(BIN)/python docs/picture.py runs/auslan_uci/report.html docs/pictures/report.png
	$(MAKE) docs

evaluation: $(VENV)/installed-test ## train everything, ask every study, write docs/evaluation.md, say how long it took (hours)
	@started=$$(date +%s); \
	$(BIN)/python docs/measure.py $(SHARED) runs/evaluation || exit 1; \
	$(MAKE) --no-print-directory docs; \
	echo "evaluation: $$(( $$(date +%s) - started )) s, page: $(CURDIR)/docs/evaluation.md"

docs: $(VENV)/installed-test ## put the figures of docs/results into the pages
	$(BIN)/python -m cogapp -r -I docs README.md
	$(BIN)/python docs/evaluation.py

clean: ## remove runs, caches and the environments
	rm -rf $(VENV) $(BENCH) .venv-3.13 runs build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamps make the second time quick.
$(VENV)/installed-train: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[train]"
	@$(COMPILE)
	@touch $@

$(VENV)/installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[train,test]"
	@$(COMPILE)
	@touch $@ $(VENV)/installed-train

# TensorFlow wants an older h5py than the one pinned.
$(BENCH)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BENCH)
	grep -v '^h5py==' constraints.txt > $(BENCH)/constraints.txt
	$(BENCH)/bin/python -m pip install --quiet -c $(BENCH)/constraints.txt \
	  -e ".[onnx]" "tensorflow-cpu==2.21.*"
	@touch $@
