"""vgpusim explain, validate and replay --scheduler-config: nodes and devices are ranked as Volcano's scheduler
configuration says, by plugin deviceshare or by vgpualloc."""

import json
import unittest

from support import SOURCE, CliTest

VGPU = {name: "20" for name in ("volcano.sh/vgpu-number", "volcano.sh/vgpu-cores", "volcano.sh/vgpu-memory")}


def scheduler(**arguments):
    lines = "".join(f"      deviceshare.{name}: {value}\n" for name, value in arguments.items())
    return ('actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n- plugins:\n  - name: deviceshare\n'
            f"    arguments:\n{lines}  - name: nodeorder\n")


def node(name, cards, annotations=None, allocatable=None, labels=None):
    register = {"volcano.sh/node-vgpu-register": "".join(f"{card},10,40960,NVIDIA A100,true,hami-core:" for card in cards)}
    amounts = {"cpu": "8", "memory": "64Gi", **(VGPU if allocatable is None else allocatable)}
    return "---\n" + json.dumps({
        "kind": "Node", "metadata": {"name": name, "labels": labels or {},
                                     "annotations": register if annotations is None else annotations},
        "status": {"allocatable": amounts, "capacity": amounts}}) + "\n"


def pod(name, limits, where=None, annotations=None, labels=None):
    spec = {"containers": [{"name": "c", "resources": {"limits": limits}}]}
    if where:
        spec["nodeName"] = where
    return "---\n" + json.dumps({"kind": "Pod", "metadata": {"name": name, "annotations": annotations or {},
                                                              "labels": labels or {}}, "spec": spec}) + "\n"


