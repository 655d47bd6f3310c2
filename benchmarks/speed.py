"""Side by side: eager PyTorch and lowwater's command line with default flags.

Both run the same inputs, alternating round by round in one go, copies to and from
the device included on CUDA. Every repetition is written to results/*.json.

    python benchmarks/speed.py [--device cuda:0] [--cases resnet50_n1 ...] [--rounds 5]
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "e2e")]
import lowwater  # noqa: E402
import networks  # noqa: E402

LOWWATER = ROOT / "build" / "release" / "lowwater"


def resnet50(batch: int):
    import torchvision

    return torchvision.models.resnet50(weights=None), (torch.randn(batch, 3, 224, 224),)


def bert_base(batch: int, length: int):
    from transformers import BertConfig, BertModel

    return networks.Wrap(BertModel(BertConfig())), (torch.randint(0, 30000, (batch, length)),)


def unet(size: int, width: int = 32, depth: int = 5):
    return networks.UNet(width, depth, 2), (torch.randn(1, 3, size, size),)


# name -> (what a reader sees, maker, repetitions a round on the CPU)
CASES = {
    "resnet50_n1": ("ResNet-50, 1x3x224x224", lambda: resnet50(1), 20),
    "resnet50_n32": ("ResNet-50, 32x3x224x224", lambda: resnet50(32), 3),
    "bert_1x128": ("BERT-base, 1x128 tokens", lambda: bert_base(1, 128), 20),
    "bert_32x512": ("BERT-base, 32x512 tokens", lambda: bert_base(32, 512), 1),
    "unet_512": ("U-Net (32-512 channels), 512x512", lambda: unet(512), 5),
    "unet_2048": ("U-Net (64-1024 channels), 2048x2048", lambda: unet(2048, 64), 1),
}


def command(*args) -> dict:
    done = subprocess.run([str(LOWWATER), *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"lowwater {' '.join(map(str, args))}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def eager_once(module, inputs, device: str) -> float:
    if device == "cpu":
        start = time.perf_counter()
        module(*inputs)
        return 1e3 * (time.perf_counter() - start)
    torch.cuda.synchronize()
    start = time.perf_counter()
    out = module(*(x.to(device) for x in inputs))
    out.cpu()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start)


def exported_module(archive, device: str):
    """The exported program as PyTorch runs it: what exporting itself changed."""
    from torch.export.passes import move_to_device_pass

    return move_to_device_pass(torch.export.load(archive), device).module()


def eager_peak(module, inputs, device: str) -> int | None:
    """max_memory_allocated on CUDA; on the CPU PyTorch counts nothing."""
    if device == "cpu":
        return None
    torch.cuda.reset_peak_memory_stats()
    eager_once(module, inputs, device)
    return torch.cuda.max_memory_allocated()


def run_case(name: str, device: str, rounds: int, folder: pathlib.Path) -> dict:
    title, make, reps = CASES[name]
    if device != "cpu":
        reps = 20
    torch.manual_seed(0)
    module, inputs = make()
    module = module.eval().requires_grad_(False)
    archive = lowwater.export(module, inputs, folder / f"{name}.pt2")
    items = folder / "items"
    items.mkdir()
    np.save(folder / "input.npy", inputs[0].numpy())
    for i in range(reps):
        (items / f"{i}.npy").symlink_to(folder / "input.npy")
    where = ["--device", device, "--scope", "tensors"]
    start = time.perf_counter()
    plan = command("plan", archive, *where, "--json")
    first_plan_s = time.perf_counter() - start
    start = time.perf_counter()
    plan = command("plan", archive, *where, "--json")
    second_plan_s = time.perf_counter() - start
    tight = ["--budget", plan["smallest_budget_bytes"]]

    result = {"case": name, "title": title, "device": device, "plan": plan, "first_plan_s": first_plan_s,
              "second_plan_s": second_plan_s, "eager_ms": [], "exported_ms": [], "lowwater_ms": [], "smallest_ms": []}
    with torch.inference_mode():
        module.to(device)
        eager_once(module, inputs, device)
        eager_once(module, inputs, device)
        result["eager_peak_bytes"] = eager_peak(module, inputs, device)
        # Fresh memory for every repetition, as the command line has it from its files.
        copies = [tuple(x.clone() for x in inputs) for _ in range(reps)]
        exported = exported_module(archive, device)
        try:
            eager_once(exported, inputs, device)
        except RuntimeError:   # PyTorch cannot run every archive on another device than it was exported on
            exported = None
        for _ in range(rounds):
            result["eager_ms"] += [eager_once(module, copy, device) for copy in copies]
            if exported is not None:
                result["exported_ms"] += [eager_once(exported, copy, device) for copy in copies]
            for key, budget in (("lowwater", []), ("smallest", tight)):
                out = command("run", archive, *where, *budget, "--input", items, "--output", folder / "out",
                              "--overwrite", "--json")
                # Both sides drop their warm-up: eager had its own above.
                result[f"{key}_ms"] += out["run_ms"][1:] if len(out["run_ms"]) > 2 else out["run_ms"]
                result[f"{key}_peak_bytes"] = out["measured_peak_bytes"]
                result[f"{key}_strays"] = out["strays"]
    if device == "cpu":
        verified = command("verify", archive, "--input", folder / "input.npy", *where, "--json")
        result["eager_peak_bytes"] = verified["unplanned_peak_bytes"]
    del module
    gc.collect()
    return result


def versions(device: str) -> dict:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {
        "commit": commit or os.environ.get("LOWWATER_COMMIT", "unknown"),
        "date": datetime.date.today().isoformat(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device != "cpu" else cpu_name(),
    }


def cpu_name() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cases", nargs="*", choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    cases = options.cases or [c for c in CASES if (c != "unet_2048") == (options.device == "cpu") or "unet" not in c]
    results = []
    for name in cases:
        with tempfile.TemporaryDirectory() as folder:
            result = run_case(name, options.device, options.rounds, pathlib.Path(folder))
        results.append(result)
        eager, ours, small = (statistics.median(result[k]) for k in ("eager_ms", "lowwater_ms", "smallest_ms"))
        exported = f"{statistics.median(result['exported_ms']):8.1f} ms" if result["exported_ms"] else "fails"
        print(f"{result['title']:<38} eager {eager:8.1f} ms   exported {exported}   lowwater {ours:8.1f} ms ({ours / eager:.3f}x)"
              f"   smallest {small:8.1f} ms ({small / eager:.3f}x)   first plan {result['first_plan_s']:.1f} s", flush=True)
        options.out.mkdir(parents=True, exist_ok=True)
        file = options.out / f"speed-{options.device.split(':')[0]}.json"
        file.write_text(json.dumps({"versions": versions(options.device), "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
