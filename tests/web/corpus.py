"""The commands that the module and the program are asked: those of the pages, and what the tests ask about their clusters."""

import glob
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

FOLDERS = ["scenarios", "tests/conformance/cases", "tests/data", "traces/models", "traces/quickstart"]
QUICKSTART = ["--nodes", "traces/quickstart/nodes.csv", "--pods", "traces/quickstart/pods.csv"]
CONFIG = ["--config", "tests/data/explain/device-config.yaml"]
# Of the scenarios those that are not over in a second.
SLOW = {"mig-big", "mig-mid", "mig-frozen", "mig-mixed-vendor", "mig-b200", "mig-h100", "mig-ten-gpus", "mig-uniform", "mig-bimodal", "mig-small"}
POLICIES = ["best_fit", "bid_price", "binpack", "fgd", "fgd_literal", "fgd_stranded", "first_fit", "mcc", "mecc", "mfi", "random", "spread", "ssp",
            "worst_fit", "compat:bestfit", "compat:dotprod", "compat:fgd", "compat:gpuclustering", "compat:gpupacking", "compat:random",
            "weighted:fgd=0.7,binpack=0.3"]
# What HiGHS makes better or possible, and a list that says whether there is `fetch`: without them the answer is another one, or one line.
WITH_EXTRAS = re.compile(r"^(bound|plan .*--consolidate|.*dual_price|run .*--bound|help$|--help$)")


def lay_out(source, folder):
    """The files that commands name, as a checkout has them; and the clusters of docs/questions.md."""
    for name in FOLDERS:
        shutil.copytree(source / name, folder / name)
    subprocess.run([sys.executable, source / "tests" / "questions" / "clusters.py", folder], check=True)
    shutil.copy(folder / "gpu-operator.json", folder / "cluster.json")
    shutil.copy(folder / "traces" / "quickstart" / "nodes.csv", folder / "not-a-folder")
    (folder / "bad.yaml").write_text("a: [1, 2\nb: }\n", encoding="utf-8")
    (folder / "cut.json").write_text('{"kind": "List", "items": [', encoding="utf-8")
    (folder / "empty.json").write_text("", encoding="utf-8")
    (folder / "bytes.json").write_bytes(b'{"kind": "\xff\xfe"}')


def of_pages(source, folder):
    """The lines `$ vgpusim …` of README.md and docs/, in their order, as later ones read what earlier ones write."""
    result = []
    for page in [source / "README.md", *sorted((source / "docs").glob("*.md"))]:
        for line in page.read_text(encoding="utf-8").splitlines():
            if not line.startswith("$ vgpusim ") or "|" in line or line.endswith("\\"):
                continue
            words = shlex.split(line.split(">")[0], comments=True)[2:]
            if words[0] in ("fetch", "study"):
                continue
            result.append([name for word in words for name in (sorted(glob.glob(word, root_dir=folder)) if "*" in word and "/" in word else [word])])
    return result


def objects_of(path):
    """Names of nodes, and of the pods that wait, of a file in JSON."""
    items = json.loads(path.read_text(encoding="utf-8")).get("items", [])
    nodes = [item["metadata"]["name"] for item in items if item.get("kind") == "Node"]
    waiting = [f"{item['metadata'].get('namespace', 'default')}/{item['metadata']['name']}" for item in items
               if item.get("kind") == "Pod" and not item.get("spec", {}).get("nodeName")]
    return nodes, waiting


