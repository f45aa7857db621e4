"""vgpusim show: two clusters as they are printed, and what their JSON and their error states say."""

import json
import unittest

from support import SOURCE, CliTest

CLUSTERS = SOURCE / "scenarios" / "clusters"
TEXTS = {path.stem: path.with_suffix(".txt").read_text(encoding="utf-8") for path in CLUSTERS.glob("*.json")}


class Show(CliTest):
    def shown(self, *arguments):
        done = self.vgpusim("show", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def document(self, name):
        return json.loads(self.shown(CLUSTERS / f"{name}.json", "--json"))

    def test_both_clusters_are_printed_as_they_are_written_down(self):
        self.assertEqual(sorted(TEXTS), ["atlas", "harbor"])
        for name, text in TEXTS.items():
            with self.subTest(cluster=name):
                self.assertEqual(self.shown(CLUSTERS / f"{name}.json"), text)
                self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_the_sums_of_the_document_hold_in_milli_gpu(self):
        for name, gpus in (("atlas", 36), ("harbor", 14)):
            with self.subTest(cluster=name):
                seen = self.document(name)
                totals = seen["totals"]
                self.assertEqual((seen["schema"], totals["gpus"], totals["milli"]), ("vgpualloc.show/1", gpus, 1000 * gpus))
                for row in [totals, *seen["rows"]]:
                    self.assertEqual(row["used"] + row["free"] + row["out"], row["milli"])
                for part in ("milli", "used", "free", "out"):
                    self.assertEqual(sum(row[part] for row in seen["rows"]), totals[part])
                self.assertEqual(sum(user["used"] for user in seen["users"]), totals["used"])
                self.assertEqual(sum(user["wait"] for user in seen["users"]), totals["pods_wait"])
                for shape in seen["shapes"]:
                    idle = shape["of_use"] + shape["scattered"] + shape["host_full"] + sum(shape["wrong_kind"].values()) + shape["out"]
                    self.assertEqual(idle, totals["free"] + totals["out"], shape["shape"])
                self.assertEqual(seen["rows"], sorted(seen["rows"], key=lambda row: (row["key"], row["kind"])))
                self.assertEqual(self.shown(CLUSTERS / f"{name}.json", "-o", "json"), self.shown(CLUSTERS / f"{name}.json", "--json"))

    def test_verdicts_and_what_excludes_a_shape(self):
        seen = self.document("atlas")
        self.assertEqual({pod["pod"]: pod["verdict"] for pod in seen["waiting"]},
                         {"train/llm-3": "scattered", "serve/ranker-4": "all used", "research/embed-0": "never", "train/eval-7": "gate"})
        four = next(shape for shape in seen["shapes"] if shape["shape"] == "4 gpu, 48 cpu")
        self.assertEqual(four["asks"], {"nvidia.com/gpu": 4, "cpu_milli": 48000, "memory_mib": 196608})
        self.assertEqual((four["wrong_kind"]["model"], four["wrong_kind"]["rules"], four["out"]), (0, 2500, 4000))
        self.assertEqual([user["quota"] for user in seen["users"] if user["namespace"] == "research"],
                         [[{"resource": "nvidia.com/gpu", "used": 2, "hard": 2}]])

    def test_more_is_what_whatif_places(self):
        """With one pod more than that, for the shape of every pod of a cluster whose waiting pods are taken out."""
        template = {"kind": "Pod", "metadata": {"name": "w", "namespace": "n"}}
        objects = json.loads((CLUSTERS / "atlas.json").read_text(encoding="utf-8"))
        objects["items"] = [item for item in objects["items"] if item["kind"] != "Pod" or "nodeName" in item["spec"]]
        file = self.write("running.json", json.dumps(objects))
        seen = self.document("atlas")
        for pod in (item for item in json.loads((CLUSTERS / "atlas.json").read_text(encoding="utf-8"))["items"] if item["kind"] == "Pod"):
            amounts = pod["spec"]["containers"][0]["resources"]["limits"]
            cpu = 1000 * int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
            rules = sorted(pod["spec"].get("nodeSelector", {})) + sorted(t["key"] for t in pod["spec"].get("tolerations", []))
            shape = next(s for s in seen["shapes"] if s["asks"]["cpu_milli"] == cpu and len(s["rules"]) == len(rules)
                         and all(str(s["asks"].get(k)) == v for k, v in amounts.items()))
            spec = {key: value for key, value in pod["spec"].items() if key not in ("nodeName", "schedulingGates")}
            added = {"kind": "ReplicaSet", "apiVersion": "apps/v1", **{"metadata": template["metadata"]},
                     "spec": {"replicas": shape["more"] + 1, "template": {"spec": spec}}}
            done = self.vgpusim("whatif", file, "--policy", "best_fit", "--json", "--add-pods", self.write("a.json", json.dumps(added)))
            self.assertEqual(json.loads(done.stdout)["placed"], shape["more"], pod["metadata"]["name"])

    def test_states_without_nodes_gpus_or_pods(self):
        pods = self.write("pods.json", json.dumps({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "m"}]}}))
        done = self.vgpusim("show", pods)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"vgpusim: no nodes in {pods}: kubectl get nodes,pods -A -o json gives both\n")
        node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}}}
        lines = self.shown(self.write("node.json", json.dumps(node))).splitlines()
        self.assertRegex(lines[0], r"^0 GPUs on 1 node\. Looked for: .*nvidia\.com/gpu.* \(vgpusim dialects\)$")
        self.assertEqual(lines[1], "no pods in these files: everything counts as free")
        for wrong in (["-o", "xml"], []):
            done = self.vgpusim("show", *wrong)
            self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()
