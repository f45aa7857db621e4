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
            found = list(pool.map(lambda pair: self.nodes_that_fit(pair[0], pair[1]["pod"]), pairs))
        differing = [f"{cluster.name} {pod['pod']} (rules {', '.join(pod['rules'])}): kube-scheduler takes "
                     f"{sorted(set(pod['feasible']) - set(nodes))}, explain takes {sorted(set(nodes) - set(pod['feasible']))}"
                     for (cluster, pod), nodes in zip(pairs, found) if nodes != pod["feasible"]]
        self.assertEqual(differing, [], f"{len(differing)} of {len(pairs)} pods differ")


if __name__ == "__main__":
    unittest.main()
