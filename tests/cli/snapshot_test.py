"""vgpusim snapshot: the file that it writes, what it says of ledger and annotations, and bad input."""

import json
import re
import socket
import unittest

from clusters import cluster, gpu_node, on_card, pod, vgpu
from secrets_planted import SecretsTest
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

    def test_what_is_no_regular_file_is_not_replaced(self):
        """A link, a pipe, a device and a socket were each replaced by a file."""
        file = self.cluster(gpu_node("a"))
        plain = self.root / "plain.json"
        self.assertEqual(self.vgpusim("snapshot", file, "--out", plain).returncode, 0)
        wanted = plain.read_bytes()
        target, link, null = self.root / "target.json", self.root / "link.json", self.root / "null.json"
        target.write_text("old")
        link.symlink_to(target)
        null.symlink_to("/dev/null")
        for out in (link, null):
            self.assertEqual(self.vgpusim("snapshot", file, "--out", out).returncode, 0)
            self.assertTrue(out.is_symlink())
        self.assertEqual(target.read_bytes(), wanted)
        self.assertTrue(null.is_char_device())
        pipe = self.root / "pipe.json"
        done, received = self.vgpusim_into_pipe(pipe, "snapshot", file, "--out", pipe)
        self.assertEqual((done.returncode, received), (0, wanted))
        self.assertTrue(pipe.is_fifo())
        endpoint_path = self.root / "socket.json"
        with socket.socket(socket.AF_UNIX) as endpoint:
            endpoint.bind(str(endpoint_path))
            self.assert_error_line(self.vgpusim("snapshot", file, "--out", endpoint_path), 2, "socket.json", "it is a socket")
            self.assertTrue(endpoint_path.is_socket())

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
        for expected in ("expected no more than it has", "team/r0 (slice 30000 MiB", "got 'gone'", "GPU-a-7",
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
        for arguments, word in (([bad, "--out", out], "a Kubernetes object"), ([self.write("e", ""), "--out", out], "no nodes in"),
                                ([good, "--out", good], "input"), ([good, "--out", f"{self.root}/"], "a file, not a folder"),
                                ([self.root / "no.json", "--out", out], "no.json")):
            done = self.vgpusim("snapshot", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertFalse(out.exists())


class NothingLeaksTest(SecretsTest):
    """Secrets of every shape in the place of every text and number that a snapshot keeps, one at a time."""

    def test_in_every_field(self):
        data = SOURCE / "tests" / "data" / "snapshot"
        whole = self.root / "whole.json"
        self.vgpusim("snapshot", data / "nodes.json", data / "pods.json", data / "configmaps.json", "--out", whole)
        items = json.loads(whole.read_text())["items"]
        kept, tries = [], 0
        for begin in range(0, len(items), 3):  # a few objects at a time, so that a try takes no longer than it must
            found, tried = self.secrets_kept({"apiVersion": "v1", "kind": "List", "items": items[begin:begin + 3]})
            kept, tries = kept + found, tries + tried
        self.assertGreater(tries, 100)
        self.assertEqual(kept, [])

    def test_names_of_resources_that_nobody_reads(self):
        amounts = {"cpu": "8", "memory": "16Gi", "acme.internal/fpga-10.0.0.7": "2", "nvidia.com/gpu": "2", "hugepages-2Mi": "1Gi"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": amounts, "capacity": amounts,
                "conditions": [{"type": "Ready", "status": "True"}]}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x"}, "spec": {"containers": [
            {"name": "c", "resources": {"requests": {"acme.internal/fpga-10.0.0.7": "1", "nvidia.com/gpu": "1"}}}]}}
        out = self.root / "nameless.json"
        file = self.write("cluster.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}))
        self.assertEqual(self.vgpusim("snapshot", file, "--anonymise", "--out", out).returncode, 0)
        text = out.read_text()
        self.assertNotIn("acme", text)
        for resource in ("nvidia.com/gpu", "hugepages-2Mi", "cpu", "memory"):
            self.assertIn(f'"{resource}"', text)
        named = {key for item in json.loads(text)["items"] for key in
                 (item.get("status", {}).get("allocatable") or item["spec"]["containers"][0]["resources"]["requests"])}
        self.assertEqual(len([name for name in named if name.startswith("example.com/")]), 1, "the same on both sides")

    def anonymised(self, *objects):
        """The text of the file, which is written whenever the cluster is valid."""
        out = self.root / "nameless.json"
        out.unlink(missing_ok=True)
        file = self.write("cluster.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        self.assert_done(self.vgpusim("snapshot", file, "--anonymise", "--out", out))
        return out.read_text()

    def nvidia_node(self, product, strategy="none", resource="nvidia.com/gpu", labels=None):
        labels = {"nvidia.com/gpu.product": product, "nvidia.com/mig.strategy": strategy, "nvidia.com/gpu.count": "1", "rack": "r",
                  **(labels or {})}
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels},
                "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", resource: "1"}}}

    def nvidia_pod(self, resource="nvidia.com/gpu", **spec):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x"}, "spec": {
            "containers": [{"name": "c", "resources": {"limits": {resource: "1"}}}], **spec}}

    def test_models_keep_the_words_that_are_read(self):
        """Valid models were replaced as a whole, after which the comparison of both sides ended the command."""
        for product, kept in (("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me"),
                              ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me-SHARED", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me-SHARED"),
                              ("NVIDIA-A100-SXM4-80GB-12345678", "NVIDIA-A100-SXM4-80GB-DEV-0001"), ("QEMU-12345678", "DEV-0001"),
                              ("NVIDIA-gpu17.corp.example.org", "NVIDIA-DEV-0001"), ("QEMU-12345678-MIG-1g.10gb", "DEV-0001-MIG-1g.10gb"),
                              ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.team77", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.word-0001")):
            with self.subTest(product=product):
                strategy = "single" if "-MIG-" in product else "none"
                text = self.anonymised(self.nvidia_node(product, strategy), self.nvidia_pod(nodeSelector={"nvidia.com/gpu.product": product}))
                self.assertEqual(re.findall(r'"nvidia.com/gpu.product": "(.*?)"', text), [kept, kept])

    def test_names_behind_a_mig_profile(self):
        for resource, kept in (("nvidia.com/mig-1g.10gb.team77", "nvidia.com/mig-1g.10gb.word-0001"),
                               ("nvidia.com/mig-team77", "nvidia.com/mig-word-0001"),
                               ("nvidia.com/mig-1g.10gb.me.shared", "nvidia.com/mig-1g.10gb.me.shared")):
            with self.subTest(resource=resource):
                node = self.nvidia_node("NVIDIA-A100-SXM4-80GB", "mixed", resource, {f"{resource}.count": "1", f"{resource}.memory": "9728"})
                text = self.anonymised(node, self.nvidia_pod(resource))
                self.assertNotIn("team77", text)
                for key in (f"{kept}.count", f"{kept}.memory"):
                    self.assertIn(f'"{key}"', text)
                self.assertEqual(text.count(f'"{kept}"'), 2, "the node's and the pod's")

    def test_fields_of_a_node_affinity_that_nothing_reads(self):
        """Some of them ended the command (map::at), and their names stayed."""
        expression = {"key": "rack", "operator": "In", "values": ["r"]}
        for rule in ({"foo77": [{"matchExpressions": [{**expression, "values": ["v77"]}]}]}, {"foo77": [{"bar77": "q77", "m": ["t77"]}]},
                     {"foo77": "s77"}, {"nodeSelectorTerms": [{"foo77": [{"key77": "k77"}]}]}, {"nodeSelectorTerms": ["t77"]},
                     {"nodeSelectorTerms": {"k77": ["x77"]}, "z77": {"a77": "b77"}},
                     {"nodeSelectorTerms": [{"matchExpressions": [{**expression, "secret77": "x77"}],
                                             "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"], "w77": 1}]}]}):
            with self.subTest(rule=rule):
                affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": rule}}
                self.assertNotIn("77", self.anonymised(self.nvidia_node("NVIDIA-A100-SXM4-80GB"), self.nvidia_pod(affinity=affinity)))


if __name__ == "__main__":
    unittest.main()
