"""vgpusim explain: a mixed cluster as kubectl prints it, the seeds' pods, what fits where and why, and bad input."""

import json
import unittest

from support import SOURCE, CliTest

DATA = SOURCE / "tests" / "data" / "explain"
CLUSTER = DATA / "cluster.yaml"
CONFIG = DATA / "device-config.yaml"
MANIFESTS = SOURCE / "scenarios" / "manifests"

# Member -> type, of every object of the document; "?" marks members that may be absent. A list has the type of its items.
ERROR = {"where": str, "field": str, "value": str, "expected": str, "message": str}
REASON = {"code": str, "wanted": int, "available": int, "unit": str, "text": str, "rule?": str, "device?": str,
          "container?": int, "devices?": dict}
PART = {"kind": str, "memory_mib": int, "cores": int, "words": str, "name?": str, "group?": str, "start?": int}
SHARE = {"container": int, "device": int, "uuid": str, "part": PART}
ANSWER = {"fits": bool, "score?": float, "reason?": REASON, "parts": [PART]}
DEVICE = {"index": int, "uuid": str, "model": str, "family": str, "mode": str, "dialect": str, "healthy": bool, "overcommitted": bool, "shares_faults": bool,
          "memory_mib": int, "memory_used_mib": int, "cores": int, "cores_used": int, "slots": int, "slots_used": int,
          "used_milli": int, "containers": [ANSWER]}
TERM = {"policy": str, "weight": float, "score": float,
        "parts?": [{"what": str, "worth": float, "amount": float, "price": float}]}
NODE = {"name": str, "fits": bool, "reason": (REASON, None), "also": [REASON], "score?": float, "compromise?": int, "terms?": [TERM],
        "shares?": [SHARE], "devices": [DEVICE]}
REQUEST = {"container": str, "count": int, "memory_percent?": int, "memory_mib?": int, "cores?": int, "family?": str,
           "mode?": str}
POD = {"namespace": str, "name": str, "place": str, "dialect": str, "cpu_milli": int, "memory_mib": int, "tags": [str],
       "avoids": [str], "requests": [REQUEST]}
CHOICE = {"node": (str, None), "reason": str, "nodes_fitting": int, "nodes_tied": int, "runner_up": (str, None),
          "margin": (float, None), "message": str, "gates": [str], "node_without_gates": (str, None), "shares": [SHARE],
          "annotations": dict}
REPLICAS = {"kind": str, "wanted": (int, None), "one_per_node": bool, "min_available": int, "held_back": int, "quota": (str, None),
            "placed": int, "message": str,
            "placements": [{"node": str, "shares": [SHARE]}]}
DOCUMENT = {"pod": POD, "policy": str, "ranking": str, "choice": CHOICE, "replicas": REPLICAS, "nodes": [NODE],
            "notes": [str], "not_considered": [str], "warnings": [ERROR]}


OWN_CATALOG = json.dumps({
    "schema": "vgpualloc-catalog/1", "sources": {"LGIP": "nvidia-smi mig -lgip on our node"},
    "mig": [{"key": "MY-GPU-24GB", "memory_slices": 4, "compute_slices": 4, "card_types": ["MY-GPU"],
             "provenance": {"*": "S:LGIP"}, "profiles": [
                 {"name": "1g.6gb", "kind": "core", "profile_id": 14, "compute_slices": 1, "size": 1,
                  "starts": [0, 1, 2, 3], "max_instances": 4, "memory_mib": 5952, "sm": 14, "provenance": {"*": "S:LGIP"}},
                 {"name": "4g.24gb", "kind": "core", "profile_id": 0, "compute_slices": 4, "size": 4, "starts": [0],
                  "max_instances": 1, "memory_mib": 24000, "sm": 56, "provenance": {"*": "S:LGIP"}}]}],
    "ascend": {"chips": [{"name": "Ascend910X", "chip_name": "910X", "resource": "huawei.com/Ascend910X",
                          "resource_memory": "huawei.com/Ascend910X-memory",
                          "resource_core": "huawei.com/Ascend910X-core", "memory_allocatable_mib": 65536,
                          "memory_capacity_mib": 65536, "ai_core": 20, "ai_cpu": 7, "templates": [
                              {"name": "vir10", "memory_mib": 32768, "ai_core": 10, "ai_cpu": 3}]}]}})