def of_cluster(name, nodes, waiting, config, pods_most):
    """What the commands are asked about one cluster."""
    file, out = [name, *config], Path(name).stem
    result = [["show", *file], ["show", *file, "--json"], ["show", *file, "-o", "wide", "--all", "--by", "node"], ["show", *file, "-o", "yaml"],
              ["show", *file, "--by", "namespace"], ["show", *file, "--by", "owner"], ["show", *file, "-o", f"html={out}.html"],
              ["why", *file], ["why", *file, "--json"], ["validate", *file], ["validate", *file, "--json"], ["snapshot", *file],
              ["snapshot", *file, "--json"], ["snapshot", *file, "--out", f"{out}-kept.json"],
              ["snapshot", *file, "--anonymise", "--out", f"{out}-nameless.json"], ["whatif", *file], ["whatif", *file, "--anew", "--json"],
              ["whatif", *file, "--anew", "--policy", "best_fit", "--all"], ["whatif", *file, "--policy", "random", "--seed", "7", "--anew"],
              ["plan", *file, "--consolidate", "devices", "--moves", "2", "--steps", "20000"],
              ["plan", *file, "--consolidate", "nodes", "--moves", "2", "--steps", "20000", "--json"]]
    for node in [*nodes[:2], *nodes[-1:]]:
        result += [["whatif", *file, "--drain", node], ["whatif", *file, "--fail", node, "--json"], ["whatif", *file, "--fail", f"{node}/0"],
                   ["whatif", *file, "--add-nodes", f"{node}=2", "--out", f"{out}-whatif"], ["whatif", *file, "--uncordon", node, "--all"],
                   ["whatif", *file, "--set-mode", f"{node}=hami_core"]]
    result += [["whatif", *file, "--find-nodes", node] for node in nodes[:1]]
    for pod in waiting[:pods_most]:
        result += [["why", *file, "--pod", pod], ["why", *file, "--pod", pod, "--json"], ["explain", *file, "--pod", pod],
                   ["explain", *file, "--pod", pod, "--all", "--policy", "fgd"], ["explain", *file, "--pod", pod, "--json"],
                   ["plan", *file, "--pod", pod, "--steps", "20000"], ["plan", *file, "--pod", pod, "--moves", "2", "--steps", "20000", "--json"]]
    return result


def of_clusters(folder):
    result = []
    for name in ("scenarios/clusters/atlas.json", "scenarios/clusters/harbor.json", "gpu-operator.json", "hami.json", "volcano-queues.json"):
        result += of_cluster(name, *objects_of(folder / name), [], pods_most=3)
    for kind in ("kube_scheduler_rules", "kube_apiserver_policies"):
        for path in sorted((folder / "tests" / "data" / kind).glob("cluster-*.json")):
            result += of_cluster(str(path.relative_to(folder)), *(names[:1] for names in objects_of(path)), [], pods_most=1)
    for name, nodes, waiting in (("tests/data/explain/cluster.yaml", ["core-0", "core-1"], ["default/waits", "team/waits"]),
                                 ("tests/data/plan/cluster.yaml", [], ["train"]), ("tests/data/whatif/quota.yaml", ["a"], [])):
        result += of_cluster(name, nodes, waiting, CONFIG, pods_most=2)
    result += [["validate", str(path.relative_to(folder)), *more] for path in sorted((folder / "scenarios").rglob("*.yaml"))
               for more in ([], ["--json"])]
    result += [["explain", "tests/data/explain/cluster.yaml", *CONFIG, "--pod", str(path.relative_to(folder))]
               for path in sorted((folder / "scenarios" / "manifests").glob("*.yaml"))]
    return result


def of_runs(folder):
    result = [["run", *QUICKSTART, "--policy", policy, "--out", f"out/run-{policy}"] for policy in POLICIES]
    result += [["run", *QUICKSTART, "--policy", "fgd", *more, "--out", f"out/more-{number}"] for number, more in enumerate((
        ["--tune", "1.3"], ["--departures", "--discipline", "easy", "--trace"], ["--mode", "mps", "--json"], ["--discipline", "fifo"],
        ["--sample-interval-s", "3600"], ["--seed", "7", "--device-policy", "binpack"]))]
    result += [["compare", *QUICKSTART, "--policy", "fgd", "--policy", "spread", "--policy", "bid_price", "--out", "out/compare"],
               ["compare", *QUICKSTART, "--policy", "fgd", "--policy", "random", "--seeds", "5..8", "--out", "out/seeds"],
               ["compare", *QUICKSTART, "--policy", "fgd", "--policy", "random", "--json", "--out", "out/compare-json"]]
    result += [["run", str(path.relative_to(folder)), "--out", f"out/{path.stem}"] for path in sorted((folder / "scenarios").glob("*.json"))
               if path.stem not in SLOW]
    for model in sorted((folder / "traces" / "models").glob("*.json")):
        result.append(["generate", str(model.relative_to(folder)), "--out", f"out/generated-{model.stem}", "--seed", "7"])
    result += [["conformance", "--impl", impl, str(path.relative_to(folder))] for impl in ("compat:volcano", "native")
               for path in sorted((folder / "tests" / "conformance" / "cases").glob("*.jsonl"))]
    return result


