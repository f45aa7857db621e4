"""`vgpusim conformance` on the shipped cases: it passes, it notices what was decided otherwise, it refuses bad input."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from support import SOURCE, CliTest  # noqa: E402  (the path comes first)

CASES = sorted((SOURCE / "tests" / "conformance" / "cases").glob("*.jsonl"))


def cases():
    return [json.loads(line) for path in CASES for line in path.read_text(encoding="utf-8").splitlines()]


class CasesTest(CliTest):
    def conformance(self, *files, impl="compat:volcano", more=()):
        return self.vgpusim("conformance", "--impl", impl, *files, *more)

    def replay(self, case, *more):
        return self.conformance(self.write("case.jsonl", json.dumps(case) + "\n"), more=more)

    def test_all_pass(self):
        result = self.conformance(*CASES)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        events = sum(len(case["events"]) for case in cases())
        self.assertEqual(result.stdout.splitlines()[-1], f"{events} passed, 0 failed")

    def test_native_is_equal_or_explained(self):
        """Whoever has nothing but this repository can repeat the comparison, and it passes."""
        result = self.conformance(*CASES, impl="native", more=["--json"])
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        told = json.loads(result.stdout)
        files = told["files"]
        explained = {difference["case"]: difference["explained_by"] for file in files for difference in file["differences"]}
        self.assertEqual({difference["explanation"] for file in files for difference in file["differences"]}, {"quirks"})
        self.assertEqual((told["unexplained"], told["failed"]), (0, 0))
        events = sum(len(case["events"]) for case in cases())
        self.assertEqual((told["equal"] + told["explained"], told["decided_as_without_quirks"]), (events, events))
        self.assertEqual(told["equal"], sum(file["equal"] for file in files))
        for name in ("Q1-same-instance-twice", "Q1a-group-is-never-reset", "Q2-two-containers-on-one-card",
                     "Q5-unhealthy-card", "Q11-more-than-a-card", "Q18-one-template-per-node",
                     "Q25-memory-first-in-number-mode", "Q26-no-base-device-infos",
                     "Q29-first-container-stands-for-the-pod", "Q30-mps-is-hami-core",
                     "Q32-ai-cpus-of-a-card", "Q32-ai-cores-of-a-card"):
            self.assertIn(name.split("-")[0], explained[name], name)
        self.assertEqual(explained["template-table"], ["Q28"])
        text = self.conformance(*CASES, impl="native").stdout.splitlines()[-3:]
        self.assertEqual(text[0], f"{events} of {events} decided as compat:volcano without quirks")
        quirks = ", ".join(f"{name} {count}" for name, count in told["explained_by"].items())
        self.assertEqual(text[1], f"{told['equal']} equal, {told['explained']} explained ({quirks}), 0 unexplained")
        self.assertEqual(text[2], f"{events} passed, 0 failed")

    def test_native_prints_who_explains(self):
        case = next(recorded for recorded in cases() if recorded["id"] == "Q5-unhealthy-card" and recorded["family"] == "hamicore")
        result = self.conformance(self.write("case.jsonl", json.dumps(case) + "\n"), impl="native")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout.splitlines()[-2], r"^\d+ equal, \d+ explained \(Q5 \d+\), 0 unexplained$")

    def native_of_one_session(self, *pods):
        """What native's JSON says of these pods, decided by the model one after another on one node in one session."""
        register = ("GPU-0,20,40960,NVIDIA-A100,false,hami-core:GPU-1,20,40960,NVIDIA-A100,true,hami-core:"
                    "GPU-2,20,40960,NVIDIA-A100,true,mps:")
        shipped = next(case for case in cases() if case["family"] == "hamicore")
        offered = {"volcano.sh/vgpu-number": "60", "volcano.sh/vgpu-memory": "122880", "volcano.sh/vgpu-cores": "300"}
        events = [{"op": "add", "new_session": number == 0, "rollback": name == "discarded",
                   "pod": {"name": name, "namespace": "default", "uid": name, "annotations": annotations,
                           "containers": [{"name": "c", "limits": limits}]}}
                  for number, (name, limits, annotations) in enumerate(pods)]
        case = {"schema": 1, "id": "session", "family": "hamicore", "policy": "spread", "weight": 10,
                "config": {**shipped["config"], "percent_name": ""}, "events": events,
                "nodes": [{"name": "node-0", "annotations": {"volcano.sh/node-vgpu-register": register},
                           "allocatable": offered}]}
        path = self.write("case.jsonl", json.dumps(case) + "\n")
        path = self.write("case.jsonl", self.conformance(path, more=["--print"]).stdout)
        result = self.conformance(path, impl="native")
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout.splitlines()[-2], json.loads(self.conformance(path, impl="native", more=["--json"]).stdout)

    def test_more_than_three_quirks_are_no_failure_and_are_counted(self):
        def part(memory, count=1):
            return {"volcano.sh/vgpu-number": count, "volcano.sh/vgpu-memory": memory}

        types = {"nvidia.com/use-gputype": "H100,"}
        on_1 = {"volcano.sh/vgpu-use-gpuuuid": "GPU-1"}
        percentage = {**part(3000), "volcano.sh/vgpu-memory-percentage": 10}
        # Each leaves its trace in the session, and the last pod's node shows them all.
        line, told = self.native_of_one_session(
            ("unhealthy-card", part(1000), {}), ("discarded", part(1100), {}), ("count-0", part(1200, 0), {}),
            ("percentage", percentage, {}), ("types", part(1300), types), ("last", part(1400), {}))
        self.assertRegex(line, r" explained \(Q.* \d+, 2 by more than three\), 0 unexplained$")
        last = told["files"][0]["differences"][-1]
        self.assertEqual((last["event"], last["explanation"], last["explained_by"]), (5, "more_than_three", []))
        self.assertEqual((told["by_more_than_three"], told["follow_ups"]), (2, 0))
        # Here nothing is wrong with the last pod, and no quirk is given as the reason.
        line, told = self.native_of_one_session(
            ("unhealthy-card", part(1000), {"volcano.sh/vgpu-use-gpuuuid": "GPU-0"}),
            ("mode", part(1100), {"volcano.sh/vgpu-use-gpuuuid": "GPU-2", "volcano.sh/vgpu-mode": "hami-core"}),
            ("percentage", percentage, on_1), ("types", part(1300), {**types, **on_1}), ("last", part(1400), on_1))
        self.assertRegex(line, r", 1 by more than three, 1 of them only following earlier ones\), 0 unexplained$")
        self.assertEqual(told["files"][0]["differences"][-1]["explanation"], "follow_up")
        self.assertEqual((told["by_more_than_three"], told["follow_ups"]), (1, 1))

    def test_every_kind_of_device_has_a_case(self):
        self.assertEqual({case["family"] for case in cases()},
                         {"hamicore", "mig", "mixed", "hamicore-exclusive", "gpushare", "ascend-hami",
                          "ascend-mindcluster-310p"})

    def test_each_thing_recorded_is_compared(self):
        """One recorded value changed at a time: the event fails, and the place is named."""
        for case in cases():
            for number, event in enumerate(case["events"]):
                if event["op"] != "add" or "alloc" not in event["out"]:
                    continue
                chosen = event["out"]["chosen"]
                changes = [(["nodes", chosen, "fit"], False), (["nodes", chosen, "raw"], 12345.5),
                           (["nodes", chosen, "rounded"], 777), (["nodes", chosen, "weighted"], 777),
                           (["nodes", chosen, "reason"], "other"), (["nodes", chosen, "code"], 9),
                           (["nodes", chosen, "req"], False), (["chosen"], -1), (["alloc", "ok"], False),
                           (["alloc", "annotations", "more"], "x"), (["session_state", "mode"], "other"),
                           (["session_state", "devices"], []), (["has_request"], False)]
                if "cache_state" in event["out"]:
                    changes.append((["cache_state", "present"], False))
                for path, value in changes:
                    with self.subTest(case=case["id"], path=path):
                        changed = json.loads(json.dumps(case))
                        inner = changed["events"][number]["out"]
                        for step in path[:-1]:
                            inner = inner[step]
                        inner[path[-1]] = value
                        result = self.replay(changed)
                        self.assertEqual(result.returncode, 1, result.stdout)
                        self.assertRegex(result.stdout.splitlines()[-1], r"^\d+ passed, 1 failed$")
                        self.assertIn(f"{case['id']} event {number} /{path[0]}", result.stdout)
                break  # one event per case says it

    def test_what_was_loaded_is_compared(self):
        case = cases()[0]
        case["nodes"][0]["loaded"]["present"] = not case["nodes"][0]["loaded"].get("present", False)
        result = self.replay(case)
        self.assertEqual(result.returncode, 1)
        self.assertIn("event 0 /nodes/0/loaded/present", result.stdout)

    def test_a_place_is_a_json_pointer(self):
        case = next(recorded for recorded in cases() if "alloc" in recorded["events"][0]["out"])
        case["events"][0]["out"]["alloc"]["annotations"]["a/b~c"] = {"d": 1, "e": 0}
        result = self.replay(case)
        self.assertEqual(result.returncode, 2)
        self.assertIn("events[0].out.alloc.annotations.a/b~c: got 'an object', expected a text", result.stderr)
        case["events"][0]["out"]["alloc"]["annotations"]["a/b~c"] = "x"
        result = self.replay(case)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn('event 0 /alloc/annotations/a~1b~0c: recorded "x", decided nothing', result.stdout)

    def test_json(self):
        result = self.conformance(*CASES, more=["--json"])
        self.assertEqual(result.returncode, 0)
        summary = json.loads(result.stdout)
        self.assertEqual(summary["failed"], 0)
        self.assertEqual(summary["passed"], sum(file["passed"] for file in summary["files"]))

    def test_cases_without_events_are_refused(self):  # found by fuzzing: --print made what the replay refuses
        for more in ((), ("--print",)):
            self.assert_refused(self.replay({**cases()[0], "events": []}, *more), "case.jsonl:1", "has no event")

    def test_bad_input(self):
        case = cases()[0]

        def changed(**members):
            return json.dumps({**case, **members}) + "\n"

        def cards(number):
            return {**case["nodes"][0], "capacity": {"volcano.sh/gpu-number": number, "volcano.sh/gpu-memory": "1Gi"}}

        first = json.dumps(case) + "\n"
        for text, words in (("", ["case"]), ("\n\n", ["case"]), ("{\n", [":1"]), (first + "nonsense\n", [":2:", "JSON"]),
                            (first[:-20], [":1"]), ("[]\n", [":1"]), ("{}\n", [":1", "schema", "missing"]),
                            (changed(schema=2), ["schema", "'2'", "expected 1"]),
                            (changed(family="gpu"), ["family", "'gpu'", "hamicore"]), (changed(nodes=1), ["nodes"]),
                            (changed(events={}), ["events"]),
                            (changed(events=[{"op": "jump"}]), ["'jump'", "node_update"]),
                            (changed(events=[{"op": "node_update", "node": 99, "out": {}}]), ["node"]),
                            (changed(events=[{"op": "node_update", "node": -1, "out": {}}]), ["events[0].node", "'-1'"]),
                            (changed(events=[{"op": "delete", "out": {}}]), ["events[0].pod_uid", "missing"]),
                            (changed(events=[{"op": "restore", "node": 99, "pod": {}, "out": {}}]), ["node"]),
                            (changed(events=[{**case["events"][0], "out": {"chosen": 99}}]), ["chosen"]),
                            (changed(weight="ten"), [":1: weight", "'ten'", "a whole number"]),
                            (changed(family="gpushare", nodes=[cards("1024"), cards("300M")]),
                             ["nodes[1].capacity", "gpu-number", "'300M'", "at most 1024"])):
            with self.subTest(text=text[-60:]):
                for impl in ("compat:volcano", "native"):
                    result = self.conformance(self.write("bad.jsonl", text), impl=impl)
                    self.assert_error_line(result, 2, "bad.jsonl", *words)
        self.assert_error_line(self.conformance(self.root / "absent.jsonl"), 2, "absent.jsonl")
        self.assert_error_line(self.conformance(*CASES, impl="volcano"), 2, "'volcano'", "compat:volcano")


if __name__ == "__main__":
    unittest.main()