def node(name, annotations, allocatable):
    """A node as JSON, which is YAML as well; several make one file."""
    return "---\n" + json.dumps({"kind": "Node", "metadata": {"name": name, "annotations": annotations},
                                 "status": {"allocatable": {"cpu": "8", "memory": "64Gi", **allocatable}}}) + "\n"


def hami_node(*gpus):
    return node("n1", {"hami.io/node-nvidia-register": json.dumps(gpus)}, {"nvidia.com/gpu": "14"})


def gpu(uuid, model, mode="mig", **more):
    return {"id": uuid, "count": 4, "devmem": 24576, "devcore": 100, "type": model, "mode": mode, "health": True,
            **more}


def waiting(limits, annotations=None, labels=None, name="q", containers=1):
    container_specs = [{"name": f"c{i}", "resources": {"limits": limits}} for i in range(containers)]
    return "---\n" + json.dumps({"kind": "Pod", "metadata": {
        "name": name, "annotations": annotations or {}, "labels": labels or {}}, "spec": {"containers": container_specs}}) + "\n"


def bound(limits, where, annotations, name="b"):
    text = waiting(limits, annotations, name=name)
    return text.replace('"spec": {', f'"spec": {{"nodeName": "{where}", ')


def differences(value, schema, at="$"):
    """What of a value is not as the schema says, as texts."""
    if isinstance(schema, tuple):
        return [] if value is None else differences(value, schema[0], at)
    if isinstance(schema, list):
        return [problem for i, item in enumerate(value) for problem in differences(item, schema[0], f"{at}[{i}]")]
    if isinstance(schema, type):
        return [] if type(value) is schema else [f"{at}: {value!r} is no {schema.__name__}"]
    named = {name.rstrip("?"): name for name in schema}
    problems = [f"{at}.{name}: not in the schema" for name in value if name not in named]
    problems += [f"{at}.{name}: absent" for name in schema if not name.endswith("?") and name not in value]
    return problems + [problem for name in value if name in named
                    for problem in differences(value[name], schema[named[name]], f"{at}.{name}")]


