"""The rights that the chart asks for: each verb is named with a call that is there, and each call has its verb.

Of the device plugins each capability, each mounted folder and the privilege name the code that needs them, too.

Above each rule of templates/*-rbac.yaml stands `#   VERBS RESOURCE: MODULE FILE: TEXT`: the text is looked for in that file of
the module (for our own code, module `adapters`, in the Go files of that folder). The other way round, the calls of client-go and of
Volcano's clients in our code and in Volcano's scheduler are read from the source, and a call without a verb is a failure
but for parts that are not loaded (NOT_OURS).
"""

import re
import unittest
from pathlib import Path

from support import ADAPTERS, ALL, CHART, LEAST, LEAST_NODE, NODE, PLUGINS, module_folder, of_kind, prepare, render

MODULES = {"volcano": "volcano.sh/volcano", "client-go": "k8s.io/client-go", "kubernetes": "k8s.io/kubernetes"}
REASON = re.compile(r"#   ([\w,]+) ([\w/]+): (volcano|client-go|kubernetes|adapters) (\S+): (.+)$")
LISTED = re.compile(r"\[([^\]]*)\]")
# Each part of the chart with the values that give it all of its rights.
FULL = {"scheduler": ALL, "extender": ALL, **{component: NODE for component in PLUGINS}}

# Files and calls of Volcano's scheduler that the plugin vgpualloc does not lead to, and why.
NOT_OURS = {
    "pkg/scheduler/api/devices/": "the devices of deviceshare, which our configuration does not load",
    "pkg/scheduler/plugins/deviceshare/": "as above",
    "pkg/scheduler/plugins/util/nodelock/": "the node lock of deviceshare",
    "pkg/scheduler/cache/shard_coordinator.go": "only with --scheduler-sharding-mode, and so are its informers",
    "pkg/scheduler/cache/cache_mock.go": "for tests",
    "pkg/scheduler/uthelper/": "for tests",
}
NOT_WATCHED = {
    "nodeshards": "only with --scheduler-sharding-mode",
    "devicetaintrules": "only with the feature gate DRADeviceTaints, which is off",
}

CLIENTS = (r"\b(?:Core|Apps|Batch|Policy|Storage|Scheduling|Resource|Coordination|Events|Nodeinfo|Topology|Shard|Bus|Flow)"
           r"V\d\w*\(\)")
CALL = re.compile(CLIENTS + r"\.\s*(\w+)\(([^()]|\([^()]*\))*\)\.\s*(\w+)\(")
INFORMER = re.compile(r"\b(?:Core|Apps|Batch|Policy|Storage|Scheduling|Resource|Coordination|Nodeinfo|Topology|Shard)\(\)"
                      r"\.\s*V\d\w*\(\)\.\s*(\w+)\(\)")
LIST_WATCH = re.compile(r'NewListWatchFromClient\([^,]+,\s*"(\w+)"|NewFilteredListWatchFromClient\([^,]+,\s*"(\w+)"')
VERBS = {"Get": "get", "List": "list", "Watch": "watch", "Create": "create", "Update": "update", "Patch": "patch",
         "Delete": "delete", "DeleteCollection": "deletecollection"}


def rules_of(path):
    """[(kind, role, resources, verbs, {(resource, verb): (module, file, text)})] from the text of a template."""
    rules, reasons, kind, resources = [], {}, "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("kind: "):
            kind = line.removeprefix("kind: ")
        if reason := REASON.match(line):
            verbs, resource, *place = reason.groups()
            reasons.update({(resource, verb): tuple(place) for verb in verbs.split(",")})
        elif line.startswith("  resources: "):
            resources = [word.strip() for word in LISTED.search(line)[1].split(",")]
        elif line.startswith("  verbs: "):
            rules.append((kind, resources, [word.strip() for word in LISTED.search(line)[1].split(",")], reasons))
            reasons = {}
    return rules


