"""compat:volcano as a policy of a run: fed the objects of a recorded case as a workload, it decides as recorded.

A case becomes files that anybody could have written: Node objects (and the ConfigMaps of Ascend 310P nodes), one Pod per
attempt as a class of its own, a table of arrivals, the device configuration and the scheduler configuration. Attempts of
one session arrive at one instant; a pod that leaves has the duration until then. An attempt that was rolled back is a
gang with a pod that fits nowhere: the gang plugin takes it back in the same way. What the device plugin added to a pod
when it was bound stands in the class, because a run has no device plugin.

Left out are the cases with what no workload says: a scheduler that restarts (restore), a Node object that is set again
(node_update), the status of NodeD, chips of a
node that does not list them; and those with a file that vgpusim refuses
because it is most likely a mistake (a node of which something cannot be read). An attempt of a pod that vgpusim refuses
for that reason (a resource that asks for nothing) is left out by itself where Volcano did not bind the pod either."""

import collections
import concurrent.futures
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from support import VGPUSIM, skip_or_fail  # noqa: E402  (the path comes first)

EVIDENCE = Path(os.environ.get("VGPUALLOC_EVIDENCE") or "/nonexistent") / "conformance"
FAMILIES = ["ascend-hami", "ascend-mindcluster-310p", "gpushare", "hamicore", "hamicore-exclusive", "mig", "mixed"]
CASES_MIN = 100
TOO_MANY = 1000


def inexpressible(case):
    """Why no workload says what the case says; empty: one does."""
    for event in case["events"]:
        if event["op"] in ("restore", "node_update"):
            return event["op"]
    if any(node.get("noded_status") for node in case["nodes"]):
        return "noded_status"
    if case["family"] == "ascend-mindcluster-310p":
        if any("baseDeviceInfos" not in node.get("annotations", {}) for node in case["nodes"]):
            return "node without chips"
    return ""


def remove_attempt(events, attempt):
    """Without the attempt; a session that it began begins with the next one."""
    position = events.index(attempt)
    del events[position]
    if attempt.get("new_session") and position < len(events) and events[position]["op"] == "add":
        events[position]["new_session"] = True


def node_objects(case):
    for node in case["nodes"]:
        yield {"apiVersion": "v1", "kind": "Node",
               "metadata": {"name": node["name"], "labels": node.get("labels", {}),
                            "annotations": node.get("annotations", {})},
               "status": {"allocatable": node.get("allocatable", {}), "capacity": node.get("capacity", {})}}
        if "device_list" in node:
            info = {"DeviceInfo": {"DeviceList": node["device_list"], "UpdateTime": node["device_list_update_time"]}}
            yield {"apiVersion": "v1", "kind": "ConfigMap",
                   "metadata": {"name": "mindx-dl-deviceinfo-" + node["name"], "namespace": "kube-system"},
                   "data": {"DeviceInfoCfg": json.dumps(info)}}


def containers(recorded):
    return [{"name": container["name"],
             "resources": {"limits": {name: str(amount) for name, amount in container.get("limits", {}).items()}}}
            for container in recorded]


def pod_object(pod, added):
    spec = {"containers": containers(pod["containers"])}
    if pod.get("init_containers"):
        spec["initContainers"] = containers(pod["init_containers"])
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": pod["name"], "namespace": pod["namespace"], "labels": pod.get("labels", {}),
                         "annotations": {**pod.get("annotations", {}), **added}},
            "spec": spec}


def too_large(case):
    """A pod of the case's family that fits nowhere."""
    family, config = case["family"], case.get("config", {})
    if family == "gpushare":
        limits = {f"volcano.sh/gpu-{case['gpushare_mode']}": 10**9 if case["gpushare_mode"] == "memory" else TOO_MANY}
    elif family == "ascend-hami":
        limits = {config["vnpus"][0]["resource_name"]: TOO_MANY}
    elif family == "ascend-mindcluster-310p":
        limits = {"huawei.com/npu-core": 8 * TOO_MANY}
    else:
        limits = {config.get("count_name", "volcano.sh/vgpu-number"): TOO_MANY}
    return pod_object({"name": "too-large", "namespace": "default",
                       "labels": {"ring-controller.atlas": "ascend-310P"},
                       "containers": [{"name": "c0", "limits": limits}]}, {})


def scheduler_config(case):
    enabled = {"ascend-hami": "AscendHAMiVNPUEnable", "ascend-mindcluster-310p": "AscendMindClusterVNPUEnable"}
    switch = enabled.get(case["family"], "VGPUEnable")
    if case["family"] == "gpushare":
        switch = "GPUNumberEnable" if case["gpushare_mode"] == "number" else "GPUSharingEnable"
    arguments = {"deviceshare." + switch: "true", "deviceshare.ScheduleWeight": str(case.get("weight", 0))}
    if case.get("policy") in ("binpack", "spread"):  # Volcano takes any other for none
        arguments["deviceshare.SchedulePolicy"] = case["policy"]
    if case.get("exclusive_rules"):
        arguments["deviceshare.GPUExclusiveRules"] = json.dumps(case["exclusive_rules"])
    return {"actions": "allocate", "tiers": [{"plugins": [{"name": "deviceshare", "arguments": arguments}]}]}


