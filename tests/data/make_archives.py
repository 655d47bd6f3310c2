"""Writes the small archives that the tests load, with what eager PyTorch computes.

    python tests/data/make_archives.py [NAME ...]    -> tests/data/archives/<name>-<torch version>.pt2 and .json

Run once for each PyTorch version whose archives must stay readable. The JSON
next to an archive holds exact bytes (hexadecimal, little-endian, row-major).
"""

import json
import pathlib
import sys

import torch
from torch import nn

FOLDER = pathlib.Path(__file__).parent / "archives"
DTYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
    torch.uint8: "u8", torch.bool: "bool",
}


def fill(tensor, seed):
    """Values in [-1, 1) that do not depend on the version's random generator."""
    index = torch.arange(tensor.numel(), dtype=torch.int64)
    values = ((index * 7919 + seed * 104729) % 2003).double() / 1001.5 - 1
    with torch.no_grad():
        tensor.copy_(values.view(tensor.shape))
    return tensor


class Net(nn.Module):
    """Every way in which an archive holds a tensor."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.head = nn.Conv2d(4, 2, 1, bias=False)
        for seed, tensor in enumerate([*self.parameters(), self.bn.running_mean]):
            fill(tensor, seed)
        fill(self.bn.running_var, 9).add_(2)
        # Three views of one storage: tied, shifted and transposed.
        shared = fill(torch.empty(12), 10)
        self.first = nn.Parameter(shared[:8].view(4, 2))
        self.again = self.first
        self.shifted = nn.Parameter(shared[2:10].view(2, 4).t())
        self.register_buffer("scalar", torch.tensor(0.5))
        self.register_buffer("empty", torch.empty(0, 4))
        self.register_buffer("mask", torch.tensor([True, False, True, True]))
        self.register_buffer("shift", fill(torch.empty(4, dtype=torch.float16), 11))
        self.register_buffer("scratch", fill(torch.empty(4), 12), persistent=False)

    def forward(self, x):
        y = torch.relu(self.bn(self.conv(x)))
        mixed = self.first @ self.shifted.t() + self.again.sum() + self.scalar  # 4x4
        y = torch.einsum("ij,njhw->nihw", mixed, y)
        y = y + (self.scratch * self.mask + self.shift.float()).view(1, 4, 1, 1)
        y = y * torch.tensor([1.0, -1.0, 0.5, 2.0]).view(1, 4, 1, 1) + self.empty.sum()
        return self.head(y), y.mean(dim=(2, 3))


class Dynamic(nn.Module):
    """Symbolic batch and width, named inputs and outputs, views."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3, stride=2, padding=1)
        self.linear = nn.Linear(3, 5)
        for seed, tensor in enumerate(self.parameters()):
            fill(tensor, seed)

    def forward(self, image, gain):
        y = nn.functional.silu(self.conv(image) * gain)
        tokens = y.flatten(2).transpose(1, 2)
        return {"tokens": self.linear(tokens), "width": tokens.shape[1], "pair": [y, gain + 1]}


def net_inputs():
    return (fill(torch.empty(2, 2, 5, 6), 20),)


def dynamic_inputs(batch, width):
    return fill(torch.empty(batch, 1, 8, width), 30), fill(torch.empty(3, 1, 1), 31)


def export_net():
    model = Net().eval()
    return model, torch.export.export(model, net_inputs()).run_decompositions({}), [net_inputs()]


def export_dynamic():
    model = Dynamic().eval()
    batch, half = torch.export.Dim("batch", max=64), torch.export.Dim("half", min=2, max=32)
    program = torch.export.export(model, dynamic_inputs(3, 12),
                                  dynamic_shapes=({0: batch, 3: 2 * half}, None))
    inputs = [dynamic_inputs(3, 12), dynamic_inputs(1, 12), dynamic_inputs(5, 20)]
    return model, program, inputs  # training IR, as torch.export.export leaves it


def describe(value):
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().contiguous()
    data = bytes(value.view(-1).view(torch.uint8).tolist()) if value.numel() else b""
    return {"dtype": DTYPES[value.dtype], "sizes": list(value.shape), "hex": data.hex()}


def write(name, model, program, inputs):
    version = torch.__version__.split("+")[0]
    path = FOLDER / f"{name}-{version}.pt2"
    torch.export.save(program, str(path))
    cases = []
    with torch.inference_mode():
        for args in inputs:
            outputs = torch.utils._pytree.tree_leaves(model(*args))
            cases.append({"inputs": [describe(x) for x in args],
                          "outputs": [describe(x) for x in outputs]})
    named = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers())}
    weights = {key: describe(value) for key, value in named.items()}
    text = json.dumps({"torch": version, "cases": cases, "weights": weights}, indent=1)
    path.with_suffix(".json").write_text(text + "\n")


EXPORTS = {"net": export_net, "dynamic": export_dynamic}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or EXPORTS:
        write(name, *EXPORTS[name]())
