"""The budget of the whole process, watched from another one that holds the rest of
the card: first run, measuring included, nothing known beforehand."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import networks
import numpy as np
import pytest
import torch

import lowwater

MIB = 2**20


@pytest.mark.parametrize("name,budget", [("resnet50", 1536 * MIB), ("unet", 1200 * MIB), ("bert", 1200 * MIB)])
def test_never_above_the_budget(lowwater_cli, tmp_path, cuda, name, budget):
    module, inputs = networks.build(name)
    archive = lowwater.export(module, inputs, tmp_path / f"{name}.pt2")
    np.save(tmp_path / "item.npy", inputs[0].numpy())
    neighbour = subprocess.Popen(
        [sys.executable, str(pathlib.Path(__file__).with_name("neighbour.py")), "0", str(budget + 64 * MIB)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert neighbour.stdout.readline().startswith("ready")
        done = lowwater_cli("run", archive, "--device", cuda, "--budget", budget, "--scope", "process", "--json",
                            "--input", tmp_path / "item.npy", "--output", tmp_path / "out",
                            env={"XDG_CACHE_HOME": str(tmp_path / "empty-cache")})
    finally:
        neighbour.stdin.close()
        most = neighbour.stdout.read()
        neighbour.wait()
    assert done.code == 0, done
    used = int(most.split()[1])
    print(f"{name}: budget {budget / MIB:.0f} MiB, NVML's most {used / MIB:.1f} MiB, lowwater says {done.json['process_peak_bytes'] / MIB:.1f} MiB")
    assert 0 < used <= budget
    # NVML's most was while measuring; a run needs less.
    assert 0 < done.json["process_peak_bytes"] <= used + 32 * MIB
    got = np.load(tmp_path / "out" / "item.npy")
    with torch.inference_mode():
        want = module(*inputs)
    want = want.numpy()
    assert np.abs(got - want).max() <= 2e-2 * np.abs(want).max()   # TF32 convolutions against the CPU
