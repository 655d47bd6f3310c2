"""inspect, plan, verify, doctor, help: what they print and how they end."""

from __future__ import annotations

import json
import shutil

import pytest

COMMANDS = ["inspect", "plan", "run", "verify", "doctor"]


def test_version_and_help(lowwater_cli):
    assert lowwater_cli.ok("--version").out.strip() == "0.1.0"
    top = lowwater_cli.ok("--help").out
    for command in COMMANDS:
        assert command in top
        text = lowwater_cli.ok(command, "--help").out
        assert "example" in text and "--json" in text


def test_inspect(lowwater_cli, archives):
    text = lowwater_cli.ok("inspect", archives / "conv.pt2").out
    assert "f32[1, 3, 32, 32]" in text and "aten::conv2d" in text
    info = lowwater_cli.ok("inspect", archives / "two.pt2", "--json", "--check").json
    assert [i["name"] for i in info["inputs"]] == ["a", "b"]
    assert [o["name"] for o in info["outputs"]] == ["sum", "product.value"]
    assert info["corrupt"] == []


def test_inspect_counts_weights(lowwater_cli, archives):
    info = lowwater_cli.ok("inspect", archives / "conv.pt2", "--json").json
    elements = 8 * 3 * 9 + 8 + 8 * 8 * 9 + 8 + 2 * 8 + 2
    assert (info["parameters"], info["weight_elements"], info["weight_bytes"]) == (6, elements, 4 * elements)


def test_plan_keys(lowwater_cli, archives):
    plan = lowwater_cli.ok("plan", archives / "conv.pt2", "--json").json
    for key in ("fits", "basis", "budget_bytes", "scope", "peak_bytes", "process_peak_bytes", "outside_arena_bytes",
                "lower_bound_bytes", "smallest_budget_bytes", "unplanned_peak_bytes", "predicted_ms", "unplanned_ms",
                "exactness", "stages", "barriers", "peak"):
        assert key in plan, key
    assert set(plan["peak"]) >= {"op", "source", "values", "temporary_bytes"}
    assert plan["fits"] and plan["scope"] == "tensors"


def test_plan_text_names_peak_and_source(lowwater_cli, archives):
    text = lowwater_cli.ok("plan", archives / "conv.pt2").out
    assert "KiB" in text and "smallest" in text


@pytest.mark.parametrize("budget", ["0", "-1", "1.5XB", "nonsense", "0%", "101%", "", "1e400"])
def test_nonsense_budgets(lowwater_cli, archives, budget):
    done = lowwater_cli("plan", archives / "conv.pt2", f"--budget={budget}")
    if budget == "":
        assert done.code in (0, 2)
    else:
        assert done.code == 2 and "--budget" in done.err and len(done.err.strip().splitlines()) == 1


def test_too_small_a_budget(lowwater_cli, archives):
    done = lowwater_cli("plan", archives / "conv.pt2", "--budget", "1KiB", "--json")
    assert done.code == 3 and not done.json["fits"] and done.json["smallest_budget_bytes"] > 1024
    assert done.json["culprits"]
    text = lowwater_cli("plan", archives / "conv.pt2", "--budget", "1KiB")
    assert text.code == 3 and "does not fit" in text.out.lower()
    run = lowwater_cli("run", archives / "conv.pt2", "--budget", "1KiB", "--input", archives / "conv.pt2", "--output", archives / "never")
    assert run.code in (2, 3)


def test_verify(lowwater_cli, archives):
    done = lowwater_cli.ok("verify", archives / "conv.pt2", "--json").json
    assert done["passed"] and done["outputs"][0]["bit_equal"] and done["strays"] == 0
    assert done["measured_arena_bytes"] == done["planned_arena_bytes"]
    assert done["unplanned_peak_bytes"] > 0 and done["planned_ms"] > 0


def test_doctor(lowwater_cli):
    text = lowwater_cli.ok("doctor").out
    assert "cpu" in text and "2.11" in text
    assert any("cpu" in finding["topic"] for finding in lowwater_cli.ok("doctor", "--json").json)


@pytest.mark.parametrize("flags", [
    ["--device", "cuda:99"], ["--device", "gpu"], ["--scope", "all"], ["--exact", "nearly"], ["--shape", "x"],
    ["--shape", "x=axb"], ["--shape", "nobody=1x3"], ["--threads", "-1"], ["--max-slowdown", "0.5"], ["--workspace-cap", "big"],
    ["--without", "no-such-move"], ["--model", "nobody"], ["--measure-time", "-3"], ["--nonsense"],
])
def test_bad_flags(lowwater_cli, archives, flags):
    done = lowwater_cli("plan", archives / "conv.pt2", *flags)
    assert done.code in (2, 6), done
    assert done.code == 2 or flags[0] == "--device"
    assert len(done.err.strip().splitlines()) == 1, done
    as_json = lowwater_cli("plan", archives / "conv.pt2", "--json", *flags)
    assert as_json.code == done.code and set(as_json.json["error"]) == {"kind", "what", "where", "hint"}