def go_files(folder):
    return [path for path in sorted(folder.rglob("*.go")) if not path.name.endswith("_test.go")]


def calls_in(text):
    """{(resource, verb)} that this Go code needs, as far as it calls typed clients and informers."""
    needed = set()
    for match in CALL.finditer(text):
        resource, verb = match[1].lower(), match[3]
        arguments = text[match.end():].partition("\n")[0]
        if verb == "Bind":
            needed.add(("pods/binding", "create"))
        elif verb in ("Evict", "EvictV1"):
            needed.add(("pods/eviction", "create"))
        elif verb == "UpdateStatus":
            needed.add((resource + "/status", "update"))
        elif verb in VERBS:
            status = verb == "Patch" and re.search(r'PatchOptions\{[^}]*\}, "status"', arguments)
            needed.add((resource + ("/status" if status else ""), VERBS[verb]))
    for resource in [match[1].lower() for match in INFORMER.finditer(text)] + [
            match[1] or match[2] for match in LIST_WATCH.finditer(text)]:
        needed |= {(resource, "list"), (resource, "watch")}
    return needed


class Reading(unittest.TestCase):
    """What reads Go code finds what it is for."""

    def test_calls(self):
        self.assertEqual(calls_in('c.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, t, b, metav1.PatchOptions{})'), {("pods", "patch")})
        self.assertEqual(calls_in('c.ResourceV1().ResourceClaims(n).Patch(ctx, n, t, b, metav1.PatchOptions{}, "status")'),
                         {("resourceclaims/status", "patch")})
        self.assertEqual(calls_in("c.CoreV1().Pods(ns(x)).Bind(ctx, &v1.Binding{})"), {("pods/binding", "create")})
        self.assertEqual(calls_in("c.CoreV1().Nodes().\n\tUpdateStatus(ctx, n, o)"), {("nodes/status", "update")})
        self.assertEqual(calls_in("f.Core().V1().ConfigMaps().Informer()"), {("configmaps", "list"), ("configmaps", "watch")})
        self.assertEqual(calls_in('cache.NewListWatchFromClient(c.RESTClient(), "nodes", "", s)'), {("nodes", "list"), ("nodes", "watch")})
        self.assertEqual(calls_in("s.pods.Get(name)"), set())

    def test_the_template_is_read_whole(self):
        for component, values in FULL.items():
            written = {(resource, verb) for kind, resources, verbs, _ in rules_of(template_of(component))
                       for resource in resources for verb in verbs}
            self.assertEqual(written, granted(values, component))


def template_of(component):
    return CHART / f"templates/{PLUGINS.get(component, component)}-rbac.yaml"


def granted(values, component):
    objects, error = render(values)
    if objects is None:
        raise AssertionError(error)
    return {(resource, verb) for kind in ("Role", "ClusterRole") for role in of_kind(objects, kind, component)
            for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}


