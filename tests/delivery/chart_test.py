"""The Helm chart, rendered by Helm's own engine (adapters/delivery/render): what it makes hangs together, refuses what is
wrong, and its configurations are ones that the library reads."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ADAPTERS, ALL, CHART, LEAST, LEAST_NODE, NODE, PLUGINS, SOURCE, module_folder, of_kind, prepare, render

VGPUSIM = os.environ.get("VGPUSIM")


def container_of(deployment):
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return container


class ChartTest(unittest.TestCase):
    def rendered(self, values):
        objects, error = render(values)
        self.assertEqual(error, "")
        return objects

    def refused(self, values, *words):
        objects, error = render(values)
        self.assertIsNone(objects)
        for word in words:
            self.assertIn(word, error)

    def test_names_are_told_apart(self):
        for values in LEAST, ALL, NODE, {**ALL, **{part: NODE[part] for part in ("devicePlugin", "ascendDevicePlugin")},
                                         "devicePlugin": {**NODE["devicePlugin"], "createDeviceConfig": False}}:
            names = [(found["kind"], found["metadata"].get("namespace"), found["metadata"]["name"])
                     for found in self.rendered(values)]
            self.assertEqual(len(set(names)), len(names))

    def test_only_what_is_enabled_is_there(self):
        parts = {component: bool(of_kind(self.rendered(LEAST), "Deployment", component)) for component in ("scheduler", "extender")}
        self.assertEqual(parts, {"scheduler": True, "extender": False})
        extender = self.rendered({"scheduler": {"enabled": False}, "extender": {
            "enabled": True, "image": {"repository": "example.com/extender"}}})
        self.assertEqual({found["metadata"]["name"] for found in extender}, {"vgpualloc-extender", "vgpualloc-extender-config"})
        self.assertFalse([found for found in self.rendered(LEAST) if found["metadata"]["name"] == "volcano-vgpu-device-config"])

    def test_services_and_accounts_name_what_is_there(self):
        objects = self.rendered(ALL)
        for component in "scheduler", "extender":
            [deployment] = of_kind(objects, "Deployment", component)
            template = deployment["spec"]["template"]
            self.assertLessEqual(deployment["spec"]["selector"]["matchLabels"].items(), template["metadata"]["labels"].items())
            [service] = of_kind(objects, "Service", component)
            self.assertEqual(service["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"])
            ports = {port["name"]: port["containerPort"] for port in container_of(deployment)["ports"]}
            for port in service["spec"]["ports"]:
                self.assertEqual(ports[port["targetPort"]], port["port"])
            account = template["spec"]["serviceAccountName"]
            self.assertIn(account, [found["metadata"]["name"] for found in of_kind(objects, "ServiceAccount")])
            probe = container_of(deployment)["livenessProbe"]["httpGet"]
            self.assertIn(probe["port"], ports)
            volumes = {volume["name"] for volume in template["spec"]["volumes"]}
            self.assertEqual(volumes, {mount["name"] for mount in container_of(deployment)["volumeMounts"]})
        for binding in of_kind(objects, "RoleBinding") + of_kind(objects, "ClusterRoleBinding"):
            role = binding["roleRef"]
            self.assertTrue([found for found in of_kind(objects, role["kind"]) if found["metadata"]["name"] == role["name"]
                             and found["metadata"].get("namespace") == binding["metadata"].get("namespace")])
            [subject] = binding["subjects"]
            self.assertEqual(subject["namespace"], "volcano-system")

    def test_the_extender_is_not_ended_while_it_waits(self):
        """/healthz is 503 until everything is known, which may take any time."""
        container = container_of(of_kind(self.rendered(ALL), "Deployment", "extender")[0])
        paths = {probe: container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
        self.assertEqual(paths, {"livenessProbe": "/livez", "readinessProbe": "/healthz"})
        code = (ADAPTERS / "extender/service/http.go").read_text()
        for path in paths.values():
            self.assertIn(f'all.HandleFunc("GET {path}"', code)

    def test_containers_have_no_rights_on_their_node(self):
        for deployment in of_kind(self.rendered(ALL), "Deployment"):
            pod = deployment["spec"]["template"]["spec"]
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            security = container_of(deployment)["securityContext"]
            self.assertEqual((security["allowPrivilegeEscalation"], security["readOnlyRootFilesystem"],
                              security["capabilities"]["drop"]), (False, True, ["ALL"]))
            self.assertNotIn("hostNetwork", pod)
            self.assertFalse([volume for volume in pod["volumes"] if "hostPath" in volume])

    def test_images(self):
        [deployment] = of_kind(self.rendered(LEAST), "Deployment")
        version = re.search(r'^appVersion: "([\d.]+)"', (CHART / "Chart.yaml").read_text(), re.MULTILINE)[1]
        self.assertEqual(container_of(deployment)["image"], f"example.com/scheduler:{version}")
        library = (SOURCE / "libvgpualloc/core/include/vgpualloc/version.hpp").read_text()
        self.assertIn(f'"{version}"', library, "the chart's version is the library's")
        [deployment] = of_kind(self.rendered(ALL), "Deployment", "scheduler")
        self.assertEqual(container_of(deployment)["image"], "example.com/scheduler:7")

    def test_flags_are_volcanos(self):
        folders = [module_folder("volcano.sh/volcano") / "cmd/scheduler", module_folder("k8s.io/component-base") / "config/options",
                   module_folder("k8s.io/klog/v2")]
        code = "".join(path.read_text() for folder in folders for path in folder.rglob("*.go") if "_test" not in path.name)
        for values in LEAST, ALL:
            for argument in container_of(of_kind(self.rendered(values), "Deployment", "scheduler")[0])["args"]:
                name = argument.lstrip("-").split("=")[0]
                self.assertIn(f'"{name}"', code, argument)

    def test_flags_of_the_extender_are_its_own(self):
        if not (ADAPTERS / "extender").is_dir():
            self.skipTest("there is no adapters/extender yet")
        code = "".join(path.read_text() for path in (ADAPTERS / "extender").rglob("*.go"))
        for argument in container_of(of_kind(self.rendered(ALL), "Deployment", "extender")[0])["args"]:
            name = argument.lstrip("-").split("=")[0]
            if name != "v":  # klog's
                self.assertIn(f'"{name}"', code, argument)

    def test_two_never_give_out_the_same_device(self):
        many = {**LEAST["scheduler"], "replicas": 2}
        self.refused({"scheduler": {**many, "leaderElection": {"enabled": False}}}, "scheduler.replicas", "leaderElection")
        self.rendered({"scheduler": many})
        alone = self.rendered({"scheduler": {**LEAST["scheduler"], "leaderElection": {"enabled": False}}})
        self.assertEqual(of_kind(alone, "Deployment")[0]["spec"]["strategy"], {"type": "Recreate"})
        self.assertFalse([found for found in of_kind(alone, "Role") if "lease" in found["metadata"]["name"]])
        [deployment] = of_kind(self.rendered(LEAST), "Deployment")
        # The lease that Volcano's own scheduler takes: GenerateComponentName of its default names.
        self.assertIn("--leader-elect-resource-name=volcano", container_of(deployment)["args"])
        extender = of_kind(self.rendered(ALL), "Deployment", "extender")[0]["spec"]
        self.assertEqual((extender["replicas"], extender["strategy"]), (1, {"type": "Recreate"}))

    def test_wrong_values_are_refused(self):
        self.refused({}, "scheduler.image.repository")
        self.refused({"scheduler": {**LEAST["scheduler"], "replica": 2}}, "replica", "not allowed")
        self.refused({"scheduler": {**LEAST["scheduler"], "schedulerNames": []}}, "schedulerNames")
        self.refused({"scheduler": {**LEAST["scheduler"], "logLevel": "much"}}, "logLevel")
        self.refused({"scheduler": {**LEAST["scheduler"], "image": {"repository": "a", "pullPolicy": "Sometimes"}}}, "pullPolicy")
        for period in "abc", "", "1", "-1s", "1 s":
            self.refused({"scheduler": {**LEAST["scheduler"], "schedulePeriod": period}}, "schedulePeriod")
        self.rendered({"scheduler": {**LEAST["scheduler"], "schedulePeriod": "1m2.5s"}})

    def test_configurations_that_nobody_could_read_are_refused(self):
        def with_text(text):
            return {"scheduler": {**LEAST["scheduler"], "configMap": {"text": text}}}
        self.refused(with_text("a: [b"), "scheduler.configMap.text", "yaml")
        self.refused(with_text("actions: allocate"), "scheduler.configMap.text", "expected vgpualloc")
        for plugins in "[{name: gang}]", "[{name: vgpualloc}, {name: deviceshare}]":
            self.refused(with_text("actions: allocate\ntiers:\n- plugins: " + plugins), "scheduler.configMap.text", "no deviceshare")
        self.rendered(with_text("actions: allocate\ntiers:\n- plugins: [{name: vgpualloc}]"))
        self.refused({**LEAST, "deviceConfig": {"create": True, "text": "nvidia: ["}}, "deviceConfig.text", "yaml")

    def test_the_node_lock_has_its_right(self):
        conf = (CHART / "files/volcano-scheduler.conf").read_text(encoding="utf-8")
        locking = {"text": conf.replace("# deviceshare.NodeLockEnable: true", "deviceshare.NodeLockEnable: true")}
        self.assertNotEqual(locking["text"], conf)
        self.refused({"scheduler": {**LEAST["scheduler"], "configMap": locking}}, "scheduler.rbac.nodeLock")
        self.rendered({"scheduler": {**LEAST["scheduler"], "configMap": locking, "rbac": {"nodeLock": True}}})

    def test_every_value_is_explained(self):
        """A comment stands above each key, or it is one of a few that a comment above its parent explains."""
        plain = {"enabled", "image", "repository", "tag", "pullPolicy", "imagePullSecrets", "logLevel", "resources", "requests",
                 "limits", "nodeSelector", "tolerations", "affinity", "priorityClassName", "leaderElection", "configMap",
                 "decisionLog", "rbac", "name", "namespace", "sizeLimit", "scheduler", "extender", "devicePlugin",
                 "ascendDevicePlugin", "hamiCore", "vnpuCore", "nodeConfig", "config"}
        before = ""
        for line in (CHART / "values.yaml").read_text().splitlines():
            key = re.match(r"\s*(\w+):", line)
            if key and not before.strip().startswith("#"):
                self.assertIn(key[1], plain, line)
            before = line

    def test_an_existing_configuration_is_mounted(self):
        values = {"scheduler": {**LEAST["scheduler"], "configMap": {"existing": "volcano-scheduler-configmap"}}}
        objects = self.rendered(values)
        self.assertFalse(of_kind(objects, "ConfigMap"))
        [volume] = [volume for volume in of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]["volumes"]
                    if volume["name"] == "config"]
        self.assertEqual(volume["configMap"]["name"], "volcano-scheduler-configmap")

    def test_the_decision_log_is_written_where_a_volume_is(self):
        objects = self.rendered({"scheduler": {**LEAST["scheduler"], "decisionLog": {"enabled": True, "existingClaim": "kept"}}})
        [text] = [found["data"]["volcano-scheduler.conf"] for found in of_kind(objects, "ConfigMap")]
        path = re.search(r"^ +vgpualloc\.decision-log: (\S+)$", text, re.MULTILINE)[1]
        [deployment] = of_kind(objects, "Deployment")
        [mount] = [mount for mount in container_of(deployment)["volumeMounts"] if mount["name"] == "decisions"]
        self.assertTrue(path.startswith(mount["mountPath"] + "/"))
        volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
        self.assertEqual(volumes["decisions"]["persistentVolumeClaim"], {"claimName": "kept"})
        self.assertNotIn("readOnly", mount)
        plain = of_kind(self.rendered(LEAST), "ConfigMap")[0]["data"]["volcano-scheduler.conf"]
        self.assertNotRegex(plain, r"(?m)^ +vgpualloc\.decision-log:")
        self.refused({"scheduler": {**LEAST["scheduler"], "decisionLog": {"enabled": True}, "configMap": {"text": "actions: allocate"}}},
                     "scheduler.configMap.text", "vgpualloc.decision-log")
        self.refused({"scheduler": {**LEAST["scheduler"], "decisionLog": {"enabled": True}, "configMap": {"existing": "there"}}},
                     "scheduler.decisionLog.enabled", "scheduler.configMap.existing")

    def test_the_extender_writes_its_decision_log_where_a_volume_is(self):
        extender = {"enabled": True, "image": {"repository": "example.com/extender"}}
        for log, volume in ({"enabled": True}, {"emptyDir": {"sizeLimit": "10Gi"}}), \
                ({"enabled": True, "existingClaim": "kept"}, {"persistentVolumeClaim": {"claimName": "kept"}}):
            [deployment] = of_kind(self.rendered({**LEAST, "extender": {**extender, "decisionLog": log}}), "Deployment", "extender")
            [path] = [flag.split("=")[1] for flag in container_of(deployment)["args"] if flag.startswith("--decision-log=")]
            [mount] = [mount for mount in container_of(deployment)["volumeMounts"] if mount["name"] == "decisions"]
            self.assertTrue(path.startswith(mount["mountPath"] + "/"))
            self.assertIn({"name": "decisions", **volume}, deployment["spec"]["template"]["spec"]["volumes"])
        [plain] = of_kind(self.rendered({**LEAST, "extender": extender}), "Deployment", "extender")
        self.assertNotIn("decision", json.dumps(plain))

    def test_the_plugin_is_asked_first(self):
        conf = (CHART / "files/volcano-scheduler.conf").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^ +- name: (\w+)", conf, re.MULTILINE)[0], "vgpualloc")


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
        known = set(re.findall(r'"(\w+)"', re.search(r"var knownKeys = \[\]string\{(.*?)\}", code, re.DOTALL)[1]))
        useless = set(re.findall(r'"(\w+)"', re.search(r"var ofTheScheduler = \[\]string\{(.*?)\}", code, re.DOTALL)[1]))
        self.assertEqual(keys, known - useless)
        for key in useless:
            self.assertIn(key, section, "said to have no effect")


class ConfigurationTest(unittest.TestCase):
    """files/: what the library makes of them, and that what is commented out there is real."""

    def setUp(self):
        if not VGPUSIM:
            self.skipTest("VGPUSIM names no vgpusim")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.cluster = SOURCE / "tests/data/explain/cluster.yaml"
        self.conf = (CHART / "files/volcano-scheduler.conf").read_text(encoding="utf-8")

    def explain(self, *flags):
        return subprocess.run([VGPUSIM, "explain", self.cluster, "--pod", "default/waits", *flags], capture_output=True,
                              text=True, check=False)

    def scheduler_config(self, text):
        path = self.root / "scheduler.conf"
        path.write_text(text)
        return self.explain("--scheduler-config", path, "--config", CHART / "files/device-config.yaml")

    def test_the_defaults_are_read(self):
        told = self.scheduler_config(self.conf)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("chosen: ", told.stdout)
        self.assertIn("policy binpack: ", told.stdout)
        [deployment] = of_kind(render(LEAST)[0], "ConfigMap")
        self.assertEqual(deployment["data"]["volcano-scheduler.conf"].strip(), self.conf.strip())

    def test_there_is_one_plugin_for_devices(self):
        names = re.findall(r"^ +- name: (\w+)", self.conf, re.MULTILINE)
        self.assertIn("vgpualloc", names)
        self.assertNotIn("deviceshare", names)
        known = module_folder("volcano.sh/volcano") / "pkg/scheduler/plugins"
        for name in set(names) - {"vgpualloc"}:
            self.assertTrue((known / name).is_dir(), name)

    def test_arguments_that_are_commented_out_are_real(self):
        lines = re.findall(r"^ +# ((?:deviceshare|vgpualloc)\.[\w-]+: .*)$", self.conf, re.MULTILINE)
        self.assertGreaterEqual(len(lines), 10)
        for line in lines:
            text = self.conf.replace(f"# {line}", line)
            if "GPUSharing" in line or "GPUNumber" in line:
                text = text.replace("deviceshare.VGPUEnable: true", "deviceshare.VGPUEnable: false")
            told = self.scheduler_config(text)
            self.assertNotIn("scheduler.conf", told.stderr, line)
        for right, misspelt in (("# deviceshare.ScheduleWeight: 0", "deviceshare.ScheduleWeigth: 0"),
                                ("# vgpualloc.policy: fgd", "vgpualloc.polcy: fgd")):
            wrong = self.scheduler_config(self.conf.replace(right, misspelt))
            self.assertIn(misspelt.split(":")[0], wrong.stderr)

    def test_our_own_arguments_are_real(self):
        arguments = set(re.findall(r"(vgpualloc\.[\w-]+)", self.conf)) - {"vgpualloc.example"}
        folder = ADAPTERS / "scheduler"
        code = "".join(path.read_text() for path in folder.rglob("*.go"))
        if "vgpualloc.policy" not in code:
            self.skipTest("adapters/scheduler reads no arguments yet")
        for argument in arguments:
            self.assertIn(f'"{argument}"', code)
        for policy in re.findall(r"vgpualloc\.(?:device-)?policy: (\w+)", self.conf):
            told = subprocess.run([VGPUSIM, "policies"], capture_output=True, text=True, check=True)
            self.assertIn(policy, [line.split()[0] for line in told.stdout.splitlines() if line.strip()])

    def test_the_device_configuration_is_read_as_it_is_and_with_what_is_commented_out(self):
        text = (CHART / "files/device-config.yaml").read_text(encoding="utf-8")
        begin = text.index("# vnpus:")
        full = self.root / "device-config.yaml"
        full.write_text(text[:begin] + re.sub(r"(?m)^# ", "", text[begin:]))
        self.assertIn("\nvnpus:\n", full.read_text())
        for config in CHART / "files/device-config.yaml", full:
            told = self.explain("--config", config, "--json")
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertEqual(json.loads(told.stdout)["choice"]["annotations"]["volcano.sh/vgpu-node"], "mig-0")
            self.assertNotIn("warning", told.stderr)
        npu = subprocess.run([VGPUSIM, "validate", SOURCE / "scenarios/manifests/ascend-hami-pod.yaml", "--config", full],
                             capture_output=True, text=True, check=False)
        self.assertEqual((npu.returncode, "ascend_hami" in npu.stdout), (0, True), npu.stderr)


if __name__ == "__main__":
    prepare()
    unittest.main()
