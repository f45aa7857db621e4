#!/usr/bin/env python3
"""A small sample of placements in the tree, so that a changed decision shows where there is no recorded evidence.

    sample.py VGPUSIM [FOLDER]

writes tests/golden/sample anew (or FOLDER): a table for each workload, a row for each pod in the order of arrival, a column for
each policy. A cell is NODE:DEVICES (with | between devices), or - where the pod was not placed. sample_test.py compares every
cell. What stands here was placed by this project's own programs, and those of policies that model another system agreed at that
time with the recordings of it: record again only where a decision was meant to change, with the evidence at hand.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).resolve().parent / "sample"

LISTS_POLICIES = ["compat:bestfit", "compat:dotprod", "compat:fgd", "compat:gpuclustering", "compat:gpupacking", "best_fit", "bid_price",
                  "binpack", "fgd", "fgd_literal", "fgd_stranded", "first_fit", "mecc", "spread", "ssp", "worst_fit"]
OBJECTS_POLICIES = ["compat:volcano", "best_fit", "bid_price", "binpack", "fgd", "mcc", "spread"]
MIG_POLICIES = ["best_fit", "bid_price", "fgd", "mcc", "mecc", "mfi"]
CHIPS = ["Ascend310P-0", "Ascend310P-1", "Ascend310P-2"]


def quarter_of_quickstart(folder):
    """Every fourth node and pod of the quickstart lists, which ask for 1.3 times the GPUs as the whole does; short names."""
    for name in ("nodes.csv", "pods.csv"):
        header, *rows = (SOURCE / "traces" / "quickstart" / name).read_text(encoding="utf-8").splitlines()
        lines = "\n".join([header, *rows[::4]]) + "\n"
        (folder / name).write_text(lines.replace("quick-node-00", "").replace("quick-", ""), encoding="utf-8")
    return ["--nodes", "nodes.csv", "--pods", "pods.csv"]


def vgpu_node(name, mode, cards):
    registered = "".join(f"GPU-{name}-{card},10,40960,NVIDIA-NVIDIA A100-SXM4-40GB,true,{mode}:" for card in range(cards))
    return node(name, {"volcano.sh/node-vgpu-register": registered},
                {"volcano.sh/vgpu-number": 10 * cards, "volcano.sh/vgpu-memory": 40960 * cards, "volcano.sh/vgpu-cores": 100 * cards})


def node(name, annotations, devices, labels=None):
    resources = {"cpu": "64", "memory": "256Gi", "pods": "110", **{resource: str(amount) for resource, amount in devices.items()}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": annotations, "labels": labels or {}},
            "status": {"allocatable": resources, "capacity": resources}}


def sample_nodes():
    chips = [{"id": f"NPU-{index}", "index": index, "count": 7, "devmem": 21527, "devcore": 8, "type": "Ascend310P", "health": True}
             for index in range(3)]
    return [vgpu_node("core-0", "hami-core", 4), vgpu_node("core-1", "hami-core", 2),
            vgpu_node("mig-0", "mig", 3), vgpu_node("mig-1", "mig", 4),
            node("npu-0", {"hami.io/node-register-Ascend310P": json.dumps(chips)}, {"huawei.com/Ascend310P": 21}),
            node("chip-0", {"baseDeviceInfos": json.dumps({chip: {} for chip in CHIPS})}, {"huawei.com/npu-core": 8 * len(CHIPS)},
                 {"accelerator": "huawei-Ascend310P", "servertype": "Ascend310P-8", "node.kubernetes.io/npu.chip.name": "310P3"}),
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mindx-dl-deviceinfo-chip-0", "namespace": "kube-system"},
             "data": {"DeviceInfoCfg": json.dumps({"DeviceInfo": {"DeviceList": {"huawei.com/Ascend310P": ",".join(CHIPS)}}})}}]


def pod_class(name, limits, annotations=None, labels=None):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}},
            "spec": {"schedulerName": "volcano",
                     "containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"},
                                                                   "limits": {k: str(v) for k, v in limits.items()}}}]}}


def vgpu_class(name, mode, memory, cores=None, number=1):
    limits = {"volcano.sh/vgpu-number": number, "volcano.sh/vgpu-memory": memory}
    return pod_class(name, limits | ({"volcano.sh/vgpu-cores": cores} if cores else {}), {"volcano.sh/vgpu-mode": mode})


def sample_classes():
    npu = "huawei.com/Ascend310P"
    part = {"ring-controller.atlas": "ascend-310P", "vnpu-level": "high", "vnpu-dvpp": "null"}
    return [vgpu_class("core-small", "hami-core", 5000, 10), vgpu_class("mig-small", "mig", 5000),
            vgpu_class("core-large", "hami-core", 24000, 50), pod_class("npu-small", {npu: 1, f"{npu}-memory": 3072}),
            vgpu_class("core-pair", "hami-core", 12000, 30, number=2), vgpu_class("mig-middle", "mig", 10000),
            pod_class("npu-half", {npu: 1, f"{npu}-memory": 12288}), vgpu_class("mig-large", "mig", 20000),
            pod_class("chip-part", {"huawei.com/npu-core": 2}, labels=part),
            pod_class("chip-whole", {"huawei.com/npu-core": 8}, labels=part)]


def sample_arrivals(classes):
    """A pod every sixteen seconds, every third with the one before it; classes and durations as two fixed sequences have them."""
    yield "name,class,arrival,duration"
    for number in range(400):
        name = classes[(7 * number + number // 10 + number % 3) % len(classes)]["metadata"]["name"]
        yield f"pod-{number:03},{name},{16 * (number - (number % 3 == 2))},{300 + number * number * 37 % 2700}"


def kubernetes_objects(folder):
    """Nodes of hami-core, MIG and both kinds of Ascend, where pods come and leave, as Volcano's deviceshare plugin serves them."""
    classes = sample_classes()
    for name, objects in (("nodes.json", sample_nodes()), ("classes.json", classes)):
        items = {"apiVersion": "v1", "kind": "List", "items": objects}
        (folder / name).write_text(json.dumps(items), encoding="utf-8")
    (folder / "arrivals.csv").write_text("\n".join(sample_arrivals(classes)) + "\n", encoding="utf-8")
    return ["--format", "kubernetes", "--nodes", "nodes.json", "--classes", "classes.json", "--pods", "arrivals.csv", "--departures",
            "--config", str(SOURCE / "tests" / "data" / "explain" / "device-config.yaml")]


