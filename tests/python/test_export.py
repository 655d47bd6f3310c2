"""lowwater.export: what it writes, what it refuses."""

import pytest
import torch
from torch import nn

import lowwater


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Dropout(0.5))


def test_writes_a_functional_archive(tmp_path):
    path = lowwater.export(net().eval(), (torch.randn(1, 3, 8, 8),), tmp_path / "net.pt2")
    program = torch.export.load(path)
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert "aten.conv2d.default" in targets and not any("_.default" in target for target in targets)
    assert [file.name for file in tmp_path.iterdir()] == ["net.pt2"]


def test_dynamic_batch(tmp_path):
    n = torch.export.Dim("n")
    path = lowwater.export(net().eval(), (torch.randn(2, 3, 8, 8),), tmp_path / "net.pt2", dynamic=({0: n},))
    assert "n" in str(torch.export.load(path).range_constraints) or torch.export.load(path).range_constraints


@pytest.mark.parametrize("part,name", [(nn.Dropout(0.5), "Dropout"), (nn.BatchNorm2d(3), "BatchNorm2d")])
def test_train_mode_is_refused(tmp_path, part, name):
    model = nn.Sequential(part).train()
    with pytest.raises(lowwater.ExportError, match=rf"0 \({name}\) is in train mode .*model.eval\(\)"):
        lowwater.export(model, (torch.randn(1, 3, 8, 8),), tmp_path / "net.pt2")
    assert not list(tmp_path.iterdir())


def test_dropout_that_does_nothing_is_not_refused(tmp_path):
    lowwater.export(nn.Sequential(nn.Dropout(0.0)).train(), (torch.randn(2, 3),), tmp_path / "net.pt2")


def test_what_blocks_the_export_is_quoted(tmp_path):
    class Branch(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(lowwater.ExportError, match="cannot export Branch"):
        lowwater.export(Branch(), (torch.randn(3),), tmp_path / "net.pt2")
    assert not list(tmp_path.iterdir())
