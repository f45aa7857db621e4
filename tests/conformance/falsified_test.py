"""One recorded field is changed at a time, of every kind in every family: both implementations fail on each of them.

A gate that explains a recording away when it is wrong is none: native must not pass by any quirk, and
compat:volcano must not either. The cases are those shipped, and where VGPUALLOC_EVIDENCE names them the recordings of
the real scheduler as well.
"""

import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from support import SOURCE, CliTest  # noqa: E402  (the path comes first)

CASES = sorted((SOURCE / "tests" / "conformance" / "cases").glob("*.jsonl"))
PUBLIC = Path(os.environ.get("VGPUALLOC_EVIDENCE") or "/nonexistent") / "conformance" / "public"
VGPU = {"hamicore", "mig", "mixed", "hamicore-exclusive"}
CASES_PER_RECORDING = 40


def last_bound_add(case):
    """The number of the last event that bound a pod to a node with devices for it; none if there is no such event."""
    bound = [number for number, event in enumerate(case["events"])
             if event["op"] == "add" and not event.get("rollback") and event["out"].get("alloc", {}).get("ok") and
             (event["out"]["alloc"].get("chips") or any(event["out"]["alloc"].get("containers", [])))]
    return bound[-1] if bound else None


def add_to(object_, key, amount):
    object_[key] = object_.get(key, 0) + amount


def first_part(out):
    return next(part for container in out["alloc"]["containers"] for part in container)


def state_kinds(case, out, name):
    """What is booked of a device; amounts that nobody would book, so that they are no other decision's."""
    devices = out[name].get("devices", [])
    if not devices:
        return
    if case["family"] == "ascend-mindcluster-310p":
        yield f"{name} cores", lambda o: add_to(o[name]["devices"][0].setdefault("used", {}), "core", 3)
        yield f"{name} cpus", lambda o: add_to(o[name]["devices"][-1].setdefault("used", {}), "cpu", 3)
        return
    yield f"{name} slots", lambda o: add_to(o[name]["devices"][0], "used_num", 3)
    if case.get("gpushare_mode") != "number":  # there the cards are counted, whatever memory is asked for beside
        yield f"{name} memory", lambda o: add_to(o[name]["devices"][-1], "used_mem", 1003)
    if case["family"] != "gpushare":
        yield f"{name} cores", lambda o: add_to(o[name]["devices"][0], "used_core", 7)


def runtime_list(out):
    return next((key for key, value in out["alloc"]["annotations"].items() if '"temp"' in value), None)


def change_template(out):
    key = runtime_list(out)
    entries = json.loads(out["alloc"]["annotations"][key])
    next(entry for entry in entries if "temp" in entry)["temp"] += "x"
    out["alloc"]["annotations"][key] = json.dumps(entries)


def kinds_of(case, out):
    """Every kind of recorded field that native is compared in: its name, and what changes it in an event's `out`."""
    chosen = out["chosen"]
    other = (chosen + 1) % len(case["nodes"])
    yield "chosen node", lambda o: o.update(chosen=other if other != chosen else -1)
    yield "fit of the chosen node", lambda o: o["nodes"][chosen].update(fit=False)
    if other != chosen:
        yield "fit of another node", lambda o: o["nodes"][other].update(fit=not o["nodes"][other].get("fit", False))
    yield "allocation", lambda o: o["alloc"].update(ok=False)
    if out["alloc"].get("chips"):
        yield "chip", lambda o: o["alloc"].update(chips=[o["alloc"]["chips"][0] + 1, *o["alloc"]["chips"][1:]])
        if case["family"] == "ascend-mindcluster-310p":
            whole = not out["alloc"].get("template")
            yield "template", lambda o: o["alloc"].update(template="vir01" if whole else "")
    else:
        part = first_part(out)
        yield "device", lambda o: add_to(first_part(o), "index", 1)
        yield "cores", lambda o: add_to(first_part(o), "cores", 7)
        if "uuid" in part:
            yield "name of the device", lambda o: first_part(o).update(uuid=first_part(o)["uuid"] + "x")
        if "mig" in part:
            yield "MIG position", lambda o: add_to(first_part(o)["mig"], "position", 1)
            yield "MIG slot", lambda o: add_to(first_part(o)["mig"], "slot", 1)
            yield "MIG group", lambda o: first_part(o)["mig"].update(group=first_part(o)["mig"]["group"] + "x")
        else:
            yield "memory", lambda o: add_to(first_part(o), "mem", 1003)
        if case["family"] == "ascend-hami" and runtime_list(out):
            yield "template", change_template
    yield from state_kinds(case, out, "session_state")
    if case["family"] != "ascend-mindcluster-310p":
        yield from state_kinds(case, out, "cache_state")


