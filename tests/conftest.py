"""What all Python tests share: the command line as a fixture, CUDA skips."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "tests" / "e2e"))


class Completed:
    """A finished command: exit code, stdout, stderr, and stdout as JSON."""

    def __init__(self, process: subprocess.CompletedProcess):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out[-2000:]}\n--- stderr\n{self.err[-2000:]}"


class CommandLine:
    def __init__(self, binary: pathlib.Path, cache: pathlib.Path):
        self.binary, self.cache = binary, cache

    def environment(self, **extra: str) -> dict[str, str]:
        return {**os.environ, "XDG_CACHE_HOME": str(self.cache), **extra}

    def __call__(self, *args, timeout: float = 300, env: dict[str, str] | None = None, **kwargs) -> Completed:
        return Completed(
            subprocess.run(
                [str(self.binary), *map(str, args)],
                capture_output=True, text=True, timeout=timeout,
                env=self.environment(**(env or {})), **kwargs,
            )
        )

    def ok(self, *args, **kwargs) -> Completed:
        done = self(*args, **kwargs)
        assert done.code == 0, done
        return done


@pytest.fixture(scope="session")
def lowwater_cli(tmp_path_factory) -> CommandLine:
    binary = pathlib.Path(os.environ.get("LOWWATER_CLI", ROOT / "build" / "release" / "lowwater"))
    assert binary.exists(), f"{binary} is missing: run `make build`"
    return CommandLine(binary, tmp_path_factory.mktemp("cache"))


@pytest.fixture
def cuda() -> str:
    """The CUDA device; without one the test skips itself, or fails if one is required."""
    import torch

    if torch.cuda.is_available():
        return "cuda:0"
    if os.environ.get("LOWWATER_REQUIRE_CUDA") == "1":
        pytest.fail("LOWWATER_REQUIRE_CUDA=1, but PyTorch sees no GPU")
    pytest.skip("no GPU")