def test_bad_archives(lowwater_cli, archives, tmp_path):
    whole = (archives / "conv.pt2").read_bytes()
    cases = {
        "missing.pt2": None,
        "empty.pt2": b"",
        "text.pt2": b"this is no archive\n" * 100,
        "half.pt2": whole[: len(whole) // 2],
        "tail.pt2": whole[len(whole) // 2 :],
    }
    for name, data in cases.items():
        if data is not None:
            (tmp_path / name).write_bytes(data)
        for command in ("inspect", "plan"):
            done = lowwater_cli(command, tmp_path / name)
            assert done.code == 2 and name in done.err and len(done.err.strip().splitlines()) == 1, done
    assert lowwater_cli("inspect", tmp_path).code == 2


def test_a_flipped_weight_is_found(lowwater_cli, archives, tmp_path):
    import zipfile

    path = tmp_path / "flipped.pt2"
    shutil.copy(archives / "conv.pt2", path)
    with zipfile.ZipFile(path) as file:
        entry = next(i for i in file.infolist() if i.filename.endswith("weights/weight_0"))
        extra = entry.header_offset
    data = bytearray(path.read_bytes())
    name = int.from_bytes(data[extra + 26 : extra + 28], "little")
    more = int.from_bytes(data[extra + 28 : extra + 30], "little")
    data[extra + 30 + name + more] ^= 1
    path.write_bytes(data)
    assert lowwater_cli("inspect", path).code == 0
    checked = lowwater_cli("inspect", path, "--check")
    assert checked.code == 2 and "weight_0" in checked.err
    ran = lowwater_cli("verify", path)
    assert ran.code == 2 and "weight_0" in ran.err


def test_open_sizes(lowwater_cli, archives):
    refused = lowwater_cli("plan", archives / "open.pt2")
    assert refused.code == 2 and "--shape" in refused.err
    small = lowwater_cli.ok("plan", archives / "open.pt2", "--shape", refused_shape(lowwater_cli, archives, 16), "--json").json
    large = lowwater_cli.ok("plan", archives / "open.pt2", "--shape", refused_shape(lowwater_cli, archives, 64), "--json").json
    assert large["peak_bytes"] > small["peak_bytes"]


def refused_shape(cli, archives, height: int) -> str:
    name = cli.ok("inspect", archives / "open.pt2", "--json").json["inputs"][0]["name"]
    return f"{name}=1x3x{height}x32"


def test_flags_change_something(lowwater_cli, archives):
    plain = lowwater_cli.ok("plan", archives / "conv.pt2", "--json").json
    tight = lowwater_cli.ok("plan", archives / "conv.pt2", "--json", "--budget", str(plain["smallest_budget_bytes"])).json
    assert tight["budget_bytes"] == plain["smallest_budget_bytes"] >= tight["peak_bytes"]
    percent = lowwater_cli.ok("plan", archives / "conv.pt2", "--json", "--budget", "50%").json
    assert percent["budget_bytes"] != plain["budget_bytes"]
    estimated = lowwater_cli.ok("plan", archives / "conv.pt2", "--json", "--measure-time", "0",
                                env={"XDG_CACHE_HOME": "/nonexistent"}).json
    assert estimated["basis"] == "estimated"
    assert "~" in lowwater_cli.ok("plan", archives / "conv.pt2", "--measure-time", "0",
                                  env={"XDG_CACHE_HOME": "/nonexistent"}).out


def test_stored_plan_is_refused_for_another_model(lowwater_cli, archives, scans, tmp_path):
    lowwater_cli.ok("plan", archives / "conv.pt2", "-o", tmp_path / "plan.json")
    document = json.loads((tmp_path / "plan.json").read_text())
    assert document["format"]
    other = lowwater_cli("run", archives / "labels.pt2", "--plan", tmp_path / "plan.json", "--input", scans, "--output", tmp_path / "out")
    assert other.code == 2 and "plan" in other.err
    (tmp_path / "plan.json").write_text("{}")
    broken = lowwater_cli("run", archives / "conv.pt2", "--plan", tmp_path / "plan.json", "--input", scans, "--output", tmp_path / "out")
    assert broken.code == 2