class RightsTest(unittest.TestCase):
    def test_every_verb_has_a_call(self):
        for component in FULL:
            for _, resources, verbs, reasons in rules_of(template_of(component)):
                self.assertEqual(set(reasons), {(resource, verb) for resource in resources for verb in verbs})
                for right, (module, file, text) in reasons.items():
                    with self.subTest(component=component, right=right):
                        self.assert_call(component, module, file, text)

    def assert_call(self, component, module, file, text):
        if module != "adapters":
            path = module_folder(MODULES[module]) / file
            self.assertIn(" ".join(text.split()), " ".join(path.read_text(encoding="utf-8").split()), path)
            return
        if not (ADAPTERS / file).is_dir():
            self.skipTest(f"there is no adapters/{file} yet")
        self.assertTrue(any(text in path.read_text(encoding="utf-8") for path in go_files(ADAPTERS / file)),
                        f"adapters/{file} has no {text}")

    def test_nothing_is_granted_by_a_star(self):
        for component, values in FULL.items():
            for resource, verb in granted(values, component):
                self.assertNotIn("*", resource + verb)

    def test_secrets_and_what_pods_run_are_out_of_reach(self):
        for component in "scheduler", "extender":
            rights = granted(ALL, component)
            self.assertFalse([right for right in rights if right[0] in ("secrets", "pods/exec", "serviceaccounts")])
            self.assertFalse([right for right in granted(LEAST, component) if right[0] in ("nodes", "nodes/status")
                              and right[1] not in ("list", "watch")])
            self.assertNotIn("nodes/status", {resource for resource, _ in rights})
            self.assertNotIn(("pods", "create"), rights)

    def test_config_maps_are_read_in_the_named_namespaces_only(self):
        objects, _ = render(ALL)
        roles = [role for role in of_kind(objects, "Role") if any("configmaps" in rule["resources"] for rule in role["rules"])]
        self.assertEqual({role["metadata"]["namespace"] for role in roles}, {"kube-system", "mindx-dl"})
        for role in of_kind(objects, "ClusterRole"):
            self.assertFalse([rule for rule in role["rules"] if "configmaps" in rule["resources"]])

    def test_the_extender_may_read_the_config_maps_that_its_flags_have_it_follow(self):
        """It would ask for others for ever, and be refused."""
        for config, mind_cluster, expected in (("kube-system", False, ["kube-system"]), ("team", False, ["team"]),
                                               ("kube-system", True, ["kube-system", "mindx-dl"]),
                                               ("team", True, ["kube-system", "mindx-dl", "team"])):
            objects, error = render({**LEAST, "deviceConfig": {"namespace": config}, "extender": {
                **ALL["extender"], "mindCluster": mind_cluster}})
            self.assertEqual(error, "")
            for kind in "Role", "RoleBinding":
                self.assertEqual([found["metadata"]["namespace"] for found in of_kind(objects, kind, "extender")], expected)
            [deployment] = of_kind(objects, "Deployment", "extender")
            flags = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
            self.assertEqual((f"--device-config-namespace={config}" in flags, "--mindcluster" in flags), (True, mind_cluster))

    def test_what_is_switched_off_is_not_granted(self):
        self.assertEqual(granted(ALL, "scheduler") - granted(LEAST, "scheduler"), {
            ("resourceclaims", "create"), ("resourceclaims", "update"), ("resourceclaims/status", "update"),
            ("resourceclaims/status", "patch"), ("csidrivers", "list"), ("csidrivers", "watch"),
            ("csistoragecapacities", "list"), ("csistoragecapacities", "watch"), ("nodes", "get"), ("nodes", "update")})

    def test_volcanos_own_role_is_enough(self):
        """So that a cluster switches by changing the image (docs/deploy/switching.md)."""
        text = (module_folder("volcano.sh/volcano") / "installer/helm/chart/volcano/templates/scheduler.yaml").read_text()
        stock = {(resource, verb) for resources, verbs in re.findall(r"resources: \[([^\]]*)\]\s+verbs: \[([^\]]*)\]", text)
                 for resource in re.findall(r"[\w/]+", resources) for verb in re.findall(r"\w+", verbs)}
        self.assertGreater(len(stock), 50)
        self.assertEqual(granted(LEAST, "scheduler") - stock, set())
        self.assertGreater(len(stock - granted(LEAST, "scheduler")), 20, "and it is more than enough")

    def test_every_call_of_volcanos_scheduler_has_its_verb(self):
        volcano = module_folder("volcano.sh/volcano")
        rights, read = granted(ALL, "scheduler"), 0
        for path in go_files(volcano / "pkg/scheduler") + go_files(volcano / "cmd/scheduler"):
            name = path.relative_to(volcano).as_posix()
            if any(name.startswith(part) for part in NOT_OURS):
                continue
            for right in calls_in(path.read_text(encoding="utf-8")):
                read += 1
                if right[0] not in NOT_WATCHED:
                    self.assertIn(right, rights, name)
        self.assertGreater(read, 50, "the calls are found")

    def test_what_is_left_out_is_there(self):
        volcano = module_folder("volcano.sh/volcano")
        for name in NOT_OURS:
            self.assertTrue((volcano / name).exists(), name)

    def test_every_call_of_our_own_code_has_its_verb(self):
        for component, folders in (("scheduler", ["scheduler", "kube", "live", "objects"]), ("extender", ["extender", "kube", "live", "objects"])):
            if not (ADAPTERS / component).is_dir():
                print(f"SKIPPED: there is no adapters/{component} yet")
                continue
            rights = granted(ALL, component)
            # scheduler/e2e makes clusters for tests, and has all rights there.
            for path in [file for folder in folders for file in go_files(Path(ADAPTERS / folder)) if "e2e" not in file.parts]:
                for right in calls_in(path.read_text(encoding="utf-8")):
                    self.assertIn(right, rights, path)


