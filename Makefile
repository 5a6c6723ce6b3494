# make learn      the environment, your workspace, and JupyterLab at the first chapter (OPEN=0: only say so)
# make test       the environment and the tests (SLOW=1: also browser, real weights, whole class; SLOW=2: every attack, every mutant)
# make check      every problem: the reference passes, the stub and every mutant fail as written
# make notebooks  rebuild course/source/ from the chapters
# make release    what an instructor hands out (course/release/), by nbgrader
# make bench      the benchmarks of bench/ on this machine (ARGS="--config tiny" without a GPU)
# make lint       ruff
#
# JOBS=1 runs the tests one after another.
# PYTHON=python3.12 picks the Python that makes .venv; TORCH=cpu takes PyTorch's CPU build.

PYTHON ?= python3
TORCH  ?= default
SLOW   ?= 0
# one more than there are cores: many tests wait for a time limit or a browser
JOBS   ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
PY     := .venv/bin/python
# nbgrader calls alembic from the PATH, so the environment's bin folder has to be on it
RUN    := PATH="$(CURDIR)/.venv/bin:$$PATH" PYTHONPATH=course:practice $(PY)

.PHONY: learn test check notebooks release lint env bench

env:
	@$(PYTHON) course/kit/environment.py --torch $(TORCH)

learn: env
	@$(RUN) -m kit.learn

test: env
	@PATH="$(CURDIR)/.venv/bin:$$PATH" SLOW=$(SLOW) $(PY) -m pytest -n $(JOBS) --maxprocesses 8 --dist loadfile $(ARGS)

check: env
	@$(PY) judge.py check

notebooks: env
	@$(RUN) -m kit.build

release: env
	@$(RUN) -m kit.release

lint: env
	@$(PY) -m ruff check .

bench: env
	@for program in decode startup replay_cost; do $(RUN) bench/$$program.py $(ARGS) || exit 1; done
