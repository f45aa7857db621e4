"""vgpusim explain on clusters as they are: what nodes offer, NVIDIA's own plugin, several configurations, MIG without a
geometry, HAMi's ranking, and what was not considered."""

import json
import re
import time
import unittest

from support import CliTest

A100 = "NVIDIA-NVIDIA A100-SXM4-80GB"
HOST = {"cpu": "64", "memory": "256Gi", "pods": "110"}


def node(name, allocatable, annotations=None, labels=None, **more):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}, **more.pop("metadata", {})},
            "spec": more.pop("spec", {}), "status": {"allocatable": {**HOST, **allocatable}, **more}}


def gpus(ids, mode="hami-core", model=A100, count=10):
    return json.dumps([{"id": uuid, "index": i, "count": count, "devmem": 81920, "devcore": 100, "type": model,
                        "mode": mode, "health": True} for i, uuid in enumerate(ids)])


def hami_node(name, ids=("GPU-a",), offered="10", **more):
    return node(name, {"nvidia.com/gpu": offered}, {"hami.io/node-nvidia-register": gpus(ids)}, **more)


def volcano_node(name, cards, **more):
    return node(name, {"volcano.sh/vgpu-number": "10", "volcano.sh/vgpu-memory": "81920", "volcano.sh/vgpu-cores": "100"},
                {"volcano.sh/node-vgpu-register": cards}, **more)


def pod(name, limits, annotations=None, where=None, spec=None, **metadata):
    content = {"containers": [{"name": "c", "image": "x", "resources": {"limits": limits}}], **(spec or {})}
    if where:
        content["nodeName"] = where
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "d", "annotations": annotations or {}, **metadata},
            "spec": content, "status": {"phase": "Running" if where else "Pending"}}


def has(uuid, memory, cores=0):
    return {"hami.io/vgpu-devices-allocated": f"{uuid},NVIDIA,{memory},{cores}:;"}


WHOLE = {"nvidia.com/gpu": "1"}
PART = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"}
VGPU = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "8000"}
NPU = {"commonWord": "Ascend310P", "chipName": "310P3", "resourceName": "huawei.com/Ascend310P",
       "resourceMemoryName": "huawei.com/Ascend310P-memory", "memoryAllocatable": 21527, "memoryCapacity": 24576,
       "aiCore": 8, "aiCPU": 7, "templates": [{"name": "vir01", "memory": 3072, "aiCore": 1, "aiCPU": 1}]}


