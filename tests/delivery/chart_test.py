"""The Helm chart, rendered by Helm's own engine (adapters/delivery/render): what it makes hangs together, refuses what is
wrong, and its configurations are ones that the library reads."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ADAPTERS, ALL, CHART, LEAST, NODE, SOURCE, module_folder, of_kind, prepare, render

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
                                ("# vgpualloc.policy: bid_price", "vgpualloc.polcy: bid_price")):
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
