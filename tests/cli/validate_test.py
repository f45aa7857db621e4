"""vgpusim validate: manifests as people write them, what each dialect makes of them, and what is wrong with them."""

import json
import time
import unittest

from support import SOURCE, CliTest

MANIFESTS = SOURCE / "scenarios" / "manifests"


def pod(limits, annotations="", labels="", more=""):
    """A pod of one container; the arguments are in flow style."""
    return (f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations: {{{annotations}}}\n  labels: {{{labels}}}\n"
            f"spec:\n  schedulerName: volcano\n{more}  containers:\n  - name: c\n"
            f"    resources: {{limits: {{{limits}}}}}\n")


class ValidateTest(CliTest):
    def validate(self, *texts, flags=()):
        names = [self.write(f"m{i}.yaml", text) for i, text in enumerate(texts)]
        return self.vgpusim("validate", *names, "--json", *flags)

    def objects(self, *texts, flags=()):
        result = self.validate(*texts, flags=flags)
        self.assert_done(result)
        return json.loads(result.stdout)["objects"]

    def request(self, *arguments, flags=()):
        entry = self.objects(pod(*arguments), flags=flags)[-1]  # a configuration may come before
        [dialect] = entry["dialects"]
        [request] = dialect["requests"]
        return dialect["dialect"], request

    def errors(self, *texts, flags=()):
        """The errors of all objects, whose number is the one line on standard error."""
        result = self.validate(*texts, flags=flags)
        self.assert_error_line(result, 2, "error")
        listed = json.loads(result.stdout)
        errors = [error for entry in listed["objects"] for error in entry["errors"]]
        self.assertEqual(listed["errors"], len(errors))
        return errors

    def test_the_seeds_examples(self):
        expected = {  # file -> dialect, request
            "volcano-vgpu-hami-core.yaml": ("volcano_vgpu", {  # R023
                "container": "cuda-container", "count": 1, "memory_mib": 3000, "cores": 50, "family": "NVIDIA",
                "mode": "hami_core"}),
            "volcano-vgpu-mig.yaml": ("volcano_vgpu", {  # R030
                "container": "cuda-container", "count": 1, "memory_mib": 3000, "family": "NVIDIA", "mode": "mig"}),
            "volcano-vgpu-job.yaml": ("volcano_vgpu", {  # R059
                "container": "trainer", "count": 2, "memory_mib": 10240, "family": "NVIDIA"}),
            "mindcluster-job.yaml": ("mindcluster", {  # R088
                "container": "inference", "count": 1, "cores": 8, "family": "Ascend310P",
                "mode": "mindcluster_310p"}),
            "ascend-hami-pod.yaml": ("ascend_hami", {  # R098
                "container": "ubuntu-container", "count": 1, "memory_mib": 4096, "family": "Ascend310P",
                "mode": "ascend_vir"}),
            "cce-memory.yaml": ("cce", {  # R118
                "container": "container-1", "count": 1, "memory_mib": 5120, "family": "CCE", "mode": "cce"}),
            "cce-memory-and-compute.yaml": ("cce", {  # R119
                "container": "container-1", "count": 1, "memory_mib": 5120, "cores": 25, "family": "CCE",
                "mode": "cce"}),
        }
        self.assertEqual(sorted(expected), sorted(path.name for path in MANIFESTS.glob("*.yaml")))
        for name, (dialect, request) in expected.items():
            with self.subTest(name=name):
                result = self.vgpusim("validate", MANIFESTS / name, "--json")
                self.assert_done(result)
                [entry] = json.loads(result.stdout)["objects"]
                self.assertEqual((entry["errors"], entry["notes"]), ([], []))
                self.assertEqual(entry["place"], f"{MANIFESTS / name}:2")
                self.assertEqual(entry["dialects"], [{"dialect": dialect, "requests": [request]}])

    def test_as_text(self):
        result = self.vgpusim("validate", MANIFESTS / "cce-memory-and-compute.yaml")
        self.assert_done(result)
        self.assertIn("Deployment gpu-app", result.stdout)
        self.assertIn("cce: container container-1: 1 device, 5120 MiB, cores 25, mode cce", result.stdout)

    def test_hami_and_gpushare(self):
        name, request = self.request("nvidia.com/gpu: 2, nvidia.com/gpumem-percentage: 50",
                                   "nvidia.com/use-gputype: A100")
        self.assertEqual(name, "hami")
        self.assertEqual((request["count"], request["memory_percent"], request["types_allowed"]), (2, 50, ["A100"]))
        name, request = self.request("volcano.sh/gpu-number: 2")
        self.assertEqual((name, request["count"]), ("gpushare", 2))
        name, request = self.request("volcano.sh/gpu-memory: 1024")
        self.assertEqual((name, request["memory_mib"]), ("gpushare", 1024))

    def test_mindcluster_labels(self):
        labels = 'ring-controller.atlas: ascend-310P, vnpu-dvpp: "no", vnpu-level: high'
        name, request = self.request("huawei.com/npu-core: 4", "", labels)
        self.assertEqual((name, request["cores"], request["dvpp"], request["high_level"]), ("mindcluster", 4, "no", True))

    def test_several_dialects_in_one_pod_are_noted(self):
        [entry] = self.objects(pod("nvidia.com/gpu: 1, volcano.sh/vgpu-number: 1"))
        self.assertEqual([dialect["dialect"] for dialect in entry["dialects"]], ["volcano_vgpu", "hami"])
        self.assertEqual(len(entry["notes"]), 1)
        self.assertIn("hami, volcano_vgpu", entry["notes"][0])

    def test_what_asks_for_nothing(self):
        [entry] = self.objects(pod("cpu: 1500m, memory: 1Gi"))
        self.assertEqual((entry["dialects"], entry["cpu_milli"], entry["memory_mib"]), ([], 1500, 1024))
        self.assertEqual(entry["notes"], ["asks for no device"])
        [entry] = self.objects("kind: Service\nmetadata: {name: s}\n")
        self.assertEqual(entry["notes"], ["makes no pods"])

    def test_kinds_that_are_not_read(self):
        for version, kind in (("kubeflow.org/v1", "Notebook"), ("ray.io/v1", "RayCronJob"), ("argoproj.io/v1alpha1", "Workflow"),
                              ("flow.volcano.sh/v1alpha1", "JobTemplate"), ("serving.knative.dev/v1", "Service"),
                              ("example.com/v1", "LeaderWorkerSet"), ("example.com/v1", "Deployment")):
            with self.subTest(kind=kind):
                [entry] = self.objects(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: s}}\n")
                self.assertEqual(entry["notes"],
                                 [f"kind {kind} ({version}) is not read here; pods that it makes are not looked at"])

    def test_resources_that_nothing_here_reads(self):
        more = ("  initContainers:\n  - {name: i, resources: {limits: {amd.com/gpu: 2}}}\n"
                "  - {name: s, restartPolicy: Always, resources: {limits: {volcano.sh/vgpu-number: 1}}}\n")
        [entry] = self.objects(pod("hygon.com/dcunum: 1, nvidia.com/mig-1g.5gb: 2, metax-tech.com/vmemory: 2048Mi", more=more))
        self.assertEqual(entry["asks"], [
            {"container": "i", "role": "init_container", "resources": {"amd.com/gpu": "2"}},
            {"container": "s", "role": "sidecar", "resources": {"volcano.sh/vgpu-number": "1"}},
            {"container": "c", "resources": {"hygon.com/dcunum": "1", "metax-tech.com/vmemory": "2048Mi",
                                             "nvidia.com/mig-1g.5gb": "2"}}])
        self.assertIn("container c asks for hygon.com/dcunum: 1, which no dialect here reads", entry["notes"])
        self.assertIn("sidecar s asks for volcano.sh/vgpu-number: 1, which dialect volcano_vgpu does not look at there",
                      entry["notes"])
        self.assertNotIn("asks for no device", entry["notes"])
        [entry] = self.objects(pod("cpu: 1", more="  resourceClaims: [{name: gpu, resourceClaimName: x}]\n"))
        self.assertEqual(entry["notes"], ["asks for resource claim gpu (spec.resourceClaims), which no dialect here reads"])

        self.assertEqual(self.not_considered(pod("cpu: 1", more="  resourceClaims: [{name: gpu, resourceClaimName: x}]\n")),
                         ["resource claims (spec.resourceClaims): 1 object"])
        [entry] = self.objects(pod("example.kubernetes.io/device: 2"))
        self.assertEqual(entry["notes"], ["container c asks for example.kubernetes.io/device: 2, which no dialect here reads"])

    def not_considered(self, text):
        result = self.validate(text)
        self.assert_done(result)
        return json.loads(result.stdout)["not_considered"]

    def test_what_a_request_lacks_is_named(self):
        for limits, value, lacks in (("volcano.sh/vgpu-cores: 50", "volcano.sh/vgpu-cores", "volcano.sh/vgpu-number or "),
                                     ("nvidia.com/priority: 1", "nvidia.com/priority", "nvidia.com/gpu beside it")):
            [error] = self.errors(pod(limits))
            self.assertEqual(error["value"], value)
            self.assertTrue(error["expected"].startswith(lacks), error)
        more = "  - {name: d, resources: {limits: {volcano.sh/vgpu-cores: 50}}}\n"  # beside a container that asks
        [error] = self.errors(pod("volcano.sh/vgpu-number: 1") + more)
        self.assertIn("container d", error["where"])
        [entry] = self.objects(pod("nvidia.com/gpu: 0, nvidia.com/gpumem: 3000"))
        self.assertEqual(entry["notes"], ["container c: nvidia.com/gpumem 3000 does not count beside nvidia.com/gpu 0, which asks for "
                                          "no device"])

    def test_a_volcano_job_without_tasks(self):
        [error] = self.errors("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec: {tasks: []}\n")
        self.assertEqual((error["field"], error["expected"]), ("spec.tasks", "missing; expected a list of at least one task"))
        self.assertNotIn("not read here", self.vgpusim("validate", self.root / "m0.yaml").stdout)
        nodes = self.write("n.yaml", "kind: Node\nmetadata: {name: n1}\n")
        self.assert_refused(self.vgpusim("explain", nodes, "--pod", self.root / "m0.yaml"), "spec.tasks: missing; expected a list")

    def test_memory_with_a_suffix_says_what_to_write(self):
        for resource, number in (("nvidia.com/gpumem", "nvidia.com/gpu"), ("volcano.sh/vgpu-memory", "volcano.sh/vgpu-number")):
            [error] = self.errors(pod(f"{number}: 1, {resource}: 8Gi"))
            self.assertEqual((error["field"], error["value"]), (resource, "8Gi"))
            self.assertIn("write 8192", error["expected"])
            self.assertIn("m0.yaml:11", error["where"])

    def test_a_container_with_an_error_is_not_a_request_too(self):
        two = pod("nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: -5") + "  - name: d\n    resources: {limits: {nvidia.com/gpu: 1}}\n"
        result = self.validate(two)
        [dialect] = json.loads(result.stdout)["objects"][0]["dialects"]
        self.assertEqual(dialect["refused"], [{"container": "c"}])
        self.assertEqual([request["container"] for request in dialect["requests"]], ["d"])

    def test_what_was_not_considered_comes_last(self):
        result = self.vgpusim("validate", self.write("p.yaml", pod("cpu: 1", more="  priorityClassName: high\n")))
        self.assert_done(result)
        self.assertTrue(result.stdout.endswith("not looked at:\n  priority (spec.priorityClassName): 1 object\n"), result.stdout)

    def test_a_priority_of_zero_is_none(self):
        """The API server writes 0 where nobody asks for a priority, and the number of the class where one is named."""
        for spec, is_told in (("priority: 0", False), ("priorityClassName: usual\n  priority: 0", False), ("priority: 7", True),
                              ("priority: -7", True), ("priorityClassName: high\n  priority: 7", True)):
            result = self.vgpusim("validate", self.write("p.yaml", pod("cpu: 1", more=f"  {spec}\n")))
            self.assert_done(result)
            self.assertEqual("priority (spec.priorityClassName)" in result.stdout, is_told, spec)

    def test_the_amount_that_does_not_count_is_named(self):
        for limits, ignored in (("volcano.sh/gpu-number: 2, volcano.sh/gpu-memory: 100", "volcano.sh/gpu-number 2"),
                                ("volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 100, volcano.sh/vgpu-memory-percentage: 5",
                                 "volcano.sh/vgpu-memory 100"),
                                ("nvidia.com/gpu: 1, nvidia.com/gpumem: 100, nvidia.com/gpumem-percentage: 5",
                                 "nvidia.com/gpumem-percentage 5")):
            [entry] = self.objects(pod(limits))
            self.assertIn(f"container c: {ignored} does not count beside", entry["notes"][0])

    def test_a_pod_of_20000_containers(self):
        specs = "".join(f"  - {{name: c{i}, resources: {{limits: {{nvidia.com/gpu: 1, hygon.com/dcunum: 1}}}}}}\n" for i in range(20000))
        start = time.monotonic()
        [entry] = self.objects("kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n" + specs)
        self.assertEqual(len(entry["dialects"][0]["requests"]), 20000)
        self.assertEqual(len(entry["not_read"]), 20000)
        self.assertLess(time.monotonic() - start, 10)

    def test_every_error_has_its_place(self):
        for text, *words in (
                (pod("volcano.sh/gpu-core.percentage: 25"), "memory beside compute", "container c"),
                (pod("volcano.sh/gpu-mem.128Mi: 40, volcano.sh/gpu-core.percentage: 27"), "a multiple of 5", "'27'"),
                (pod("volcano.sh/gpu-mem.128Mi: 40").replace("volcano\n", "default-scheduler\n"), "schedulerName"),
                (pod("cpu: 1", more="  initContainers: [{name: i, resources: {limits: {volcano.sh/gpu-mem.128Mi: 1}}}]\n"),
                 "no virtual GPU", "init container i"),
                (pod("volcano.sh/vgpu-number: 0.5"), "spec.containers[0].resources.limits", "m0.yaml:11"),
                (pod("huawei.com/npu-core: 8"), "ring-controller.atlas"),
                (pod("huawei.com/npu-core: 3", labels="ring-controller.atlas: ascend-310P"), "1, 2, 4"),
                (pod("huawei.com/npu-core: 2", labels="ring-controller.atlas: ascend-310P, vnpu-dvpp: yes"), "quotes"),
                (pod("huawei.com/npu-core: 2", labels="ring-controller.atlas: ascend-310P, vnpu-dvpp: 'yes'"), "null"),
                (pod("huawei.com/npu-cor: 1"), "huawei.com/npu-core"),
                (pod("volcano.sh/vgpu-cores: 50"), "volcano.sh/vgpu-number"),
                (pod("nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 101"), "'101'"),
                (pod("nvidia.com/gpu: 1", "nvidia.com/vgpu-mode: hami"), "nvidia.com/vgpu-mode")):
            with self.subTest(text=text):
                [error] = self.errors(text)
                self.assertIn("m0.yaml", error["where"])
                for word in words:
                    self.assertIn(word, error["message"])

    def test_host_rules_that_the_api_server_refuses(self):
        rules = "  nodeSelector: {cards: 8}\n  tolerations:\n  - {key: gpu, operator: Exists}\n  - {value: a}\n"
        node = ("---\nkind: Node\nmetadata: {name: n0}\nspec:\n  taints:\n  - {key: gpu, effect: NoSchedule}\n"
                "  - {key: gpu, effect: Never}\n")
        errors = self.errors(pod("cpu: 1", more=rules) + node)
        self.assertEqual([error["field"] for error in errors],
                         ["spec.nodeSelector.cards", "spec.tolerations[1].operator", "spec.taints[1].effect"])
        self.assertTrue(errors[0]["where"].endswith("m0.yaml:9"), errors[0])
        self.assertTrue(errors[1]["where"].endswith("m0.yaml:12"), errors[1])
        self.assertEqual(errors[2]["value"], "Never")
        self.assertIn("NoExecute", errors[2]["expected"])

    def test_errors_of_one_object_do_not_hide_others(self):
        two = pod("volcano.sh/gpu-mem.128Mi: 0") + "  - name: d\n    resources: {limits: {volcano.sh/gpu-mem.128Mi: -1}}\n"
        errors = self.errors(two, pod("huawei.com/Ascend310P: 2"), pod("nvidia.com/gpu: x"))
        self.assertEqual(len(errors), 3)
        self.assertIn("m0.yaml:13", errors[0]["where"])  # the second container's amount
        self.assertIn("container c", errors[1]["where"])
        self.assertIn("m2.yaml", errors[2]["where"])

    def test_a_node_and_its_pods(self):
        node = ("kind: Node\nmetadata:\n  name: n0\n  annotations:\n    volcano.sh/node-vgpu-register: "
                "'GPU-a,10,32768,NVIDIA A100,true,hami-core:'\nstatus:\n  allocatable: {volcano.sh/vgpu-number: 10, "
                "volcano.sh/vgpu-memory: 32768, volcano.sh/vgpu-cores: 100}\n")
        bound = pod("volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 1000",
                    "volcano.sh/vgpu-ids-new: 'GPU-a,NVIDIA,1000,0:'", more="  nodeName: n0\n")
        objects = self.objects(node, bound)
        [dialect] = objects[0]["dialects"]
        self.assertEqual(dialect["devices"], [{"uuid": "GPU-a", "model": "NVIDIA A100", "mode": "hami_core",
                                               "memory_mib": 32768, "slots": 10, "healthy": True}])
        [error] = self.errors(node, bound.replace("GPU-a,NVIDIA", "GPU-b,NVIDIA"))
        self.assertIn("GPU-b", error["message"])
        [error] = self.errors(node.replace("32768,NV", "x,NV"))
        self.assertIn("memory", error["message"])

    def test_a_310p_node_needs_its_config_map(self):
        node = ("kind: Node\nmetadata:\n  name: n0\n  labels: {accelerator: huawei-Ascend310P, servertype: Ascend310P-8, "
                "node.kubernetes.io/npu.chip.name: 310P3}\n  annotations: {baseDeviceInfos: '{\"Ascend310P-0\":{}}'}\n"
                "status: {allocatable: {huawei.com/npu-core: 8}, capacity: {huawei.com/npu-core: 8}}\n")
        info = ("kind: ConfigMap\nmetadata: {name: mindx-dl-deviceinfo-n0, namespace: kube-system}\ndata:\n"
                "  DeviceInfoCfg: '{\"DeviceInfo\":{\"DeviceList\":{\"huawei.com/Ascend310P\":\"Ascend310P-0\"}}}'\n")
        [error] = self.errors(node)
        self.assertIn("mindx-dl-deviceinfo-n0", error["message"])
        entries = self.objects(node, info)
        self.assertEqual(entries[0]["dialects"][0]["devices"][0]["mode"], "mindcluster_310p")

    CONFIG = ("nvidia:\n  resourceCountName: example.com/gpu\n  resourceMemoryName: example.com/mem\n"
              "  resourceCoreName: example.com/cores\nvnpus: []\n")

    def test_a_device_configuration_renames_resources(self):
        config = self.write("device-config.yaml", self.CONFIG)
        text = "example.com/gpu: 2, example.com/mem: 100"
        self.assertEqual(self.objects(pod(text))[0]["dialects"], [])
        name, request = self.request(text, flags=["--config", config])
        self.assertEqual((name, request["count"], request["memory_mib"]), ("volcano_vgpu", 2, 100))
        indented = "".join(f"    {line}\n" for line in self.CONFIG.splitlines())
        config_map = self.write("cm.yaml", "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  device-config.yaml: |\n" +
                                indented)
        self.assertEqual(self.request(text, flags=["--config", config_map])[1]["count"], 2)
        wrong = self.write("wrong.yaml", "nvidia: {resourceCountNam: x}\n")
        self.assert_refused(self.vgpusim("validate", self.write("p.yaml", pod(text)), "--config", wrong),
                            "resourceCountNam")

    def test_the_device_configuration_of_hami(self):
        shipped = ("nvidia: {resourceCountName: example.com/gpu, resourceMemoryName: example.com/mem, memoryFactor: 2, "
                   "runtimeClassName: '', migProfileAllowlist: []}\ncambricon: {resourceCountName: cambricon.com/vmlu}\n"
                   "vnpus:\n- {chipName: 910B3, commonWord: Ascend910B3, resourceName: example.com/npu, "
                   "resourceCoreName: example.com/npu-core, memoryAllocatable: 65536, memoryCapacity: 65536, aiCore: 20, "
                   "overwriteEnv: false}\n")
        config = self.write("device-config.yaml", shipped)
        name, request = self.request("example.com/gpu: 2, example.com/mem: 100", flags=["--config", config])
        self.assertEqual((name, request["count"], request["memory_mib"]), ("hami", 2, 200))
        name, request = self.request("example.com/npu: 1, example.com/npu-core: 7", flags=["--config", config])
        self.assertEqual((name, request["cores"]), ("ascend_hami", 7))
        new = self.write("new.yaml", shipped + "tenstorrent: {}\n")
        notice = self.objects(pod("example.com/gpu: 1"), flags=["--config", new])[0]
        self.assertEqual(notice["kind"], "device configuration")
        self.assertIn("tenstorrent", notice["notes"][0])
        self.assertEqual(notice["errors"], [])

    def test_what_no_device_serves_is_an_error(self):
        vgpu = "volcano.sh/vgpu-number: 1, "
        npu = "huawei.com/Ascend{}: {}, huawei.com/Ascend{}-{}: {}"
        for limits, annotations, field, value, words in (
                (vgpu + "volcano.sh/vgpu-memory-percentage: 150", "", "volcano.sh/vgpu-memory-percentage", "150", "at most 100"),
                (vgpu + "volcano.sh/vgpu-cores: 101", "", "volcano.sh/vgpu-cores", "101", "at most 100"),
                (vgpu, "volcano.sh/vgpu-mode: MIG", "volcano.sh/vgpu-mode", "MIG", "hami-core, mig or mps"),
                (npu.format("910B3", 1, "910B3", "memory", 100000), "", "huawei.com/Ascend910B3-memory", "100000", "65536 MiB"),
                (npu.format("910B3", 1, "910B3", "memory", 65537), "huawei.com/vnpu-mode: hami-core",
                 "huawei.com/Ascend910B3-memory", "65537", "65536 MiB"),
                (npu.format("310P", 2, "310P", "memory", 4096), "", "huawei.com/Ascend310P", "2", "part of a card"),
                (npu.format("310P", 1, "310P", "core", 101), "", "huawei.com/Ascend310P-core", "101", "at most 100")):
            with self.subTest(limits=limits):
                [error] = self.errors(pod(limits, annotations))
                self.assertEqual((error["field"], error["value"]), (field, value))
                self.assertIn("container c", error["where"])
                self.assertIn(words, error["expected"])

    def test_what_is_served_otherwise_than_asked_is_a_note(self):
        for limits, note in (
                # More than the chip has to use
                ("huawei.com/Ascend310P: 1, huawei.com/Ascend310P-memory: 24576",
                 "asks for 24576 MiB of each card; it gets a whole Ascend310P, of which 21527 MiB can be used"),
                ("huawei.com/Ascend310P: 1, huawei.com/Ascend310P-memory: 21528", "of which 21527 MiB can be used"),
                ("volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory-percentage: 0", "0 is a slice of 0 MiB")):
            with self.subTest(limits=limits):
                [said] = self.objects(pod(limits, ""))[0]["notes"]
                self.assertIn(note, said)

    def test_one_910c_with_a_part_of_its_memory_is_that_part_of_both_dies(self):
        [report] = self.objects(pod("huawei.com/Ascend910C: 1, huawei.com/Ascend910C-memory: 16384", ""))
        self.assertEqual(report["errors"], [])
        result = self.vgpusim("validate", self.write("four.yaml", pod(
            "huawei.com/Ascend910C: 4, huawei.com/Ascend910C-memory: 16384", "")))
        self.assertEqual(result.returncode, 2)
        self.assertIn("huawei.com/Ascend910C: got '4', expected 1 where huawei.com/Ascend910C-memory", result.stdout)

    def test_what_is_just_within_the_limits(self):
        vgpu = "volcano.sh/vgpu-number: 1, "
        for limits, annotations in (
                (vgpu + "volcano.sh/vgpu-memory-percentage: 100, volcano.sh/vgpu-cores: 100", ""),
                (vgpu + "volcano.sh/vgpu-memory-percentage: 101", ""),  # upstream's word for: not given
                (vgpu, "volcano.sh/vgpu-mode: mps"),
                ("huawei.com/Ascend910B3: 1, huawei.com/Ascend910B3-memory: 65536", ""),
                ("huawei.com/Ascend310P: 2, huawei.com/Ascend310P-memory: 21527", ""),
                ("huawei.com/Ascend310P: 2", ""),
                ("huawei.com/Ascend310P: 2, huawei.com/Ascend310P-memory: 4096", "huawei.com/vnpu-mode: hami-core"),
                ("huawei.com/Ascend310P: 1, huawei.com/Ascend310P-core: 50", "huawei.com/vnpu-mode: hami-core"),
                ("huawei.com/Ascend310P: 1, huawei.com/Ascend310P-core: 8", "")):
            with self.subTest(limits=limits):
                self.assertEqual(self.objects(pod(limits, annotations))[0]["notes"], [])
        [entry] = self.objects(pod("huawei.com/Ascend310P: 1, huawei.com/Ascend310P-core: 50"))
        [note] = entry["notes"]
        self.assertIn("huawei.com/Ascend310P-core 50: only nodes that can limit in software", note)
        self.assertIn("8 AI cores", note)

    def test_the_dialect_of_a_request_that_cannot_be_read(self):
        result = self.vgpusim("validate", self.write("p.yaml", pod("nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 150")))
        self.assertEqual(result.returncode, 2)
        self.assertIn("  hami: container c: not read, there is an error in it\n", result.stdout)
        self.assertIn("  error: ", result.stdout)

    def test_a_catalog_file_adds_npus(self):
        own = self.write("mine.json", json.dumps({"schema": "vgpualloc-catalog/1", "ascend": {"chips": [
            {"name": "Ascend910X", "chip_name": "910X", "resource": "huawei.com/Ascend910X",
             "resource_memory": "huawei.com/Ascend910X-memory", "resource_core": "huawei.com/Ascend910X-core",
             "memory_allocatable_mib": 65536, "memory_capacity_mib": 65536, "ai_core": 20, "templates": []}]}}))
        name, request = self.request("huawei.com/Ascend910X: 1", flags=["--file", own])
        self.assertEqual((name, request["family"]), ("ascend_hami", "Ascend910X"))
        [entry] = self.objects(pod("huawei.com/Ascend910X: 1"))
        self.assertEqual(entry["notes"], ["container c asks for huawei.com/Ascend910X: 1, which no dialect here reads"])
        self.assert_refused(self.vgpusim("validate", self.write("p.yaml", pod("")), "--file", "nowhere.json"), "nowhere.json")

    def test_files_without_objects(self):
        for text in ("", "---\n", "null\n", '{"kind": "List", "items": []}'):
            with self.subTest(text=text):
                self.assert_refused(self.vgpusim("validate", self.write("none.yaml", text)), "none.yaml", "at least one object")

    def test_a_device_configuration_alone(self):
        """What the runbook has done before a configuration is applied."""
        text = ("nvidia:\n  resourceCountName: volcano.sh/vgpu-number\n  knownMigGeometries: []\n"
                "  resourceMemoryName: volcano.sh/vgpu-memory\n  resourceCoreName: volcano.sh/vgpu-cores\n")
        plain = self.write("device-config.yaml", text)
        held = self.write("map.json", json.dumps({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"device-config.yaml": text}}))
        for path in plain, held:
            done = self.vgpusim("validate", "--config", path)
            self.assert_done(done)
            self.assertIn(f"{path} device configuration\n  note: vGPUs of Volcano: volcano.sh/vgpu-number", done.stdout)
        wrong = self.write("device-config.yaml", text + "  deviceSplitCount: many\n")
        self.assert_refused(self.vgpusim("validate", "--config", wrong), "device-config.yaml", "deviceSplitCount", "many")
        self.assert_refused(self.vgpusim("validate"), "FILE", "--config", "--scheduler-config")

    def test_files_that_cannot_be_read(self):
        self.assert_refused(self.vgpusim("validate", "nowhere.yaml"), "nowhere.yaml")
        self.assert_refused(self.vgpusim("validate", self.write("bad.yaml", "a: 1\n b: 2\n")), "bad.yaml:2")
        self.assert_refused(self.vgpusim("validate", self.write("text.yaml", "text")), "text.yaml")
        self.assert_refused(self.vgpusim("validate", self.write("bad.json", '{"kind": "Pod"')), "bad.json")
        self.assert_refused(self.vgpusim("validate"), "FILE")


