"""`cmake --install`, and examples/cpp built against what it installed."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests" / "data" / "archives" / "net-2.11.0.pt2"


def run(*command, **kwargs) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, **kwargs)


def ok(*command, **kwargs) -> str:
    done = run(*command, **kwargs)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory, lowwater_cli) -> pathlib.Path:
    prefix = tmp_path_factory.mktemp("prefix")
    ok("cmake", "--install", lowwater_cli.binary.parent, "--prefix", prefix)
    return prefix


def test_installed_files(prefix):
    headers = {path.name for path in prefix.glob("include/**/*") if path.is_file()}
    assert headers == {"session.h", "options.h", "plan.h", "error.h"}


def test_installed_command_line(prefix, lowwater_cli):
    printed = ok(prefix / "bin" / "lowwater", "inspect", MODEL, env=lowwater_cli.environment())
    assert printed == lowwater_cli.ok("inspect", MODEL).out


def test_example(prefix, lowwater_cli, tmp_path):
    ok("cmake", "-S", ROOT / "examples" / "cpp", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    ok("cmake", "--build", tmp_path)
    example, environment = tmp_path / "run_model", lowwater_cli.environment()
    assert ", 0 strays" in ok(example, MODEL, env=environment)

    refused = run(example, MODEL, 1, env=environment)
    assert refused.returncode == 3
    assert refused.stdout.startswith("does not fit: the smallest budget is ")
