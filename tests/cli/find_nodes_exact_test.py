"""vgpusim whatif --find-nodes: what is called exact or proved is the optimum of a search of its own (200 small cases)."""

import json
import random
import unittest

import clusters
from support import CliTest
from start_test import whole_node

GPUS, CPU = 8, 16


def best_number(pods):
    """The smallest number of bins of GPUS and CPU that hold all pods, by trying every way."""
    pods = sorted(pods, reverse=True)
    best = [len(pods)]

    def place(i, bins):
        if len(bins) >= best[0]:
            return
        if i == len(pods):
            best[0] = len(bins)
            return
        gpus, cpu = pods[i]
        seen = set()
        for b, (used_gpus, used_cpu) in enumerate(bins):
            if bins[b] not in seen and used_gpus + gpus <= GPUS and used_cpu + cpu <= CPU:
                seen.add(bins[b])
                place(i + 1, bins[:b] + [(used_gpus + gpus, used_cpu + cpu)] + bins[b + 1:])
        place(i + 1, [*bins, (gpus, cpu)])

    place(0, [])
    return best[0]


class FindNodes(CliTest):
    def test_exact_and_proved_agree_with_trying_every_way(self):
        """No node there takes any of the pods: a kind that runs full, and pods of random sizes."""
        if not self.has_solver():
            self.skipTest("vgpusim is built without HiGHS")
        draw = random.Random(3)
        words = {"exact": 0, "proved": 0, "heuristic": 0}
        for case in range(200):
            kind = whole_node("n", GPUS)
            for amounts in (kind["status"]["allocatable"], kind["status"]["capacity"]):
                amounts["cpu"] = str(CPU)
            full = clusters.pod("full", {"cpu": "1", "nvidia.com/gpu": str(GPUS)}, on="n")
            pods = [(draw.randint(1, 6), draw.randint(1, 10)) for _ in range(draw.randint(3, 9))]
            waiting = [clusters.pod(f"p{i}", {"cpu": str(cpu), "nvidia.com/gpu": str(gpus)}) for i, (gpus, cpu) in enumerate(pods)]
            path = self.write("cluster.json", json.dumps(clusters.cluster(kind, full, *waiting)))
            done = self.vgpusim("whatif", path, "--find-nodes", "n", "--policy", "best_fit", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            answer = json.loads(done.stdout)["find_nodes"]
            optimum = best_number(pods)
            word = "exact" if answer["is_exact"] else "proved" if answer["is_proved"] else "heuristic"
            words[word] += 1
            if word == "heuristic":
                self.assertGreaterEqual(answer["nodes"], optimum, pods)
            else:
                self.assertEqual(answer["nodes"], optimum, f"case {case}: {pods} ({word})")
            self.assertLessEqual(answer["least"], optimum, pods)
            if case % 20 == 0:
                text = self.vgpusim("whatif", path, "--find-nodes", "n", "--policy", "best_fit").stdout
                self.assertIn(f"({word}", text)
        self.assertGreater(words["exact"], 20, words)
        self.assertGreater(words["proved"], 20, words)

    def test_replicas_of_other_nodes_leave_what_is_exact_exact(self):
        """Two pods of 60 of 96 CPUs share no node, whose 8 GPUs would do for both."""
        if not self.has_solver():
            self.skipTest("vgpusim is built without HiGHS")
        kind = whole_node("n", GPUS)
        labels = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.count": "4", "nvidia.com/gpu.replicas": "4",
                  "nvidia.com/gpu.sharing-strategy": "time-slicing"}
        replicas = clusters.node("t4", labels=labels, nvidia_com__gpu="16")
        for amounts in (kind["status"]["allocatable"], kind["status"]["capacity"]):
            amounts["cpu"] = "96"
        full = clusters.pod("full", {"cpu": "1", "nvidia.com/gpu": str(GPUS)}, on="n")
        waiting = [clusters.pod(f"p{i}", {"cpu": "60", "nvidia.com/gpu": "4"}) for i in range(3)]
        for nodes in ([kind], [kind, replicas]):
            path = self.write("cluster.json", json.dumps(clusters.cluster(*nodes, full, *waiting)))
            found = json.loads(self.vgpusim("whatif", path, "--find-nodes", "n", "--policy", "best_fit", "--json").stdout)["find_nodes"]
            self.assertEqual((found["nodes"], found["least"], found["is_exact"]), (3, 3, True), len(nodes))


if __name__ == "__main__":
    unittest.main()
