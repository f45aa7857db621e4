"""compat:volcano as a policy of run and compare."""

import json
import unittest

from support import CliTest, read_csv

NODES = {"kind": "Node", "apiVersion": "v1",
         "metadata": {"name": "node-a", "annotations": {
             "volcano.sh/node-vgpu-register": "GPU-00,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:"}},
         "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110", "volcano.sh/vgpu-number": "10",
                                    "volcano.sh/vgpu-memory": "40960", "volcano.sh/vgpu-cores": "100"}}}
POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "small"},
       "spec": {"containers": [{"name": "c", "resources": {"limits": {"volcano.sh/vgpu-number": "1",
                                                                      "volcano.sh/vgpu-memory": "5000"}}}]}}
CONFIG = """nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceCoreName: volcano.sh/vgpu-cores
  gpuMemoryFactor: 1
  knownMigGeometries:
  - models: [A100]
    allowedGeometries:
    - group: group1
      geometries: [{name: 1g.5gb, memory: 5120, count: 7}]
"""


class VolcanoRunTest(CliTest):
    def command(self, arrivals, *more):
        files = {"nodes.json": json.dumps(NODES), "classes.json": json.dumps(POD), "config.yaml": CONFIG,
                 "arrivals.csv": "name,class,arrival,duration\n" + arrivals}
        for name, text in files.items():
            (self.root / name).write_text(text)
        return ["--format", "kubernetes", "--nodes", str(self.root / "nodes.json"), "--classes",
                str(self.root / "classes.json"), "--pods", str(self.root / "arrivals.csv"), "--config",
                str(self.root / "config.yaml"), "--out", str(self.out), *more]

    def test_an_instance_is_given_twice_in_one_session(self):
        # Q1: both pods of the instant get instance 0 of group1, and the third, of the next session, gets instance 1.
        arguments = self.command("a,small,0,10\nb,small,0,10\nc,small,5,20\n")
        self.assert_done(self.vgpusim("compare", *arguments, "--policy", "compat:volcano", "--policy", "binpack"))
        upstream, native = json.loads((self.out / "compare.json").read_text())
        self.assertEqual(upstream["overcommitted"], {"devices_max": 1, "devices_end": 0, "pods_not_counted": 0})
        self.assertEqual(native["overcommitted"], {"devices_max": 0, "devices_end": 0, "pods_not_counted": 0})
        self.assertEqual([row["gpus"] for row in read_csv(self.out / "compat-volcano" / "pods.csv")], ["0", "0", "0"])

    def test_what_it_cannot_decide_is_refused(self):
        arguments = self.command("a,small,0,10\n")
        for discipline in ("easy", "priority", "priority+fifo", "priority+easy"):
            refusal = self.vgpusim("run", *arguments, "--policy", "compat:volcano", "--discipline", discipline)
            self.assert_refused(refusal, "discipline", discipline, "try_once, fifo, gang")
        for discipline in ("try_once", "fifo", "gang"):
            self.assert_done(self.vgpusim("run", *arguments, "--policy", "compat:volcano", "--discipline", discipline))
        self.out = self.root / "refused"
        ours = self.write("ours.conf", "tiers:\n- plugins:\n  - name: vgpualloc\n    arguments: {vgpualloc.policy: spread}\n")
        for command, more in (("run", []), ("compare", ["--policy", "binpack"])):
            refusal = self.vgpusim(command, *arguments, "--policy", "compat:volcano", *more, "--scheduler-config", ours)
            self.assert_refused(refusal, "scheduler_config", "ours.conf", "plugin deviceshare")
        self.assert_done(self.vgpusim("run", *self.command("a,small,0,10\n"), "--policy", "binpack", "--scheduler-config", ours))
        self.out = self.root / "refused too"
        arguments = self.command("a,small,0,10\n")
        (self.root / "events.csv").write_text("time,what,node,device\n5,fails,node-a,0\n")
        for command, more in (("run", []), ("compare", ["--policy", "binpack"])):
            refusal = self.vgpusim(command, *arguments, "--policy", "compat:volcano", *more, "--events", self.root / "events.csv")
            self.assert_refused(refusal, "events", "device 0 of node node-a", "events of whole nodes")


if __name__ == "__main__":
    unittest.main()
