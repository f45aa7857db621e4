#!/usr/bin/env python3
"""Writes docs/faults.md: what two schedulers did where upstream's plugin deviceshare has faults, side by side.

Usage: studies/faults_table.py faults-ours.json faults-stock.json
Both are written by `scripts/e2e.sh faults` (build/e2e/out), the second with `--scheduler stock`.
"""
import json
import os
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/faults.md"
INTRODUCTION = """# Faults of deviceshare, provoked

Each row is a fault of Volcano's plugin `deviceshare` that can be provoked through the API of a cluster. Faults with a number are in
[compat.md](compat.md), with their location in Volcano's source. The same objects were created on a real kube-apiserver, first for one
scheduler and then for the other: vgpualloc-scheduler (*ours*) and Volcano 1.14.1 with `deviceshare` (*stock*). The nodes are simulated
([how](../adapters/scheduler/e2e/README.md)). The last two columns have the annotations that the pods then had.
`studies/faults_table.py` writes this page from the output of

```
bash scripts/e2e.sh faults -schedule-period 100ms
bash scripts/e2e.sh --scheduler stock faults -schedule-period 100ms
```

If a row says "with", both schedulers were restarted with these arguments of `deviceshare`; ours takes arguments of the same
names. Otherwise they had the files in `adapters/scheduler/e2e/conf`. compat.md describes Volcano's code of August 2026, and 1.14.1
is older: if stock shows no fault, or another form of it, the row says so.

Of {rows} rows {stock} show a fault with stock Volcano and {ours} with ours.

| fault | what it is | with stock | stock gave | ours gave |
|---|---|---|---|---|
"""
NOT_PROVOKED_HEAD = """
## Not provoked

| fault | why not |
|---|---|
"""
# Of each number of compat.md that has no row above: why.
NOT_PROVOKED = {
    "Q20": "Volcano 1.14.1 has no rules of exclusive use: `deviceshare.GPUExclusiveRules` came later, so there is nothing to compare with.",
}
# Why stock shows no fault, or what is particular to how it shows.
NOTES = {
    "Q2": "1.14.1 counts every container on a hami-core card",
    "Q7": "1.14.1 gives nothing back at all; the API server was told by an admission policy to refuse pod a's annotation",
    "Q9": "1.14.1 counts a pod until it has gone",
    "Q10": "1.14.1 scores nodes as it should, and does not choose cards by it: row spread",
    "Q7b": "pod a asks for no card, and is bound with none",
    "Q12": "memory is asked for as 50 %",
    "Q13": "the same pod twice",
    "Q15": "which cards is chance",
    "Q19": "the first pod c asked for 4 cores, waited and was deleted; the pod c that is seen asks for 2 at level high, as a and b",
    "Q21": "1.14.1 books no chip before the annotation is back, not even within the session",
    "Q26": "1.14.1 refuses such a node",
    "Q32": "the card is registered with 24,576 MiB instead of 21,527, has seven AI CPUs, and each pod's `vir04` takes four",
}


def seen(row):
    parts = []
    for name in row["order"]:
        pod = row["pods"][name]
        given = f"`{pod['given']}`" if pod.get("given") else ""
        if pod.get("bound"):
            parts.append(f"{name}: {given or 'bound without an annotation'}")
        else:
            parts.append(f"{name}: waits" + (f", and has {given}" if given else ""))
    if row.get("scheduler_ended"):
        parts.append("the scheduler ended: " + row["scheduler_ended"].replace(" [recovered, repanicked]", "").replace("|", "/"))
    return "; ".join(parts)


def what(row):
    words = row["what"]
    if row["with"]:
        words += f" (with `{row['with']}`)"
    if row["id"] in NOTES:
        words += f"; {NOTES[row['id']]}"
    return words


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ours, stock = (json.loads(Path(path).read_text()) for path in sys.argv[1:])
    by_id = {row["id"]: row for row in ours}
    if [row["id"] for row in ours] != [row["id"] for row in stock]:
        sys.exit(f"{sys.argv[1]} and {sys.argv[2]} have different faults, expected two whole runs of one version")
    for row in ours + stock:
        if row.get("error"):
            sys.exit(f"fault {row['id']} has the error {row['error']!r}, expected that it was played to its end")
    lines = [
        f"| {row['id']} | {what(row)} | {'**yes**' if row['there'] else 'no'} | {seen(row)} | "
        f"{'**the fault**: ' if by_id[row['id']]['there'] else ''}{seen(by_id[row['id']])} |"
        for row in stock
    ]
    counts = {"rows": len(lines), "stock": sum(row["there"] for row in stock), "ours": sum(row["there"] for row in ours)}
    page = INTRODUCTION.format(**counts) + "\n".join(lines) + "\n"
    page += NOT_PROVOKED_HEAD + "\n".join(f"| {name} | {reason} |" for name, reason in NOT_PROVOKED.items()) + "\n"
    temporary = PAGE.with_suffix(".part")
    temporary.write_text(page)
    os.replace(temporary, PAGE)


if __name__ == "__main__":
    main()
