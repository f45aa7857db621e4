#!/usr/bin/env python3
"""The changing calls of the recorded cases, made again on our fake library: each must have the recorded result.

Usage: recorded.py LIBRARY [FILE.jsonl...]
Without files it takes those of the evidence that VGPUALLOC_EVIDENCE names.
Ends with "N calls of M cases equal, K differ"; exit code 1 if one differs or there is none. A fault of a call that the
recordings do not list (a query) is left out."""
import ctypes
import json
import os
import re
import sys
import tempfile
from pathlib import Path

CALL = re.compile(r"(\w+)((?: \w+=\d+)*)(?: -> (.*))?$")
CHANGING = {"nvmlDeviceCreateGpuInstance", "nvmlGpuInstanceCreateComputeInstance", "nvmlGpuInstanceDestroy",
            "nvmlComputeInstanceDestroy", "nvmlDeviceSetMigMode"}


class Driver:
    """The library, as much of it as the recorded programs changed things with."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)

    def pointer(self, function, parent, *numbers):
        """A handle that a call gives, or None."""
        handle = ctypes.c_void_p()
        code = getattr(self.lib, function)(parent, *numbers, ctypes.byref(handle))
        return handle if code == 0 else None

    def device(self, gpu):
        handle = ctypes.c_void_p()
        self.lib.nvmlDeviceGetHandleByIndex_v2(gpu, ctypes.byref(handle))
        return handle

    def instance(self, numbers):
        return self.pointer("nvmlDeviceGetGpuInstanceById", self.device(numbers["gpu"]), numbers["gi"])

    def make(self, name, numbers):
        if name == "CreateGpuInstance":
            self.pointer("nvmlDeviceCreateGpuInstance", self.device(numbers["gpu"]), numbers["profile"])
        elif name == "CreateComputeInstance":
            self.pointer("nvmlGpuInstanceCreateComputeInstance", self.instance(numbers), numbers["profile"])
        elif name == "GpuInstanceDestroy":
            self.lib.nvmlGpuInstanceDestroy(self.instance(numbers))
        elif name == "ComputeInstanceDestroy":
            self.lib.nvmlComputeInstanceDestroy(
                self.pointer("nvmlGpuInstanceGetComputeInstanceById", self.instance(numbers), numbers["ci"]))
        elif name == "SetMigMode":
            activation = ctypes.c_int()
            self.lib.nvmlDeviceSetMigMode(self.device(numbers["gpu"]), numbers["mode"], ctypes.byref(activation))
        else:
            raise ValueError(f"unknown call {name}")


def state_of(case):
    given = case["input"]
    gpus = [{**gpu, "mig_table": gpu.get("mig_table", "none")} for gpu in given.get("gpus", [])]
    faults = [fault for fault in given.get("nvml_faults", []) if fault["call"] in CHANGING]
    return {"gpus": gpus, "mig_instances": given.get("mig_instances", []), "nvml_faults": faults,
            "mig_index_order": given.get("mig_index_order", "")}


def mark_busy(path, step):
    state = json.loads(path.read_text())
    mine = sorted((made for made in state["mig_instances"] if made.get("gpu", 0) == step.get("gpu", 0)),
                  key=lambda made: made.get("gi", 0))
    if step.get("slot", 0) < len(mine):
        mine[step.get("slot", 0)]["busy"] = True
        following = path.with_suffix(".next")
        following.write_text(json.dumps(state))
        following.rename(path)


def stands(path):
    """The GPU instances as the recordings write them, without uuids."""
    state = json.loads(path.read_text())
    return sorted([made.get("gpu", 0), made.get("gi", 0), made.get("profile_id", 0), made.get("start", 0), made["size"],
                   int(made.get("busy", False))] for made in state["mig_instances"])


def replay(driver, case, path):
    """(equal calls, differences) of one case."""
    path.write_text(json.dumps(state_of(case)))
    log = path.with_name(path.name + ".calls")
    log.unlink(missing_ok=True)
    if driver.lib.nvmlInit_v2() != 0:
        return 0, [f"{case['id']}: the machine is not read"]
    equal, differences = 0, []
    steps = case["input"].get("steps", [])
    phases = [(None, case["output"])] + list(zip(steps, case["output"].get("steps", [])))
    for step, phase in phases:
        if step and step["op"] == "set_busy":
            mark_busy(path, step)
        if step and step["op"] == "restart":
            driver.lib.nvmlShutdown()
            driver.lib.nvmlInit_v2()
        for call in phase.get("vendor_calls", []):
            name, numbers, _ = CALL.match(call).groups()
            driver.make(name, {key: int(value) for key, value in (pair.split("=") for pair in numbers.split())})
            ours = log.read_text().splitlines()[-1] if log.exists() else "nothing"
            if ours == call:
                equal += 1
            else:
                differences.append(f"{case['id']}: recorded {call!r}, ours {ours!r}")
        if "mig" in phase and sorted(row[:6] for row in phase["mig"]) != stands(path):
            differences.append(f"{case['id']}: recorded instances {phase['mig']}, ours {stands(path)}")
    driver.lib.nvmlShutdown()
    return equal, differences


def main():
    library, *files = sys.argv[1:]
    evidence = Path(os.environ.get("VGPUALLOC_EVIDENCE", "evidence")) / "conformance" / "node"
    files = files or [evidence / "vgpu-mig.jsonl", evidence / "directed.jsonl"]
    missing = [name for name in files if not Path(name).exists()]
    if missing:
        print(f"SKIPPED: no recordings, {missing[0]} is not there")
        return 1 if os.environ.get("CI") == "true" else 77
    cases, equal, differences = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        os.environ["VGPUALLOC_FAKE_NVML"] = str(path)
        driver = Driver(library)
        for name in files:
            for line in Path(name).read_text().splitlines():
                case = json.loads(line)
                if '"vendor_calls"' in line and case["input"]["plugin"] == "vgpu":
                    cases += 1
                    calls, wrong = replay(driver, case, path)
                    equal += calls
                    differences += wrong
    print("\n".join(differences[:20]))
    print(f"{equal} calls of {cases} cases equal, {len(differences)} differ")
    return 1 if differences or equal == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