def calls_of_the_plugin(text):
    """calls_in, and the calls that the plugin makes through variables."""
    needed = calls_in(text)
    variables = {name: resource.lower() for name, resource in re.findall(r"(\w+) := [\w.]*CoreV1\(\)\.(\w+)\([^)]*\)\n", text)}
    for name, verb in re.findall(r"\b(\w+)\.(Get|List|Watch|Create|Update|Patch|Delete)\(", text):
        if name in variables:
            needed.add((variables[name], VERBS[verb]))
    return needed


class PluginTest(unittest.TestCase):
    """The device plugins: their rights in the cluster, and on their node."""

    folder = ADAPTERS / "deviceplugin"

    def packages(self, component):
        """The folders whose code runs in a plugin: what packages of tests do needs no rights."""
        own = ["ascend"] if component == "ascend-plugin" else [
            path.name for path in self.folder.iterdir() if path.is_dir() and path.name not in ("ascend", "testbed", "recordings")]
        return [self.folder / name for name in own]

    def test_calls_through_variables_are_found(self):
        self.assertEqual(calls_of_the_plugin("maps := p.Client.CoreV1().ConfigMaps(into.Namespace)\n maps.Update(ctx, m, o)"),
                         {("configmaps", "update")})

    def test_every_call_of_the_plugins_has_its_verb(self):
        for component, least in (("device-plugin", 6), ("ascend-plugin", 5)):
            rights, found = granted(NODE, component), set()
            for path in [file for folder in self.packages(component) for file in go_files(folder)]:
                for right in calls_of_the_plugin(path.read_text(encoding="utf-8")):
                    found.add(right)
                    self.assertIn(right, rights, path)
            self.assertGreaterEqual(len(found), least, found)

    def test_what_is_not_wanted_is_not_granted(self):
        self.assertEqual(granted(NODE, "device-plugin") - granted(LEAST_NODE, "device-plugin"),
                         {("configmaps", "update"), ("configmaps", "create")})
        self.assertEqual(granted({**LEAST_NODE, "devicePlugin": {**LEAST_NODE["devicePlugin"], "mig": True}}, "device-plugin")
                         - granted(LEAST_NODE, "device-plugin"), {("configmaps", "update")})

    def test_secrets_and_other_objects_are_out_of_reach(self):
        for component in PLUGINS:
            self.assertLessEqual({resource for resource, _ in granted(NODE, component)}, {"nodes", "pods", "events", "configmaps"})
            for right in ("nodes", "update"), ("pods", "update"), ("pods", "delete"), ("configmaps", "list"), ("nodes", "list"):
                self.assertNotIn(right, granted(NODE, component))

    def test_one_config_map_is_reached_and_by_its_name(self):
        for values, expected in ((LEAST_NODE, ["kube-system"]),
                                 ({**LEAST_NODE, "deviceConfig": {"namespace": "volcano-system"}}, ["kube-system", "volcano-system"])):
            objects, error = render(values)
            self.assertEqual(error, "")
            roles = of_kind(objects, "Role", "device-plugin")
            self.assertEqual(sorted(role["metadata"]["namespace"] for role in roles), expected)
            for role in roles:
                for rule in role["rules"]:
                    self.assertEqual(rule.get("resourceNames"), ["volcano-vgpu-device-config"])
        for role in of_kind(render(NODE)[0], "Role", "device-plugin"):
            for rule in role["rules"]:
                self.assertEqual("resourceNames" not in rule, rule["verbs"] == ["create"])
        code = (self.folder / "config/build.go").read_text(encoding="utf-8")
        self.assertIn('DeviceConfigNamespaces = []string{"kube-system", "volcano-system"}', code)

    def containers(self, values, component):
        objects, error = render(values)
        self.assertEqual(error, "")
        [daemons] = of_kind(objects, "DaemonSet", component)
        return daemons["spec"]["template"]["spec"]

    def reasons(self, component):
        """what -> [(folder, text)] of the comments `# WHAT: adapters/FOLDER: TEXT` of a template."""
        found = {}
        text = (CHART / f"templates/{PLUGINS[component]}.yaml").read_text(encoding="utf-8")
        for what, folder, words in re.findall(r"^ +#\s+([\w-]+): adapters/([\w/]+): (.+)$", text, re.MULTILINE):
            found.setdefault(what, []).append((folder, words))
        return found

    def test_every_mount_and_privilege_names_code_that_is_there(self):
        for component in PLUGINS:
            spec = self.containers(NODE, component)
            [container] = spec["containers"]
            security = container["securityContext"]
            needed = {mount["name"] for mount in container["volumeMounts"]} | set(security.get("capabilities", {}).get("add", []))
            if security.get("privileged"):
                needed.add("privileged")
            reasons = self.reasons(component)
            self.assertEqual(set(reasons), needed)
            for what, places in reasons.items():
                for folder, words in places:
                    with self.subTest(component=component, what=what, words=words):
                        code = "".join(path.read_text(encoding="utf-8") for path in go_files(ADAPTERS / folder))
                        self.assertTrue(words in code, f"adapters/{folder} has no {words}")

    def test_the_plugin_for_gpus_has_no_capability_but_for_mig(self):
        for values, added in ((LEAST_NODE, None), (NODE, ["SYS_ADMIN"])):
            spec = self.containers(values, "device-plugin")
            for container in spec["containers"] + spec.get("initContainers", []):
                security = container["securityContext"]
                self.assertFalse(security.get("privileged", False))
                self.assertEqual((security["allowPrivilegeEscalation"], security["readOnlyRootFilesystem"],
                                  security["capabilities"]["drop"]), (False, True, ["ALL"]))
            self.assertEqual(spec["containers"][0]["securityContext"]["capabilities"].get("add"), added)
            names = {variable["name"] for variable in spec["containers"][0]["env"]}
            self.assertEqual("NVIDIA_MIG_CONFIG_DEVICES" in names, added is not None, "the runtime refuses it without SYS_ADMIN")
            for key in "hostNetwork", "hostIPC":
                self.assertNotIn(key, spec)
            self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})

    def test_the_least_of_the_node_is_mounted(self):
        """Neither /, /dev, /tmp nor the kubelet's whole folder; what the plugin only reads, it cannot write."""
        paths = {volume["hostPath"]["path"] for volume in self.containers(NODE, "device-plugin")["volumes"] if "hostPath" in volume}
        self.assertEqual(paths, {"/var/lib/kubelet/device-plugins", "/var/lib/kubelet/pod-resources", "/usr/local/vgpu", "/tmp/vgpulock",
                                 "/run/nvidia/mps"})
        ascend = self.containers(NODE, "ascend-plugin")
        writable = {mount["name"] for mount in ascend["containers"][0]["volumeMounts"] if not mount.get("readOnly")}
        self.assertEqual(writable, {"kubelet", "core", "shared", "assets"})


if __name__ == "__main__":
    prepare()
    unittest.main()
