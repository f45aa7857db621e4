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

    # Upstream's ways without a quirk of their own, which native does not follow (docs/compat.md).
    NATIVE_DIFFERS = {"batch-score-with-a-downgrade", "Q7b-no-cards"}

    def test_native_is_equal_or_explained(self):
        result = self.conformance(*CASES, impl="native", more=["--json"])
        files = json.loads(result.stdout)["files"]
        unexplained = {difference["case"] for file in files for difference in file["differences"] if not difference["explained_by"]}
        self.assertEqual(unexplained, self.NATIVE_DIFFERS)
        self.assertEqual(result.returncode, 1)
        explained = {difference["case"]: difference["explained_by"] for file in files for difference in file["differences"]
                     if difference["explained_by"]}
        for name in ("Q1-same-instance-twice", "Q1a-group-is-never-reset", "Q2-two-containers-on-one-card",
                     "Q5-unhealthy-card", "Q11-more-than-a-card", "Q18-one-template-per-node",
                     "Q25-memory-first-in-number-mode", "Q26-no-base-device-infos"):
            self.assertIn(name.split("-")[0], explained[name], name)

    def test_native_prints_who_explains(self):
        case = next(recorded for recorded in cases() if recorded["id"] == "Q5-unhealthy-card" and recorded["family"] == "hamicore")
        result = self.conformance(self.write("case.jsonl", json.dumps(case) + "\n"), impl="native")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout.splitlines()[-2], r"^\d+ equal, \d+ explained \(Q5 \d+\), 0 unexplained$")

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

    def test_bad_input(self):
        case = cases()[0]

        def changed(**members):
            return json.dumps({**case, **members}) + "\n"

        def cards(number):
            return {**case["nodes"][0], "capacity": {"volcano.sh/gpu-number": number, "volcano.sh/gpu-memory": "1Gi"}}

        first = json.dumps(case) + "\n"
        for text, words in (("", ["case"]), ("\n\n", ["case"]), ("{\n", [":1"]), (first + "nonsense\n", [":2:", "JSON"]),
                            (first[:-20], [":1"]), ("[]\n", [":1"]), ("{}\n", [":1", "schema", "required"]),
                            (changed(schema=2), ["schema", "'2'", "expected 1"]),
                            (changed(family="gpu"), ["family", "'gpu'", "hamicore"]), (changed(nodes=1), ["nodes"]),
                            (changed(events={}), ["events"]),
                            (changed(events=[{"op": "jump"}]), ["'jump'", "node_update"]),
                            (changed(events=[{"op": "node_update", "node": 99, "out": {}}]), ["node"]),
                            (changed(events=[{"op": "node_update", "node": -1, "out": {}}]), ["events[0].node", "'-1'"]),
                            (changed(events=[{"op": "delete", "out": {}}]), ["events[0].pod_uid", "required"]),
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
