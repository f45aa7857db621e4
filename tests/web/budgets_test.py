"""What the page may cost: CPU time beside that of vgpusim for the same question, and memory.

    VGPUSIM=build/release/bin/vgpusim python3 tests/web/budgets_test.py [--print]
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULE = Path(os.environ.get("VGPUALLOC_MODULE", ROOT / "build" / "web" / "vgpualloc.wasm"))
VGPUSIM = os.environ["VGPUSIM"]
MEMORY_MAX = 1_000_000_000

# Name, arguments of the question, whether one before it was about the same files, and how often the time of vgpusim, which
# reads the files every time, it may take.
SMALL = [("first answer", ["show", "C", "--json"], False, 8.0),
         ("See, again", ["show", "C", "--json"], True, 1.5),
         ("Why, the list", ["why", "C", "--json"], True, 1.5),
         ("What if, a node more", ["whatif", "C", "--add-nodes", "node-00000=1", "--json"], True, 0.6),
         ("What if, a drain", ["whatif", "C", "--drain", "node-00000", "--json"], True, 0.6),
         ("find nodes", ["whatif", "C", "--find-nodes", "node-00000", "--json"], True, 1.0)]
LARGE = [("first answer", ["show", "C", "--json"], False, 8.0),
         ("What if, a node more", ["whatif", "C", "--add-nodes", "node-00000=1", "--json"], True, 0.8)]
RUN = [("openb, best_fit", ["run", "--nodes", "N", "--pods", "P", "--policy", "best_fit", "--out", "o"], True, 3.0)]


def native_seconds(arguments, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([VGPUSIM, *arguments], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(folder, questions, files):
    listed = folder / "list.json"
    listed.write_text(json.dumps({
        "module": str(MODULE), "files": {name: str(folder / name) for name in files},
        "questions": [{"name": name, "args": arguments, "warm": warm} for name, arguments, warm, _ in questions]}))
    done = subprocess.run(["node", "--max-old-space-size=4000", ROOT / "tests" / "web" / "budgets.mjs", listed], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def too_dear(title, folder, questions, files):
    """Prints the table of a cluster; returns what is above its limit."""
    failures = []
    for row, (name, arguments, _, most) in zip(measured(folder, questions, files), questions, strict=True):
        native = min(native_seconds(arguments, folder) for _ in range(2))
        ratio = row["seconds"] / native
        print(f"{title:24} {name:22} {row['seconds']:7.3f} s   vgpusim {native:6.3f} s   {ratio:5.2f} of at most {most:.1f}   {row['bytes'] / 1e6:4.0f} MB")
        if ratio > most:
            failures.append(f"{title}, {name}: {ratio:.2f} times the time of vgpusim, at most {most}")
        if row["bytes"] > MEMORY_MAX:
            failures.append(f"{title}, {name}: {row['bytes']} bytes of memory")
    return failures


def main():
    if not MODULE.exists() and os.environ.get("CI") != "true":
        print(f"no module at {MODULE}: bash scripts/web.sh builds it")
        sys.exit(77)
    failures = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sizes = (("200 nodes, 8,500 pods", 200, 8500, SMALL), ("5,000 nodes, 100,000 pods", 5000, 100_000, LARGE))
        for title, nodes, pods, questions in sizes[:1] if os.environ.get("VGPUALLOC_WEB_SAMPLE") else sizes:
            subprocess.run([sys.executable, ROOT / "tests" / "cli" / "large_cluster.py", folder / "C", "--nodes", str(nodes), "--pods", str(pods)], check=True)
            failures += too_dear(title, folder, questions, ["C"])
        traces = os.environ.get("VGPUALLOC_TRACES")
        if traces:
            for name, file in (("N", "openb_node_list_gpu_node.csv"), ("P", "openb_pod_list_default.csv")):
                (folder / name).write_bytes((Path(traces) / file).read_bytes())
            failures += too_dear("a run", folder, RUN, ["N", "P"])
        elif os.environ.get("CI") == "true":
            failures.append("VGPUALLOC_TRACES names no folder")
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
