"""The node side in the Helm chart, rendered by Helm's own engine: the DaemonSets of the device plugin, and the geometries of MIG cards
that the chart installs. rbac_test.py has their rights."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ADAPTERS, ALL, CHART, LEAST, LEAST_NODE, NODE, PLUGINS, SOURCE, of_kind, render, renderer


class PluginTest(unittest.TestCase):
    """The DaemonSets of the device plugin, for GPUs and for Ascend NPUs."""

    def rendered(self, values):
        objects, error = render(values)
        self.assertEqual(error, "")
        return objects

    def refused(self, change, *words):
        objects, error = render({**LEAST_NODE, "devicePlugin": {**LEAST_NODE["devicePlugin"], **change}})
        self.assertIsNone(objects)
        for word in words:
            self.assertIn(word, error)

    def daemons(self, values, component):
        [found] = of_kind(self.rendered(values), "DaemonSet", component)
        return found["spec"]

    def test_both_are_off_unless_they_are_wanted(self):
        for values in LEAST, ALL:
            self.assertFalse(of_kind(self.rendered(values), "DaemonSet"))
        self.assertEqual([found["metadata"]["name"] for found in of_kind(self.rendered(LEAST_NODE), "DaemonSet")], ["vgpualloc-device-plugin"])
        self.assertEqual(len(of_kind(self.rendered(NODE), "DaemonSet")), 2)

    def test_names_labels_volumes_and_ports_hang_together(self):
        objects = self.rendered(NODE)
        for component in PLUGINS:
            [found] = of_kind(objects, "DaemonSet", component)
            template = found["spec"]["template"]
            self.assertLessEqual(found["spec"]["selector"]["matchLabels"].items(), template["metadata"]["labels"].items())
            self.assertIn(template["spec"]["serviceAccountName"],
                          [account["metadata"]["name"] for account in of_kind(objects, "ServiceAccount")])
            containers = template["spec"]["containers"] + template["spec"]["initContainers"]
            self.assertEqual({volume["name"] for volume in template["spec"]["volumes"]},
                             {mount["name"] for container in containers for mount in container["volumeMounts"]})
            made = {config["metadata"]["name"] for config in of_kind(objects, "ConfigMap")}
            self.assertLessEqual({volume["configMap"]["name"] for volume in template["spec"]["volumes"] if "configMap" in volume}, made)
        bindings = of_kind(objects, "RoleBinding") + of_kind(objects, "ClusterRoleBinding")
        self.assertEqual(len(bindings), 3)
        for binding in bindings:
            role = binding["roleRef"]
            self.assertTrue([found for found in of_kind(objects, role["kind"]) if found["metadata"]["name"] == role["name"]
                             and found["metadata"].get("namespace") == binding["metadata"].get("namespace")])

    def test_prometheus_and_the_kubelet_ask_where_something_answers(self):
        spec = self.daemons(LEAST_NODE, "device-plugin")["template"]
        [container] = spec["spec"]["containers"]
        [port] = container["ports"]
        self.assertEqual((port["name"], port["containerPort"]), ("metrics", 9394))
        self.assertIn("--metrics-listen=:9394", container["args"])
        self.assertEqual((spec["metadata"]["annotations"]["prometheus.io/port"], spec["metadata"]["annotations"]["prometheus.io/path"]),
                         ("9394", "/metrics"))
        code = (ADAPTERS / "deviceplugin/metrics/metrics.go").read_text(encoding="utf-8")
        for path in ["/metrics", *(container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe"))]:
            self.assertIn(f'"GET {path}"', code)

    def test_flags_are_those_of_the_code(self):
        flags = {"device-plugin": (ADAPTERS / "deviceplugin/config/flags.go").read_text(encoding="utf-8"),
                 "ascend-plugin": (ADAPTERS / "deviceplugin/ascend/settings.go").read_text(encoding="utf-8")}
        for component, code in flags.items():
            arguments = self.daemons(NODE, component)["template"]["spec"]["containers"][0]["args"]
            self.assertGreater(len(arguments), 3)
            for argument in arguments:
                name = argument.lstrip("-").split("=")[0]
                self.assertIn(f'"{name}"', code, argument)
        self.assertIn("--vendor=ascend", (ADAPTERS / "deviceplugin/main.go").read_text(encoding="utf-8") + " ".join(arguments))

    def test_values_reach_the_plugin(self):
        spec = self.daemons(NODE, "device-plugin")["template"]["spec"]
        [container] = spec["containers"]
        for argument in "--scheduler=volcano,hami", "--create-device-config", "--fail-on-init-error=false", "--pass-device-specs":
            self.assertIn(argument, container["args"])
        self.assertIn({"name": "DP_DISABLE_HEALTHCHECKS", "value": "79"}, container["env"])
        self.assertEqual(container["image"], "example.com/plugin:7")
        self.assertEqual((spec["runtimeClassName"], spec["nodeSelector"], spec["imagePullSecrets"], spec["priorityClassName"]),
                         ("nvidia", {"gpu": "on"}, [{"name": "pull"}], "system-node-critical"))
        self.assertIn({"key": "volcano.sh/gpu-memory", "operator": "Exists", "effect": "NoSchedule"}, spec["tolerations"])
        self.assertEqual(self.daemons(NODE, "ascend-plugin")["template"]["spec"]["nodeSelector"], {"ascend": "on"})

    def test_with_mps_the_plugin_can_ask_its_daemon(self):
        for values, capabilities in ((LEAST_NODE, "utility"), (NODE, "compute,utility")):
            [container] = self.daemons(values, "device-plugin")["template"]["spec"]["containers"]
            self.assertIn({"name": "NVIDIA_DRIVER_CAPABILITIES", "value": capabilities}, container["env"])
            self.assertEqual("--mps-root=/run/nvidia/mps" in container["args"], values is NODE)
            self.assertEqual({"name": "mps", "mountPath": "/run/nvidia/mps"} in container["volumeMounts"], values is NODE)
        code = (ADAPTERS / "deviceplugin/mps/mps.go").read_text(encoding="utf-8")
        self.assertIn('DefaultRoot = "/run/nvidia/mps"', code)

    def test_the_old_one_is_gone_before_the_new_one_begins(self):
        for component in PLUGINS:
            self.assertEqual(self.daemons(NODE, component)["updateStrategy"],
                             {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}})

    def test_another_configuration_starts_it_again(self):
        def notes(nodes):
            values = {**LEAST_NODE, "devicePlugin": {**LEAST_NODE["devicePlugin"], "nodeConfig": {"nodes": nodes}}}
            return self.daemons(values, "device-plugin")["template"]["metadata"]["annotations"]
        self.assertEqual(notes([{"name": "a"}]), notes([{"name": "a"}]))
        self.assertNotEqual(notes([{"name": "a"}]), notes([{"name": "b"}]))

    def test_hami_core_comes_from_its_own_image(self):
        self.assertNotIn("initContainers", self.daemons(LEAST_NODE, "device-plugin")["template"]["spec"])
        spec = self.daemons(NODE, "device-plugin")["template"]["spec"]
        [first] = spec["initContainers"]
        self.assertEqual(first["image"], "example.com/hami-core:1")
        answer = (ADAPTERS / "deviceplugin/allocate/limits.go").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            image, hook = Path(folder, "image"), Path(folder, "hook")
            image.mkdir()
            hook.mkdir()
            (hook / "libvgpu.so").write_text("the one before")
            before = os.open(hook / "libvgpu.so", os.O_RDONLY)
            self.addCleanup(os.close, before)
            for name in "libvgpu.so", "ld.so.preload":
                self.assertIn(f'path.Join(hook, "{name}")', answer, "what containers are given")
                (image / name).write_text(f"new {name}")
            script = first["command"][2].replace("/hook/", f"{hook}/")
            subprocess.run([*first["command"][:2], script, image], check=True)
            for name in "libvgpu.so", "ld.so.preload":
                self.assertEqual((hook / name).read_text(), f"new {name}")
            self.assertEqual(os.read(before, 100), b"the one before", "who has mapped the old library keeps it")
            self.assertEqual(len(list(hook.iterdir())), 2)

    def test_nodes_are_written_as_the_plugin_reads_them(self):
        [config] = of_kind(self.rendered(NODE), "ConfigMap", "volcano-vgpu-node-config")
        self.assertEqual(json.loads(config["data"]["config.json"]), {"nodeconfig": NODE["devicePlugin"]["nodeConfig"]["nodes"]})
        tags = set(re.findall(r'json:"(\w+)"', (ADAPTERS / "deviceplugin/config/nodefile.go").read_text(encoding="utf-8")))
        schema = json.loads((CHART / "values.schema.json").read_text())["properties"]["devicePlugin"]["properties"]["nodeConfig"]
        entry = schema["properties"]["nodes"]["items"]["properties"]
        card = entry["devices"]["items"]["properties"]
        self.assertEqual({"nodeconfig", *entry, *card}, tags, "keys that values take, and those that the plugin reads")
        existing = self.rendered({**LEAST_NODE, "devicePlugin": {**LEAST_NODE["devicePlugin"], "nodeConfig": {"existing": "there"}}})
        self.assertFalse(of_kind(existing, "ConfigMap"))
        [config] = of_kind(self.rendered(NODE), "ConfigMap", "hami-device-node-config")
        self.assertIn("vDeviceCount: 4", config["data"]["node-config.yaml"])

    def test_wrong_values_are_refused(self):
        self.refused({"image": {"repository": ""}}, "devicePlugin.image.repository")
        self.refused({"nodeConfig": {"nodes": [{"name": "a", "operatingmode": "shared"}]}}, "operatingmode")
        self.refused({"nodeConfig": {"nodes": [{"operatingmode": "mps"}]}}, "name")
        self.refused({"nodeConfig": {"nodes": [{"name": "a", "operatingmod": "mps"}]}}, "operatingmod", "not allowed")
        self.refused({"nodeConfig": {"nodes": [{"name": "a", "devices": [{"index": 0, "uuid": "GPU-1"}]}]}}, "devices")
        self.refused({"nodeConfig": {"nodes": [{"name": "a", "devicecorescaling": 0}]}}, "devicecorescaling")
        self.refused({"nodeConfig": {"nodes": [{"name": "a", "operatingmode": "mig"}]}}, "devicePlugin.mig")
        self.refused({"nodeConfig": {"nodes": [{"name": "a", "devices": [{"index": 0, "operatingmode": "mig"}]}]}}, "devicePlugin.mig")
        self.refused({"nodeConfig": {"nodes": [{"name": "a", "operatingmode": "mps"}]}}, "devicePlugin.mps.enabled")
        self.refused({"mps": {"enabled": True, "root": "run"}}, "root")
        self.refused({"schedulers": ["kube"]}, "schedulers")
        self.refused({"hookPath": "usr/local"}, "hookPath")
        for change, word in (({"deviceConfig": {"namespace": "team"}}, "deviceConfig.namespace"),
                             ({"deviceConfig": {"name": "other"}}, "deviceConfig.name")):
            objects, error = render({**LEAST_NODE, **change})
            self.assertIsNone(objects)
            self.assertIn(word, error)
        objects, error = render({**NODE, "deviceConfig": {"create": True}})
        self.assertIsNone(objects)
        self.assertIn("createDeviceConfig", error)
        objects, error = render({**NODE, "ascendDevicePlugin": {**NODE["ascendDevicePlugin"], "config": {"text": "vnpus: []"}}})
        self.assertIsNone(objects)
        self.assertIn("ascendDevicePlugin.config.text", error)

    def test_chips_are_those_of_the_catalog(self):
        [config] = of_kind(self.rendered(NODE), "ConfigMap", "hami-scheduler-device")
        catalog = json.loads((SOURCE / "libvgpualloc/data/ascend-templates.json").read_text())["ascend"]["chips"]
        text = config["data"]["device-config.yaml"]
        self.assertEqual(re.findall(r"chipName: (\S+)", text), [chip["chip_name"] for chip in catalog])
        self.assertEqual(re.findall(r"- \{name: (\w+), memory: (\d+), aiCore: (\d+)", text),
                         [(part["name"], str(part["memory_mib"]), str(part["ai_core"])) for chip in catalog for part in chip["templates"]])
        self.assertEqual([int(number) for number in re.findall(r"memoryAllocatable: (\d+)", text)],
                         [chip["memory_allocatable_mib"] for chip in catalog])


class GeometryTest(unittest.TestCase):
    """knownMigGeometries of files/device-config.yaml: the cards that have them, and instances that exist."""

    def setUp(self):
        text = (CHART / "files/device-config.yaml").read_text(encoding="utf-8")
        lists = text[text.index("knownMigGeometries:"):text.index("# Ascend NPUs")]
        self.lists = [(re.findall(r'"([^"]+)"', models), [
            [(name, int(memory), int(count)) for name, memory, count in re.findall(r"name: ([\w.]+), memory: (\d+), count: (\d+)", group)]
            for group in re.findall(r"geometries: \[(.*)\]", rest)]) for models, rest in re.findall(
                r"- models: \[([^\]]*)\](.*?)(?=\n  - models|\Z)", lists, re.DOTALL)]
        catalog = json.loads((SOURCE / "libvgpualloc/data/mig-profiles.json").read_text(encoding="utf-8"))["mig"]
        self.models = {model["key"]: model for model in catalog}
        self.names = {"A30": "A30-24GB", "A100-SXM4-40GB": "A100-40GB", "A100-SXM4-80GB": "A100-80GB", "H100 80GB HBM3": "H100-80GB",
                      "H100 NVL": "H100-94GB", "NVIDIA H200": "H200-141GB", "NVIDIA B200": "B200-180GB"}

    def of(self, card):
        """The entry that holds for a card of this name: the first of which a model occurs in it."""
        return next((groups for models, groups in self.lists if any(model in card for model in models)), None)

    def test_the_usual_cards_have_an_entry(self):
        self.assertEqual([models[0] for models, _ in self.lists], list(self.names))
        for card, first in (("NVIDIA A30", "1g.6gb"), ("NVIDIA A100-PCIE-40GB", "1g.5gb"), ("NVIDIA A100 80GB PCIe", "1g.10gb"),
                            ("NVIDIA H100 PCIe", "1g.10gb"), ("NVIDIA H100 NVL", "1g.12gb"), ("NVIDIA H200", "1g.18gb"),
                            ("NVIDIA B200", "1g.23gb")):
            self.assertEqual(self.of(card)[0][0][0], first)
        for card in "NVIDIA GH200 480GB", "NVIDIA GB200", "Tesla T4":
            self.assertIsNone(self.of(card), f"{card} has other instances")

    def test_profiles_are_in_the_catalog_and_fit_together(self):
        for models, groups in self.lists:
            model = self.models[self.names[models[0]]]
            profiles = {profile["name"]: profile for profile in model["profiles"]}
            for group in groups:
                self.assertTrue(group)
                for name, memory, count in group:
                    self.assertLessEqual(count, profiles[name]["max_instances"], f"{models[0]}: {name}")
                    real = profiles[name]["memory_mib"]
                    if real and not models[0].startswith("A"):  # those are Volcano's own numbers, which are larger
                        self.assertEqual(memory, real, f"{models[0]}: {name}")
                    self.assertLessEqual(memory, model["memory_mib"])
                self.assertLessEqual(sum(profiles[name]["memory_slices"] * count for name, _, count in group), model["memory_slices"])
                self.assertLessEqual(sum(profiles[name]["compute_slices"] * count for name, _, count in group), model["compute_slices"])

    def test_they_are_those_that_the_plugin_writes_itself(self):
        own = (ADAPTERS / "deviceplugin/config/geometries.yaml").read_text(encoding="utf-8")
        written = re.findall(r"name: ([\w.]+), memory: (\d+), count: (\d+)", own)
        self.assertEqual([(name, int(memory), int(count)) for name, memory, count in written],
                         [instance for _, groups in self.lists for group in groups for instance in group])

    def test_every_key_is_one_that_the_plugin_knows(self):
        text = (CHART / "files/device-config.yaml").read_text(encoding="utf-8")
        section = text[text.index("\nnvidia:"):text.index("# Ascend NPUs")]
        keys = set(re.findall(r"^  (?:# )?(\w+):", section, re.MULTILINE))
        code = (ADAPTERS / "deviceplugin/config/deviceconfig.go").read_text(encoding="utf-8")
        known = set(re.findall(r'json:"(\w+)"', re.search(r"type deviceConfig struct \{(.*?)\n\}", code, re.DOTALL)[1]))
        reasons = dict(re.findall(r'"(\w+)": (ofSchedulers|isOfHAMi)', code))
        of_hami = {key for key, reason in reasons.items() if reason == "isOfHAMi"}
        useless = set(reasons) - of_hami
        self.assertEqual(len(useless), 5)
        self.assertEqual(keys, known - useless - of_hami)
        for key in useless:
            self.assertIn(key, section, "said to have no effect")


if __name__ == "__main__":
    renderer()
    unittest.main()