class MessagesTest(CliTest):
    def messages(self, text):
        result = self.vgpusim("validate", "--json", self.write("m.json", text))
        return [error["message"] for entry in json.loads(result.stdout)["objects"] for error in entry["errors"]]

    def test_what_is_missing_is_called_missing(self):
        """"kind: the object's kind" read like a glossary."""
        self.assertEqual([message.partition(": ")[2] for message in self.messages("{metadata: {}}")],
                         ["kind: missing; expected the object's kind", "metadata.name: missing; expected a name"])
        [message] = self.messages("{kind: Pod, metadata: {name: p}, spec: {}}")
        self.assertTrue(message.endswith("spec.containers: missing; expected a list of containers"), message)

    def test_amounts_are_quoted_as_they_are_written(self):
        """What was read of an amount, or a sum that had ended at a limit, stood for what was written."""
        pod = "{kind: Pod, metadata: {name: p}, spec: {containers: [%s]}}"
        [message] = self.messages(pod % "{name: c, resources: {requests: {memory: 7Ei}}}")
        self.assertIn("got '7Ei', expected at most ", message)
        most = int(message.rpartition(" ")[2])
        containers = ["{name: %s, resources: {requests: {memory: %d}}}" % (name, most) for name in "cd"]
        [message] = self.messages(pod % ", ".join(containers))
        self.assertIn(f"got 'more than {most}', expected amounts that together are at most {most}", message)

    def test_templates_are_told_as_such(self):
        """What a parser said of a Helm template was no help."""
        for text in ("{{- if .Values.gpu }}\nkind: Pod\n{{- end }}\n", "kind: Pod\nmetadata:\n  {{- include \"x\" . }}\n",
                     "kind: Pod\nmetadata: {name: x}\n{{ toYaml . }}\n"):
            name = self.write("t.yaml", text)
            for command in (["validate", name], ["explain", name, "--pod", "x"]):
                self.assert_refused(self.vgpusim(*command), "t.yaml:", "looks like a Helm template: render it first")
        self.assertNotIn("Helm", self.vgpusim("validate", self.write("t.yaml", "kind: [\n")).stderr)
        for limits in ('nvidia.com/gpu: "{{ .Values.gpus }}"', "nvidia.com/gpumem: '{{ .Values.memory | quote }}'"):
            [message] = self.messages(pod(limits))
            self.assertIn("looks like a Helm template: render it first", message)

    def test_items_of_a_list_are_counted_from_one(self):
        """The list itself was counted, so that its first item was object 2."""
        items = [{"kind": "Pod", "metadata": {"name": name}, "spec": {}} for name in ("a", "b")]
        text = json.dumps({"kind": "List", "items": items})
        result = self.vgpusim("validate", self.write("m.json", text))
        self.assertIn("m.json: object 1 Pod a\n", result.stdout)
        self.assertIn("m.json: object 2 Pod b\n", result.stdout)
        self.assertEqual([message.split(": spec")[0][-8:] for message in self.messages(text)], ["object 1", "object 2"])

    def test_an_empty_list_may_be_null(self):
        """Go writes an empty list as null; that was an error about metadata.name."""
        for items in ("null", "[]"):
            text = '{"kind": "List", "items": %s}' % items
            self.assert_refused(self.vgpusim("validate", self.write("m.json", text)), "m.json: empty; expected at least one object")


if __name__ == "__main__":
    unittest.main()