def falsified(cases):
    """Copies of the cases, each with one field changed, by the kind of field: [(family, kind, case), ...]"""
    for case in cases:
        number = last_bound_add(case)
        if number is None:
            continue
        for kind, change in kinds_of(case, case["events"][number]["out"]):
            copy = json.loads(json.dumps(case))
            change(copy["events"][number]["out"])
            copy["id"] = f"{case['id']}: {kind}"
            yield case["family"], kind, copy


VGPU_KINDS = {"chosen node", "fit of the chosen node", "allocation", "device", "cores", "session_state slots",
              "session_state memory", "session_state cores", "cache_state slots", "cache_state memory",
              "cache_state cores"}
EXPECTED_KINDS = {
    **{family: VGPU_KINDS | {"memory"} for family in ("hamicore", "hamicore-exclusive")},
    "mig": VGPU_KINDS | {"MIG position", "MIG slot", "MIG group"},
    "mixed": VGPU_KINDS,
    "gpushare": {"chosen node", "fit of the chosen node", "allocation", "chip", "session_state slots",
                 "session_state memory", "cache_state slots", "cache_state memory"},
    "ascend-hami": VGPU_KINDS | {"memory", "template"},
    "ascend-mindcluster-310p": {"chosen node", "fit of the chosen node", "allocation", "chip", "template",
                                "session_state cores", "session_state cpus"},
}


class FalsifiedTest(CliTest):
    def failed_cases(self, path, impl):
        result = self.vgpusim("conformance", "--impl", impl, "--json", path)
        self.assertEqual(result.returncode, 1, result.stderr)
        return {difference["case"] for difference in json.loads(result.stdout)["files"][0]["differences"]
                if difference.get("explanation", "none") == "none"}

    def assert_all_fail(self, cases):
        changed = list(falsified(cases))
        path = self.write("falsified.jsonl", "".join(json.dumps(case) + "\n" for _, _, case in changed))
        for impl in ("native", "compat:volcano"):
            failed = self.failed_cases(path, impl)
            self.assertEqual([case["id"] for _, _, case in changed if case["id"] not in failed], [], impl)
        return changed

    def assert_every_kind(self, changed):
        kinds = {}
        for family, kind, _ in changed:
            kinds.setdefault(family, set()).add(kind)
        for family, expected in EXPECTED_KINDS.items():
            self.assertEqual(expected - kinds.get(family, set()), set(), family)

    def test_shipped_cases(self):
        cases = [json.loads(line) for path in CASES for line in path.read_text(encoding="utf-8").splitlines()]
        self.assert_every_kind(self.assert_all_fail(cases))

    def test_recordings(self):
        if not PUBLIC.is_dir():
            self.skipTest("VGPUALLOC_EVIDENCE names no folder with conformance/public")
        changed = []
        for path in sorted(PUBLIC.glob("*.jsonl")):
            lines = path.read_text(encoding="utf-8").splitlines()
            step = max(1, len(lines) // CASES_PER_RECORDING)
            with self.subTest(file=path.name):
                changed += self.assert_all_fail([json.loads(line) for line in lines[::step]])
        self.assert_every_kind(changed)
        self.assertIn("fit of another node", {kind for _, kind, _ in changed})


if __name__ == "__main__":
    unittest.main()
