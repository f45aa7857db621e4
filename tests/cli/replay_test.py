"""vgpusim replay: a live scheduler's decision log is decided again, or under another policy."""

import gzip
import json
import os
import random
import subprocess
import unittest

from clusters import gpu_node, pod, vgpu
from support import SOURCE, CliTest

HISTORY = os.environ.get("DECISION_HISTORY_LOG", "decision_history_log")
CONFIG = SOURCE / "tests" / "data" / "explain" / "device-config.yaml"
START = {"event": "start", "log": "vgpualloc-decisions", "version": 1, "library": "0.1.0", "time": 10**18,
         "options": {"policy": "binpack", "device_policy": "", "catalog": "", "device_config": "", "scheduler_config": ""}}
CARD = 40960


def told(name, memory):
    result = pod(name, vgpu(memory))
    result["metadata"]["uid"] = name
    return result


class Model:
    """Nodes of one card each under a policy that takes the card with the least or the most used: who is where, who waits.

    Written from what docs/decision-log.md promises, without the library."""

    def __init__(self, nodes, most):
        self.used = dict.fromkeys(nodes, 0)
        self.most = most
        self.memory, self.where, self.last, self.queue = {}, {}, {}, []

    def place(self, name):
        fitting = [node for node in self.used if self.used[node] + self.memory[name] <= CARD]
        if not fitting:
            return False
        node = (max if self.most else min)(fitting, key=self.used.get)  # the first of equals
        self.used[node] += self.memory[name]
        self.where[name] = self.last[name] = node
        return True

    def try_pod(self, name, memory):
        self.memory[name] = memory
        if name not in self.where and name not in self.queue and not self.place(name):
            self.queue.append(name)

    def take_back(self, name, for_good):
        if name in self.queue:
            self.queue.remove(name)
        if name not in self.where:
            return
        self.used[self.where.pop(name)] -= self.memory[name]
        if for_good:
            del self.last[name]
        self.queue = [waiting for waiting in self.queue if not self.place(waiting)]


