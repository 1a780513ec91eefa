# Every target sets up what it needs: a virtual environment in .venv with the exact versions of constraints.txt.
PYTHON ?= python3
# The oldest Python that the book runs with, and the newest that it is tried with.
OLDEST := 3.11
NEWEST := 3.14
REFUSE_OLD = import sys; now = sys.version_info[:2]; now >= tuple(map(int, "$(OLDEST)".split("."))) or sys.exit( \
  "The book needs Python $(OLDEST) or newer, $(PYTHON) is %d.%d; name another: make PYTHON=python$(NEWEST)" % now)
INSTALL ?= .venv/bin/python -m pip install --quiet --disable-pip-version-check
PORT ?= 8000
NAME ?= sigmoidal_curves/closed_form
export OMP_NUM_THREADS ?= 1
# Warnings of newer versions are errors in continuous integration, where they are news, and stop no reader.
ifdef CI
export PYTEST_ADDOPTS += -W error
endif

RUN := .venv/bin/python -m
SITE := _build/html/index.html
UV := _build/uv/bin/uv
# The versions are those of PyPI, also where uv takes torch from elsewhere.
RESOLVE = env -u UV_TORCH_BACKEND $(UV) pip compile --quiet --python _build/uv/bin/python --no-annotate --no-header \
  --all-extras pyproject.toml executable_claims/pyproject.toml
# What the site is made of; the seed and the addresses too, if they are others than in the last build.
SETTINGS := _build/settings-$(shell echo "$(BOOK_SEED) $(BOOK_REPOSITORY) $(BOOK_ADDRESS)" | cksum | cut -d " " -f 1)
SOURCES := $(shell find book experiments lib executable_claims results _config.yml _toc.yml -type f -not -path "*/__pycache__/*") $(SETTINGS)

# Rules that a notebook breaks by its nature (a last expression is shown, imports stand where they are explained); the last
# two, on zip and on what a loop's function sees, leave the list chapter by chapter.
NOTEBOOKS := B018,E402,B008,B905,B023

.DEFAULT_GOAL := help
.PHONY: help book test quick chapter attack seeds kernels mutations bench browser lint record zip pdf serve lab lock \
  resolve clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Pages that show the same experiment run its quick configuration once.
$(SITE): export LEARNING_DYNAMICS_COMPUTED := $(CURDIR)/_build/computed
book: $(SITE) ## execute the chapters and build the site into _build/html

$(SITE): .venv/installed $(SOURCES)
	@mkdir -p _build && touch _build/begun
	.venv/bin/jupyter-book build . -W -n --keep-going
	@touch -r _build/begun $@ # what is edited meanwhile is newer
	@echo "The book is in $(SITE); 'make serve' opens it."

# Pages are put together on one core; the style is looked at on the other one meanwhile.
test: .venv/installed browser ## run the tests of lib, every chapter under nbval, and the site in a browser
	$(RUN) pytest -n 2 --dist loadfile --no-loadscope-reorder --ignore tests/site
	@$(MAKE) --no-print-directory --jobs 2 --output-sync book lint
	$(RUN) pytest -n 2 --dist worksteal tests/site

quick: .venv/installed ## before a commit, in a minute: style, types, and the tests nearest to what changed
	$(RUN) ruff format --check . && $(RUN) ruff check .
	$(RUN) mypy
	@{ git diff --name-only HEAD; git ls-files --others --exclude-standard; } | sed -nE \
	  "s,^book/.*\.md$$,&,p; s,^(.*/)?(test_)?([^/]+\.py)$$,*/test_\3,p" | sort -u | \
	  xargs -rn 1 find book tests executable_claims -path | xargs -r $(RUN) pytest -q -n 2 --dist loadfile

chapter: .venv/installed ## run one chapter and open its page: make chapter NAME=part/name
	$(RUN) pytest -q -n 0 book/$(NAME).md
	@$(MAKE) --no-print-directory book
	@$(RUN) webbrowser file://$(CURDIR)/_build/html/book/$(NAME).html >/dev/null 2>&1 || true

