"""Answers of different commands to one cluster agree: which pods start, and what they count."""

import json
import unittest

from clusters import cluster, controlled, gpu_node, node, on_card, pod, vgpu
from support import CliTest, read_csv

GPU = {"nvidia.com/gpu": "1", "cpu": "1"}


def nvidia_node(name, units, replicas=1):
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}
    if replicas > 1:
        labels |= {"nvidia.com/gpu.replicas": str(replicas), "nvidia.com/gpu.sharing-strategy": "time-slicing"}
    return node(name, labels=labels, nvidia_com__gpu=str(units))


class Agreement(CliTest):
    def cluster(self, *objects):
        return self.write("cluster.json", json.dumps(cluster(*objects)))

    def answer(self, *arguments):
        done = self.vgpusim(*arguments, "--json", cwd=self.root)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def verdicts(self, path):
        """By pod; show and why have to say the same."""
        seen = {entry["pod"]: entry["verdict"] for entry in self.answer("show", path)["waiting"]}
        self.assertEqual({name: group["verdict"] for group in self.answer("why", path)["groups"] for name in group["pods"]}, seen)
        return seen

    def test_pods_that_no_scheduler_places(self):
        amounts = {"volcano.sh/gpu-mem.128Mi": "8"}
        path = self.cluster(
            node("n", **{"volcano.sh/gpu-mem.128Mi": "128", "volcano.sh/gpu-core.percentage": "100"}),
            pod("unnamed", amounts), pod("other", amounts, schedulerName="default-scheduler"),
            pod("misspelt", {**amounts, "volcano.sh/gpu-core.percentag": "10"}, schedulerName="volcano"),
            pod("good", amounts, schedulerName="volcano"), pod("host", {"cpu": "1", "volcano.sh/gpu-core.percentag": "0"}))
        words = {"unnamed": "no scheduler serves it: cluster.json: object 2: spec.schedulerName: missing; expected 'volcano', which alone serves dialect cce",
                 "other": "spec.schedulerName: got 'default-scheduler', expected 'volcano'",
                 "misspelt": "no such resource: cluster.json: object 4: container main: resources: got 'volcano.sh/gpu-core.percentag'"}
        self.assertEqual(self.verdicts(path), {f"team/{name}": "never" for name in words} | {"team/good": "fits now"})
        for name, because in words.items():
            why = self.answer("why", path, "--pod", f"team/{name}")
            self.assertIn(because, why["because"].replace(str(path), "cluster.json"))
            self.assertEqual(why["asks"]["volcano.sh/gpu-mem.128Mi"], 8)
            self.assert_refused(self.vgpusim("plan", path, "--pod", f"team/{name}"), because.rpartition("cluster.json: ")[2].partition(" missing")[0])
        after = self.answer("whatif", path)
        self.assertEqual({entry["name"] for entry in after["pods"] if entry["placed"]}, {"good", "host"})
        users = self.answer("show", path)["users"]
        self.assertEqual([(user["wait"], user["asked"]) for user in users], [(4, 4 * 63)], "each 1 of 16 GiB")
        run = self.vgpusim("run", "--format", "kubernetes", "--start", path, "--start-ends", "stay", "--classes", self.write(
            "classes.json", json.dumps(cluster({**pod("c", amounts, ns=None), "metadata": {"name": "c"}}))),
            "--pods", self.write("pods.csv", "name,class,arrival\nlater,c,10\n"), "--out", self.out)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual({row["name"] for row in read_csv(self.out / "pods.csv")}, {"team/good", "later"})

    def test_replicas_of_two_sizes_are_consolidated(self):
        """No proof that pods need more than what they take."""
        path = self.cluster(nvidia_node("halves", 2, 2), nvidia_node("quarters", 8, 4),
                            *[controlled(pod(f"p{i}", GPU, on="quarters")) for i in range(4)])
        emptied = self.answer("plan", path, "--consolidate", "devices")["emptied"]
        self.assertLessEqual(emptied["used_min"] or 0, emptied["used"] - emptied["count"])

    def test_several_gpus_of_one_pod(self):
        """How many of them one node has room for."""
        path = self.cluster(gpu_node("a", cards=4), gpu_node("b", cards=4), on_card("x", "a", 0, 20000), on_card("y", "b", 1, 20000),
                            pod("big", vgpu(36000, number=4)))
        self.assertEqual(self.verdicts(path), {"team/big": "scattered"})
        self.assertEqual(self.answer("why", path, "--pod", "team/big")["because"], "4 x 36000 MiB on one node; 7 free, at most 3 on one")

    def test_affinity_to_pods_like_itself_where_no_node_has_the_label(self):
        near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "topology.kubernetes.io/zone"}]}}
        for busy in (False, True):
            runs = [pod("runs", {"nvidia.com/gpu": "2"}, on="n")] if busy else []
            path = self.cluster(nvidia_node("n", 2), *runs, pod("w", GPU, labels={"app": "x"}, affinity=near))
            self.assertEqual(self.verdicts(path), {"team/w": "never"}, busy)
            self.assertIn("no label topology.kubernetes.io/zone", self.answer("why", path, "--pod", "team/w")["because"])
        path = self.cluster({**(labelled := nvidia_node("n", 2)), "metadata": {
            **labelled["metadata"], "labels": {**labelled["metadata"]["labels"], "topology.kubernetes.io/zone": "z"}}},
            pod("w", GPU, labels={"app": "x"}, affinity=near))
        self.assertEqual(self.verdicts(path), {"team/w": "fits now"})

    def test_idle_that_other_pods_keep_from_being_of_use(self):
        """The mean is the same in show, in BEFORE of whatif and in plan; after a change in show of the changed cluster."""
        def apart(name, **how):
            rule = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
            return controlled(pod(name, GPU, labels={"app": "x"}, affinity={
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}, **how))
        objects = [nvidia_node("n", 2), apart("runs", on="n"), apart("waits")]
        path = self.cluster(*objects)
        def idle(shown):
            mean = shown["mean"]
            return [mean[part] for part in ("of_use", "scattered", "host_full")] + [sum(mean["wrong_kind"].values())]
        def in_milli(idle):
            return [idle[f"{part}_milli"] for part in ("of_use", "scattered", "host_full", "wrong_kind")]
        before = idle(self.answer("show", path))
        self.assertEqual(before, [0, 0, 0, 1000])
        changed = self.answer("whatif", path, "--add-nodes", "n=1")
        self.assertEqual(in_milli(changed["before"]["idle"]), before)
        self.assertEqual(in_milli(self.answer("plan", path, "--consolidate", "devices")["idle_before"]), before)
        after = idle(self.answer("show", self.cluster(nvidia_node("n", 2), nvidia_node("m", 2), apart("runs", on="n"), apart("waits", on="m"))))
        self.assertEqual(in_milli(changed["after"]["idle"]), after)

    def test_the_queue_of_a_pod_group(self):
        group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "team"},
                 "spec": {"queue": "res", "minMember": 1}, "status": {"phase": "Running"}}
        queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "res"},
                 "spec": {"weight": 1, "capability": {"nvidia.com/gpu": "1"}}, "status": {"state": "Open"}}
        of_group = {"annotations": {"scheduling.k8s.io/group-name": "g"}, "schedulerName": "volcano"}
        path = self.cluster(nvidia_node("n", 2), queue, group, pod("runs", GPU, on="n", **of_group), pod("waits", GPU, **of_group))
        self.assertEqual(self.verdicts(path), {"team/waits": "queue"})
        rows = self.answer("show", path, "--by", "queue")["rows"]
        self.assertEqual([(row["key"], row["run"], row["wait"]) for row in rows], [("res", 1, 1)])

    def test_what_quotas_keep_from_being_made(self):
        """A ReplicaSet lacks a pod in show exactly where why does not admit such a pod: by scope, by status or the pods, by limit ranges."""
        def quota(ns, hard, used=None, **spec):
            return {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": ns}, "spec": {"hard": hard, **spec},
                    **({"status": {"hard": hard, "used": used}} if used else {})}
        gpus = {"requests.nvidia.com/gpu": "1"}
        urgent = {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["urgent"]}]}}
        default = {"kind": "LimitRange", "metadata": {"name": "l", "namespace": "defaulted"},
                   "spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}}]}}
        quotas = {"scoped": [quota("scoped", gpus, gpus, **urgent)], "counted": [quota("counted", gpus)],
                  "room": [quota("room", {"requests.nvidia.com/gpu": "2"})], "full": [quota("full", gpus, gpus)],
                  "limited": [quota("limited", {"limits.cpu": "3"}, {"limits.cpu": "2"})],
                  "defaulted": [quota("defaulted", {"limits.cpu": "3"}), default], "silent": [quota("silent", {"limits.cpu": "9"})]}
        spec = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}
        limited = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "2"}}}]}
        objects = [nvidia_node("n", 8)]
        for ns, policies in quotas.items():
            template = {"metadata": {"labels": {"x": "d"}}, "spec": limited if ns == "limited" else spec}
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "d", "uid": "u", "controller": True}
            runs = limited if ns == "defaulted" else template["spec"]
            objects += [*policies, {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "d", "namespace": ns},
                                    "spec": {"replicas": 2, "selector": {"matchLabels": {"x": "d"}}, "template": template}},
                        {"kind": "Pod", "metadata": {"name": "d-1", "namespace": ns, "labels": {"x": "d"}, "ownerReferences": [owner]},
                         "spec": {"nodeName": "n", **runs}, "status": {"phase": "Running"}}]
        path = self.cluster(*objects)
        shown = self.answer("show", path)
        held = {job["job"].split("/")[0]: job["because"] for job in shown["makes_no_pods"]}
        self.assertEqual({ns for ns in quotas if ns not in held}, {"scoped", "room"})
        self.assertIn("quota q: 1 of 1 used, 1 more needed", held["counted"])
        self.assertIn("quota q: 2 of 3 used, 2 more needed", held["defaulted"])
        self.assertIn("says no limits.cpu, which quota q demands", held["silent"])
        used = {row["namespace"]: row["quota"] for row in shown["users"] if row["quota"]}
        self.assertEqual(used["counted"], [{"resource": "nvidia.com/gpu", "used": 1, "hard": 1}])
        for ns in quotas:
            new = pod("new", {"nvidia.com/gpu": "1", **({"cpu": "2"} if ns == "limited" else {})}, ns=ns)
            verdict = self.answer("why", path, "--pod", self.write(f"{ns}.json", json.dumps(new)))["verdict"]
            self.assertEqual(verdict, "quota" if ns in held else "fits now", ns)

    def test_pods_that_were_given_more_than_their_template_says(self):
        """By a LimitRange that is not in the files: its pods show what one more counts."""
        hard = {"requests.cpu": "16", "requests.nvidia.com/gpu": "1"}
        quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": hard}}
        container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "d", "namespace": "team"},
                 "spec": {"replicas": 2, "selector": {"matchLabels": {"x": "d"}},
                          "template": {"metadata": {"labels": {"x": "d"}}, "spec": {"containers": [container]}}}}
        runs = pod("d-1", GPU, on="n", labels={"x": "d"})
        runs["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "d", "uid": "u", "controller": True}]
        path = self.cluster(nvidia_node("n", 8), quota, owner, runs)
        held = [(job["job"], job["because"]) for job in self.answer("show", path)["makes_no_pods"]]
        self.assertEqual(held, [("team/d", "1 of 2 pods not made; quota q: 1 of 1 used, 1 more needed")])
        changes = self.answer("why", path, "--pod", "d")["changes"]
        self.assertEqual([change["what"] for change in changes], ["quota q is 2", "team/d-1 is deleted"])

    def test_owners_whose_pods_the_api_server_refuses(self):
        """They make none, without a quota too; a pod that was made, or the next one like it, tells more than the template."""
        def owner(name, cpu, kind="Job", **spec):
            container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1", **cpu}}}
            template = {"metadata": {"labels": {"x": name}}, "spec": {"containers": [container], **spec}}
            how_many = {"parallelism": 2, "completions": 2} if kind == "Job" else {"replicas": 2, "selector": {"matchLabels": {"x": name}}}
            return {"apiVersion": "batch/v1" if kind == "Job" else "apps/v1", "kind": kind,
                    "metadata": {"name": name, "namespace": "team"}, "spec": {**how_many, "template": template}}
        def owned(name, owner, cpu):
            made = pod(name, {**GPU, **cpu}, on="n", labels={"x": owner})
            made["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
            return made
        small, large = {"cpu": "4"}, {"cpu": "16"}
        policies = [{"kind": "LimitRange", "metadata": {"name": "cpu", "namespace": "team"},
                     "spec": {"limits": [{"type": "Container", "max": {"cpu": "8"}}]}},
                    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "batch"}, "value": 100}]
        owners = {"fits": owner("fits", small), "large": owner("large", large), "urgent": owner("urgent", small, priorityClassName="urgent"),
                  "silent": owner("silent", {}, "ReplicaSet"), "grown": owner("grown", large, "ReplicaSet")}
        path = self.cluster(nvidia_node("n", 8), *policies, *owners.values(), owned("silent-1", "silent", small), owned("grown-1", "grown", large))
        beyond = "maximum cpu usage per Container is 8, but limit is 16; expected a pod that LimitRange cpu admits"
        refused = {"large": beyond, "urgent": "priorityClassName: got 'urgent', expected a PriorityClass of the cluster: batch",
                   "grown": "1 of 2 pods not made; " + beyond}
        rows = self.answer("show", path)["makes_no_pods"]
        self.assertEqual({row["job"]: (row["verdict"], row["because"]) for row in rows},
                         {f"team/{name}": ("never", because) for name, because in refused.items()})
        for name, how in owners.items():
            if how["kind"] != "Job":
                continue
            file = self.write(f"{name}.json", json.dumps({**how, "metadata": {"name": "new", "namespace": "team"}}))
            done = self.vgpusim("why", path, "--pod", file)
            self.assertEqual(done.returncode, 2 if name in refused else 0, done.stderr)
            self.assertIn(refused.get(name, ""), done.stderr)
            changed = self.answer("whatif", path, "--add-pods", file)
            self.assertEqual("never" in [pod["verdict"] for pod in changed["pods"]], name in refused, changed["pods"])
        text = self.vgpusim("show", path).stdout
        self.assertIn("2 Jobs make no pods, 1 ReplicaSet lacks 1 pod: never.", text)
        text = " ".join(self.vgpusim("why", path, "--pod", "team/large").stdout.split())
        self.assertIn(f"team/large (Job) makes no pods, never: {beyond}. asks: 1 GPU by each of 2 pods", text)
        self.assertIn("1 more is not made: never: " + beyond, " ".join(self.vgpusim("why", path, "--pod", "grown").stdout.split()))


if __name__ == "__main__":
    unittest.main()
