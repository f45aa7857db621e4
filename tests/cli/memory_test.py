"""What is large when it is written or read is not in memory as a whole."""

import gzip
import json
import os
import subprocess
import sys
import unittest

from clusters import cluster, gpu_node, pod, vgpu
from support import SOURCE, VGPUSIM, CliTest

MODELS = SOURCE / "traces" / "models"
MIB = 1 << 20
# A program begins with the peak of the process that starts it: this one is small, and the tests are not.
MEASURED = """import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)"""


def fields(*names):
    return {f"f:{name}": {} for name in names}


def managed_fields():
    """What the API server notes of a pod, two thirds of what kubectl prints with --show-managed-fields."""
    conditions = {f'k:{{"type":"{kind}"}}': fields("lastProbeTime", "lastTransitionTime", "message", "reason", "status", "type")
                  for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")}
    container = fields("image", "imagePullPolicy", "name", "resources", "terminationMessagePath", "volumeMounts")
    spec = {**fields("dnsPolicy", "restartPolicy", "schedulerName"), "f:containers": {'k:{"name":"main"}': container}}
    return [{"manager": "kubelet", "operation": "Update", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:spec": spec, "f:status": {"f:conditions": conditions, **fields("phase", "podIP")}}}
            for _ in range(4)]


def exported_pod(number, **metadata):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"pod-{number}", "namespace": "team", **metadata},
            "spec": {"nodeName": "n", "containers": [{"name": "main", "resources": {"limits": {"cpu": "1m"}}}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1",
                       "conditions": [{"type": "Ready", "status": "True", "message": "", "lastProbeTime": None}],
                       "containerStatuses": [{"name": "main", "state": {"running": {"startedAt": "x"}}}]}}


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "managedFields": managed_fields()},
        "status": {"allocatable": {"cpu": "1000", "memory": "1Ti", "pods": "1000000"},
                   "images": [{"names": ["image"], "sizeBytes": 1}] * 50,
                   "conditions": [{"type": "Ready", "status": "True", "message": "posts"}]}}


class Memory(CliTest):
    def peak_mib(self, *arguments):
        """The most memory that the program takes, which has to succeed."""
        done = subprocess.run([sys.executable, "-c", MEASURED, VGPUSIM, *map(str, arguments)], env=self.environment,
                              cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return int(done.stdout) * 1024 / MIB

    def growth_mib(self, small, large):
        """By how much more memory the second command takes: what the program itself takes does not count."""
        own = self.peak_mib(*small)
        return self.peak_mib(*large) - own

    def generate(self, model, pods):
        return ["generate", MODELS / model, "--pods", pods, "--out", self.out]

    def test_a_generated_list_is_written_as_it_is_made(self):
        """1,000,000 pods took 284 MiB: their names and their text, besides what was drawn."""
        grown = self.growth_mib(self.generate("openb-like.json", 100), self.generate("openb-like.json", 1_000_000))
        self.assertLess(grown, 60)
        self.assertGreater((self.out / "pods.csv").stat().st_size, 60 * MIB)

    def test_a_generated_table_of_arrivals_is_not_kept(self):
        """1,000,000 rows took 313 MiB."""
        grown = self.growth_mib(self.generate("every-mode.json", 100), self.generate("every-mode.json", 1_000_000))
        self.assertLess(grown, 20)
        self.assertGreater((self.out / "arrivals.csv").stat().st_size, 60 * MIB)

    def test_a_list_written_into_a_pipe_is_the_same(self):
        self.assert_done(self.vgpusim(*self.generate("quickstart.json", 50_000)))
        wanted = (self.out / "pods.csv").read_bytes()
        self.assertGreater(len(wanted), 2 * MIB) # several pieces
        (self.out / "pods.csv").unlink()
        done, received = self.vgpusim_into_pipe(self.out / "pods.csv", *self.generate("quickstart.json", 50_000))
        self.assert_done(done)
        self.assertEqual(received, wanted)

    def export(self, name, pods, **metadata):
        items = [NODE] + [exported_pod(i, **metadata) for i in range(pods)]
        return self.write(name, json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def test_an_export_takes_no_memory_for_what_nothing_reads(self):
        """12,000 pods took 350 MiB more with managedFields than without; now the text alone is larger."""
        plain, full = self.export("plain.json", 12_000), self.export("full.json", 12_000, managedFields=managed_fields())
        larger = (os.path.getsize(full) - os.path.getsize(plain)) / MIB
        self.assertGreater(larger, 20)
        self.assertLess(self.growth_mib(["whatif", plain], ["whatif", full]), 2 * larger)
        answers = [self.vgpusim("whatif", file, "--json") for file in (plain, full)]
        self.assert_done(answers[0])
        self.assertEqual(answers[0].stdout, answers[1].stdout)

    def test_a_limit_says_what_can_be_left_out(self):
        large = self.write("large.json.gz", gzip.compress(b" " * (256 * MIB + 1), compresslevel=1))
        for command in (["whatif", large], ["snapshot", large, "--out", self.out / "s.json"]):
            self.assert_refused(self.vgpusim(*command), "at most 256 MiB of text; of an export, metadata.managedFields can be "
                                "left out")

    def test_an_answer_is_made_in_one_form(self):
        """Of 100,000 pods that are added, JSON beside the text that is shown took 230 MiB more."""
        nodes = self.write("nodes.json", json.dumps(cluster(gpu_node("a", cards=10, cpu="200"))))
        asked = [["whatif", nodes, "--add-nodes", "a=1000", "--add-pods", self.write(f"{replicas}.json", json.dumps(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
             "spec": {"replicas": replicas, "template": pod("web", vgpu(400))}}))] for replicas in (1, 100_000)]
        self.assertLess(self.growth_mib(*asked), 150)


if __name__ == "__main__":
    unittest.main()
