"""Archives and data files that the command-line tests share."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import lowwater


class Two(nn.Module):
    """Two inputs, a dict out: names, pairing, several outputs."""

    def forward(self, a, b):
        return {"sum": a + b, "product": {"value": a * b}}


class Labels(nn.Module):
    def forward(self, x):
        return x.argmax(1)


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    torch.manual_seed(0)
    conv = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(8, 2, 1)).eval()
    size = torch.export.Dim("size", min=2, max=4096)
    batch = torch.export.Dim("batch")
    lowwater.export(conv, (torch.randn(1, 3, 32, 32),), folder / "conv.pt2")
    lowwater.export(conv, (torch.randn(2, 3, 32, 32),), folder / "batch.pt2", dynamic=({0: batch},))
    lowwater.export(conv, (torch.randn(2, 3, 16, 32),), folder / "open.pt2", dynamic=({0: batch, 2: size},))
    lowwater.export(Two(), (torch.randn(4), torch.randn(4)), folder / "two.pt2")
    lowwater.export(nn.Sequential(conv, Labels()).eval(), (torch.randn(1, 3, 32, 32),), folder / "labels.pt2")
    return folder


@pytest.fixture
def scans(tmp_path):
    """scan1.npy, scan2.npy, scan10.npy for conv.pt2."""
    folder = tmp_path / "scans"
    folder.mkdir()
    for i in (1, 2, 10):
        np.save(folder / f"scan{i}.npy", np.random.default_rng(i).standard_normal((1, 3, 32, 32), dtype=np.float32))
    return folder
