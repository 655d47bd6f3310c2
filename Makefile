# The front door. `make demo` and `make test` set up whatever is missing.
#   PYTHON=python3 make ...          use an existing Python with PyTorch, install nothing
#   LOWWATER_REQUIRE_CUDA=1 make test   a CUDA test that skips itself is a failure
SHELL := /bin/bash
export LOWWATER_PYTHON := $(if $(PYTHON),$(shell command -v $(PYTHON)),$(CURDIR)/.venv/bin/python)
export LOWWATER_LAUNCHER := $(shell command -v ccache 2>/dev/null)
FUZZ_SECONDS ?= 60
JOBS ?= $(shell nproc)
ASAN_ENV := ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1

.PHONY: setup build demo test test-asan tidy fuzz seams format format-check bench clean

setup:
	@scripts/setup.sh

build: setup
	@LOWWATER_LAUNCHER=$$(command -v ccache) cmake --preset release -DLOWWATER_PYTHON=$(LOWWATER_PYTHON) $(CMAKE_FLAGS) > build-configure.log 2>&1 || { cat build-configure.log; rm -f build-configure.log; exit 1; }
	@rm -f build-configure.log
	@cmake --build --preset release -j $(JOBS)

demo: build
	@scripts/demo.sh

test: build
	@ctest --preset release
	@$(LOWWATER_PYTHON) -m pytest -q tests/e2e tests/cli tests/python

# Torch-free stages under sanitizers.
test-asan: setup
	@LOWWATER_LAUNCHER=$$(command -v ccache) cmake --preset asan > /dev/null
	@cmake --build --preset asan -j $(JOBS)
	@$(ASAN_ENV) ctest --preset asan

# Clang, clang-tidy and warnings as errors.
tidy: setup
	@cmake --preset tidy > /dev/null
	@cmake --build --preset tidy -j $(JOBS)

fuzz: setup
	@LOWWATER_LAUNCHER=$$(command -v ccache) cmake --preset fuzz > /dev/null
	@cmake --build --preset fuzz -j $(JOBS)
	@scripts/fuzz.sh $(FUZZ_SECONDS)

# torch is included in exec/, the session and the binding alone.
seams:
	@scripts/check_seams.sh

format:
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

format-check:
	@git ls-files '*.cc' '*.h' | xargs clang-format --dry-run -Werror

bench: build
	@$(LOWWATER_PYTHON) benchmarks/speed.py

clean:
	@rm -rf build
