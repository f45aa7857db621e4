#!/usr/bin/env python3
"""Writes docs/faults.md: what two schedulers did where upstream's plugin deviceshare has faults, side by side.

Usage: scripts/faults_table.py faults-ours.json faults-stock.json
Both are written by `scripts/e2e.sh faults` (build/e2e/out), the second with `--scheduler stock`.
"""
import json
import os
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/faults.md"
INTRODUCTION = """# Faults of deviceshare, provoked

Each row is a fault of upstream's plugin `deviceshare` that can be provoked through the API of a cluster ([compat.md](compat.md) has
them by the same names, with the place in upstream's source). The same objects were created on a real kube-apiserver for
vgpualloc-scheduler and for Volcano 1.14.1 with `deviceshare`, one after the other, on nodes that are played
([how](../adapters/scheduler/e2e/README.md)); what stands here are the annotations that the pods were then seen with. This page is
written by `scripts/faults_table.py` from

```
bash scripts/e2e.sh faults -schedule-period 300ms
bash scripts/e2e.sh --scheduler stock faults -schedule-period 300ms
```

Of {rows} faults {stock} were seen with stock Volcano and {ours} with ours. Where stock shows none the row says what 1.14.1 does by now, or what
happens by chance (Q22).

| fault | what it is | with stock | stock gave | ours gave |
|---|---|---|---|---|
"""


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
        parts.append("the scheduler ended: " + row["scheduler_ended"].split(" [recovered")[0].replace("|", "/"))
    return "; ".join(parts)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ours, stock = (json.loads(Path(path).read_text()) for path in sys.argv[1:])
    by_id = {row["id"]: row for row in ours}
    lines = [
        f"| {row['id']} | {row['what']} | {'**yes**' if row['there'] else 'no'} | {seen(row)} | "
        f"{'**the fault**: ' if by_id[row['id']]['there'] else ''}{seen(by_id[row['id']])} |"
        for row in stock if row["id"] in by_id
    ]
    counts = {"rows": len(lines), "stock": sum(row["there"] for row in stock), "ours": sum(row["there"] for row in ours)}
    temporary = PAGE.with_suffix(".part")
    temporary.write_text(INTRODUCTION.format(**counts) + "\n".join(lines) + "\n")
    os.replace(temporary, PAGE)


if __name__ == "__main__":
    main()
