"""The rights that the chart asks for: each verb is named with a call that is there, and each call has its verb.

Above each rule of templates/*-rbac.yaml stands `#   VERBS RESOURCE: MODULE FILE: TEXT`: the text is looked for in that file of
the module (for our own code, module `adapters`, in the Go files of that folder). The other way round, the calls of client-go and of
Volcano's clients in our code and in Volcano's scheduler are read from the source, and a call without a verb is a failure
but for parts that are not loaded (NOT_OURS).
"""

import re
import unittest
from pathlib import Path

from support import ADAPTERS, ALL, CHART, LEAST, module_folder, of_kind, prepare, render

MODULES = {"volcano": "volcano.sh/volcano", "client-go": "k8s.io/client-go", "kubernetes": "k8s.io/kubernetes"}
REASON = re.compile(r"#   ([\w,]+) ([\w/]+): (volcano|client-go|kubernetes|adapters) (\S+): (.+)$")
LISTED = re.compile(r"\[([^\]]*)\]")

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
        for component in "scheduler", "extender":
            written = {(resource, verb) for kind, resources, verbs, _ in rules_of(CHART / f"templates/{component}-rbac.yaml")
                       for resource in resources for verb in verbs}
            self.assertEqual(written, granted(ALL, component))


def granted(values, component):
    objects, error = render(values)
    if objects is None:
        raise AssertionError(error)
    return {(resource, verb) for kind in ("Role", "ClusterRole") for role in of_kind(objects, kind, component)
            for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}


class RightsTest(unittest.TestCase):
    def test_every_verb_has_a_call(self):
        for component in "scheduler", "extender":
            for _, resources, verbs, reasons in rules_of(CHART / f"templates/{component}-rbac.yaml"):
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
        for component in "scheduler", "extender":
            for resource, verb in granted(ALL, component):
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


if __name__ == "__main__":
    prepare()
    unittest.main()
