"""vgpusim snapshot: the file that it writes, what it says of ledger and annotations, and bad input."""

import json
import unittest

from clusters import cluster, gpu_node, on_card, pod, vgpu
from support import SOURCE, CliTest

DATA = SOURCE / "tests" / "data" / "explain"
USE = {"devices", "memory_mib", "cores", "containers", "instances"}


class Snapshot(CliTest):
    def cluster(self, *objects, name="cluster.json"):
        return self.write(name, json.dumps(cluster(*objects)))

    def report(self, *arguments):
        done = self.vgpusim("snapshot", *arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_the_file_answers_as_what_it_was_made_of(self):
        """Every pod that waits, every dialect: explain says the same of the file, but for the places of objects."""
        config = ["--config", DATA / "device-config.yaml"]
        out = self.root / "s" / "snapshot.json"
        self.assertEqual(self.vgpusim("snapshot", DATA / "cluster.yaml", *config, "--out", out).returncode, 0)
        for name in ("default/waits", "team/waits"):
            for policy in ([], ["--policy", "binpack"], ["--policy", "spread"]):
                answers = []
                for file in (DATA / "cluster.yaml", out):
                    done = self.vgpusim("explain", file, *config, "--pod", name, "--json", *policy)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    answer = json.loads(done.stdout)
                    del answer["pod"]["place"], answer["warnings"]
                    answers.append(answer)
                self.assertEqual(answers[0], answers[1])
        again = self.root / "again.json"
        self.vgpusim("snapshot", out, *config, "--out", again)
        self.assertEqual(again.read_bytes(), out.read_bytes())

    def test_the_ledger_is_what_the_annotations_say(self):
        found = self.report(self.cluster(gpu_node("a"), on_card("r0", "a", 0, 20000), on_card("r1", "a", 1, 3000),
                                         pod("p", vgpu(1))))
        self.assertEqual(found["differences"], [])
        self.assertEqual(found["pods"], {"running": 2, "waiting": 1, "on_unknown_nodes": 0})
        [entry] = found["dialects"]
        self.assertEqual(set(entry["ledger"]), USE)
        self.assertEqual(entry["ledger"], entry["annotations"])
        self.assertEqual(entry["ledger"]["memory_mib"], 23000)
        self.assertEqual(found["written_back"], 2)

    def test_differences_are_listed(self):
        found = self.report(self.cluster(gpu_node("a", cards=1), on_card("r0", "a", 0, 30000),
                                         on_card("r1", "a", 0, 30000), on_card("lost", "gone", 0, 10),
                                         on_card("odd", "a", 7, 10), pod("mute", vgpu(10), on="a")))
        text = "\n".join(entry["message"] for entry in found["differences"])
        for expected in ("no more given out than it has", "team/r0 (slice 30000 MiB", "got 'gone'", "GPU-a-7",
                         "pod team/mute: annotations"):
            self.assertIn(expected, text)
        self.assertEqual(found["pods"]["on_unknown_nodes"], 1)

    def test_what_kubectl_apply_leaves_on_objects_is_no_difference(self):
        """The copy of what was applied is left out of the file, of nodes and of pods that run or wait."""
        key = "kubectl.kubernetes.io/last-applied-configuration"
        objects = [gpu_node("a"), on_card("runs", "a", 0, 20000), pod("waits", vgpu(1))]
        for entry in objects:
            entry["metadata"].setdefault("annotations", {})[key] = json.dumps(entry) + "\n"
        out = self.root / "s" / "snapshot.json"
        self.assert_done(self.vgpusim("snapshot", self.cluster(*objects), "--out", out))
        text = out.read_text(encoding="utf-8")
        self.assertNotIn(key, text)
        for entry in objects:
            self.assertIn(entry["metadata"]["name"], text)

    def test_files_add_up(self):
        found = self.report(self.cluster(gpu_node("a"), name="n.json"),
                            self.cluster(on_card("r", "a", 0, 10), name="p.json"))
        self.assertEqual((found["nodes"], found["pods"]["running"], found["differences"]), (1, 1, []))

    def test_bad_input_writes_nothing(self):
        good = self.cluster(gpu_node("a"))
        bad = self.write("bad.json", '{"kind": "List", "items": [3]}')
        out = self.root / "s.json"
        for arguments, word in (([bad, "--out", out], "a Kubernetes object"), ([self.write("e", ""), "--out", out], "Node"),
                                ([good, "--out", good], "input"), ([good, "--out", f"{self.root}/"], "a file, not a folder"),
                                ([self.root / "no.json", "--out", out], "no.json")):
            done = self.vgpusim("snapshot", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