def vgpu(memory):
    return {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": memory}


def bound(name, where, card, memory, **more):
    ids = f"{card},NVIDIA,{memory},0:"
    return pod(name, vgpu(memory), where, {"volcano.sh/vgpu-ids-new": ids}, **more)


class SchedulerConfigTest(CliTest):
    # a0 is used the most, b1 in two containers, c0 and c1 not at all
    CLUSTER = (node("a", ["a0", "a1"]) + node("b", ["b0", "b1"]) + node("c", ["c0", "c1"]) + bound("p0", "a", "a0", 20480) +
               bound("p1", "b", "b1", 4096) + bound("p2", "b", "b1", 4096) + bound("p3", "b", "b0", 10240))

    def explain(self, objects, config, *flags, name="q"):
        return self.vgpusim("explain", self.write("cluster.yaml", objects), "--pod", name, "--json",
                            "--scheduler-config", self.write("scheduler.conf", config), *flags)

    def document(self, objects, config, **how):
        result = self.explain(objects, config, **how)
        self.assert_done(result)
        return json.loads(result.stdout)

    def choice(self, config, limits=vgpu(4096)):
        document = self.document(self.CLUSTER + pod("q", limits), config)
        [share] = document["choice"]["shares"]
        return document["choice"]["node"], share["uuid"], [node["score"] for node in document["nodes"]]

    def test_policy_and_weight_rank_nodes_and_cards(self):
        # 100 x the share of the card's memory with the pod, rounded, x weight: 60 %, 35 %, 10 % of the fullest card
        self.assertEqual(self.choice(scheduler(VGPUEnable="true", SchedulePolicy="binpack", ScheduleWeight=3)),
                         ("a", "a0", [180.0, 105.0, 30.0]))
        self.assertEqual(self.choice(scheduler(VGPUEnable="true", SchedulePolicy="spread", ScheduleWeight=3)),
                         ("a", "a1", [300.0, 0.0, 300.0]))
        self.assertEqual(self.choice(scheduler(VGPUEnable="true", ScheduleWeight=3)), ("a", "a1", [0.0, 0.0, 0.0]))

    def test_a_policy_without_a_weight_has_weight_1(self):  # R021 R034 R035 R036
        config = scheduler(VGPUEnable="true", SchedulePolicy="binpack")
        self.assertEqual(self.choice(config), ("a", "a0", [60.0, 35.0, 10.0]))
        document = self.document(self.CLUSTER + pod("q", vgpu(4096)), config)
        self.assertIn("ScheduleWeight is not given and taken as 1; Volcano itself takes 0", document["notes"][0])
        self.assertEqual(document["policy"], "deviceshare")
        # The first node is the busier one: nothing else than the weight leads away from it.
        spread = self.document(self.CLUSTER + pod("q", vgpu(4096)),
                               scheduler(VGPUEnable="true", SchedulePolicy="spread"))
        self.assertEqual([node["score"] for node in spread["nodes"]], [100.0, 0.0, 100.0])

    def test_with_weight_0_only_cards_are_ranked(self):
        config = scheduler(VGPUEnable="true", SchedulePolicy="binpack", ScheduleWeight=0)
        self.assertEqual(self.choice(config), ("a", "a0", [0.0, 0.0, 0.0]))
        document = self.document(self.CLUSTER + pod("q", vgpu(4096)), config)
        self.assertIn("ScheduleWeight is not above 0", document["notes"][0])

    def test_virtual_npus_made_beforehand_are_not_supported(self):  # R083
        for written, noted in (('"true"', True), ("true", True), ('"false"', False), ('"900"', False)):
            config = scheduler(VGPUEnable="true", SchedulePolicy="binpack", ScheduleWeight=1) + (
                'configurations:\n- name: init-params\n  arguments: {"grace-over-time": "900", "presetVirtualDevice": '
                f"{written}}}\n")
            document = self.document(self.CLUSTER + pod("q", vgpu(4096)), config)
            said = [note for note in document["notes"] if "presetVirtualDevice" in note and "not supported" in note]
            self.assertEqual(len(said), int(noted), written)

    def test_exclusive_rules_keep_pods_apart(self):
        rules = '[{"app": "x"}]'
        objects = node("a", ["a0"]) + bound("p0", "a", "a0", 100, labels={"app": "x"}) + pod("q", vgpu(100), labels={"app": "x"})
        for written in f"'{rules}'", rules:  # JSON as a text, and a list of YAML
            config = scheduler(VGPUEnable="true", GPUExclusiveRules=written)
            [only] = self.document(objects, config)["nodes"]
            self.assertEqual(only["reason"]["code"], "device_avoided")
        self.assertEqual(self.document(objects, scheduler(VGPUEnable="true"))["choice"]["node"], "a")

    def test_the_config_map_that_holds_it(self):
        config = scheduler(VGPUEnable="true", SchedulePolicy="binpack", ScheduleWeight=1)
        held = json.dumps({"kind": "ConfigMap", "metadata": {"name": "volcano-scheduler-configmap"},
                           "data": {"volcano-scheduler.conf": config}})
        self.assertEqual(self.choice(held), self.choice(config))

    def test_npus_by_their_topology_and_memory(self):
        def npus(name, groups):
            register = {"hami.io/node-register-Ascend910B4": json.dumps(
                [{"id": f"{name}{i}", "index": i, "count": 4, "devmem": 32768, "devcore": 20, "health": True,
                  "custominfo": {"NetworkID": group}} for i, group in enumerate(groups)])}
            return node(name, [], register, {"huawei.com/Ascend910B4": "16"})

        objects = npus("x", [0]) + npus("y", [0, 1, 1]) + pod("q", {"huawei.com/Ascend910B4": 2})
        config = scheduler(AscendHAMiVNPUEnable="true", SchedulePolicy="spread", ScheduleWeight=2)
        document = self.document(objects, config)
        self.assertEqual(sorted(share["uuid"] for share in document["choice"]["shares"]), ["y1", "y2"])
        self.assertEqual(document["nodes"][1]["score"], 220.0)  # (100 for an idle card + 10: all in one group) x 2
        self.assertEqual(document["nodes"][0]["reason"]["code"], "too_few_devices")

    def test_310p_by_idle_cores(self):
        labels = {"accelerator": "huawei-Ascend310P", "servertype": "Ascend310P-8",
                  "node.kubernetes.io/npu.chip.name": "310P3"}
        infos = {"baseDeviceInfos": '{"Ascend310P-0":{},"Ascend310P-1":{}}'}

        def chips(name):
            info = {"DeviceInfo": {"DeviceList": {"huawei.com/Ascend310P": "Ascend310P-0,Ascend310P-1"}}}
            return (node(name, [], infos, {"huawei.com/npu-core": "16"}, labels) + "---\n" + json.dumps({
                "kind": "ConfigMap", "metadata": {"name": f"mindx-dl-deviceinfo-{name}"},
                "data": {"DeviceInfoCfg": json.dumps(info)}}) + "\n")

        vnpu = {"ring-controller.atlas": "ascend-310P", "vnpu-dvpp": "null", "vnpu-level": "low"}
        used = {"huawei.com/npu-core": "0-vir04", "huawei.com/AscendReal": "x"}
        objects = (chips("idle") + chips("used") + pod("b", {"huawei.com/npu-core": 4}, "used", used, vnpu) +
                   pod("q", {"huawei.com/npu-core": 2}, labels=vnpu))
        document = self.document(objects, scheduler(AscendMindClusterVNPUEnable="true", ScheduleWeight=1))
        self.assertEqual(document["choice"]["node"], "used")
        self.assertEqual([node["score"] for node in document["nodes"]], [-16.0, -12.0])
        both = self.write("both.yaml", pod("four", {"huawei.com/npu-core": 4}, labels=vnpu) +
                          pod("two", {"huawei.com/npu-core": 2}, labels=vnpu))
        document = self.document(objects, scheduler(AscendMindClusterVNPUEnable="true", ScheduleWeight=1), name=both)
        self.assertEqual([node["score"] for node in document["pods"][1]["nodes"]], [-16.0, -8.0])  # 4 more taken, not 2

    def test_what_is_not_enabled_serves_no_pod(self):
        cluster = self.CLUSTER + pod("q", vgpu(100))
        self.assert_refused(self.explain(cluster, scheduler(AscendHAMiVNPUEnable="true")), "default/q", "volcano_vgpu", "VGPUEnable")
        shared = node("n", [], {}, {"volcano.sh/gpu-number": "2", "volcano.sh/gpu-memory": "2000"})
        by_memory = shared + pod("q", {"volcano.sh/gpu-memory": 500})
        self.assert_refused(self.explain(by_memory, scheduler(GPUNumberEnable="true")), "GPUSharingEnable")
        choice = self.document(by_memory, scheduler(GPUSharingEnable="true"))["choice"]
        self.assertEqual(choice["annotations"]["volcano.sh/gpu-index"], "0")
        hami = self.CLUSTER + pod("q", {"nvidia.com/gpu": 1})
        self.assert_refused(self.explain(hami, scheduler(VGPUEnable="true")), "hami", "deviceshare serves")
        plain = self.document(self.CLUSTER + pod("q", {"cpu": 1}), scheduler(VGPUEnable="true"))
        self.assertEqual(plain["choice"]["node"], "a")

    def test_bad_input(self):
        def refused(config, *words):
            self.assert_refused(self.explain(self.CLUSTER + pod("q", vgpu(1)), config), "scheduler.conf", *words)

        refused(scheduler(VGPUEnabled="true"), "VGPUEnabled")
        refused(scheduler(VGPUEnable="maybe"), "VGPUEnable", "maybe")
        refused(scheduler(VGPUEnable="true", SchedulePolicy="best"), "SchedulePolicy", "best")
        refused(scheduler(VGPUEnable="true", ScheduleWeight="1.5"), "ScheduleWeight", "1.5")
        refused(scheduler(VGPUEnable="true", GPUSharingEnable="true"), "at most one")
        refused(scheduler(VGPUEnable="true", GPUExclusiveRules="'[1]'"), "GPUExclusiveRules")
        refused("tiers:\n- plugins:\n  - name: gang\n", "deviceshare")
        refused("tiers:\n- plugins: [{name: deviceshare}, {name: deviceshare}]\n", "deviceshare", "once")
        refused("tiers:\n- plugins: [{name: deviceshare, arguments: [1]}]\n", "arguments")
        refused("tiers: 1\n", "tiers: got '1'")
        refused("actions: allocate\n", "tiers")
        refused("a: 1\n b: 2\n", "scheduler.conf:2")
        result = self.explain(self.CLUSTER + pod("q", vgpu(1)), scheduler(VGPUEnable="true"), "--policy", "fgd")
        self.assert_refused(result, "--scheduler-config", "--policy")
        self.assert_refused(self.vgpusim("explain", "c.yaml", "--pod", "q", "--scheduler-config", "nowhere.conf"), "nowhere.conf")

    def ours(self, **arguments):
        """Our plugin, with `policy`, `device_policy` and `weight` of its own."""
        own = {"policy": "vgpualloc.policy", "device_policy": "vgpualloc.device-policy", "weight": "vgpualloc.weight"}
        lines = "".join(f"      {own.get(name, 'deviceshare.' + name)}: {value}\n" for name, value in arguments.items())
        return f"tiers:\n- plugins:\n  - name: gang\n  - name: vgpualloc\n    arguments:\n{lines or '      {}'}\n"

    def our_choice(self, config, *flags):
        result = self.explain(self.CLUSTER + pod("q", vgpu(4096)), config, *flags)
        self.assert_done(result)
        document = json.loads(result.stdout)
        [share] = document["choice"]["shares"]
        return document["policy"], document["choice"]["node"], share["uuid"], document["ranking"]

    def test_plugin_vgpualloc_ranks_by_its_policies(self):
        self.assertEqual(self.our_choice(self.ours(policy="binpack"))[:3], ("binpack", "a", "a0"))
        self.assertEqual(self.our_choice(self.ours(policy="spread"))[:3], ("spread", "c", "c0"))
        self.assertEqual(self.our_choice(self.ours(SchedulePolicy="binpack"))[:2], ("binpack", "a"))
        self.assertEqual(self.our_choice(self.ours(SchedulePolicy="binpack", policy="spread"))[:2], ("spread", "c"))
        self.assertEqual(self.our_choice(self.ours())[0], "bid_price")
        policy, where, device, ranking = self.our_choice(self.ours(policy="binpack", device_policy="spread"))
        self.assertEqual((policy, where, device), ("binpack", "a", "a1"))
        self.assertIn("devices by spread", ranking)

    def test_the_command_line_goes_before_plugin_vgpualloc(self):
        config = self.ours(policy="binpack", device_policy="spread")
        self.assertEqual(self.our_choice(config, "--policy", "spread")[:3], ("spread", "c", "c0"))
        self.assertEqual(self.our_choice(config, "--device-policy", "binpack")[:3], ("binpack", "a", "a0"))

    def test_what_plugin_vgpualloc_does_not_serve_is_refused(self):
        cluster = self.CLUSTER + pod("q", vgpu(100))
        self.assert_refused(self.explain(cluster, self.ours(AscendHAMiVNPUEnable="true")), "volcano_vgpu", "VGPUEnable")
        self.assertEqual(self.document(cluster, self.ours(VGPUEnable="true", policy="binpack"))["choice"]["node"], "a")
        rules = self.ours(GPUExclusiveRules="'[{\"app\": \"x\"}]'")
        objects = node("a", ["a0"]) + bound("p0", "a", "a0", 100, labels={"app": "x"}) + pod("q", vgpu(100), labels={"app": "x"})
        [only] = self.document(objects, rules)["nodes"]
        self.assertEqual(only["reason"]["code"], "device_avoided")

    def validate(self, config, *files):
        return self.vgpusim("validate", *files, "--scheduler-config", self.write("scheduler.conf", config))

    def test_a_configuration_is_checked_before_it_is_applied(self):
        done = self.validate(self.ours(policy="binpack", device_policy="best_fit", weight=3))
        self.assert_done(done)
        self.assertIn("scheduler.conf scheduler configuration\n", done.stdout)
        self.assertIn("plugin vgpualloc: policy binpack, device policy best_fit, weight 3\n", done.stdout)
        done = self.validate(scheduler(VGPUEnable="true", SchedulePolicy="binpack"))
        self.assertIn("plugin deviceshare: SchedulePolicy binpack, ScheduleWeight not given\n", done.stdout)
        for config, *words in ((self.ours(policy="best"), "scheduler.conf:6: plugin vgpualloc: vgpualloc.policy: got 'best'"),
                               (self.ours(policy="random"), "vgpualloc.policy: got 'random'", "draws nothing"),
                               (self.ours(device_policy="compat:nothing"), "vgpualloc.device-policy: got 'compat:nothing'"),
                               (self.ours(weight="much"), "vgpualloc.weight: got 'much'", "a number"),
                               (self.ours(Wrong=1), "deviceshare.Wrong: unknown argument", "VGPUEnable"),
                               (self.ours(policy="fgd").replace(".policy", ".polcy"), "vgpualloc.polcy: unknown argument",
                                "vgpualloc.policy"),
                               (self.ours() + "  - name: deviceshare\n", "vgpualloc and deviceshare", "one of them"),
                               ("tiers: []\n", "vgpualloc or deviceshare")):
            self.assert_refused(self.validate(config), "scheduler.conf", *words)

    def test_a_replay_takes_the_policies_of_plugin_vgpualloc(self):
        log = SOURCE / "tests" / "data" / "replay" / "decisions.jsonl"
        by_file = self.vgpusim("replay", "--decisions", log, "--scheduler-config", self.write("s.conf", self.ours(policy="spread")))
        self.assert_done(by_file)
        self.assertRegex(by_file.stdout, r"policy +binpack +spread\n")
        both = self.vgpusim("replay", "--decisions", log, "--scheduler-config", self.root / "s.conf", "--policy", "best_fit")
        self.assertRegex(both.stdout, r"policy +binpack +best_fit\n")
        wrong = self.vgpusim("replay", "--decisions", log, "--scheduler-config", self.write("w.conf", self.ours(policy="best")))
        self.assert_refused(wrong, "w.conf:6: plugin vgpualloc: vgpualloc.policy: got 'best'")


if __name__ == "__main__":
    unittest.main()
