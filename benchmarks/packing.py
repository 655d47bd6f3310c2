#!/usr/bin/env python3
"""Packs hard instances and writes benchmarks/results/packing.json.

    benchmarks/packing.py --binary build/release/pack_csv [--ms 10000] [--hard 16] [FILE.csv ...]

Generated instances, on which greedy-by-size is 25 % or more above the bound, and
any CSV files in MiniMalloc's form (id,lower,upper,size).
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commit():
    """The commit that was measured, with a mark if what pack_csv is built from differs from it."""
    def git(*args):
        return subprocess.run(["git", "-C", ROOT, *args], capture_output=True, text=True, check=True).stdout.strip()
    return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "-uno", "--", "src/plan", "src/base") else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=ROOT / "build/release/pack_csv", help="built with -DLOWWATER_BENCHMARKS=ON")
    parser.add_argument("--ms", type=int, default=10000, help="time limit for each instance")
    parser.add_argument("--hard", type=int, default=16, help="how many generated instances")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "benchmarks/results/packing.json")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()

    command = [args.binary, "--json", "--ms", str(args.ms), "--hard", str(args.hard), *args.files]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    instances = [{"instance": pathlib.Path(row["name"]).name,
                  "buffers": row["n"],
                  "seconds": round(row["ms"] / 1000, 3),
                  "bound": row["lower_bound"],
                  "height": row["height"],
                  "gap_percent": round(row["gap_percent"], 3),
                  "greedy_by_size_gap_percent": round(row["greedy_by_size_gap_percent"], 1),
                  "method": row["method"],
                  "optimal": row["optimal"]} for row in rows]
    result = {"commit": commit(), "date": datetime.date.today().isoformat(), "cpus": os.cpu_count(),
              "load": round(os.getloadavg()[0], 1), "ms": args.ms, "instances": instances}
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(result, indent=2) + "\n")
    for row in instances:
        print(f"{row['instance']:24} {row['buffers']:5} {row['gap_percent']:7.2f} %  {row['seconds']:7.2f} s  {row['method']}")


if __name__ == "__main__":
    main()
