"""Writes README's results table from benchmarks/results/speed-*.json.

    python benchmarks/readme_table.py          rewrites the table between the markers
    python benchmarks/readme_table.py --check  fails if it is stale
"""

from __future__ import annotations

import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- results: made by benchmarks/readme_table.py -->", "<!-- end of results -->"


def mib(count: float) -> str:
    return f"{count / 2**20:,.0f}"


def table() -> str:
    rows = []
    for file in sorted((ROOT / "benchmarks" / "results").glob("speed-*.json")):
        data = json.loads(file.read_text())
        about = data["versions"]
        rows += [f"**{about['device']}**, PyTorch {about['torch']}, float32, commit {about['commit']}; medians.", ""]
        rows += ["| network | eager | lowwater | lowwater, smallest budget |", "| --- | --- | --- | --- |"]
        for r in data["results"]:
            eager = statistics.median(r["eager_ms"])
            cells = [f"{eager:,.1f} ms / {mib(r['eager_peak_bytes'])} MiB"]
            for key in ("lowwater", "smallest"):
                ms = statistics.median(r[f"{key}_ms"])
                cells.append(f"{ms:,.1f} ms ({ms / eager:.2f}x) / {mib(r[f'{key}_peak_bytes'])} MiB")
            rows.append(f"| {r['title']} | {' | '.join(cells)} |")
        rows.append("")
    return "\n".join(rows)


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text()
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    new = f"{head}{BEGIN}\n{table()}{END}{tail}"
    if "--check" in sys.argv:
        sys.exit(0 if new == text else "README.md: the results table is stale; run benchmarks/readme_table.py")
    readme.write_text(new)


if __name__ == "__main__":
    main()