class Replay(CliTest):
    def history(self, seed, steps=300, policy="binpack"):
        done = subprocess.run([HISTORY, str(seed), str(steps), policy, CONFIG], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def log(self, lines):
        return self.write("log.jsonl", "".join(line + "\n" for line in lines))

    def replay(self, lines, *more):
        return self.vgpusim("replay", "--decisions", self.log(lines), *more)

    def test_a_history_is_decided_again(self):
        for seed in range(101, 106):
            done = self.replay(self.history(seed), "--out", self.out)
            self.assert_done(done)
            self.assertTrue(done.stdout.endswith("\n0 differences\n"), done.stdout)
            self.assertEqual((self.out / "replay.txt").read_text(), done.stdout)
            answer = json.loads((self.out / "replay.json").read_text())
            self.assertEqual((answer["mode"], answer["differences"]), ("verify", []))
            self.assertGreater(answer["decisions"], 50)
            self.assertEqual((self.out / "differences.jsonl").read_text(), "")
            self.assertEqual(self.present(self.out), ["differences.jsonl", "replay.json", "replay.txt"])

    def test_compressed_and_from_standard_input(self):
        lines = self.history(7, 100)
        plain = json.loads(self.replay(lines, "--json").stdout)
        packed = self.write("log.gz", gzip.compress("".join(line + "\n" for line in lines).encode()))
        unpacked = json.loads(self.vgpusim("replay", "--decisions", packed, "--json").stdout)
        self.assertEqual({**unpacked, "log": ""}, {**plain, "log": ""})
        self.assert_refused(self.vgpusim("replay", "--decisions", "-", "--catalog", "-"), "--catalog", "--decisions")

    def changed(self, lines, kind, fits, change):
        """The lines up to the last of a kind that fits, which is changed: nothing after it follows from it."""
        number = max(i for i, line in enumerate(lines) if f'"event":"{kind}"' in line and fits(json.loads(line)))
        event = json.loads(lines[number])
        change(event)
        return [*lines[:number], json.dumps(event)], number + 1, event

    def only_difference(self, lines):
        done = self.replay(lines, "--json")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        [entry] = json.loads(done.stdout)["differences"]
        return entry

    def test_a_changed_line_is_the_one_difference(self):
        lines = self.history(8)
        log, number, event = self.changed(lines, "decide", lambda e: not e["annotations"] and "only" not in e and e["node"] != "mig-b",
                                          lambda e: e.update(node="mig-b"))
        entry = self.only_difference(log)
        self.assertEqual((entry["line"], entry["pod"], entry["what"], entry["logged"]), (number, event["pod"], "node", "mig-b"))
        self.assertNotEqual(entry["replayed"], "mig-b")
        key = "volcano.sh/vgpu-ids-new"
        log, number, event = self.changed(lines, "decide", lambda e: key in e["annotations"],
                                          lambda e: e["annotations"].update({key: "GPU-x,NVIDIA,1,0:"}))
        entry = self.only_difference(log)
        self.assertEqual((entry["line"], entry["what"], entry["annotation"]), (number, "annotations", key))
        self.assertEqual(entry["logged"], "GPU-x,NVIDIA,1,0:")
        log, number, event = self.changed(lines, "refuse", lambda e: True, lambda e: e["reasons"].update(no_nodes=3))
        entry = self.only_difference(log)
        self.assertEqual((entry["line"], entry["what"]), (number, "refused"))
        self.assertIn("no_nodes 3", entry["logged"])
        done = self.replay(log, "--out", self.out)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "1 difference")
        self.assertIn(f"line {number}, pod {event['pod']}: refused: logged", done.stdout)
        self.assertEqual(json.loads((self.out / "differences.jsonl").read_text()), entry)

    def test_bad_logs(self):
        good = self.history(9, 60)
        huge = json.dumps({"event": "commit", "uid": "u" * 5_000_000})
        for line, *words in (("nonsense", "log.jsonl:3:2: JSON"), ("{}", "log.jsonl:3: event: missing"),
                             ('{"event":"started"}', "log.jsonl:3: event: got 'started'", "one of start"),
                             ('{"event":"commit","uid":["u"]}', "log.jsonl:3: uid: got 'a list', expected a text"),
                             ('{"event":"commit","uid":"nobody"}', "log.jsonl:3: uid: got 'nobody'"),
                             ('{"event":"commit","uid":"a","uid":"b"}', "log.jsonl:3:", "uid"),
                             ('{"event":"tell","object":' + "[" * 9999 + "]" * 9999 + "}", "log.jsonl:3"),
                             (json.dumps({**START, "version": 2}), "log.jsonl:3: version: got '2', expected version 1"),
                             (huge, "log.jsonl:3: uid: got 'uuu")):
            done = self.replay([*good[:2], line, *good[2:]], "--out", self.out)
            self.assert_refused(done, *words)
            self.assertLess(len(done.stderr), 1000)
        self.assert_refused(self.replay(good[1:]), "log.jsonl:1: event: got 'tell', expected a start")
        self.assert_refused(self.replay([]), "log.jsonl: has no events")
        self.assert_refused(self.vgpusim("replay", "--decisions", self.root / "none"), "none")
        self.assert_refused(self.replay(good, "--policy", "best"), "--policy: got 'best'", "best_fit")
        self.assert_refused(self.replay(good, "--policy", "random"), "--policy", "draws nothing")
        self.assert_refused(self.replay(good, "--catalog", self.write("c.json", "{")), "c.json:1")
        self.assert_refused(self.vgpusim("replay"), "--decisions")
        for option in ("--policy", "--device-policy", "--catalog", "--device-config", "--scheduler-config", "--out"):
            self.assert_refused(self.replay(good, option, ""), option, "got '\"\"'")
        log = self.write("replay.json", "".join(line + "\n" for line in good))
        self.assertEqual(self.vgpusim("replay", "--decisions", log, "--out", self.root).returncode, 2)

    def test_candidates_are_nodes_that_are_there(self):
        lines = self.history(8)
        for member in "only", "except":
            for kind in "decide", "refuse":
                log, number, _ = self.changed(lines, kind, lambda e: "only" not in e and "except" not in e,
                                              lambda e, member=member: e.update({member: ["nowhere"]}))
                self.assert_refused(self.replay(log, "--out", self.out), f"log.jsonl:{number}: {member}: got 'nowhere', expected a node")

    def test_null_is_no_way_to_say_nothing(self):
        lines = self.history(8)
        for kind, member in (("refuse", "reasons"), ("decide", "annotations"), ("decide", "only"), ("refuse", "except")):
            log, number, _ = self.changed(lines, kind, lambda e: True, lambda e, member=member: e.update({member: None}))
            self.assert_refused(self.replay(log), f"log.jsonl:{number}: {member}: got 'null'")

    def test_blank_lines_at_the_end_are_no_lines(self):
        lines = self.history(9, 60)
        plain = self.replay(lines)
        for more in ([""], ["", " \t"]):
            done = self.replay([*lines, *more])
            self.assert_done(done)
            self.assertEqual(done.stdout, plain.stdout)
        self.assert_refused(self.replay([*lines[:3], "", *lines[3:]]), "log.jsonl:4")

    def test_cut_off_lines_are_noted(self):
        lines = self.history(10, 60)
        done = self.vgpusim("replay", "--decisions", self.write("cut", "\n".join(lines)[:-20]))
        self.assert_done(done)
        self.assertIn("cut off, passed by", done.stdout)

    def test_another_policy_against_a_model(self):
        """Live takes the first node that fits; the model says who goes where, who waits, and in which order."""
        nodes = [f"n{i}" for i in range(6)]
        for seed in range(12):
            rng = random.Random(seed)
            policy = ("spread", "binpack")[seed % 2]
            model = Model(nodes, policy == "binpack")
            lines = [START, *({"event": "tell", "object": gpu_node(name, cards=1)} for name in nodes)]
            used, where, memory, order = dict.fromkeys(nodes, 0), {}, {}, []
            for step in range(250):
                name = f"p{step}"
                if rng.random() < 0.55:
                    memory[name] = rng.choice((2000, 5000, 9000, 20000, 33000))
                    lines.append({"event": "tell", "object": told(name, memory[name])})
                    node = next((n for n in nodes if used[n] + memory[name] <= CARD), None)
                    order.append(name)
                    if node:
                        where[name] = node
                        used[node] += memory[name]
                        lines.append({"event": "decide", "uid": name, "pod": f"team/{name}", "node": node, "time": 10**18,
                                      "annotations": {}})
                    else:
                        lines.append({"event": "refuse", "uid": name, "pod": f"team/{name}", "reasons": {}})
                    model.try_pod(name, memory[name])
                elif where:
                    name = rng.choice(sorted(where))
                    used[where.pop(name)] -= memory[name]
                    is_rollback = rng.random() < 0.2
                    lines.append({"event": "rollback" if is_rollback else "remove_pod", "uid": name})
                    model.take_back(name, is_rollback)
            done = self.replay([json.dumps(line) for line in lines], "--policy", policy, "--out", self.out)
            self.assert_done(done)
            fates = [json.loads(line) for line in (self.out / "pods.jsonl").read_text().splitlines()]
            self.assertEqual([fate["uid"] for fate in fates], order)
            self.assertEqual({fate["uid"]: fate["replay"]["node"] for fate in fates if fate["replay"]["node"]}, model.last)
            self.assertEqual([fate["uid"] for fate in fates if fate["replay"]["waiting"]], sorted(model.queue, key=order.index))
            self.assertGreater(sum(fate["replay"]["waited"] for fate in fates), 5)
            answer = json.loads((self.out / "replay.json").read_text())
            self.assertEqual(answer["replay"]["pods_placed"], len(model.last))
            self.assertEqual(answer["replay"]["pods_waiting"], len(model.queue))
            self.assertEqual(answer["replay"]["at_end"]["pods"], len(model.where))
            self.assertEqual(answer["replay"]["at_end"]["overcommitted_devices"], 0)
            elsewhere = sum(fate["live"]["node"] != fate["replay"]["node"] for fate in fates
                            if fate["live"]["node"] and fate["replay"]["node"])
            self.assertEqual(answer["on_another_node"], elsewhere)

    def test_a_mixed_history_under_another_policy(self):
        done = self.replay(self.history(11, 400), "--policy", "spread", "--out", self.out)
        self.assert_done(done)
        answer = json.loads((self.out / "replay.json").read_text())
        self.assertEqual((answer["mode"], answer["replay"]["policy"]), ("what_if", "spread"))
        self.assertGreater(answer["on_another_node"], 5)
        self.assertEqual(self.present(self.out), ["pods.jsonl", "replay.json", "replay.txt"])
        self.assertIn("pods on another node than live", done.stdout)


if __name__ == "__main__":
    unittest.main()
