"""Writes the program JSONs that the import tests read: tests/data/programs/<name>.json.

    python tests/data/make_programs.py [NAME ...]

Each file holds the program and the weight tables of one exported module, as in
the archive, without the weights' bytes: {"program": .., "weights": .., "constants": ..}.
"""

import collections
import dataclasses
import io
import json
import pathlib
import re
import sys
import warnings
import zipfile

import torch
from torch import nn
from torch.export import Dim

FOLDER = pathlib.Path(__file__).parent / "programs"
ROOT = str(pathlib.Path(__file__).resolve().parents[2])
BATCH = Dim("batch", min=1, max=16)

PROGRAMS = {}


def program(*args, kwargs=None, dynamic=None, raw=False, train=False):
    """Registers a module class with its example inputs."""

    def register(module):
        PROGRAMS[module.__name__] = (module, args, kwargs, dynamic, raw, train)
        return module

    return register


@program(
    {"image": torch.ones(2, 4), "parts": [torch.ones(2, 4), torch.ones(4)]},
    None,
    kwargs={"flag": 3},
    dynamic={"batch": {"image": {0: BATCH}, "parts": [{0: BATCH}, None]}, "mask": None, "flag": None},
)
class nested(nn.Module):
    """Dicts, lists, keyword arguments, None and integers on both sides."""

    def forward(self, batch, mask, *, flag):
        y = batch["image"] + batch["parts"][0]
        return {"out": y, "aux": mask, "list": [y * 2, batch["parts"][1] - 1], "n": flag}


@program(torch.ones(2), [torch.ones(2), torch.ones(2)])
class var_args(nn.Module):
    def forward(self, *args):
        return args[0] + args[1][0], ()


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Result:
    logits: torch.Tensor
    past: tuple
    loss: object = None


@program(torch.ones(2))
class containers(nn.Module):
    """Named tuples and dataclasses count by their field names."""

    def forward(self, x):
        return Result(x + 1, (x + 2, x + 3)), Pair(x + 4, x + 5), {7: x + 6}


half = Dim("half", min=2, max=8)


@program(torch.ones(3, 6), torch.ones(7), dynamic={"x": {0: half, 1: 2 * half}, "y": {0: 2 * half + 1}})
class related_sizes(nn.Module):
    def forward(self, x, y):
        return x.sum() + y.sum(), x.reshape(-1), y[: x.shape[0] * 2 - 1], y.new_zeros((x.shape[0] + 5) // 2, 2)


@program(torch.ones(2, 8), dynamic={"x": {0: Dim("rows")}})
class reshapes(nn.Module):
    """Sizes that are computed, and folded once the batch is known."""

    def forward(self, x):
        n = x.shape[0]
        position = torch.arange(n, device=x.device)
        return x.view(n, 2, 4).transpose(0, 1).reshape(2 * n, 4), position + n // 2, torch.full((n, 3), 0.5)


class Branches(nn.Module):
    def forward(self, x, y):
        return torch.cond(x.sum() > 0, lambda a, b: (a.relu() + b, b.cos()), lambda a, b: (a.sin(), b * 2), (x, y))


@program(torch.ones(3), torch.ones(3))
class cond(Branches):
    pass


@program(torch.ones(3))
class cond_nested(nn.Module):
    def forward(self, x):
        def outer(a):
            return torch.cond(a.max() > 1, lambda b: b.exp(), lambda b: b.cos(), (a,))

        return torch.cond(x.sum() > 0, lambda a: a.neg(), outer, (x,))


@program(torch.ones(3, 4), dynamic={"x": {0: Dim("rows", min=1, max=9)}})
class cond_on_size(nn.Module):
    """The predicate is known once the size is."""

    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda a: a.relu(), lambda a: a.sin(), (x,))


@program(torch.ones(2, 4), raw=True)
class wrappers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            y = self.linear(x) * 2
        with torch.autocast("cpu", enabled=False):
            z = y.relu()
        return z + x


@program(torch.ones(2, 4), raw=True)
class autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.linear(x)


@program(torch.zeros(2, 3, dtype=torch.int64))
class tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


@program(torch.ones(2, 3))
class numbers(nn.Module):
    """Numbers where the schema says Tensor, or float; infinity; complex."""

    def forward(self, x):
        y = (x + 1) * 2.5 - True
        y = y.masked_fill(x > 0, float("-inf"))
        return y, torch.add(x, x, alpha=2), x.clamp(min=0), torch.nn.functional.elu(x, alpha=1), x + 1j


@program(torch.ones(4, 5, 6))
class indexing(nn.Module):
    def forward(self, x):
        i = torch.tensor([0, 2])
        return x[:, i], x[i, :, i], x[..., 1:4:2], x[:, None, 0]


@program(torch.ones(4, 6))
class several_outputs(nn.Module):
    def forward(self, x):
        a, b, _ = x.split([1, 2, 3], dim=1)
        values, indices = x.max(dim=0)
        top, _ = x.topk(2)
        return a, b, values, indices, top, list(x.unbind(0))[1]


@program(torch.ones(2, 3, 4, 4))
class options(nn.Module):
    """Types, layouts, devices and strings as arguments; empty lists."""

    def forward(self, x):
        y = x.to(torch.float16).contiguous(memory_format=torch.channels_last)
        z = torch.zeros(3, dtype=torch.int32, device="cpu")
        w = nn.functional.gelu(x, approximate="tanh")
        v = nn.functional.pad(x, (1, 1, 0, 0), mode="reflect")
        u = nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
        return y, z, w, v, u, x.sum(dim=(1, 2)), nn.functional.max_pool2d(x, 2), x.mean().view([])


