"""Small networks that broke other tools: aliases, views, in-place operators,
structures, baked devices, data-dependent sizes. Each runs poisoned, from the
functional and from the raw training IR, and equals eager."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import _pytree as pytree

import lowwater


def leaf_names(prefix: str, tree) -> list[str]:
    names = []
    for path, _ in pytree.tree_flatten_with_path(tree)[0]:
        parts = [str(getattr(k, "key", getattr(k, "idx", k))) for k in path]
        names.append(".".join([prefix, *parts]) if prefix else ".".join(parts))
    return names


def run(cli, folder, archive, args: tuple, want, *flags, exact: bool = True) -> dict:
    """Runs the archive on `args` and compares every tensor output with `want`."""
    info = cli.ok("inspect", archive, "--json").json
    tensors = [t for t in pytree.tree_leaves(args) if isinstance(t, torch.Tensor)]
    names = [i["name"] for i in info["inputs"] if i["tensor"]]
    assert len(names) == len(tensors)
    inputs = []
    for i, (name, tensor) in enumerate(zip(names, tensors)):
        (folder / f"in{i}").mkdir(exist_ok=True)
        np.save(folder / f"in{i}" / "item.npy", tensor.detach().numpy())
        inputs += ["--input", f"{name}={folder / f'in{i}' / 'item.npy'}"]
    summary = cli.ok("run", archive, *inputs, "--output", folder / "out", "--overwrite", "--json", *flags).json
    leaves = pytree.tree_leaves(want)
    assert len(leaves) == len(info["outputs"])
    several = sum(o["tensor"] for o in info["outputs"]) > 1
    for leaf, output in zip(leaves, info["outputs"]):
        if not isinstance(leaf, torch.Tensor):
            assert not output["tensor"]
            continue
        got = np.load(folder / "out" / (f"item.{output['name']}.npy" if several else "item.npy"))
        expected = leaf.detach().numpy()
        assert got.shape == expected.shape and got.dtype == expected.dtype
        if exact:
            np.testing.assert_array_equal(got, expected)
        else:
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * max(1e-30, np.abs(expected).max()))
    assert summary["strays"] == 0
    return summary


def eager(module: nn.Module, args: tuple):
    with torch.inference_mode():
        return module(*pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, args))


CASES: dict[str, tuple] = {}


def case(make):
    CASES[make.__name__] = make
    return make


def x(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


@case
def relu_in_place_is_seen_by_every_reader():   # 13
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)

        def forward(self, x):
            a = self.a(x)
            b = F.relu(a, inplace=True)
            return a + self.b(b)

    return M(), (x(1, 3, 9, 11),)


@case
def residual_in_place_on_a_returned_input():   # 13, 14
    class M(nn.Module):
        def forward(self, x, y):
            x.add_(y)
            return x, x * 2

    return M(), (x(4, 5), x(4, 5))


@case
def in_place_through_a_view():   # 14
    class M(nn.Module):
        def forward(self, x):
            x = x * 1.5
            x.view(3, 2, -1).add_(2.0)
            return x

    return M(), (x(6, 4),)


@case
def in_place_on_every_second_column():   # 14
    class M(nn.Module):
        def forward(self, x):
            y = x + 1
            y[:, ::2].mul_(0)
            return y, y.sum(1)

    return M(), (x(3, 7),)


@case
def in_place_on_one_part_of_a_split():   # 14
    class M(nn.Module):
        def forward(self, x):
            y = x * 2
            a, b, c = torch.split(y, 2, dim=1)
            b.add_(10)
            return y, a + c, b

    return M(), (x(3, 6),)


@case
def outputs_that_alias():   # 15
    class M(nn.Module):
        def forward(self, x):
            y = x.exp()
            return y, y.view(-1), y[:, :1], x

    return M(), (x(3, 4),)


@case
def cat_of_values_still_read():   # 16
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)

        def forward(self, x):
            a = self.conv(x)
            return torch.cat([a, a.relu()], 1), a + 1

    return M(), (x(1, 3, 8, 8),)


@case
def dense_block():   # 16
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = nn.ModuleList(nn.Conv2d(8 + 4 * i, 4, 3, padding=1) for i in range(12))

        def forward(self, x):
            for conv in self.convs:
                x = torch.cat([x, F.relu(conv(x))], 1)
            return x

    return M(), (x(1, 8, 12, 12),)


@case
def reshape_that_copies_and_one_that_does_not():   # 17
    class M(nn.Module):
        def forward(self, x):
            return x.t().reshape(-1) + 1, x.reshape(-1) + 1, x

    return M(), (x(3, 5),)


@case
def expanded_mean():   # 18
    class M(nn.Module):
        def forward(self, x):
            return x.mean((2, 3), keepdim=True).expand_as(x) + x

    return M(), (x(2, 3, 5, 7),)


@case
def tied_weights():   # 19
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(50, 16)
            self.head = nn.Linear(16, 50, bias=False)
            self.head.weight = self.embed.weight
            both = torch.randn(2, 16)
            self.low, self.high = nn.Parameter(both[0]), nn.Parameter(both[1])

        def forward(self, ids):
            h = self.embed(ids) * self.low + self.high
            return self.head(h), F.linear(h @ self.embed.weight.t(), self.embed.weight.t())

    return M(), (torch.randint(0, 50, (2, 6), generator=torch.Generator().manual_seed(0)),)


@case
def buffers_of_every_kind():   # 20
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("hidden", torch.randn(4), persistent=False)
            self.register_buffer("index", torch.tensor([3, 1, 2]))
            self.register_buffer("scale", torch.tensor(2.5))
            self.register_buffer("mask", torch.tensor([True, False, True, True]))
            self.plain = torch.randn(4)

        def forward(self, x):
            y = (x + self.hidden + self.plain) * self.scale
            return torch.where(self.mask, y, torch.zeros_like(y))[:, self.index]

    return M(), (x(2, 4),)


@case
def baked_devices_and_types():   # 21
    class M(nn.Module):
        def forward(self, x):
            y = x + torch.arange(x.shape[-1], device=x.device) + torch.zeros(3, 1, device=x.device)
            return torch.softmax(y.to(torch.float64), -1).to(x.dtype), torch.full((2,), 7)

    return M(), (x(3, 5),)


@case
def contiguous_then_view():   # 22
    class M(nn.Module):
        def forward(self, x):
            return x.permute(0, 2, 3, 1).contiguous().view(-1, x.shape[1]) * 2

    return M(), (x(1, 3, 8, 8),)


@case
def structures():   # 23
    class M(nn.Module):
        def forward(self, batch, mask=None, flag=True):
            y = batch["image"] * 2
            return {"out": y, "aux": None, "list": [y + 1, batch["unused"][:0]], "n": 3}

    return M(), ({"image": x(2, 3), "unused": x(4)}, x(2))


@case
def empty_tensors():   # 23
    class M(nn.Module):
        def forward(self, x):
            return x * 2, torch.cat([x, x + 1])

    return M(), (x(0, 4),)


@case
def recurrent_one_way():   # 24
    return networks_module("LSTM", False), (x(3, 7, 5),)


@case
def recurrent_both_ways():   # 24
    return networks_module("GRU", True), (x(3, 7, 5),)


def networks_module(cell: str, both: bool) -> nn.Module:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = getattr(nn, cell)(5, 6, num_layers=2, batch_first=True, bidirectional=both)

        def forward(self, x):
            return self.rnn(x)

    return M()


@case
def masked_sum():   # 37
    class M(nn.Module):
        def forward(self, x):
            return x[x > 0].sum(), (x > 0).sum()

    return M(), (x(5, 6),)


@case
def nonzero_and_after():   # 37
    class M(nn.Module):
        def forward(self, x):
            index = torch.nonzero(x > 0.5)
            return index * 2, x + 1

    return M(), (x(5, 6),)


@case
def unique_values():   # 37
    class M(nn.Module):
        def forward(self, x):
            return torch.unique(x)

    return M(), (torch.tensor([3, 1, 3, 2, 1, 9]),)


@case
def two_branches():   # 37, executorch#21490
    class M(nn.Module):
        def forward(self, x):
            a = torch.cond(x.sum() > 0, lambda x: x * 2 + 1, lambda x: x - 1, (x,))
            b = torch.cond(x.sum() > 1e6, lambda x: x.exp(), lambda x: x.sin() * 3, (x,))
            return a, b, a + b

    return M(), (x(4, 4).abs(),)


@case
def equal_masks_in_every_layer():   # 40
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", torch.ones(16, 16).tril() == 0, persistent=False)
            self.line = nn.Linear(16, 16)

        def forward(self, x):
            return self.line(x.masked_fill(self.mask, 0.0)).relu()

    return nn.Sequential(*(Layer() for _ in range(4))), (x(2, 16, 16),)


@case
def random_numbers_are_refused_or_seeded():
    class M(nn.Module):
        def forward(self, x):
            return (x + torch.randn_like(x) * 0).relu()

    return M(), (x(3, 4),)


@pytest.mark.parametrize("form", ["functional", "raw"])
@pytest.mark.parametrize("name", list(CASES))
def test_case(lowwater_cli, tmp_path, name, form):
    torch.manual_seed(0)
    module, args = CASES[name]()
    module = module.eval().requires_grad_(False)
    want = eager(module, args)
    archive = tmp_path / "model.pt2"
    if form == "functional":
        lowwater.export(module, args, archive)
    else:
        with torch.no_grad():
            torch.export.save(torch.export.export(module, args, strict=False), archive)
    run(lowwater_cli, tmp_path, archive, args, want, "--poison")


def test_a_batch_of_one(lowwater_cli, tmp_path):
    """Exported with a batch of 2, whose recorded range starts at 2."""
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(5)).eval()
    module(x(2, 3, 8, 8))
    archive = lowwater.export(module, (x(2, 3, 8, 8),), tmp_path / "m.pt2", dynamic=({0: torch.export.Dim("b")},))
    for batch in (1, 3):
        args = (x(batch, 3, 8, 8),)
        run(lowwater_cli, tmp_path, archive, args, eager(module, args), exact=False)


def test_equal_masks_are_stored_once(lowwater_cli, tmp_path):
    module, args = CASES["equal_masks_in_every_layer"]()
    archive = lowwater.export(module.eval(), args, tmp_path / "m.pt2")
    plan = lowwater_cli.ok("plan", archive, "--json").json
    apart = lowwater_cli.ok("plan", archive, "--json", "--without", "equal-weights").json
    assert apart["outside_arena_bytes"] - plan["outside_arena_bytes"] == 3 * 16 * 16


def test_dense_block_holds_little_more_than_one_buffer(lowwater_cli, tmp_path):
    module, args = CASES["dense_block"]()
    archive = lowwater.export(module.eval(), args, tmp_path / "m.pt2")
    plan = lowwater_cli.ok("plan", archive, "--json").json
    final = 56 * 12 * 12 * 4
    # The last cat: its operand and its result. oneDNN's reordered copies come on top.
    assert plan["arena_bytes"] - plan["peak"]["temporary_bytes"] <= 2 * final


@pytest.mark.parametrize("part,advice", [(nn.Dropout(0.5), "eval"), (nn.BatchNorm2d(3), "eval")])
def test_train_mode_is_refused(lowwater_cli, tmp_path, part, advice):   # 39
    module = nn.Sequential(nn.Conv2d(3, 3, 1), part).train()
    torch.export.save(torch.export.export(module, (x(2, 3, 4, 4),), strict=False), tmp_path / "m.pt2")
    done = lowwater_cli("plan", tmp_path / "m.pt2")
    assert done.code == 4 and advice in done.err and len(done.err.strip().splitlines()) == 1


def test_another_size_is_refused_by_name(lowwater_cli, tmp_path):   # 40
    module, args = CASES["equal_masks_in_every_layer"]()
    archive = lowwater.export(module.eval(), args, tmp_path / "m.pt2")
    np.save(tmp_path / "item.npy", np.zeros((2, 17, 16), np.float32))
    done = lowwater_cli("run", archive, "--input", tmp_path / "item.npy", "--output", tmp_path / "out")
    assert done.code == 5 and "17" in done.err and "16" in done.err


def test_an_unknown_operator_names_node_and_line(lowwater_cli, tmp_path):
    @torch.library.custom_op("lowwater_test::twice", mutates_args=())
    def twice(a: torch.Tensor) -> torch.Tensor:
        return a * 2

    twice.register_fake(lambda a: torch.empty_like(a))

    class M(nn.Module):
        def forward(self, x):
            return torch.ops.lowwater_test.twice(x) + 1

    archive = lowwater.export(M(), (x(3),), tmp_path / "m.pt2")
    done = lowwater_cli("plan", archive)
    assert done.code == 4 and "lowwater_test::twice" in done.err and "test_traps.py" in done.err