def of_mistakes():
    """What is not there, not readable, not right; and help."""
    commands = ["show", "why", "explain", "whatif", "plan", "validate", "snapshot", "run", "compare", "forecast", "import", "generate", "transition",
                "catalog", "replay", "bound", "conformance", "study"]
    result = [[], ["--help"], ["--version"], ["help"], ["shwo"], ["policies"], ["policies", "--json"], ["modes"], ["disciplines"], ["options"],
              ["options", "--json"], ["catalog"], ["catalog", "--json"], ["catalog", "mig", "A100-40GB"], ["catalog", "power"]]
    for command in commands:
        result += [[command], [command, "--help"], ["help", command], [command, "--no-such-flag"]]
    for file in ("absent.json", "bad.yaml", "cut.json", "empty.json", "bytes.json", "scenarios", "not-a-folder/x.json", "scenarios/absent/x.json", "-"):
        result += [["show", file], ["why", file], ["explain", file, "--pod", "x"], ["whatif", file], ["validate", file], ["snapshot", file],
                   ["run", file], ["forecast", "cluster.json", "--history", file], ["whatif", "cluster.json", "--add-pods", file]]
    result += [["run", *QUICKSTART, "--policy", "best"], ["run", *QUICKSTART, "--out", "not-a-folder"], ["run", *QUICKSTART, "--out", "not-a-folder/x"],
               ["run", *QUICKSTART, "--out", "traces/quickstart/nodes.csv"], ["run", *QUICKSTART, "--out", ""], ["run", *QUICKSTART, "--seed", "x"],
               ["snapshot", "cluster.json", "--out", "scenarios"], ["snapshot", "cluster.json", "--out", "cluster.json"],
               ["show", "cluster.json", "-l", "no-such-node"], ["show", "cluster.json", "-o", "html=scenarios"], ["show", "cluster.json", "--by", "x"],
               ["whatif", "cluster.json", "--drain", "none"], ["whatif", "cluster.json", "--set-mode", "mig-0=mig:none"],
               ["why", "cluster.json", "--pod", "none/none"], ["plan", "cluster.json", "--moves", "-1"], ["bound", *QUICKSTART],
               ["run", *QUICKSTART, "--policy", "dual_price", "--out", "out/dual"], ["run", *QUICKSTART, "--bound", "--out", "out/bound"]]
    return result


def kinds_of(words):
    """The command of a line, and every flag of it with this command."""
    command = words[0] if words else ""
    return {command, *(f"{command} {word.split('=')[0]}" for word in words[1:] if re.match("--?[a-z]", word))}


def written_by(words):
    """The file or folder that a command writes."""
    return {words[words.index("--out") + 1]} if "--out" in words[:-1] else set()


def tenth_of(every):
    """Of the commands a tenth or a little more, chosen by their hashes: each command and each of its flags at least once, and before
    a command those that write what it reads."""
    by_hash = sorted(range(len(every)), key=lambda number: hashlib.sha256("\0".join(every[number]).encode()).digest())
    chosen, seen = set(), set()
    for number in by_hash:
        if not kinds_of(every[number]) <= seen:
            seen |= kinds_of(every[number])
            chosen.add(number)
    chosen |= set([number for number in by_hash if number not in chosen][:max(0, len(every) // 10 - len(chosen))])
    for number in reversed(range(len(every))):
        if number in chosen:
            reads = {part for word in every[number] for part in (word, *(str(path) for path in Path(word).parents))} - {"."}
            chosen |= {before for before in range(number) if written_by(every[before]) & reads}
    return [every[number] for number in sorted(chosen)]


def commands(source, folder):
    """Every command once, as its arguments."""
    every = of_pages(source, folder) + of_clusters(folder) + of_runs(folder) + of_mistakes()
    seen, result = set(), []
    for words in every:
        if tuple(words) not in seen:
            seen.add(tuple(words))
            result.append(words)
    return result
