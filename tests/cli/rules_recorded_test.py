"""Where pods may go, as recorded from kube-scheduler (tests/data/kube_scheduler_rules): explain finds the same nodes."""

import json
import unittest
from concurrent.futures import ThreadPoolExecutor

from support import SOURCE, CliTest

DATA = SOURCE / "tests" / "data" / "kube_scheduler_rules"


class RecordedRules(CliTest):
    def nodes_that_fit(self, cluster, pod):
        done = self.vgpusim("explain", cluster, "--pod", pod, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), pod)
        return sorted(node["name"] for node in json.loads(done.stdout)["nodes"] if node["fits"])

    def test_the_nodes_that_fit_are_those_of_kube_scheduler(self):
        pairs = [(path.with_name(path.name.replace("decisions", "cluster")), pod)
                 for path in sorted(DATA.glob("decisions-*.json")) for pod in json.loads(path.read_text())["pods"]]
        self.assertGreater(len(pairs), 300, "the recordings are not there")
        with ThreadPoolExecutor(2) as pool:
            fitting = list(pool.map(lambda pair: self.nodes_that_fit(pair[0], pair[1]["pod"]), pairs))
        differing = [f"{cluster.name} {pod['pod']} (rules {', '.join(pod['rules'])}): kube-scheduler takes "
                     f"{sorted(set(pod['feasible']) - set(nodes))}, explain takes {sorted(set(nodes) - set(pod['feasible']))}"
                     for (cluster, pod), nodes in zip(pairs, fitting) if nodes != pod["feasible"]]
        self.assertEqual(differing, [], f"{len(differing)} of {len(pairs)} pods differ")

    def answer(self, *arguments):
        done = self.vgpusim(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def list_of(self, name, objects):
        return self.write(name, json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def test_as_many_more_pods_fit_as_show_says_and_no_more(self):
        """Rules about other pods change with every pod that is placed."""
        shapes = 0
        for path in sorted(DATA.glob("cluster-*.json"))[:3]:
            objects = json.loads(path.read_text())["items"]
            waiting = [entry for entry in objects if entry["kind"] == "Pod" and not entry["spec"].get("nodeName")]
            others = [entry for entry in objects if entry not in waiting]
            for pod in waiting:
                if "nvidia.com/" not in json.dumps(pod["spec"]["containers"]):
                    continue
                shown = self.answer("show", self.list_of("one.json", [*others, pod]))
                [row] = [entry for entry in shown["shapes"] if entry["wait"] == 1]
                parts = row["of_use"] + row["scattered"] + row["host_full"] + sum(row["wrong_kind"].values()) + row["out"]
                self.assertEqual(parts, shown["totals"]["free"] + shown["totals"]["out"], pod["metadata"])
                more = [pod | {"metadata": pod["metadata"] | {"name": f"more-{i}", "uid": ""}} for i in range(row["more"] + 1)]
                added = self.answer("whatif", self.list_of("base.json", others), "--add-pods", self.list_of("more.json", more),
                                    "--policy", "best_fit")
                self.assertEqual(sum(1 for entry in added["pods"] if entry["placed"]), row["more"], pod["metadata"])
                shapes += 1
        self.assertGreater(shapes, 30, "pods with GPUs")


if __name__ == "__main__":
    unittest.main()
