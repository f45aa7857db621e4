"""No line of an answer is longer than 100 columns, unless a name in it is longer than 24 or it has a command to paste or a warning; and what is broken
loses no word. Over the two clusters of the documentation, three that look real, and random ones."""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

from support import SOURCE, CliTest

sys.path.insert(0, str(SOURCE / "tests" / "questions"))
import clusters as real_looking

WIDTH, NAME = 100, 24
LONG_WORD = re.compile(r"[^\s,;]{%d,}" % (NAME + 1))
DRAWN = {"atlas": ("train/llm-3", "a100-1", "mig-*"), "harbor": ("lab/nb-3", "h1", "")}


class Lines(CliTest):
    def check(self, *arguments):
        """The lines of an answer, none of which is too long."""
        done = self.vgpusim(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertTrue(lines, arguments)
        for line in lines:
            if len(line) > WIDTH and "vgpusim " not in line and not line.startswith("warning: ") and not LONG_WORD.search(line):
                self.fail(f"{' '.join(map(str, arguments))}: {len(line)} columns: {line}")
        return lines

    def check_all(self, cluster, pod, kind, mig):
        for by in ("pool", "kind", "node", "resource", "namespace", "queue", "owner"):
            for form in ("table", "wide"):
                self.check("show", cluster, "--by", by, "-o", form)
        for more in ((), ("--all",)):
            self.check("why", cluster, *more)
            self.check("whatif", cluster, "--anew", "--policy", "best_fit", *more)
            self.check("whatif", cluster, "--find-nodes", kind, *more)
            self.check("whatif", cluster, "--drain", kind, "--add-nodes", f"{kind}=2", *more)
            self.check("whatif", cluster, "--fail", kind, *more)
            if mig:
                self.check("whatif", cluster, "--find-layout", mig, *more)
        self.check("why", cluster, "--pod", pod)
        self.check("plan", cluster, "--pod", pod)
        for unit in ("nodes", "devices"):
            self.check("plan", cluster, "--consolidate", unit, "--moves", "20")

    def test_the_clusters_of_the_documentation(self):
        for name, (pod, kind, mig) in DRAWN.items():
            with self.subTest(cluster=name):
                self.check_all(SOURCE / f"scenarios/clusters/{name}.json", pod, kind, mig)

    def test_clusters_that_look_real(self):
        with tempfile.TemporaryDirectory() as scratch:
            real_looking.write_all(Path(scratch))
            for name in ("gpu-operator", "hami", "volcano-queues"):
                with self.subTest(cluster=name):
                    cluster = Path(scratch) / f"{name}.json"
                    objects = json.loads(cluster.read_text(encoding="utf-8"))["items"]
                    kinds = [entry["metadata"]["name"] for entry in objects if entry["kind"] == "Node"]
                    verdicts = json.loads(self.vgpusim("why", cluster, "-o", "json").stdout)["groups"]
                    pods = [pod for group in verdicts if group["verdict"] not in ("gate", "queue") for pod in group["pods"]]
                    self.check_all(cluster, pods[0], kinds[0], "mig-*" if name == "gpu-operator" else "")

    def test_a_broken_answer_has_all_its_words(self):
        """The first sentence of a plan names what JSON has."""
        cluster = SOURCE / "scenarios/clusters/harbor.json"
        text = " ".join(" ".join(self.check("whatif", cluster, "--anew", "--policy", "best_fit")).split())
        self.assertIn("9 would stand elsewhere: lab/nb-[0-1], lab/tune-0, prod/chat-[0-1], prod/chat-[3-5], prod/rank-1. used 5.9", text)

    def test_a_cell_goes_on_below_itself(self):
        node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "labels": {f"team-{letter}": "a" * 20 for letter in "abcdef"}},
                "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "2"}}}
        lines = self.check("show", self.write("wide.json", json.dumps(node)), "-o", "wide")
        head = next(line for line in lines if line.endswith("LABELS"))
        begin = head.index("LABELS")
        cells = [line[begin:] for line in lines[lines.index(head) + 1:] if "team-" in line]
        self.assertGreater(len(cells), 2)
        self.assertEqual("".join(cells), ",".join(f"team-{letter}={'a' * 20}" for letter in "abcdef"))

    def test_a_cluster_without_gpus(self):
        node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}}}
        lines = self.check("show", self.write("none.json", json.dumps(node)))
        self.assertIn("and 33 more (vgpusim dialects)", self.flat(" ".join(lines[:2])))

    def test_a_command_to_paste_is_one_line(self):
        folder = self.root / ("deep-" * 20)
        folder.mkdir()
        cluster = folder / "cluster.json"
        cluster.write_bytes((SOURCE / "scenarios/clusters/atlas.json").read_bytes())
        commands = [line for line in self.check("why", cluster, "--pod", "train/llm-3") if "vgpusim " in line]
        self.assertEqual(len(commands), 3)
        self.assertTrue(all(f"{cluster} --" in line for line in commands), commands)


if __name__ == "__main__":
    unittest.main()