class InPlace(nn.Module):
    def forward(self, x):
        y = x * 2
        y.view(-1)[:2].zero_()
        z = nn.functional.relu(y, inplace=True)
        return z + y, y.add_(1)


@program(torch.ones(3, 2), raw=True)
class in_place_raw(InPlace):
    pass


@program(torch.ones(3, 2))
class in_place(InPlace):
    pass


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("cache", torch.zeros(4, 2), persistent=False)

    def forward(self, x, state):
        self.count.add_(1)
        self.cache[1:3].copy_(x)
        state.mul_(2)
        return self.cache + self.count


@program(torch.ones(2, 3), 5, dynamic={"x": None, "n": Dim.DYNAMIC})
class integer_input(nn.Module):
    """An integer input keeps its value at export: lowwater's inputs are tensors."""

    def forward(self, x, n):
        return x * n, x.new_zeros(n + 1), n


@program(torch.ones(2, 2), torch.ones(3))
class mutations(Counter):
    pass


@program(torch.ones(2, 2), torch.ones(3), raw=True)
class mutations_raw(Counter):
    pass


@program(torch.ones(3, 4), dynamic={"x": {0: Dim("rows", min=1, max=9)}})
class data_dependent(nn.Module):
    """Sizes that are known only at run time, with their upper bounds."""

    def forward(self, x):
        found = torch.nonzero(x > 0)
        return found, x[x > 0].sum(), torch.masked_select(x, x[:1] > 0), x.reshape(-1)[found[:, 0]] * found.shape[0]


@program(torch.ones(2, 6), torch.tensor(3))
class item(nn.Module):
    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k <= 5)
        return x[:, :k], x.new_zeros(k, 2), x.sum() / k, k * 2 + 1


@program(torch.tensor(3))
class unbounded(nn.Module):
    def forward(self, n):
        return torch.ones(n.item())


@program(torch.ones(3))
class constants(nn.Module):
    """Lifted literals, plain tensor attributes, non-persistent buffers, 0-dimensional and empty ones."""

    def __init__(self):
        super().__init__()
        self.scale = torch.tensor([1.0, 2.0, 3.0])
        self.register_buffer("offset", torch.tensor(2.0), persistent=False)
        self.register_buffer("flags", torch.tensor([True, False, True]))
        self.register_buffer("nothing", torch.zeros(0, 3))

    def forward(self, x):
        return (x * self.scale + self.offset + torch.tensor([5, 6, 7])).where(self.flags, x), self.nothing + 1


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x) + 1


class Normed(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.norm = nn.BatchNorm2d(3, **options)

    def forward(self, x):
        return self.norm(x)


@program(torch.ones(3), raw=True, train=True)
class train_dropout(Dropping):
    pass


@program(torch.ones(3), raw=True)
class eval_dropout(Dropping):
    pass


@program(torch.ones(2, 3, 4, 4), raw=True, train=True)
class train_norm(Normed):
    pass


@program(torch.ones(2, 3, 4, 4))
class batch_statistics(Normed):
    """Without running statistics the batch's are meant: nothing to refuse."""

    def __init__(self):
        super().__init__(track_running_stats=False)


@program(torch.ones(2, 3))
class loop(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), x))[1]


@program(torch.ones(2, 5, 3), dynamic={"x": {0: Dim("b", min=1, max=9)}})
class recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.lstm(x)


def portable(trace):
    """A stack trace without the folders of the machine that made it."""
    return re.sub(r'File "[^"]*?(/site-packages/[^"]*)"', r'File "\1"', trace.replace(ROOT + "/", ""))


def clean(node):
    """Drops what differs between machines and what lowwater does not read."""
    if isinstance(node, dict):
        metadata = node.get("metadata")
        if isinstance(metadata, dict):
            kept = {key: value for key, value in metadata.items() if key in ("stack_trace", "nn_module_stack")}
            if "stack_trace" in kept:
                kept["stack_trace"] = portable(kept["stack_trace"])
            node["metadata"] = kept
        for value in node.values():
            clean(value)
    elif isinstance(node, list):
        for value in node:
            clean(value)


def export(name):
    module, args, kwargs, dynamic, raw, train = PROGRAMS[name]
    exported = torch.export.export(module().train(train), args, kwargs, dynamic_shapes=dynamic)
    if not raw:
        exported = exported.run_decompositions({})
    buffer = io.BytesIO()
    torch.export.save(exported, buffer)
    archive = zipfile.ZipFile(io.BytesIO(buffer.getvalue()))

    def read(ending):
        return next(json.loads(archive.read(entry)) for entry in archive.namelist() if entry.endswith(ending))

    document = {
        "program": read("models/model.json"),
        "weights": read("model_weights_config.json")["config"],
        "constants": read("model_constants_config.json")["config"],
    }
    clean(document["program"])
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    (FOLDER / f"{name}.json").write_text(text + "\n")
    print(f"{name}: {len(text)} bytes", file=sys.stderr)


def main():
    warnings.simplefilter("ignore")
    torch.export.register_dataclass(Result, serialized_type_name="Result")
    torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="Pair")
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PROGRAMS:
        export(name)


if __name__ == "__main__":
    main()
