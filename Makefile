# Thin targets over CMake presets. `make help` lists them.

PRESET  ?= release
BUILD   := build/$(PRESET)
JOBS    ?= $(shell nproc)
# Many tests wait more than they work: half as many again.
TEST_JOBS ?= $(shell expr $(JOBS) \* 3 / 2)
CMAKE   := cmake
# It needs no LibTorch; uses a release build if there is one.
CHAOS_PRESET := $(if $(wildcard build/release/bin/inlier-trial),release,service)
PROGRAMS := inlier inlier-coordinator inlier-worker inlier-trial

# Steps of tools/setup/setup.
BUILD_STEPS := packages torch corpora
MINILM  := .deps/minilm

PREFIX  ?= /usr/local

.PHONY: help setup setup-test corpora images build install uninstall packages wheel demo test test-exporters bench golden chaos fuzz format clean
.DEFAULT_GOAL := help

help:           ## This list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup:          ## Install what building and the demo need (skips installed parts)
	@tools/setup/setup $(BUILD_STEPS) minilm

setup-test:     ## As setup, and what only the tests need
	@tools/setup/setup $(BUILD_STEPS) images test-packages python client-wheels wheel-tools minilm nvcc s3-server bare-system

corpora:        ## Fetch the text corpora and vocabularies only
	@tools/setup/setup corpora

images:         ## Fetch the images of Fashion-MNIST, for ViT (31 MB)
	@tools/setup/setup images

build:          ## Set up what building needs, and build the four programs
	@tools/setup/setup $(BUILD_STEPS)
	@tools/setup/configure $(PRESET)
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target $(PROGRAMS)

install:        ## Install what `make build` built below PREFIX (/usr/local); DESTDIR goes before it
	@test -e $(BUILD)/bin/inlier || { echo "nothing is built in $(BUILD): make build" >&2; exit 1; }
	@$(CMAKE) --install $(BUILD) --prefix $(PREFIX)

uninstall:      ## Remove what `make install` installed last; configurations and state folders stay
	@test -e $(BUILD)/install_manifest.txt || { echo "$(BUILD)/install_manifest.txt is not there: nothing was installed from it" >&2; exit 1; }
	@while read -r file || [ -n "$$file" ]; do rm -f "$(DESTDIR)$$file"; done < $(BUILD)/install_manifest.txt

packages: build ## Make Debian packages of what is built, in build/release/packages
	@cd $(BUILD) && cpack --config CPackConfig.cmake >packages.log 2>&1 || { tail -n 10 packages.log >&2; exit 1; }
	@rm -rf $(BUILD)/packages/_CPack_Packages
	@ls $(BUILD)/packages/*.deb

wheel: build    ## Make a wheel of the four programs and the Python client over PyPI's torch, in build/release/wheel
	@tools/setup/setup wheel-tools && test -x .deps/wheel-tools/bin/python
	@.deps/wheel-tools/bin/python tools/wheel/make_wheel $(BUILD) $(BUILD)/wheel

demo: build     ## Set up, build, train the quickstart sweep on a real model and text and print its table
	@tools/setup/setup minilm
	@if [ -e $(MINILM)/model.safetensors ]; then \
	  $(BUILD)/bin/inlier run sweeps/quickstart.yaml --dir demo --worker-set data_roots=$(MINILM) --set model.hugging_face=$(MINILM) --set training.start_from.hugging_face=$(MINILM); \
	else \
	  echo "==> without MiniLM the demo is sweeps/from-scratch.yaml, which trains GPT-2 from scratch"; \
	  $(BUILD)/bin/inlier run sweeps/from-scratch.yaml --dir demo; \
	fi

test: setup-test  ## Set up, build everything and run all tests
	@tools/setup/configure $(PRESET)
	@$(CMAKE) --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) --output-on-failure -j $(TEST_JOBS) || { \
	  echo "==> once more, one at a time, what has failed; what passes now depends on time: report it with the output above"; \
	  ctest --test-dir $(BUILD) --output-on-failure --rerun-failed; \
	}

test-exporters: setup-test  ## Also what takes long to install: the Python client's exporters to W&B and MLflow, mypy, ruff
	@tools/setup/setup exporter-wheels
	@tools/setup/configure $(PRESET)
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target $(PROGRAMS)
	@INLIER_TEST_EXPORTERS=1 ctest --test-dir $(BUILD) --output-on-failure -R integration.python_client

golden: setup-test  ## Every golden case, one line each (INLIER_GOLDEN_DIR names another folder)
	@tools/setup/configure $(PRESET)
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target golden_tests
	@bash -o pipefail -c "ctest --test-dir $(BUILD) -L golden -V | sed -nE 's/^[0-9]+: (golden .*)/\1/p; s/^.*tests (passed|failed).*/&/p'"

bench: build    ## Measure this build (writes bench/results)
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target dispatch_load scale_load
	@bench/run $(BUILD)

chaos:          ## Kill, cut off, pause and fill up real processes for CHAOS_SECONDS (600), then judge the store
	@tools/setup/setup packages
	@$(CMAKE) --preset $(CHAOS_PRESET) >/dev/null
	@$(CMAKE) --build build/$(CHAOS_PRESET) -j $(JOBS) --target chaos_client
	@INLIER_BIN=$(CURDIR)/build/$(CHAOS_PRESET)/bin python3 -B tests/chaos/chaos.py

fuzz:           ## Every fuzz target under libFuzzer for FUZZ_SECONDS (600) each; findings stay in build/fuzz/findings
	@tools/setup/setup packages test-packages fuzz
	@$(CMAKE) --preset fuzz >/dev/null
	@tests/fuzz/run build/fuzz $(JOBS)

format:         ## Format the sources
	@git ls-files '*.cc' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

clean:          ## Remove what was built (not .deps)
	@rm -rf build