def mig_profiles(_):
    """A hundred GPUs that can be cut, filled until about a quarter of the pods finds no place."""
    return ["--format", "model", "--pods", str(SOURCE / "scenarios" / "mig-models" / "a100-uniform-fill.json")]


WORKLOADS = {"lists": (quarter_of_quickstart, LISTS_POLICIES), "objects": (kubernetes_objects, OBJECTS_POLICIES),
             "mig": (mig_profiles, MIG_POLICIES)}


def placements(vgpusim, arguments, policy, folder):
    """Where each pod was placed: {pod: cell}, in the order of arrival."""
    out = Path(folder) / "out"
    run = subprocess.run([vgpusim, "run", *arguments, "--policy", policy, "--out", str(out)], cwd=folder, capture_output=True,
                         text=True, timeout=120, check=False)
    if run.returncode != 0 or run.stderr:
        raise RuntimeError(f"{policy}: exit code {run.returncode}, {run.stderr.strip()}")
    with open(out / "pods.csv", newline="", encoding="utf-8") as file:
        return {row["name"]: f"{row['node']}:{row['gpus']}" if row["placed"] == "1" else "-" for row in csv.DictReader(file)}


def table(vgpusim, workload):
    """The rows of a workload's table, its header first."""
    write_inputs, policies = WORKLOADS[workload]
    with tempfile.TemporaryDirectory() as folder:
        arguments = write_inputs(Path(folder))
        by_policy = [placements(vgpusim, arguments, policy, folder) for policy in policies]
    return [["pod", *policies], *([pod, *(cells[pod] for cells in by_policy)] for pod in by_policy[0])]


def read_table(workload):
    with open(RECORDED / f"{workload}.csv", newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = Path(sys.argv[2]) if len(sys.argv) == 3 else RECORDED
    for workload in WORKLOADS:
        with open(folder / f"{workload}.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(table(sys.argv[1], workload))


if __name__ == "__main__":
    main()
