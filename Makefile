# make demo | test | test-quick | lint | bench | demo-encoder | cards | docs | env | lock | clean
PYTHON ?= python3
CORES ?= 2
BASE ?= main
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --no-compile
# config/mine.yaml waits for an encoder's folder
CONFIGS := config/config.yaml config/small.yaml config/paper.yaml config/planted.yaml config/matrix.yaml
export HF_HUB_OFFLINE ?= 1
# Packages are installed without their compiled modules: the first process that imports one compiles it, not each.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-quick lint bench demo-encoder cards docs env lock clean

demo: env
	$(BIN)/snakemake --cores $(CORES)

# The long files first, each in one process; one process more than cores, as runs on Slurm, the first, mostly wait.
LONG := $(wildcard tests/workflow/test_slurm.py tests/workflow/test_runs.py)
test: env .venv/tests
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses $$(($(CORES) + 1)) --dist loadfile --no-loadscope-reorder --durations 30 \
	  $(LONG) $(filter-out $(LONG),$(wildcard tests/workflow/test_*.py)) tests/real tests/golden tests/unit

# The unit and golden tests that a change since BASE needs (tests/quick.py), and those of how folders import each other.
test-quick: env .venv/tests
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses $(CORES) tests/unit/test_walls.py $$( \
	  { git diff --name-only $(BASE); git ls-files --others --exclude-standard; } \
	  | PYTHONPATH=scripts:. $(BIN)/python -m tests.quick)

lint: env .venv/tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile rules
	for config in $(CONFIGS); do echo "snakemake --lint $$config" && $(BIN)/snakemake --lint --configfile $$config || exit 1; done

bench: env .venv/tests
	OMP_WAIT_POLICY=PASSIVE PYTHONPATH=scripts $(BIN)/python -m benchmarks results/bench.csv

# The encoder of the demo, trained again as its record says; its folder comes with the package.
SHIPPED := scripts/biasflow/data/planted_bert
demo-encoder: env
	$(BIN)/snakemake --cores $(CORES) --configfile config/demo_encoder.yaml
	cp results/demo-encoder/encoders/planted-bert/* $(SHIPPED)

# A card for every measure, in docs/measures; the figures of docs/findings that come from the same stored results.
cards: env
	PYTHONPATH=scripts $(BIN)/python docs/_site/cards.py
	PYTHONPATH=scripts $(BIN)/python docs/_site/findings.py

# The site, in site/; its packages are installed by this target alone.
docs: env .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "Open site/index.html"

# The packages of tests and linters; the demo does without them.
.venv/tests: requirements-tests.lock .venv/installed
	$(INSTALL) --requirement $<
	touch $@

.venv/docs: docs/_site/requirements.txt
	$(INSTALL) --requirement $<
	touch $@

env: .venv/installed

# The package is installed as it lies here, for the command biasflow; not into the environment of another checkout.
.venv/installed: requirements.lock requirements-torch.lock
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(INSTALL) --no-deps --require-hashes --requirement requirements.lock
	$(INSTALL) --requirement requirements-torch.lock
	test -L .venv || $(INSTALL) --no-deps --no-build-isolation --editable .
	touch $@

# Versions stay as they are, unless OPTIONS has --upgrade or --upgrade-package NAME; then those in envs/ follow.
lock:
	uv pip compile --quiet --universal --no-annotate --all-extras --group build --generate-hashes $(OPTIONS) \
	  --custom-compile-command "make lock" --excludes requirements-torch.lock --output-file requirements.lock pyproject.toml

# Not .snakemake: it remembers what made the results.
clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis site
