"""`lowwater run`: files in, files out, and everything that can be wrong with them."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import time

import numpy as np
import pytest
import torch
from PIL import Image

import lowwater


def reference(archive, *arrays):
    program = torch.export.load(archive).module()
    with torch.inference_mode():
        return program(*map(torch.from_numpy, arrays))


def test_a_folder(lowwater_cli, archives, scans, tmp_path):
    summary = lowwater_cli.ok("run", archives / "conv.pt2", "--input", scans, "--output", tmp_path / "out", "--json").json
    assert (summary["items"], summary["ok"], summary["failed"], summary["strays"]) == (3, 3, 0, 0)
    assert len(summary["run_ms"]) == 3
    for i in (1, 2, 10):
        want = reference(archives / "conv.pt2", np.load(scans / f"scan{i}.npy")).numpy()
        np.testing.assert_array_equal(np.load(tmp_path / "out" / f"scan{i}.npy"), want)
    assert sorted(p.suffix for p in (tmp_path / "out").iterdir() if not p.name.startswith(".")) == [".npy"] * 3


def test_existing_results(lowwater_cli, archives, scans, tmp_path):
    run = ("run", archives / "conv.pt2", "--input", scans, "--output", tmp_path / "out", "--json")
    lowwater_cli.ok(*run)
    refused = lowwater_cli(*run)
    assert refused.code == 2 and "--overwrite" in refused.err
    assert lowwater_cli.ok(*run, "--overwrite").json["ok"] == 3
    (tmp_path / "out" / "scan2.npy").unlink()
    resumed = lowwater_cli.ok(*run, "--resume").json
    assert (resumed["ok"], resumed["skipped"]) == (1, 2)
    assert (tmp_path / "out" / "scan2.npy").exists()


def test_several_inputs_and_outputs(lowwater_cli, archives, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for i in (1, 2):
            np.save(tmp_path / name / f"item{i}.npy", np.arange(4, dtype=np.float32) + i)
    lowwater_cli.ok("run", archives / "two.pt2", "--input", f"a={tmp_path / 'a'}", "--input", f"b={tmp_path / 'b'}/*.npy",
                    "--output", tmp_path / "out")
    base = np.arange(4, dtype=np.float32) + 2
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "item2.sum.npy"), 2 * base)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "item2.product.value.npy"), base * base)
    (tmp_path / "b" / "item2.npy").rename(tmp_path / "b" / "other.npy")
    unmatched = lowwater_cli("run", archives / "two.pt2", "--input", f"a={tmp_path / 'a'}", "--input", f"b={tmp_path / 'b'}",
                             "--output", tmp_path / "out2")
    assert unmatched.code == 2 and "item2" in unmatched.err


@pytest.mark.parametrize("kind", ["fortran", "big-endian", "npz", "torch"])
def test_other_files(lowwater_cli, archives, tmp_path, kind):
    array = np.random.default_rng(0).standard_normal((1, 3, 32, 32)).astype(np.float32)
    path = tmp_path / "item.npy"
    if kind == "fortran":
        np.save(path, np.asfortranarray(array))
    elif kind == "big-endian":
        np.save(path, array.astype(">f4"))
    elif kind == "npz":
        path = tmp_path / "item.npz"
        np.savez_compressed(path, array)
    else:
        path = tmp_path / "item.pt"
        torch.save(torch.from_numpy(array).permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1), path)
    lowwater_cli.ok("run", archives / "conv.pt2", "--input", path, "--output", tmp_path / "out")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "item.npy"), reference(archives / "conv.pt2", array).numpy())


def test_picture_in_labels_out(lowwater_cli, archives, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    lowwater_cli.ok("run", archives / "labels.pt2", "--input", tmp_path / "photo.png", "--output", tmp_path / "out",
                    "--format", "png", "--mean", "0.5", "--std", "0.25")
    x = ((pixels.astype(np.float64) / 255 - 0.5) / 0.25).astype(np.float32).transpose(2, 0, 1)[None]
    want = reference(archives / "labels.pt2", np.ascontiguousarray(x))[0].numpy()
    got = np.asarray(Image.open(tmp_path / "out" / "photo.png"))
    assert (got == want).mean() > 0.995   # pixels scaled in another order may tie differently


def test_batches(lowwater_cli, archives, scans, tmp_path):
    summary = lowwater_cli.ok("run", archives / "batch.pt2", "--input", scans, "--output", tmp_path / "out", "--batch", "2", "--json").json
    assert summary["ok"] == 3 and len(summary["run_ms"]) == 2
    for i in (1, 2, 10):
        want = reference(archives / "conv.pt2", np.load(scans / f"scan{i}.npy")).numpy()
        np.testing.assert_allclose(np.load(tmp_path / "out" / f"scan{i}.npy"), want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_mixed_sizes(lowwater_cli, archives, tmp_path):
    (tmp_path / "in").mkdir()
    for i, height in enumerate((16, 24, 16, 40)):
        np.save(tmp_path / "in" / f"{i}.npy", np.random.default_rng(i).standard_normal((1, 3, height, 32), dtype=np.float32))
    summary = lowwater_cli.ok("run", archives / "open.pt2", "--input", tmp_path / "in", "--output", tmp_path / "out", "--json").json
    assert summary["ok"] == 4
    for i in range(4):
        want = reference(archives / "open.pt2", np.load(tmp_path / "in" / f"{i}.npy")).numpy()
        np.testing.assert_array_equal(np.load(tmp_path / "out" / f"{i}.npy"), want)


def test_bad_items_do_not_stop_the_rest(lowwater_cli, archives, scans, tmp_path):
    (scans / "scan3.npy").write_bytes(b"\x93NUMPY broken")
    np.save(scans / "scan4.npy", np.zeros((1, 3, 16, 16), np.float32))
    np.save(scans / "scan5.npy", np.zeros((1, 3, 32, 32), np.int32))
    done = lowwater_cli("run", archives / "conv.pt2", "--input", scans, "--output", tmp_path / "out", "--json")
    assert done.code == 5 and done.json["ok"] == 3
    assert [f["item"] for f in done.json["failures"]] == ["scan3", "scan4", "scan5"]
    for failure in done.json["failures"]:
        assert failure["what"] and "\n" not in failure["what"]
    assert not list((tmp_path / "out").glob("scan[345]*"))


def test_wrong_names(lowwater_cli, archives, scans, tmp_path):
    out = ("--output", tmp_path / "out")
    assert "nobody" in lowwater_cli("run", archives / "conv.pt2", "--input", f"nobody={scans.name}", *out, cwd=scans.parent).err
    for flags in (["--input", "no/such/*.npy"], ["--input", str(tmp_path / "void.npy")], []):
        done = lowwater_cli("run", archives / "conv.pt2", *flags, *out)
        assert done.code == 2 and len(done.err.strip().splitlines()) == 1, done


def test_streams(lowwater_cli, archives, scans):
    process = subprocess.run(
        [str(lowwater_cli.binary), "run", str(archives / "conv.pt2"), "--input", "-", "--output", "-", "-q"],
        input=(scans / "scan1.npy").read_bytes(), capture_output=True, env=lowwater_cli.environment())
    assert process.returncode == 0, process.stderr
    import io

    got = np.load(io.BytesIO(process.stdout))
    np.testing.assert_array_equal(got, reference(archives / "conv.pt2", np.load(scans / "scan1.npy")).numpy())


def test_full_disk(lowwater_cli, archives, scans, tmp_path):
    """Files may not grow beyond 2 KiB: the system refuses like a full disk does."""
    import resource

    limit = lambda: (resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)), signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    done = lowwater_cli("run", archives / "conv.pt2", "--input", scans, "--output", tmp_path / "out", preexec_fn=limit,
                        env={"XDG_CACHE_HOME": "/nonexistent"})
    assert done.code == 6, done
    assert not [p for p in (tmp_path / "out").iterdir() if not p.name.startswith(".")]


def test_unwritable_folder(lowwater_cli, archives, scans, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = lowwater_cli("run", archives / "conv.pt2", "--input", scans, "--output", tmp_path / "file")
    assert done.code == 6 and "file" in done.err


def test_interrupt(lowwater_cli, tmp_path):
    class Slow(torch.nn.Module):
        def forward(self, x):
            for _ in range(40):
                x = torch.tanh(x @ x) * 0.1
            return x

    lowwater.export(Slow(), (torch.randn(400, 400),), tmp_path / "slow.pt2")
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "x.npy", np.ones((400, 400), np.float32))
    for i in range(2000):
        os.symlink(tmp_path / "x.npy", tmp_path / "in" / f"{i}.npy")
    process = subprocess.Popen(
        [str(lowwater_cli.binary), "run", str(tmp_path / "slow.pt2"), "--input", str(tmp_path / "in"), "--output",
         str(tmp_path / "out"), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=lowwater_cli.environment())
    deadline = time.time() + 120
    while time.time() < deadline and not list((tmp_path / "out").glob("*.npy") if (tmp_path / "out").exists() else []):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    import json

    summary = json.loads(out)
    written = [p for p in pathlib.Path(tmp_path / "out").iterdir() if not p.name.startswith(".")]
    assert summary["interrupted"] and 0 < summary["ok"] < 2000 and len(written) == summary["ok"]
    assert all(p.suffix == ".npy" for p in written)
