# The commands of this project. `make demo` and `make test` need nothing before them but Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MINIMUM := .venv-minimum
# Of `make results`: where the open data lie, and how many runs go at a time.
DATA ?= ../shared/data
JOBS ?= 2
# Of `make test`: processes at a time. A file's tests stay together, since they share what they made.
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-minimum check docs format bench results tables luo2019 confirm model model-icd10 model-paper clean

help: ## Show the commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## Make .venv with everything in it

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "dx2px needs Python 3.11 or newer; say which with: make PYTHON=python3.12 setup" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

demo: $(READY) ## Run the main job from nothing; results in demo/
	$(BIN)/dx2px demo --out demo

test: $(READY) ## Run the tests, with branch coverage; WORKERS=… processes at a time, ARGS=… for pytest
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --cov --cov-report=term $(ARGS)

# Old versions may use what newer ones of their own dependencies call deprecated; that is not ours to mend.
test-minimum: $(MINIMUM)/.ready ## Test answers, service and command line with the oldest versions that pyproject.toml accepts
	$(MINIMUM)/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m 'not slow' \
		-W ignore::DeprecationWarning --ignore tests/service/page tests/answers tests/scoring tests/service tests/cli $(ARGS)

$(MINIMUM)/.ready: pyproject.toml constraints.txt .ci/minimum.py
	$(PYTHON) -m venv --clear $(MINIMUM)
	$(PYTHON) .ci/minimum.py > $(MINIMUM)/versions.txt
	$(MINIMUM)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(MINIMUM)/versions.txt \
		--editable '.[train,serve]' $$($(PYTHON) .ci/minimum.py --tools)
	@touch $@

check: $(READY) ## Lint, check the format, the types and the direction of imports, build the site
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(MAKE) --no-print-directory docs

docs: $(READY) ## Build the documentation site in build/site; a warning is an error
	$(BIN)/python -m sphinx --quiet --fail-on-warning -E -d build/doctrees docs build/site

format: $(READY) ## Rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## Run the benchmarks and print their tables
	$(BIN)/python benchmarks/run.py

results: $(READY) ## Run what docs/results.md lacks (hours), then make its tables; DATA=…, JOBS=…
	$(BIN)/python experiments/results.py --data $(DATA) --jobs $(JOBS)
	$(BIN)/python studies/paper_table.py --write docs/paper.md

tables: $(READY) ## Make all tables and figures of docs/results.md and docs/paper.md from the runs under results/
	$(BIN)/python experiments/results.py --tables-only
	$(BIN)/python studies/paper_table.py --write docs/paper.md

luo2019: $(READY) ## Table 1 of the paper on MIMIC-III, for those who have it (hours); MIMIC=…, JOBS=…, OUT=…
	@test -n "$(MIMIC)" || { echo "Say where MIMIC-III lies: make luo2019 MIMIC=path/to/mimic-iii" >&2; exit 1; }
	$(BIN)/python experiments/luo2019.py "$(MIMIC)" --jobs $(JOBS) --out "$(or $(OUT),build/luo2019)"

confirm: $(READY) ## Confirm this version on stays that chose nothing: once per version (minutes); DATA=…
	$(BIN)/python studies/confirm.py --data $(DATA)

# The recipes say why the three corrections. The maps of procedures are CMS's, and not in this repository.
NHDS = prepare nhds $(DATA)/nhds2010/NHDS10.sample.txt.bz2 --min-count 20 \
	--correct icd9pcs:48.1=icd9pcs:04.81 --correct icd9pcs:06.6=icd9pcs:00.66 \
	--correct "icd9pcs:81.52=icd9pcs:81.62 with icd9pcs:81.0* or icd9pcs:81.3*"

build/nhds2010.parquet: $(READY)
	@mkdir -p build
	$(BIN)/dx2px $(NHDS) --out $@

# What the card of the package's model says about stays of other sources is measured on these.
ELSEWHERE = build/mdcr_icd9.parquet build/mimic3demo.parquet build/mimic4demo_icd9.parquet build/synpuf.parquet

build/mdcr_icd9.parquet: $(READY)
	@mkdir -p build
	$(BIN)/dx2px prepare table $(DATA)/mdcr/mdcr.csv.gz --stay-column patid --diagnosis-columns dx \
		--procedure-columns pr --system-column icdv --icd 9 --min-count 5 --out $@

build/mimic3demo.parquet: $(READY)
	@mkdir -p build
	$(BIN)/dx2px prepare mimic3 $(DATA)/mimic3demo --out $@

build/mimic4demo_icd9.parquet: $(READY)
	@mkdir -p build
	$(BIN)/dx2px prepare mimic4 $(DATA)/mimic4demo --icd 9 --out $@

build/synpuf.parquet: $(READY)
	@mkdir -p build
	$(BIN)/dx2px prepare synpuf $(DATA)/desynpuf --out $@

model: $(READY) build/nhds2010.parquet $(ELSEWHERE) ## Make the package's model again, and its card (minutes); DATA=…
	$(BIN)/dx2px train build/nhds2010.parquet --recipe experiments/nhds2010.toml --overwrite \
		--out src/dx2px/shipped/nhds2010
	$(BIN)/python studies/travel.py abroad $(ELSEWHERE) --card src/dx2px/shipped/nhds2010

model-paper: $(READY) build/nhds2010.parquet ## Make the package's model of the paper's method again (minutes); DATA=…
	$(BIN)/dx2px train build/nhds2010.parquet --recipe experiments/nhds2010-paper.toml --overwrite \
		--out src/dx2px/shipped/nhds2010-paper

model-icd10: $(READY) build/nhds2010.parquet ## Make the package's model of ICD-10-PCS families again, from nhds2010 (minutes); DATA=…
	$(BIN)/dx2px $(NHDS) --out build/nhds2010-icd10.parquet --answer-in icd10pcs --maps $(DATA)/gem
	$(BIN)/python experiments/nhds2010_icd10.py build/nhds2010.parquet build/nhds2010-icd10.parquet \
		--maps $(DATA)/gem --out src/dx2px/shipped/nhds2010-icd10

clean: ## Remove what the commands made
	rm -rf $(VENV) $(MINIMUM) demo build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