def table(case):
    """Rows of the table of arrivals, in order."""
    second, rows = 0, {}
    for number, event in enumerate(case["events"]):
        if event["op"] == "delete":
            second += 1
            row = rows.get(event["pod_uid"])
            if row is not None:
                row["duration"] = second - row["arrival"]
            continue
        second += event.get("new_session", False)
        pod = event["pod"]
        gang = f"gang-{number}" if event.get("rollback") else ""
        rows[pod["uid"]] = {"name": pod["name"], "class": pod["name"], "arrival": second, "duration": "",
                            "gang": gang}
        if gang:
            rows[gang] = {"name": f"too-large-{number}", "class": "too-large", "arrival": second, "duration": "",
                          "gang": gang}
    return list(rows.values())


def positions(case, event):
    """What a run writes of the devices: their places on the node, in order."""
    allocated, node = event["out"]["alloc"], case["nodes"][event["out"]["chosen"]]
    if case["family"] == "ascend-mindcluster-310p":
        infos = node["annotations"]["baseDeviceInfos"]
        listed = sorted(int(name.split("-")[1]) for name in json.loads(infos) if name.count("-") == 1)
        return sorted(listed.index(chip) for chip in allocated.get("chips", []))
    if case["family"] == "gpushare":
        return sorted(allocated.get("chips", []))
    return sorted(card.get("index", 0) for container in allocated.get("containers", []) for card in container)


def expected_rows(case):
    for event in case["events"]:
        out = event["out"]
        if event["op"] != "add" or not out.get("has_request"):
            continue  # a pod that asks for no device is not the plugin's to place, and goes to the first node
        bound = out.get("chosen", -1) >= 0 and out.get("alloc", {}).get("ok") and not event.get("rollback")
        node = case["nodes"][out["chosen"]]["name"] if bound else ""
        yield event["pod"]["name"], (node, positions(case, event) if bound else [])


def write_workload(case, folder):
    objects = {"apiVersion": "v1", "kind": "List", "items": list(node_objects(case))}
    (folder / "nodes.json").write_text(json.dumps(objects))
    pods = [pod_object(event["pod"], event.get("bind_annotations", {}))
            for event in case["events"] if event["op"] == "add"]
    if any(event.get("rollback") for event in case["events"]):
        pods.append(too_large(case))
    (folder / "classes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    (folder / "scheduler.conf").write_text(json.dumps(scheduler_config(case)))
    with open(folder / "arrivals.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["name", "class", "arrival", "duration", "gang"])
        writer.writeheader()
        writer.writerows(table(case))


def decide(case):
    """What a run decides, by pod, and an empty text; or the pod that was refused, if it was one, and the message."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_workload(case, folder)
        command = [VGPUSIM, "run", "--format", "kubernetes", "--policy", "compat:volcano",
                   "--nodes", folder / "nodes.json", "--classes", folder / "classes.json",
                   "--pods", folder / "arrivals.csv", "--scheduler-config", folder / "scheduler.conf",
                   "--out", folder / "out"]
        if case["config_name"] != "default":
            command += ["--config", EVIDENCE / "configs" / f"{case['config_name']}.yaml"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if result.returncode == 2:
            refused = re.search(r"classes\.json: .*?(?:Pod |pod default/)(p\d+)\b", result.stderr)
            return (refused[1] if refused else ""), result.stderr
        assert result.returncode == 0, result.stderr
        with open(folder / "out" / "pods.csv", newline="", encoding="utf-8") as file:
            return {row["name"]: (row["node"], [int(gpu) for gpu in row["gpus"].split("|") if gpu])
                    for row in csv.DictReader(file)}, ""


class RunCasesTest(unittest.TestCase):
    def check(self, case):
        """Why the case was left out; empty: it was run, and decided as recorded."""
        why = inexpressible(case)
        if why:
            return why
        decided, refusal = decide(case)
        while isinstance(decided, str):
            refused = [event for event in case["events"] if event["op"] == "add" and event["pod"]["name"] == decided]
            if not refused or refused[0]["out"].get("chosen", -1) >= 0:
                return "refused: " + refusal
            remove_attempt(case["events"], refused[0])
            if not any(event["op"] == "add" for event in case["events"]):
                return "refused: " + refusal
            decided, refusal = decide(case)
        for name, placed in expected_rows(case):
            self.assertEqual(decided[name], placed, f"case {case['id']}, pod {name}")
        return ""

    def test_every_family(self):
        for family in FAMILIES:
            with self.subTest(family=family):
                lines = (EVIDENCE / "public" / f"{family}.jsonl").read_text(encoding="utf-8").splitlines()
                with concurrent.futures.ThreadPoolExecutor(2) as pool:
                    outcomes = list(pool.map(self.check, map(json.loads, lines)))
                left_out = collections.Counter(why.split(":")[0] for why in outcomes if why)
                print(f"{family}: {outcomes.count('')} of {len(lines)} cases run and decided as recorded; left out: "
                      f"{dict(left_out)}", flush=True)
                self.assertGreaterEqual(outcomes.count(""), CASES_MIN)


if __name__ == "__main__":
    if not (EVIDENCE / "public").is_dir():
        skip_or_fail("VGPUALLOC_EVIDENCE names no folder with conformance/public")
    unittest.main()
