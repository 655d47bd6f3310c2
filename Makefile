# The front door. `make demo` and `make test` set up whatever is missing.
#   PYTHON=python3 make ...          use an existing Python with PyTorch, install nothing
#   LOWWATER_REQUIRE_CUDA=1 make test   a CUDA test that skips itself is a failure
SHELL := /bin/bash
export LOWWATER_PYTHON := $(if $(PYTHON),$(shell command -v $(PYTHON)),$(CURDIR)/.venv/bin/python)
FUZZ_SECONDS ?= 60
JOBS ?= $(shell nproc)
ASAN_ENV := ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

# $(call configure,PRESET): quiet unless it fails. ccache is looked for when the
# recipe runs: `setup` may just have installed it.
configure = @log=$$(LOWWATER_LAUNCHER=$$(command -v ccache) cmake --preset $(1) 2>&1) || { echo "$$log"; exit 1; }

.PHONY: setup build demo test test-asan tidy fuzz seams format format-check bench clean

setup:
	@scripts/setup.sh

build: setup
	$(call configure,release -DLOWWATER_PYTHON=$(LOWWATER_PYTHON) $(CMAKE_FLAGS))
	@cmake --build --preset release -j $(JOBS)

demo: build
	@scripts/demo.sh

test: build
	@ctest --preset release
	@$(LOWWATER_PYTHON) -m pytest -q tests/e2e tests/cli tests/python tests/install

# Torch-free stages under sanitizers.
test-asan: setup
	$(call configure,asan)
	@cmake --build --preset asan -j $(JOBS)
	@$(ASAN_ENV) ctest --preset asan

# Clang, clang-tidy and warnings as errors.
tidy: setup
	$(call configure,tidy)
	@cmake --build --preset tidy -j $(JOBS)

fuzz: setup
	$(call configure,fuzz)
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