class ExplainTest(CliTest):
    def explain(self, pod, *flags, cluster=CLUSTER, config=CONFIG):
        result = self.vgpusim("explain", cluster, "--pod", pod, "--config", config, *flags)
        self.assert_done(result)
        return result.stdout

    def document(self, pod, *flags, **how):
        document = json.loads(self.explain(pod, "--json", *flags, **how))
        self.assertEqual(differences(document, DOCUMENT), [])
        return document

    def reasons(self, document):
        return {node["name"]: node["reason"] and node["reason"]["code"] for node in document["nodes"]}

    def test_the_seeds_pods(self):
        expected = {  # file -> node, device, part
            "volcano-vgpu-hami-core.yaml": ("core-0", "GPU-a0", "slice 3000 MiB, 50 % of compute"),  # R023
            "volcano-vgpu-mig.yaml": ("mig-0", "GPU-m0", "mig 1g.5gb at slot 1 of group group1"),  # R030
            "ascend-hami-pod.yaml": ("npu-0", "npu-a", "template vir02, 6144 MiB"),  # R098
            "mindcluster-job.yaml": ("npu-1", "Ascend310P-0", "the whole device"),  # R088
        }
        for name, (node, device, words) in expected.items():
            with self.subTest(name=name):
                choice = self.document(MANIFESTS / name)["choice"]
                self.assertEqual((choice["node"], choice["reason"]), (node, "only_one_fits"))
                [share] = choice["shares"]
                self.assertEqual((share["uuid"], share["part"]["words"]), (device, words))

    def test_without_a_mode_the_node_score_decides(self):  # R033, R067
        for policy, node, runner_up in (("best_fit", "mig-0", "core-0"), ("worst_fit", "core-0", "mig-0")):
            choice = self.document("default/waits", "--policy", policy)["choice"]
            self.assertEqual((choice["node"], choice["runner_up"], choice["reason"]), (node, runner_up, "highest_score"))
            self.assertGreater(choice["margin"], 0)

    def test_two_devices_for_a_container(self):  # R059
        document = self.document(MANIFESTS / "volcano-vgpu-job.yaml")
        self.assertEqual(document["pod"]["requests"], [{"container": "trainer", "count": 2, "memory_mib": 10240,
                                                        "family": "NVIDIA"}])
        choice = document["choice"]
        self.assertEqual((choice["node"], choice["reason"]), (None, "nothing_fits"))
        self.assertEqual(choice["message"], "0/6 nodes are available: 4 too_few_devices, 2 family_not_offered.")
        reason = document["nodes"][0]["reason"]
        self.assertEqual((reason["wanted"], reason["available"], reason["unit"]), (2, 1, "devices"))
        self.assertEqual(reason["devices"], {"fit": 1, "device_unhealthy": 1})

    def test_reasons_and_numbers(self):
        document = self.document(MANIFESTS / "volcano-vgpu-hami-core.yaml")
        self.assertEqual(self.reasons(document), {
            "core-0": None, "core-1": "insufficient_device_memory", "mig-0": "mode_not_offered",
            "npu-0": "family_not_offered", "npu-1": "family_not_offered", "cpu-0": "too_few_devices"})
        reason = document["nodes"][1]["reason"]
        self.assertEqual((reason["wanted"], reason["available"], reason["unit"], reason["device"]),
                         (3000, 2048, "MiB", "GPU-b0"))
        healthy, ill = document["nodes"][0]["devices"]
        self.assertTrue(healthy["containers"][0]["fits"])
        self.assertEqual(ill["containers"][0]["reason"]["code"], "device_unhealthy")
        used = document["nodes"][1]["devices"][0]
        self.assertEqual((used["memory_used_mib"], used["cores_used"], used["slots_used"]), (38912, 60, 1))
        self.assertEqual(document["warnings"], [])

    def test_terms_of_a_weighted_sum(self):
        document = self.document("default/waits", "--policy", "weighted:best_fit=0.7,binpack=0.3")
        for node in document["nodes"][0], document["nodes"][2]:
            self.assertEqual([term["policy"] for term in node["terms"]], ["best_fit", "binpack"])
            self.assertEqual([term["weight"] for term in node["terms"]], [0.7, 0.3])
            self.assertEqual(0.7 * node["terms"][0]["score"] + 0.3 * node["terms"][1]["score"], node["score"])
        self.assertIn("0.7 x best_fit", self.explain("default/waits", "--policy", "weighted:best_fit=0.7,binpack=0.3"))

    def test_as_text(self):
        text = self.explain("default/waits", "--policy", "best_fit")
        self.assertIn("host: 1000 mCPU, 1024 MiB of memory", text)
        self.assertEqual(self.document("default/waits")["pod"]["memory_mib"], 1024)
        for line in ("  container main: 1 device, 3000 MiB, any mode, family NVIDIA (dialect volcano_vgpu)",
                     "  main gets of device 0 (GPU-m0): mig 1g.5gb at slot 1 of group group1"):
            self.assertIn(line, text.splitlines())
        self.assertRegex(text, r"(?m)^chosen: mig-0, the highest score; next core-0, [0-9.]+ less \(2 of 6 nodes fit\)$")
        refusal = r"insufficient_device_memory: wanted 3000 MiB, available 2048 MiB \(GPU-b0\)$"
        self.assertRegex(text, r"(?m)^  1 node of 1 x NVIDIA A100-SXM4-40GB \(hami_core\), 32000 mCPU, 131072 MiB \(core-1\): " + refusal)
        self.assertRegex(self.explain("default/waits", "--policy", "best_fit", "--all"), r"(?m)^core-1 +no +" + refusal)
        one = self.explain("default/waits", "--policy", "best_fit", "--node", "core-1")
        self.assertRegex(one, r"(?m)^core-1 +no +" + refusal)
        self.assertNotRegex(one, r"(?m)^core-0 ")

    def test_one_of_something_has_no_plural(self):
        text = self.explain("default/waits", cluster=self.write("one.yaml", node("n1", {}, {}) + waiting(
            {"volcano.sh/vgpu-number": 1}, name="waits")))
        self.assertIn("0/1 nodes are available: 1 too_few_devices.", text)  # as kubectl has it
        self.assertIn("wanted 1 device, available 0 devices", text)
        fits = self.vgpusim("explain", self.write("own.yaml", hami_node(gpu("GPU-0", "NVIDIA T4", "hami-core"))), "--pod",
                            self.write("pod.yaml", waiting({"nvidia.com/gpu": 1}))).stdout
        self.assertIn("(1 of 1 node fits)", fits)
        self.assertIn("container c0: 1 device,", fits)

    def test_what_does_not_fit_is_explained_all_the_same(self):
        text = self.explain("team/waits")
        self.assertIn("0/6 nodes are available: 2 family_not_offered, 2 insufficient_device_memory, ", text)
        self.assertIn("container small, those before it placed", text)

    def test_the_same_from_several_files(self):
        documents = CLUSTER.read_text().split("\n- ")[1:]
        split = [self.write(f"{i}.yaml", "\n".join(line.removeprefix("  ") for line in document.splitlines()))
                 for i, document in enumerate(documents)]
        whole = self.document("default/waits")
        result = self.vgpusim("explain", *split, "--pod", "default/waits", "--config", CONFIG, "--json")
        self.assert_done(result)
        parts = json.loads(result.stdout)
        self.assertNotEqual(parts["pod"].pop("place"), whole["pod"].pop("place"))
        self.assertEqual(parts, whole)

    def test_same_input_same_bytes(self):
        for policy in "fgd", "random":
            self.assertEqual(self.explain("default/waits", "--policy", policy, "--seed", "3"),
                             self.explain("default/waits", "--policy", policy, "--seed", "3"))

    def test_warnings_are_told(self):
        result = self.vgpusim("explain", CLUSTER, "--pod", "default/waits", "--json")
        self.assert_done(result)
        [geometry, assignment] = json.loads(result.stdout)["warnings"]
        self.assertIn("--config", geometry["message"])
        self.assertIn("serve-0", assignment["message"])
        self.assertIn("warning: ", self.vgpusim("explain", CLUSTER, "--pod", "default/waits").stdout)

    def own(self, objects, *flags, pod="q"):
        """The explanation of a pod in a cluster written here."""
        result = self.vgpusim("explain", self.write("own.yaml", objects), "--pod", pod, "--json", *flags)
        self.assert_done(result)
        document = json.loads(result.stdout)
        self.assertEqual(differences(document, DOCUMENT), [])
        return document

    def test_a_users_gpu_model_is_cut_by_its_file(self):  # R066
        cut = [{"containerIndex": 0, "deviceIndex": 0, "gpuUUID": "GPU-0", "profile": "1g.6gb",
                "placement": {"start": 0, "size": 1}}]
        objects = (hami_node(gpu("GPU-0", "NVIDIA MY-GPU")) +
                   bound({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 5000}, "n1", {
                       "hami.io/vgpu-devices-allocated": "GPU-0,NVIDIA,5952,0:;",
                       "hami.io/vgpu-mig-allocations": json.dumps(cut)}) +
                   waiting({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 5000}))
        own = self.write("mine.json", OWN_CATALOG)
        document = self.own(objects, "--file", own)
        [doubt] = document["warnings"]
        self.assertIn("placements of the catalog for MY-GPU-24GB", doubt["message"])
        self.assertEqual(document["nodes"][0]["devices"][0]["memory_used_mib"], 5952)
        [share] = document["choice"]["shares"]
        self.assertEqual((share["part"]["name"], share["part"]["memory_mib"]), ("1g.6gb", 5952))
        self.assertGreater(share["part"]["start"], 0, "the bound pod is at 0")
        without = self.own(objects)
        self.assertIsNone(without["choice"]["node"])
        self.assertIn("NVIDIA MY-GPU", without["warnings"][0]["message"])
        self.assert_refused(self.vgpusim("explain", CLUSTER, "--pod", "default/waits", "--file", CLUSTER), "cluster.yaml")

    def test_a_users_npu_is_cut_by_its_file(self):
        register = {"hami.io/node-register-Ascend910X": json.dumps(
            [{"id": "npu-x", "count": 2, "devmem": 65536, "devcore": 20, "type": "Ascend910X", "health": True}])}
        limits = {"huawei.com/Ascend910X": 1, "huawei.com/Ascend910X-memory": 10000}
        objects = node("n1", register, {"huawei.com/Ascend910X": "2"}) + waiting(limits)
        own = self.write("mine.json", OWN_CATALOG)
        [share] = self.own(objects, "--file", own)["choice"]["shares"]
        self.assertEqual(share["part"]["words"], "template vir10, 32768 MiB")

    def test_annotations_are_those_of_the_real_components(self):
        def written(pod):
            return self.document(pod)["choice"]["annotations"]

        ids = "GPU-a0,NVIDIA,3000,50:"
        self.assertEqual(written(MANIFESTS / "volcano-vgpu-hami-core.yaml"), {
            "volcano.sh/bind-phase": "allocating", "volcano.sh/bind-time": "<time>",
            "volcano.sh/devices-to-allocate": ids, "volcano.sh/vgpu-ids-new": ids, "volcano.sh/vgpu-node": "core-0",
            "volcano.sh/vgpu-time": "<time>"})
        self.assertEqual(written(MANIFESTS / "volcano-vgpu-mig.yaml")["volcano.sh/vgpu-ids-new"],
                         "GPU-m0[group1-1],NVIDIA,3000,0:")
        self.assertEqual(written(MANIFESTS / "mindcluster-job.yaml"),
                         {"huawei.com/npu-core": "0", "predicate-time": "<time>"})
        npu = written(MANIFESTS / "ascend-hami-pod.yaml")
        self.assertEqual(npu["hami.io/Ascend310P-devices-allocated"], "npu-a,Ascend310P,6144,0:;")
        self.assertEqual((npu["hami.io/vgpu-node"], npu["predicate-time"]), ("npu-0", "<time>"))
        self.assertEqual(written(MANIFESTS / "volcano-vgpu-job.yaml"), {}, "it fits nowhere")
        text = self.explain(MANIFESTS / "volcano-vgpu-hami-core.yaml")
        self.assertIn(f"  annotation volcano.sh/vgpu-ids-new: {ids}\n", text)

    def test_annotations_of_hami_gpushare_and_cce(self):
        def written(objects, *flags):
            return self.own(objects, *flags)["choice"]["annotations"]

        cut = written(hami_node(gpu("GPU-0", "NVIDIA MY-GPU")) + waiting({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 5000}),
                      "--file", self.write("mine.json", OWN_CATALOG))
        self.assertEqual(cut["hami.io/vgpu-devices-allocated"], "GPU-0,NVIDIA,5952,25:;")
        [instance] = json.loads(cut["hami.io/vgpu-mig-allocations"])
        self.assertEqual((instance["profile"], instance["placement"]["size"]), ("1g.6gb", 1))
        shared = node("n1", {}, {"volcano.sh/gpu-number": "2", "volcano.sh/gpu-memory": "2000"})
        self.assertIn('"allocatable"', shared)
        shared = shared.replace('"status": {', '"status": {"capacity": {"volcano.sh/gpu-number": "2", '
                                '"volcano.sh/gpu-memory": "2000"}, ')
        decision = self.own(shared + bound({"volcano.sh/gpu-memory": 900}, "n1", {"volcano.sh/gpu-index": "0"}) +
                         waiting({"volcano.sh/gpu-memory": 500}))["choice"]
        self.assertEqual(decision["annotations"], {"volcano.sh/gpu-index": "1", "volcano.sh/predicate-time": "<time>"})
        cce = node("n1", {}, {"volcano.sh/gpu-mem.128Mi": "100", "volcano.sh/gpu-core.percentage": "100"})
        served = waiting({"volcano.sh/gpu-mem.128Mi": 10}).replace('"spec": {', '"spec": {"schedulerName": "volcano", ')
        self.assertEqual(written(cce + served),
                         {"vgpualloc.io/cce-devices-allocated": "n1/0,1280,0:;"})

    def test_a_node_of_two_dialects_numbers_each_dialects_devices(self):
        two = {"volcano.sh/node-vgpu-register": "GPU-1,10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:",
               "hami.io/node-register-Ascend910B4": json.dumps(
                   [{"id": "npu-4", "index": 4, "count": 2, "devmem": 32768, "devcore": 20, "health": True}])}
        names = ("volcano.sh/vgpu-number", "volcano.sh/vgpu-cores", "volcano.sh/vgpu-memory", "huawei.com/Ascend910B4")
        choice = self.own(node("n1", two, {name: "10" for name in names}) +
                          waiting({"huawei.com/Ascend910B4": 1}))["choice"]
        self.assertEqual((choice["shares"][0]["device"], choice["shares"][0]["uuid"]), (4, "npu-4"))
        self.assertTrue(choice["annotations"]["hami.io/Ascend910B4-devices-allocated"].startswith("npu-4,"))

    def test_nobody_writes_annotations_for_another_dialects_card(self):
        limits = {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 3000}
        only_hami = hami_node(gpu("GPU-0", "NVIDIA A100-SXM4-40GB"))
        refused = self.own(only_hami + waiting(limits))["nodes"][0]["reason"]
        self.assertEqual(refused["code"], "resource_not_offered")
        both = only_hami.replace('"nvidia.com/gpu": "14"', '"volcano.sh/vgpu-number": "4", "volcano.sh/vgpu-memory": "9"')
        document = self.own(both + waiting(limits))
        self.assertEqual((document["choice"]["node"], document["choice"]["annotations"]), ("n1", {}))
        self.assertIn("no annotations: device GPU-0", document["notes"][0])

    def test_indices_are_those_that_the_node_registered(self):
        limits = waiting({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000})
        spoiled = [gpu("GPU-0", "NVIDIA MY-GPU"), gpu("", "NVIDIA T4", "hami-core")]
        for first in spoiled:  # one that the catalog does not know, one that cannot be read
            for position in {}, {"index": 1}:
                objects = hami_node(first, gpu("GPU-1", "NVIDIA A100-SXM4-40GB", **position)) + limits
                document = self.own(objects)
                [share] = document["choice"]["shares"]
                self.assertEqual((share["device"], share["uuid"]), (1, "GPU-1"))
                self.assertEqual([device["index"] for device in document["nodes"][0]["devices"]], [1])
        text = self.vgpusim("explain", self.write("own.yaml", objects), "--pod", "q").stdout
        self.assertIn("gets of device 1 (GPU-1): ", text)

    def test_mps_is_a_mode_of_volcanos_cards(self):  # R063
        register = {"volcano.sh/node-vgpu-register": "GPU-1,10,40960,NVIDIA A100-SXM4-40GB,true,mps:"}
        names = ("volcano.sh/vgpu-number", "volcano.sh/vgpu-cores", "volcano.sh/vgpu-memory")
        objects = node("n1", register, {name: "10" for name in names}) + waiting(
            {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 3000}, {"volcano.sh/vgpu-mode": "mps"})
        document = self.own(objects)
        self.assertEqual(document["choice"]["node"], "n1")
        self.assertEqual(document["nodes"][0]["devices"][0]["mode"], "mps")
        self.assertIs(document["nodes"][0]["devices"][0]["shares_faults"], True)
        self.assertEqual(document["notes"], [], "it is alone there")

    def test_who_shares_the_faults_of_an_mps_device(self):
        register = {"volcano.sh/node-vgpu-register": "GPU-1,10,40960,NVIDIA A100-SXM4-40GB,true,mps:"
                                                     "GPU-2,10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:"}
        names = ("volcano.sh/vgpu-number", "volcano.sh/vgpu-cores", "volcano.sh/vgpu-memory")
        for uuid, mode, faults in (("GPU-1", "mps", True), ("GPU-2", "hami-core", False)):
            limits = {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 3000}
            document = self.own(node("n1", register, {name: "20" for name in names}) +
                                bound(limits, "n1", {"volcano.sh/vgpu-ids-new": f"{uuid},NVIDIA,3000,0:"}) +
                                waiting(limits, {"volcano.sh/vgpu-mode": mode}))
            said = [note for note in document["notes"] if "takes all 2 on it with it" in note]
            self.assertEqual(bool(said), faults, document["notes"])
            self.assertEqual([device["shares_faults"] for device in document["nodes"][0]["devices"]], [True, False])

    def test_a_group_member_is_seen_by_what_it_has(self):
        """Bound, it asks for 0 % of a card's memory; its annotation says what it got."""
        register = {"volcano.sh/node-vgpu-register": "GPU-1,10,40960,NVIDIA-A,true,hami-core:"}
        names = ("volcano.sh/vgpu-number", "volcano.sh/vgpu-cores", "volcano.sh/vgpu-memory")
        group = {"scheduling.k8s.io/group-name": "g", "volcano.sh/vgpu-podgroup-policy": "spread"}
        for memory, reason in ((3000, "device_avoided"), (0, None)):
            document = self.own(
                node("n1", register, {name: "10" for name in names}) +
                bound({"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory-percentage": 0}, "n1",
                      {**group, "volcano.sh/vgpu-ids-new": f"GPU-1,NVIDIA,{memory},0:"}) +
                waiting({"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 1000}, group))
            answer = document["nodes"][0]["devices"][0]["containers"][0]
            self.assertEqual(answer.get("reason", {}).get("code"), reason)

    def test_host_rules(self):
        def ruled_node(name, labels, spec, ready="True"):
            register = f"GPU-{name},10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:"
            amounts = {f"volcano.sh/vgpu-{part}": "10" for part in ("number", "cores", "memory")}
            return {"kind": "Node", "spec": spec,
                    "metadata": {"name": name, "labels": labels,
                                 "annotations": {"volcano.sh/node-vgpu-register": register}},
                    "status": {"allocatable": {"cpu": "8", "memory": "64Gi", **amounts},
                               "conditions": [{"type": "Ready", "status": ready}]}}

        def ruled_pod(name, **rules):
            limits = {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 3000}
            return {"kind": "Pod", "metadata": {"name": name},
                    "spec": {**rules, "containers": [{"name": "c", "resources": {"limits": limits}}]}}

        def required(key, operator, *values):
            term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
            return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}

        taint = {"key": "team", "value": "vision", "effect": "NoSchedule"}
        tolerated = [{"key": "team", "operator": "Exists"}]
        nodes = [ruled_node("cordoned", {"zone": "a"}, {"unschedulable": True}),
                 ruled_node("silent", {"zone": "a"}, {}, ready="Unknown"),
                 ruled_node("kept", {"zone": "a"}, {"taints": [taint]}),
                 ruled_node("open", {"zone": "b"}, {})]
        pods = [ruled_pod("any"), ruled_pod("vision", tolerations=tolerated, affinity=required("zone", "In", "a")),
                ruled_pod("far", tolerations=tolerated, nodeSelector={"zone": "c"}),
                ruled_pod("apart", affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]}})]
        objects = json.dumps({"kind": "List", "items": nodes + pods})
        common = {"cordoned": "node_unschedulable: the node is cordoned",
                  "silent": "node_not_ready: condition Ready is Unknown"}
        expected = {"any": ("open", {"kept": "taint_not_tolerated: team=vision:NoSchedule", "open": None}),
                    "vision": ("kept", {"kept": None,
                                        "open": "node_affinity_differs: wants zone in (a), the node has zone=b"}),
                    "far": (None, {"kept": "node_selector_differs: wants zone=c, the node has zone=a",
                                   "open": "node_selector_differs: wants zone=c, the node has zone=b"})}
        for name, (chosen, reasons) in expected.items():
            with self.subTest(pod=name):
                document = self.own(objects, pod=name)
                self.assertEqual((document["choice"]["node"], document["notes"], document["warnings"]), (chosen, [], []))
                texts = {entry["name"]: entry["reason"] and entry["reason"]["text"] for entry in document["nodes"]}
                self.assertEqual(texts, {**common, **reasons})
                for entry in document["nodes"]:
                    if entry["reason"]:
                        self.assertEqual(entry["reason"]["text"], f"{entry['reason']['code']}: {entry['reason']['rule']}")
        self.assertEqual(self.own(objects, pod="far")["choice"]["message"],
                         "0/4 nodes are available: 2 node_selector_differs, 1 node_unschedulable, 1 node_not_ready.")
        self.assertEqual(self.own(objects, pod="apart")["not_considered"],
                         ["preferred pod anti-affinity (spec.affinity.podAntiAffinity)"])
        unread = json.dumps({"kind": "List", "items": [nodes[3], ruled_pod("q", affinity=required("zone", "Like", "a"))]})
        self.assert_refused(self.vgpusim("explain", self.write("own.yaml", unread), "--pod", "q"),
                            "nodeSelectorTerms[0].matchExpressions[0].operator", "Like", "NotIn")

    def test_resources_that_no_dialect_reads(self):
        for limits, resource in (({"nvidia.com/gpu": 1, "nvidia.com/gpumme": 3000}, "nvidia.com/gpumme"),
                                 ({"volcano.sh/vgpu-cores": 10}, "volcano.sh/vgpu-cores")):
            with self.subTest(resource=resource):
                objects = hami_node(gpu("GPU-0", "NVIDIA A30", "hami-core")) + waiting(limits)
                self.assert_refused(self.vgpusim("explain", self.write("own.yaml", objects), "--pod", "q"), "container c0",
                                    resource)

    def test_every_pod_of_a_file_is_answered(self):
        objects = waiting({"nvidia.com/gpu": 1}, name="one") + "---\n" + json.dumps({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 3, "template": {
                "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}})
        cluster = self.write("cluster.yaml", hami_node(gpu("GPU-0", "NVIDIA A30", "hami-core"), gpu("GPU-1", "NVIDIA A30", "hami-core")))
        result = self.vgpusim("explain", cluster, "--pod", self.write("pods.yaml", objects), "--json")
        self.assert_done(result)
        answers = json.loads(result.stdout)["pods"]
        self.assertEqual([(answer["pod"]["name"], answer["replicas"]["placed"]) for answer in answers], [("one", 1), ("web", 1)])
        self.assertIn("0/1 nodes", answers[1]["replicas"]["message"])
        text = self.vgpusim("explain", cluster, "--pod", "pods.yaml").stdout
        self.assertIn("1 of 3 pods fit, one after the other:\n  n1: 1 pod, on GPU-", text)
        self.assert_refused(self.vgpusim("explain", cluster, "--pod", self.write("w.yaml", "kind: Workflow\nmetadata: {name: w}\n")),
                            "w.yaml", "Workflow", "that is read here")

    def test_a_pod_that_cannot_be_explained_hides_no_other(self):
        gpus = {"nvidia.com/gpu": 1}
        objects = "---\n".join((bound(gpus, "n7", {}, name="runs"), waiting(gpus, name="one"),
                                waiting({**gpus, "nvidia.com/gpumem": -1}, name="wrong"), waiting(gpus, name="two")))
        cluster = self.write("cluster.yaml", hami_node(gpu("GPU-0", "NVIDIA A30", "hami-core")))
        arguments = ("explain", cluster, "--pod", self.write("pods.yaml", objects))
        result = self.vgpusim(*arguments)
        self.assertEqual(result.returncode, 2)
        self.assertEqual([line.split(" (")[0] for line in result.stdout.splitlines()
                          if line.startswith(("pod ", "chosen", "0/1"))],
                         ["pod default/one", "chosen: n1, the only node that fits",
                          "pod default/two", "0/1 nodes are available: 1 insufficient_device_memory."])
        self.assertEqual(len(result.stderr.splitlines()), 2, result.stderr)
        for word in ("default/runs", "on node n7 already", "nvidia.com/gpumem", "-1"):
            self.assertIn(word, result.stderr)
        answer = json.loads(self.vgpusim(*arguments, "--json").stdout)
        self.assertEqual([entry["pod"]["name"] for entry in answer["pods"]], ["one", "two"])
        self.assertEqual(len(answer["errors"]), 2)
        self.write("pods.yaml", bound(gpus, "n7", {}, name="runs") + "---\n" +
                   waiting({**gpus, "nvidia.com/gpumem": -1}, name="wrong"))
        for flags in ((), ("--json",)):
            result = self.vgpusim(*arguments, *flags)
            self.assertEqual((result.returncode, result.stdout, len(result.stderr.splitlines())), (2, "", 2))

    def test_a_pod_of_a_file_has_to_wait_too(self):
        runs = bound({"nvidia.com/gpu": 1}, "n7", {}, name="runs")
        self.assert_refused(self.vgpusim("explain", CLUSTER, "--pod", self.write("runs.yaml", runs)), "default/runs", "n7")

    def test_bad_input(self):
        def refused(*arguments, words=()):
            self.assert_refused(self.vgpusim("explain", *arguments), *words)

        refused(CLUSTER, "--pod", "nobody", words=["nobody", "default/waits, team/waits, team/both"])
        refused(CLUSTER, "--pod", "waits", words=["namespace", "default/waits, team/waits"])
        refused(CLUSTER, "--pod", "train-0", words=["core-1"])
        refused(CLUSTER, "--pod", "team/both", words=["cluster.yaml:102", "volcano_vgpu, nvidia"])
        refused(CLUSTER, "--pod", "default/waits", "--node", "nowhere", words=["nowhere", "core-0, core-1"])
        refused(CLUSTER, "--pod", "default/waits", "--policy", "worst", words=["worst", "best_fit"])
        refused(CLUSTER, "--pod", CONFIG, words=["device-config.yaml"])
        refused(CLUSTER, "--pod", self.write("service.yaml", "kind: Service\nmetadata: {name: s}\n"), words=["Pod"])
        refused(CLUSTER, words=["--pod"])
        refused("nowhere.yaml", "--pod", "p", words=["nowhere.yaml"])
        refused(MANIFESTS / "cce-memory.yaml", "--pod", "p", words=["no nodes in"])
        refused(CLUSTER, "--pod", "default/waits", "--config", CLUSTER, words=["cluster.yaml"])


if __name__ == "__main__":
    unittest.main()