class NodesTest(CliTest):
    def cluster(self, *objects):
        return self.write("cluster.json", json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))

    def explain(self, *objects, name="w", flags=()):
        result = self.vgpusim("explain", self.cluster(*objects), "--pod", name, "--json", *flags)
        self.assert_done(result)
        return json.loads(result.stdout)

    def text(self, *objects, name="w", flags=()):
        result = self.vgpusim("explain", self.cluster(*objects), "--pod", name, *flags)
        self.assert_done(result)
        return result.stdout

    def reasons(self, document):
        return {entry["name"]: entry["fits"] or entry["reason"]["text"] for entry in document["nodes"]}

    def test_only_nodes_that_offer_the_resource(self):
        volcano = volcano_node("volcano", f"GPU-t,10,81920,{A100},true,hami-core:")
        objects = [volcano, hami_node("zero", offered="0"), hami_node("absent", offered="0"), hami_node("good")]
        del objects[2]["status"]["allocatable"]["nvidia.com/gpu"]
        answers = self.reasons(self.explain(*objects, pod("w", PART)))
        self.assertEqual(answers["volcano"], "resource_not_offered: wants nvidia.com/gpu, the node offers none of it, "
                         "only volcano.sh/vgpu-cores, volcano.sh/vgpu-memory, volcano.sh/vgpu-number")
        none = "resource_not_offered: wants nvidia.com/gpu, the node offers no extended resource"
        self.assertEqual(answers, {"volcano": answers["volcano"], "zero": none, "absent": none, "good": True})
        # A pod that names memory only is given a count at admission.
        self.assertEqual(self.reasons(self.explain(hami_node("zero", offered="0"), pod("w", {"nvidia.com/gpumem": 1})))["zero"],
                         none)
        # The other way round, and what no dialect reads.
        answers = self.reasons(self.explain(volcano, hami_node("hami"), pod("w", VGPU)))
        self.assertTrue(answers["hami"].startswith("resource_not_offered: wants volcano.sh/vgpu-"), answers)
        self.assertIs(answers["volcano"], True)
        with_rdma = node("rdma", {"example.com/rdma": "1", "nvidia.com/gpu": "1"})
        document = self.explain(with_rdma, hami_node("hami"), pod("w", {**WHOLE, "example.com/rdma": "1"}))
        self.assertEqual(document["choice"]["node"], "rdma")
        self.assertIn("wants example.com/rdma", self.reasons(document)["hami"])
        self.assertEqual(document["not_considered"],
                         ["how much of a resource is left, only whether a node offers it: example.com/rdma"])

    def test_npus_and_cce_are_offered_too(self):
        register = {"hami.io/node-register-Ascend310P": json.dumps(
            [{"id": "N0", "index": 0, "count": 7, "devmem": 21527, "devcore": 8, "type": "Ascend310P", "health": True}])}
        asks = pod("w", {"huawei.com/Ascend310P": "1", "huawei.com/Ascend310P-memory": "2000"})
        for offered in "7", "0":
            document = self.explain(node("n", {"huawei.com/Ascend310P": offered}, register), asks)
            self.assertEqual(document["choice"]["node"], "n" if offered == "7" else None)
        cce = {"volcano.sh/gpu-mem.128Mi": "128", "volcano.sh/gpu-core.percentage": "100"}
        asks = pod("w", {"volcano.sh/gpu-mem.128Mi": "8"}, spec={"schedulerName": "volcano"})
        self.assertEqual(self.explain(node("n", cce), asks)["choice"]["node"], "n")

    def test_nvidias_own_plugin(self):
        labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}
        plain = node("plain", {"nvidia.com/gpu": "4"}, labels=labels)
        document = self.explain(plain, pod("runs", {"nvidia.com/gpu": "2"}, where="plain"), pod("w", WHOLE))
        self.assertEqual(document["choice"]["node"], "plain")
        self.assertEqual(document["warnings"], [])
        self.assertEqual(document["choice"]["annotations"], {}, "the kubelet chooses")
        devices = document["nodes"][0]["devices"]
        self.assertEqual([(device["mode"], device["dialect"], device["model"], device["memory_mib"], device["slots_used"])
                          for device in devices],
                         [("exclusive", "nvidia", "NVIDIA-A100-SXM4-80GB", 81920, used) for used in (1, 1, 0, 0)])
        self.assertEqual(document["policy"], "bid_price")
        del plain["metadata"]["labels"]["nvidia.com/gpu.memory"]
        known = self.explain(plain, pod("w", WHOLE))["nodes"][0]["devices"][0]
        self.assertEqual(known["memory_mib"], 81920, "by the catalog")
        # A full node is full, and the kubelet's plugin knows no parts.
        full = [plain, pod("a", {"nvidia.com/gpu": "3"}, where="plain"), pod("b", WHOLE, where="plain")]
        self.assertEqual(self.reasons(self.explain(*full, pod("w", WHOLE)))["plain"],
                         "device_taken_whole: wanted 1 device, available 0 devices")
        self.assertIn("wants nvidia.com/gpumem", self.reasons(self.explain(plain, pod("w", PART)))["plain"])
        # More than there is: what there is counts.
        document = self.explain(*full, pod("c", {"nvidia.com/gpu": "2"}, where="plain"), pod("w", WHOLE))
        self.assertIn("no more than node plain has", document["warnings"][0]["message"])
        self.assertIsNone(document["choice"]["node"])
        validated = self.vgpusim("validate", self.cluster(plain))
        self.assert_done(validated)
        self.assertIn("nvidia: 4 x NVIDIA-A100-SXM4-80GB, 81920 MiB, mode exclusive", validated.stdout)

    def test_gpus_that_failed_are_capacity_only(self):
        failing = node("n", {"nvidia.com/gpu": "1"}, capacity={"nvidia.com/gpu": "2"})
        document = self.explain(failing, pod("a", WHOLE, where="n"), pod("w", WHOLE))
        self.assertEqual([device["healthy"] for device in document["nodes"][0]["devices"]], [True, False])
        self.assertIsNone(document["choice"]["node"])
        wrong = self.vgpusim("validate", self.cluster(node("n", {"nvidia.com/gpu": "1025"})))
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("allocatable nvidia.com/gpu: got '1025', expected a whole number up to 1024", wrong.stdout)

    def test_what_dra_gives_is_named(self):
        """A pod whose resource a DeviceClass stands for was told too_few_devices, and nothing of DRA."""
        by_dra = [{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"},
                   "spec": {"extendedResourceName": "nvidia.com/gpu"}},
                  {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n-gpu.nvidia.com-x"},
                   "spec": {"driver": "gpu.nvidia.com", "nodeName": "n", "devices": [{"name": "gpu-0"}]}}]
        objects = [node("n", {}), *by_dra, pod("w", WHOLE)]
        told = self.explain(*objects)["not_considered"]
        self.assertEqual(told, ["that DRA gives nvidia.com/gpu (DeviceClass gpu.nvidia.com): devices of ResourceSlices are not read",
                                "DeviceClass: gpu.nvidia.com", "ResourceSlice: n-gpu.nvidia.com-x"])
        implicit = pod("w", {"deviceclass.resource.kubernetes.io/gpu.nvidia.com": "1"})
        self.assertIn("that DRA gives deviceclass.resource.kubernetes.io/gpu.nvidia.com (DeviceClass gpu.nvidia.com): "
                      "devices of ResourceSlices are not read", self.explain(node("n", {}), *by_dra, implicit)["not_considered"])
        self.assertEqual(self.explain(node("n", {"nvidia.com/gpu": "1"}), pod("w", WHOLE))["not_considered"], [])

    def test_another_scheduler_is_named(self):
        """Only CCE's pods were looked at."""
        limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "1000", "volcano.sh/vgpu-cores": "10"}
        objects = [volcano_node("n", f"GPU-t,10,81920,{A100},true,hami-core:")]
        other = "spec.schedulerName: got 'default-scheduler', and of dialect volcano_vgpu only volcano, or a scheduler that asks vgpualloc, chooses devices"
        self.assertEqual(self.explain(*objects, pod("w", limits, spec={"schedulerName": "default-scheduler"}))["not_considered"], [other])
        for spec in ({"schedulerName": "volcano"}, {}):
            self.assertEqual(self.explain(*objects, pod("w", limits, spec=spec))["not_considered"], [])

    def test_a_node_has_all_its_reasons_with_numbers(self):
        """Only the first was told, and whole GPUs that are taken had no numbers."""
        full = node("full", {"nvidia.com/gpu": "8", "cpu": "16"}, labels={"zone": "a"})
        objects = [full, pod("r", {"nvidia.com/gpu": "8", "cpu": "15"}, where="full")]
        wanted = {"nvidia.com/gpu": "4", "cpu": "4"}
        [entry] = self.explain(*objects, pod("w", wanted))["nodes"]
        self.assertEqual((entry["reason"]["code"], [reason["text"] for reason in entry["also"]]),
                         ("insufficient_cpu", ["device_taken_whole: wanted 4 devices, available 0 devices"]))
        self.assertIn("; also device_taken_whole: wanted 4 devices, available 0 devices\n", self.text(*objects, pod("w", wanted)))
        elsewhere = pod("w", wanted)
        elsewhere["spec"]["nodeSelector"] = {"zone": "b"}
        [entry] = self.explain(*objects, elsewhere)["nodes"]
        self.assertEqual((entry["reason"]["code"], [reason["code"] for reason in entry["also"]]),
                         ("node_selector_differs", ["insufficient_cpu", "device_taken_whole"]))
        some = [full, pod("r", {"nvidia.com/gpu": "5", "cpu": "1"}, where="full")]
        [entry] = self.explain(*some, pod("w", wanted))["nodes"]
        self.assertEqual((entry["reason"]["text"], entry["also"]), ("too_few_devices: wanted 4 devices, available 3 devices", []))

    def test_what_keeps_pods_off_a_node_hides_no_device_that_is_taken(self):
        """Of such nodes only what keeps the pod off was told."""
        also = ["device_taken_whole: wanted 2 devices, available 0 devices"]
        cases = {"taint_not_tolerated": {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
                 "node_unschedulable": {"spec": {"unschedulable": True}},
                 "node_not_ready": {"conditions": [{"type": "Ready", "status": "False"}]},
                 "too_many_pods": {}}
        for code, how in cases.items():
            where = node("full", {"nvidia.com/gpu": "8", "pods": "1" if code == "too_many_pods" else "110"}, **how)
            [entry] = self.explain(where, pod("r", {"nvidia.com/gpu": "8"}, where="full"), pod("w", {"nvidia.com/gpu": "2"}))["nodes"]
            self.assertEqual((entry["reason"]["code"], [reason["text"] for reason in entry["also"]]), (code, also))
        closed = node("full", {"nvidia.com/gpu": "8"}, spec={"unschedulable": True})
        for running, wanted, told in (("7", "2", ["too_few_devices: wanted 2 devices, available 1 device"]), ("6", "2", []),
                                      ("1", "9", ["too_few_devices: wanted 9 devices, available 7 devices"])):
            [entry] = self.explain(closed, pod("r", {"nvidia.com/gpu": running}, where="full"), pod("w", {"nvidia.com/gpu": wanted}))["nodes"]
            self.assertEqual([reason["text"] for reason in entry["also"]], told, (running, wanted))

    def test_devices_that_are_short_of_different_amounts_are_all_told(self):
        """Where one card is short of memory and another of cores, only one of both was told."""
        objects = [hami_node("n", ["GPU-0", "GPU-1"], spec={"unschedulable": True}), pod("a", PART, has("GPU-0", 80000, 10), "n"),
                   pod("b", PART, has("GPU-1", 1000, 70), "n")]
        told = ["insufficient_device_memory: wanted 3000 MiB, available 1920 MiB", "insufficient_device_cores: wanted 50 %, available 30 %"]
        wanted = pod("w", {**PART, "nvidia.com/gpucores": "50"})
        [entry] = self.explain(*objects, wanted)["nodes"]
        self.assertEqual([reason["text"] for reason in [entry["reason"], *entry["also"]]], ["node_unschedulable: the node is cordoned", *told])
        objects[0]["spec"] = {}
        [entry] = self.explain(*objects, wanted)["nodes"]
        self.assertEqual([reason["text"] for reason in [entry["reason"], *entry["also"]]], told)
        self.assertEqual([reason["device"] for reason in [entry["reason"], *entry["also"]]], ["GPU-0", "GPU-1"])

    def test_mig_instances_of_nvidias_plugin(self):
        resource = "nvidia.com/mig-3g.20gb"
        mixed = node("n", {resource: "2", "nvidia.com/mig-1g.5gb": "1"},
                     labels={resource + ".memory": "19968", "nvidia.com/mig.strategy": "mixed"})
        objects = [mixed, pod("runs", {resource: "1"}, where="n")]
        document = self.explain(*objects, pod("w", {resource: "1"}))
        [share] = document["choice"]["shares"]
        self.assertEqual((share["uuid"], share["part"]["memory_mib"], share["part"]["words"]),
                         ("n/mig/0", 19968, "mig 3g.20gb, instance 1"))
        self.assertEqual([(device["family"], device["slots"]) for device in document["nodes"][0]["devices"]], [("nvidia.com/mig", 3)])
        self.assertIsNone(self.explain(*objects, pod("w", {resource: "2"}))["choice"]["node"])
        self.assertIsNone(self.explain(*objects, pod("w", WHOLE))["choice"]["node"])
        validated = self.vgpusim("validate", self.cluster(pod("w", {resource: "1"})))
        self.assert_done(validated)
        self.assertIn("nvidia: container c: 1 device", validated.stdout)
        single = node("n", {"nvidia.com/gpu": "7"}, labels={
            "nvidia.com/mig.strategy": "single", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"})
        self.assertIn("c gets of device 0 (n/gpu/0): mig 1g.5gb, instance 0", self.text(single, pod("w", WHOLE)))

    def test_shared_gpus_that_are_no_whole_ones_are_called_shared(self):
        labels = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "3",
                  "nvidia.com/gpu.sharing-strategy": "mps"}
        for resource in "nvidia.com/gpu", "nvidia.com/gpu.shared":
            shared = node("n", {resource: "8"}, labels=labels)
            text = self.text(shared, pod("w", {resource: "1"}))
            self.assertIn("these are shared by mps, 3 containers on each", text)
            self.assertIn("chosen: n", text)

    def test_gpus_that_take_turns_are_gpus(self):
        labels = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4",
                  "nvidia.com/gpu.sharing-strategy": "time-slicing"}
        for resource in "nvidia.com/gpu", "nvidia.com/gpu.shared":
            objects = [node("n", {resource: "8"}, labels=labels), *(pod(f"p{i}", {resource: "1"}, where="n") for i in range(5))]
            document = self.explain(*objects, pod("w", {resource: "1"}))
            self.assertEqual([(device["mode"], device["shares_faults"]) for device in document["nodes"][0]["devices"]],
                             [("time_slicing", True)] * 2)
            [share] = document["choice"]["shares"]
            self.assertEqual((share["device"], share["part"]["words"]), (1, "neither memory nor compute limited"),
                             "the plugin gives of the GPU with the fewest given out")
            full = [*objects, *(pod(f"q{i}", {resource: "1"}, where="n") for i in range(3))]
            self.assertIsNone(self.explain(*full, pod("w", {resource: "1"}))["choice"]["node"])

    def test_gpus_of_a_sharing_system_are_counted_once(self):
        both = volcano_node("n", f"GPU-t,10,81920,{A100},true,hami-core:")
        both["status"]["allocatable"]["nvidia.com/gpu"] = "1"
        document = self.explain(both, pod("w", VGPU))
        self.assertEqual([device["dialect"] for device in document["nodes"][0]["devices"]], ["volcano_vgpu"])

    def test_several_configurations_add_up(self):
        volcano = self.write("volcano.yaml", json.dumps({"nvidia": {
            "resourceCountName": "example.com/vgpu", "resourceMemoryName": "example.com/memory", "gpuMemoryFactor": 1}}))
        ascend = self.write("ascend.yaml", json.dumps({"vnpus": [NPU]}))
        other = self.write("other.yaml", json.dumps({"vnpus": [{**NPU, "aiCore": 10}]}))
        more = self.write("more.yaml", json.dumps({"vnpus": [
            {**NPU, "commonWord": "Ascend910A", "resourceName": "huawei.com/Ascend910A"}]}))
        asks = {"volcano": pod("v", {"example.com/vgpu": 1}), "npu": pod("n", {"huawei.com/Ascend310P": 1}),
                "hami": pod("h", PART)}
        pods = self.cluster(*asks.values())
        for flags in ["--config", volcano, "--config", ascend], ["--config", ascend, "--config", volcano]:
            self.assert_done(self.vgpusim("validate", pods, *flags))
        # What is built in holds for systems that no configuration names.
        self.assert_done(self.vgpusim("validate", self.cluster(asks["npu"], asks["hami"]), "--config", volcano))
        self.assert_done(self.vgpusim("validate", self.cluster(asks["hami"]), "--config", ascend))
        self.assert_done(self.vgpusim("validate", self.cluster(pod("a", {"huawei.com/Ascend910A": 1})),
                                      "--config", ascend, "--config", more))
        # Different words on one thing.
        refused = self.vgpusim("validate", pods, "--config", ascend, "--config", other)
        self.assert_refused(refused, str(other), "Ascend310P", f"expected the same as in {ascend}")
        # What is switched off is said, and by whom.
        result = self.vgpusim("validate", self.cluster(pod("a", {"huawei.com/Ascend910A": 1})), "--config", ascend)
        self.assert_done(result)
        self.assertIn(f"note: {ascend} switches off what is built in and it does not name: huawei.com/Ascend910A", result.stdout)
        self.assertIn(f"asks for huawei.com/Ascend910A: 1, which no dialect here reads ({ascend} switches it off)",
                      result.stdout)
        self.assertIn(f"note: {ascend} switches off", self.text(hami_node("n"), pod("w", PART), flags=["--config", ascend]))

    def test_mig_without_a_geometry(self):
        catalog = volcano_node("n", f"GPU-m,7,81920,{A100},true,mig:")
        objects = [catalog, pod("runs", VGPU, {"volcano.sh/vgpu-ids-new": "GPU-m[1g.10gb-0],NVIDIA,8000,0:"}, "n")]
        asks = pod("w", {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "9000"}, {"volcano.sh/vgpu-mode": "mig"})
        document = self.explain(*objects, asks)
        self.assertIn("no geometry configured: placements of the catalog for A100-80GB", document["warnings"][0]["message"])
        self.assertEqual(len(document["warnings"]), 1)
        [share] = document["choice"]["shares"]
        self.assertEqual((share["part"]["kind"], share["part"]["name"], share["part"]["start"]), ("mig_instance", "1g.10gb", 1))
        self.assertEqual(document["choice"]["annotations"]["volcano.sh/vgpu-ids-new"], "GPU-m[1g.10gb-1],NVIDIA,9000,0:")
        validated = self.vgpusim("validate", self.cluster(catalog))
        self.assert_done(validated)
        self.assertIn("mode mig", validated.stdout)
        self.assertIn("placements of the catalog for A100-80GB", validated.stdout)
        unknown = volcano_node("n", "GPU-m,7,81920,NVIDIA-Z1,true,mig:")
        document = self.explain(unknown, asks)
        self.assertIsNone(document["choice"]["node"])
        self.assertEqual(document["nodes"][0]["devices"][0]["mode"], "mig")
        self.assertIn("no geometry known, give --config", document["warnings"][0]["message"])
        hami = node("n", {"nvidia.com/gpu": "7"}, {"hami.io/node-nvidia-register": gpus(["G"], "mig")})
        self.assertIn("placements of the catalog for A100-80GB", self.text(hami, pod("w", PART)))

    def test_a_mode_that_is_not_known(self):
        unknown = volcano_node("n", f"GPU-m,7,81920,{A100},true,turbo:GPU-n,7,81920,{A100},true,hami-core:")
        document = self.explain(unknown, pod("w", VGPU))
        self.assertIn("card 0 mode: got 'turbo', expected hami-core, mig or mps", document["warnings"][0]["message"])
        self.assertEqual([share["uuid"] for share in document["choice"]["shares"]], ["GPU-n"])

    def test_what_cannot_be_read_lets_nobody_in(self):
        for spec in {"unschedulable": "maybe"}, {"taints": "x"}, {"taints": [{"key": "a", "effect": "Never"}]}, "x":
            document = self.explain(hami_node("n", spec=spec), pod("w", PART))
            self.assertIsNone(document["choice"]["node"], spec)
            self.assertIn("cannot be read, so no pod is let in", self.reasons(document)["n"])
        unready = hami_node("n", conditions=[{"type": "Ready", "status": "perhaps"}])
        self.assertIn("condition Ready of the node cannot be read", self.text(unready, pod("w", PART)))

    def test_a_pod_on_a_node_that_is_not_there(self):
        result = self.vgpusim("explain", self.cluster(hami_node("n"), pod("w", PART, where="n9")), "--pod", "w")
        self.assert_refused(result, "bound to n9, which is not among the nodes")

    def test_the_answer_comes_first_and_nodes_that_are_alike_are_one_line(self):
        """What refuses 30 nodes is a line; devices are those of the nodes between which is chosen."""
        full = [hami_node(f"full-{i:02}", [f"GPU-{i:02}"]) for i in range(30)]
        users = [pod(f"r{i:02}", PART, has(f"GPU-{i:02}", 80000 - i), where=f"full-{i:02}") for i in range(30)]
        text = self.text(*full, *users, hami_node("free", ["GPU-f"]), hami_node("next", ["GPU-n"]), pod("w", PART))
        self.assertRegex(text, r"(?m)^chosen: free, .*\(2 of 32 nodes fit\)$")
        self.assertIn(f"\n  30 nodes of 1 x {A100} (hami_core), 64000 mCPU, 262144 MiB (full-29 comes closest): "
                      "insufficient_device_memory: wanted 3000 MiB, available 1949 MiB (GPU-29)\n", text)
        self.assertEqual([word for word in ("GPU-f", "GPU-n", "GPU-00", "GPU-28") if re.search(rf" {word} +NVIDIA", text)], ["GPU-f", "GPU-n"])
        self.assertNotRegex(text, r"(?m)^full-")
        everything = self.text(*full, *users, hami_node("free", ["GPU-f"]), pod("w", PART), flags=["--all"])
        self.assertEqual(len(re.findall(r"(?m)^full-", everything)), 60)
        self.assertNotIn(" nodes of ", everything)
        one = self.text(*full, *users, pod("w", PART), flags=["--node", "full-03"])
        self.assertEqual(len(re.findall(r"(?m)^full-03 ", one)), 2)
        self.assertEqual(len(re.findall(r"(?m)^full-", one)), 2)

    def test_where_nothing_fits_the_devices_are_those_of_the_closest_node(self):
        """Neither a node without a GPU nor one that lacks several things, but the one with the most of what is wanted."""
        picky = hami_node("picky", ["GPU-p"], spec={"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]})
        nodes = [node("cpu", {}), picky, hami_node("a", ["GPU-a"]), hami_node("b", ["GPU-b"])]
        users = [pod("ra", PART, has("GPU-a", 80000), where="a"), pod("rb", PART, has("GPU-b", 79500), where="b"),
                 pod("rp", PART, has("GPU-p", 79500), where="picky")]
        lines = self.text(*nodes, *users, pod("w", PART)).splitlines()
        answer = next(i for i, line in enumerate(lines) if line.startswith("0/4 nodes are available: "))
        self.assertTrue(all(line.startswith(("pod ", "  ", "policy ")) or not line for line in lines[:answer]), lines)
        self.assertEqual([line.split()[0] for line in lines if line.startswith(("cpu ", "picky ", "a ", "b "))], ["b"])
        self.assertTrue(any("(b comes closest): insufficient_device_memory: wanted 3000 MiB, available 2420 MiB" in line
                            for line in lines), lines)

    def test_warnings_are_few(self):
        objects = [hami_node("n"), pod("w", PART)] + [pod(f"b{i:03}", PART, where="n") for i in range(50)]
        text = self.text(*objects)
        self.assertEqual(text.count("warning: "), 21)
        self.assertIn("warning: 30 more like these of annotations (--json has all)", text)
        self.assertEqual(len(self.explain(*objects)["warnings"]), 50)
        file = self.cluster(*objects)
        for command, *flags in (["whatif"], ["plan", "--pod", "d/w"], ["snapshot"]):
            with self.subTest(command=command):
                done = self.vgpusim(command, file, *flags)
                self.assert_done(done)
                self.assertEqual(sum("its devices of node" in line for line in done.stdout.splitlines()), 20, done.stdout)
                self.assertRegex(done.stdout, r"\n(warning:|) *30 more like these of annotations \(--json has all\)\n")
                told = json.loads(self.vgpusim(command, file, *flags, "--json").stdout)
                self.assertEqual(len(told.get("warnings", told.get("differences"))), 50)

    def test_pods_whose_use_is_not_known(self):
        cce = node("n", {"volcano.sh/gpu-mem.128Mi": "128", "volcano.sh/gpu-core.percentage": "100"})
        asks = {"volcano.sh/gpu-mem.128Mi": "8"}
        spec = {"schedulerName": "volcano"}
        text = self.text(cce, pod("b", asks, where="n", spec=spec), pod("w", asks, spec=spec))
        self.assertIn("pod d/b: annotations: missing; expected its devices of node n in dialect cce; what it uses of them is not counted",
                      text)

    def test_cce_is_served_by_volcano_alone(self):  # R114
        cce = node("n", {"volcano.sh/gpu-mem.128Mi": "128", "volcano.sh/gpu-core.percentage": "100"})
        for spec in {}, {"schedulerName": "default-scheduler"}:
            asks = pod("w", {"volcano.sh/gpu-mem.128Mi": "8"}, spec=spec)
            refused = self.vgpusim("explain", self.cluster(cce, asks), "--pod", "w")
            self.assert_refused(refused, "spec.schedulerName", "which alone serves dialect cce")
            self.assertIn(refused.stderr.split("spec.schedulerName")[1].strip(),
                          self.vgpusim("validate", self.cluster(asks)).stdout)

    def test_hamis_ranking(self):
        objects = [hami_node("idle", ["GPU-i0", "GPU-i1"]), hami_node("busy", ["GPU-b0", "GPU-b1"]),
                   pod("runs", PART, has("GPU-b0", 3000), "busy")]
        chosen = {}
        for nodes in None, "binpack", "spread":
            for cards in None, "binpack", "spread":
                annotations = {key: value for key, value in (("hami.io/node-scheduler-policy", nodes),
                                                             ("hami.io/gpu-scheduler-policy", cards)) if value}
                document = self.explain(*objects, pod("w", PART, annotations))
                self.assertEqual(document["policy"], "hami")
                self.assertIn(f"nodes {nodes or 'binpack'}", document["ranking"])
                self.assertIn(f"GPUs {cards or 'spread'}", document["ranking"])
                chosen[nodes, cards] = document["choice"]["shares"][0]["uuid"]
        self.assertEqual(chosen, {
            (None, None): "GPU-b1", (None, "binpack"): "GPU-b0", (None, "spread"): "GPU-b1",
            ("binpack", None): "GPU-b1", ("binpack", "binpack"): "GPU-b0", ("binpack", "spread"): "GPU-b1",
            ("spread", None): "GPU-i1", ("spread", "binpack"): "GPU-i1", ("spread", "spread"): "GPU-i1"})
        text = self.text(*objects, pod("w", PART))
        self.assertIn("policy hami: as HAMi ranks: nodes binpack (HAMi's default of flag node-scheduler-policy), GPUs spread "
                      "(HAMi's default of flag gpu-scheduler-policy)", text)
        # HAMi's score: 10 x (1/20 + 0/200 + 3000/163840).
        scores = {entry["name"]: entry["score"] for entry in self.explain(*objects, pod("w", PART))["nodes"]}
        self.assertAlmostEqual(scores["busy"], 10 * (1 / 20 + 3000 / 163840), places=6)
        self.assertEqual(scores["idle"], 0)
        # --policy overrides, and the answer says so.
        annotated = pod("w", PART, {"hami.io/node-scheduler-policy": "spread"})
        document = self.explain(*objects, annotated, flags=["--policy", "best_fit"])
        self.assertEqual(document["policy"], "best_fit")
        self.assertIn("(overrides the pod's hami.io/node-scheduler-policy: spread)", document["ranking"])
        # Volcano's pods are ranked by the default, which is not Volcano's.
        document = self.explain(volcano_node("v", f"GPU-t,10,81920,{A100},true,hami-core:"), pod("w", VGPU))
        self.assertEqual(document["policy"], "bid_price")
        self.assertIn("(the default; --scheduler-config has Volcano's ranking)", document["ranking"])

    def test_of_equal_gpus_the_numa_node_decides(self):
        objects = [hami_node("n", ["GPU-0", "GPU-1", "GPU-2"])]
        register = json.loads(objects[0]["metadata"]["annotations"]["hami.io/node-nvidia-register"])
        for numas, uuid in ((0, 0, 0), "GPU-2"), ((0, 1, 0), "GPU-1"), ((3, 1, 3), "GPU-2"), ((2, -1, 1), "GPU-0"):
            for entry, numa in zip(register, numas):
                entry["numa"] = numa
            objects[0]["metadata"]["annotations"]["hami.io/node-nvidia-register"] = json.dumps(register)
            for order in "binpack", "spread", "binpack,numa":
                document = self.explain(*objects, pod("w", PART, {"hami.io/gpu-scheduler-policy": order}))
                self.assertEqual(document["choice"]["shares"][0]["uuid"], uuid, (numas, order))
                self.assertEqual(document["not_considered"], [])
        document = self.explain(*objects, pod("w", PART, {"hami.io/gpu-scheduler-policy": "numa,binpack"}))
        self.assertIn("that NUMA nodes come first", document["not_considered"][0])

    def test_weights_of_hamis_ranking(self):
        objects = [hami_node("n", ["GPU-0", "GPU-1"]), pod("a", PART, has("GPU-0", 3000), "n"),
                   pod("b", PART, has("GPU-0", 100), "n"), pod("c", PART, has("GPU-1", 40000), "n")]
        for weights, uuid in ("slot=1,core=0,memory=0", "GPU-1"), ("slot=0, core=0,memory=1", "GPU-0"):
            document = self.explain(*objects, pod("w", PART, {"hami.io/device-scoring-weights": weights}))
            self.assertEqual(document["choice"]["shares"][0]["uuid"], uuid, weights)
        for weights in "", "slot=1", "slot=1,core=1,memory=-1", "slot=0,core=0,memory=0", "slot=1,slot=1,memory=1":
            objects_bad = [*objects, pod("w", PART, {"hami.io/device-scoring-weights": weights})]
            self.assert_refused(self.vgpusim("explain", self.cluster(*objects_bad), "--pod", "w"),
                                "hami.io/device-scoring-weights", "HAMi schedules the pod nowhere")

    def test_nothing_is_said_of_what_is_not_there(self):
        document = self.explain(hami_node("n"), pod("runs", PART, has("GPU-a", 3000), "n"), pod("w", PART))
        self.assertEqual(document["not_considered"], [])
        self.assertNotIn("not considered", self.text(hami_node("n"), pod("w", PART)))

    def test_what_was_not_considered(self):
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
        anti = {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}}}
        objects = [
            hami_node("n", spec={"taints": [{"key": "old", "effect": "PreferNoSchedule"}]},
                      metadata={"deletionTimestamp": "2026-11-22T10:00:00Z"}),
            pod("runs", PART, has("GPU-a", 100), "n", spec=anti),
            pod("leaves", PART, has("GPU-a", 100), "n", deletionTimestamp="2026-11-22T10:00:00Z"),
            {"kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "d"}},
            {"kind": "PodDisruptionBudget", "metadata": {"name": "keep", "namespace": "d"}},
            {"kind": "ResourceQuota", "metadata": {"name": "others", "namespace": "e"}},
            pod("w", PART, {"hami.io/gpu-scheduler-policy": "mutex", "scheduling.k8s.io/group-name": "g"}, spec=anti)]
        expected = ["mutex of hami.io/gpu-scheduler-policy: mutex",
                    "preferred pod anti-affinity (spec.affinity.podAntiAffinity)",
                    "that the pods of group g start together (scheduling.k8s.io/group-name)",
                    "that pods are being deleted; they count until they are gone: d/leaves",
                    "taints with effect PreferNoSchedule: n",
                    "that nodes are being deleted: n",
                    "PodDisruptionBudget: keep"]
        self.assertEqual(self.explain(*objects)["not_considered"], expected)
        text = self.text(*objects)
        self.assertTrue(text.endswith("\nnot considered, although it is there:\n  " + "\n  ".join(expected) + "\n"), text)

    def test_a_thousand_nodes(self):
        objects = [hami_node(f"n{i:04}", [f"GPU-{i}-{k}" for k in range(8)], "80") for i in range(500)]
        objects += [node(f"p{i:04}", {"nvidia.com/gpu": "8"}) for i in range(500)]
        objects += [pod(f"r{i:04}", {"nvidia.com/gpu": "7"}, where=f"p{i:04}") for i in range(500)]
        path = self.cluster(*objects, pod("w", WHOLE))
        begin = time.monotonic()
        self.assert_done(self.vgpusim("explain", path, "--pod", "w"))
        self.assertLess(time.monotonic() - begin, 20, "2 s where nothing else runs")


if __name__ == "__main__":
    unittest.main()