attack: .venv/installed ## change the theory a little and list what no check notices: make attack CHAPTER=part/name
	$(RUN) executable_claims.run.attack $(CHAPTER)

seeds: .venv/installed ## run all chapters under twenty shifts of the draws, write results/seeds.json
	$(RUN) executable_claims.run.seeds $(CHAPTER)

kernels: .venv/installed ## run all chapters with the kernels of other processors, write results/kernels.json
	$(RUN) executable_claims.run.kernels $(CHAPTER)

mutations: .venv/installed ## put seeded bugs into a copy of the code, one by one: a test must notice each
	$(RUN) tests.mutations

bench: .venv/installed ## measure speed and memory, write results/benchmarks.json
	mkdir -p _build results
	$(RUN) pytest -p benchmark benchmarks --benchmark-json _build/benchmarks.json
	mv _build/benchmarks.json results/benchmarks.json

browser: .venv/installed
	@$(RUN) tests.site.browser

lint: .venv/installed ## check the style of the code, in chapters too, and its types
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) nbqa ruff book --extend-ignore=$(NOTEBOOKS)
	$(RUN) nbqa "ruff format" book --line-length=92 --check
	$(RUN) mypy

record: .venv/installed ## run the chapters and record the text of their verdicts in tests/recorded
	$(RUN) pytest -n 2 --dist loadfile --no-loadscope-reorder --record book

zip: ## pack the built site into one file that works from the disk
	@test -f $(SITE) || $(MAKE) book
	.venv/bin/python -c 'from shutil import make_archive; print(make_archive("_build/learning-dynamics-executed", "zip", "_build/html"))'

pdf: $(SITE) browser ## print the built site into one PDF with an outline
	PYTHONPATH=book/_site:. $(RUN) bound _build/html _build/learning-dynamics-executed.pdf

serve: ## open the built site at http://localhost:8000
	@test -f $(SITE) || $(MAKE) book
	@echo "Serving on http://localhost:$(PORT), Ctrl-C to stop."
	@(sleep 1; $(RUN) webbrowser http://localhost:$(PORT) >/dev/null 2>&1 || true) &
	@$(RUN) http.server $(PORT) --directory _build/html

lab: .venv/installed ## open the chapters in JupyterLab
	$(INSTALL) --constraint constraints.txt --editable '.[lab]'
	.venv/bin/jupytext-config set-default-viewer markdown
	$(RUN) jupyterlab book

lock: $(UV) ## write the newest versions of everything, for every Python and system, into constraints.txt
	$(RESOLVE) --universal --python-version $(OLDEST) --upgrade --output-file constraints.txt

resolve: $(UV) ## see that what constraints.txt names has wheels for the oldest and the newest Python
	@for python in $(OLDEST) $(NEWEST); do for system in linux aarch64-unknown-linux-gnu macos; do \
	  MACOSX_DEPLOYMENT_TARGET=14.0 $(RESOLVE) --python-version $$python --python-platform $$system \
	    --constraint constraints.txt --only-binary :all: >/dev/null || exit 1; \
	  echo "Python $$python on $$system: all of constraints.txt has wheels."; \
	done; done

clean: ## remove everything that was built, and the environment
	rm -rf .venv _build *.egg-info

$(UV):
	$(PYTHON) -m venv _build/uv
	_build/uv/bin/python -m pip install --quiet --disable-pip-version-check uv

$(SETTINGS):
	@mkdir -p _build && rm -f _build/settings-* && touch $@

.venv/installed: pyproject.toml executable_claims/pyproject.toml constraints.txt
	@test -x .venv/bin/pip || $(PYTHON) -c '$(REFUSE_OLD)'
	test -x .venv/bin/pip || $(PYTHON) -m venv .venv
	@echo "Installing the book's environment into .venv (a few minutes, once) ..."
	$(INSTALL) --constraint constraints.txt --editable './executable_claims[book,test]' --editable '.[book,test]'
	touch $@
