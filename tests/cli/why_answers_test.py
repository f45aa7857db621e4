"""Answers of why and show that were wrong: pods that a quota keeps from being made, owners without pods, devices by uuid,
pods that fit alone, resources that are not read, gangs of which nothing says the minimum, and preemption."""

import json
import unittest

import clusters
from support import CliTest

L40S = {"nvidia.com/gpu.product": "NVIDIA-L40S", "nvidia.com/gpu.memory": "46068", "nvidia.com/gpu.count": "4"}
GPU = "nvidia.com/gpu"


def node(name, gpus=4, **how):
    return clusters.node(name, labels=L40S, nvidia_com__gpu=str(gpus), **how)


def pod(name, gpus=1, on=None, owner=None, phase=None, labels=None, **how):
    """`owner`: kind and name of what made it."""
    result = clusters.pod(name, {GPU: str(gpus)}, on=on, labels=labels, **how)
    if owner:
        result["metadata"]["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    if phase:
        result["status"] = {"phase": phase}
    return result


def template(gpus=1):
    limits = {GPU: str(gpus)}
    return {"spec": {"containers": [{"name": "main", "resources": {"limits": limits, "requests": dict(limits)}}]}}


def job(name, status=None, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "team"},
            "spec": {"template": template(), **spec}, "status": status or {}}


def keeper(kind, name, replicas, owner=None):
    metadata = {"name": name, "namespace": "team"}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata,
            "spec": {"replicas": replicas, "template": template()}}


def quota(used, hard=3):
    limits = {"requests." + GPU: str(hard)}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"},
            "spec": {"hard": limits}, "status": {"hard": limits, "used": {"requests." + GPU: str(used)}}}


class Answers(CliTest):
    def file(self, *objects):
        return self.write("cluster.json", json.dumps(clusters.cluster(*objects)))

    def answer(self, command, file, *arguments):
        done = self.vgpusim(command, file, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def document(self, command, file, *arguments):
        return json.loads(self.answer(command, file, *arguments, "--json"))

    def refused(self, *arguments):
        done = self.vgpusim("why", *arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr


class QuotasThatHoldSomePods(Answers):
    def part(self):
        return self.file(node("n"), quota(3),
                         job("j", {"active": 2}, parallelism=4, completions=4), job("full", parallelism=2, completions=2),
                         job("done", {"succeeded": 2}, parallelism=2, completions=6),
                         job("rest", {"succeeded": 3, "active": 1}, parallelism=4, completions=4),
                         *(pod(f"j-{i}", on="n", owner=("Job", "j")) for i in range(2)),
                         pod("rest-3", on="n", owner=("Job", "rest")))

    def test_jobs_with_pods_lack_the_others(self):
        file = self.part()
        first = "No pod waits. 2 Jobs make no pods, 1 Job lacks 2 pods"
        self.assertEqual(self.answer("why", file).splitlines()[0], first + ".")
        self.assertIn(first + ": quota.\n", self.answer("show", file))
        lacks = {"team/done": (0, 2), "team/full": (0, 2), "team/j": (2, 2)}
        for command, name in (("show", "job"), ("why", "name")):
            rows = self.document(command, file)["makes_no_pods"]
            self.assertEqual({row[name]: (row["pods"], row["lacks"]) for row in rows}, lacks)
        self.assertRegex(self.answer("why", file),
                         r"quota +- +1\.0 +team/j Job +2 of 4 pods not made; quota q: 3 of 3 used, 1 more needed")

    def test_one_of_them_is_told_what_it_lacks_and_what_would_help(self):
        file = self.part()
        text = self.answer("why", file, "--pod", "team/j")
        self.assertTrue(self.flat(text).startswith("team/j (Job): 2 pods run, none waits. 2 more are not made: quota q: 3 of 3 "
                                                   "used, 1 more needed (requests.nvidia.com/gpu). "), text)
        self.assertIn("one more would be made if (each alone, each was tried)\n  quota q is 4", text)
        self.assertIn("counted: team/j-0 1 (runs), team/j-1 1 (runs), team/rest-3 1 (runs)", text)
        answer = self.document("why", file, "--pod", "j")
        self.assertEqual((answer["not_made"]["pods"], answer["not_made"]["verdict"], answer["pods_wait"]), (2, "quota", 0))
        text = self.answer("why", file, "--pod", "team/done")
        self.assertIn("team/done (Job) makes no pods, quota q: 3 of 3 used, 1 more needed", text)
        self.assertIn("asks: 1 GPU by each of 2 pods\n", text)
        self.assertIn("team/rest (Job): 1 pod runs, none waits.\n", self.answer("why", file, "--pod", "team/rest"))

    def test_a_deployment_lacks_what_its_replica_sets_do(self):
        own = [pod(f"web-abc-{i}", on="n", owner=("ReplicaSet", "web-abc"), labels={"pod-template-hash": "abc"})
               for i in range(3)]
        deployment, replica_set = keeper("Deployment", "web", 6), keeper("ReplicaSet", "web-abc", 6, ("Deployment", "web"))
        for objects in ((deployment, replica_set), (deployment,), (replica_set,)):
            file = self.file(node("n"), quota(3), *own, *objects)
            self.assertEqual(self.answer("why", file).splitlines()[0], "No pod waits. 1 Deployment lacks 3 pods.")
            text = self.answer("why", file, "--pod", "team/web")
            self.assertIn("team/web (Deployment): 3 pods run, none waits. 3 more are not made: quota q: 3 of 3 used", text)
            self.assertRegex(text, "quota q is 4 +n takes its pod now\n")
        enough = self.file(node("n"), quota(3, 4), *own, deployment, replica_set)
        self.assertEqual(self.answer("why", enough), "No pod waits.\n")

    def test_who_waits_for_its_own_pod_is_not_held_by_a_quota(self):
        sts = keeper("StatefulSet", "db", 3)
        runs = [pod("x", on="n"), pod("db-0", on="n", owner=("StatefulSet", "db"))]
        waits = pod("db-1", gpus=4, owner=("StatefulSet", "db"))
        self.assertEqual(self.document("why", self.file(node("n"), quota(6, 6), sts, *runs, waits))["makes_no_pods"], [])
        held = self.document("why", self.file(node("n"), quota(2, 2), sts, *runs))["makes_no_pods"]
        self.assertEqual([(row["name"], row["pods"], row["lacks"]) for row in held], [("team/db", 1, 2)])

    def test_a_snapshot_keeps_what_is_lacking(self):
        file = self.part()
        made = self.vgpusim("snapshot", file, "--anonymise", "--out", "kept.json")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(sorted((row["pods"], row["lacks"]) for row in self.document("show", "kept.json")["makes_no_pods"]),
                         [(0, 2), (0, 2), (2, 2)])


class OwnersAndPodsWithoutVerdict(Answers):
    def test_an_owner_without_pods_says_why(self):
        file = self.file(node("n"), job("held", suspend=True),
                         job("fin", {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}),
                         job("bad", {"conditions": [{"type": "Failed", "status": "True"}]}), keeper("Deployment", "none", 0),
                         keeper("Deployment", "new", 2), pod("end", owner=("Job", "fin"), phase="Succeeded"))
        for name, words in (("held", "(Job) is suspended: it has no pods, and nothing waits until it is resumed"),
                            ("fin", "(Job) has finished: it makes no more pods"), ("bad", "(Job) has failed: it makes no more pods"),
                            ("none", "(Deployment) asks for 0 pods"),
                            ("new", "(Deployment) has no pods in these files, which do not say why"), ("end", "has succeeded")):
            for asked in (name, "team/" + name):
                self.assertEqual(self.answer("why", file, "--pod", asked), f"team/{name} {words}.\n")
        answer = self.document("why", file, "--pod", "held")
        self.assertEqual((answer["pod"], answer["verdict"]), ("team/held", None))
        self.assertTrue(answer["because"].startswith("is suspended"))

    def test_a_pod_on_a_node_that_is_not_there_says_so(self):
        file = self.file(node("n"), pod("ghost", on="gone"))
        self.assertIn("team/ghost is bound to node gone, which is not in these files.\n",
                      self.answer("why", file, "--pod", "team/ghost"))

    def test_an_unknown_name_is_near_each_name_once_and_a_file_is_looked_for(self):
        file = self.file(node("n"), pod("web", on="n", owner=("StatefulSet", "web")), pod("abc", on="n"))
        self.assertIn("a pod of the cluster; near: team/web, team/abc\n", self.refused(file, "--pod", "wex"))
        self.assertIn("a pod of the cluster; there is no such file; near: ", self.refused(file, "--pod", "nope.yaml"))


class DevicesByFilter(Answers):
    def hami(self, cards, *pods, annotations=None):
        register = json.dumps([{"id": f"GPU-{i}", "index": i, "count": 10, "devmem": 40960, "devcore": 100, "type": kind,
                                "mode": "hami-core", "health": True} for i, kind in enumerate(cards)])
        first = clusters.node("h", {"hami.io/node-nvidia-register": register, **(annotations or {})},
                              nvidia_com__gpu=str(10 * len(cards)))
        used = clusters.pod("r", {GPU: "1", "nvidia.com/gpumem": "30000"}, on="h", annotations={
            "hami.io/vgpu-devices-allocated": "GPU-0,NVIDIA,30000,0:;", "hami.io/vgpu-node": "h"})
        return self.file(first, used, *pods)

    def waits(self, memory, **annotations):
        return clusters.pod("w", {GPU: "1", "nvidia.com/gpumem": str(memory)}, annotations={
            "nvidia.com/" + key: value for key, value in annotations.items()})

    def test_devices_that_a_pod_refuses_are_of_the_wrong_kind(self):
        a100, l40s = "NVIDIA-A100", "NVIDIA-L40S"
        refusals = [({"use-gpuuuid": "GPU-0"}, [a100, a100], True), ({"nouse-gpuuuid": "GPU-1"}, [a100, a100], True),
                    ({"use-gputype": "A100"}, [a100, l40s, l40s], False), ({"nouse-gputype": "L40S"}, [a100, l40s, l40s], False)]
        for annotations, cards, by_uuid in refusals:
            with self.subTest(annotations=annotations):
                file = self.hami(cards, self.waits(20000, **annotations))
                answer = self.document("why", file, "--pod", "w")
                self.assertEqual(answer["verdict"], "all used")
                self.assertEqual([(row["reason"], row["checks"][0]["has"], row["checks"][0]["asked"])
                                  for row in answer["reasons"]], [("too few free", 10960, 20000)])
                shape = next(row for row in self.document("show", file)["shapes"] if row["wait"] == 1)
                others = 1000 * (len(cards) - 1)
                self.assertEqual((shape["more"], shape["of_use"], shape["wrong_kind"]["model"]), (0, 0, others))
                if by_uuid:
                    self.assertEqual(answer["because"], "10960/20000 MiB on GPU-0")

    def test_what_fits_on_the_wanted_device_is_of_use(self):
        file = self.hami(["NVIDIA-A100"] * 2, self.waits(10000, **{"use-gpuuuid": "GPU-0"}))
        shape = next(row for row in self.document("show", file)["shapes"] if row["wait"] == 1)
        self.assertEqual((shape["more"], shape["wrong_kind"]["model"]), (1, 1000))
        self.assertGreater(shape["of_use"], 200)

    def test_gpus_of_a_node_that_hami_forgot_take_no_pod(self):
        for written, verdict in (("Deleted_2026-11-30 08:00:00", "never"), ("Reported 2026-11-30 08:00:00", "fits now")):
            file = self.hami(["NVIDIA-A100"] * 2, self.waits(20000), annotations={"hami.io/node-handshake": written})
            self.assertEqual(self.document("why", file, "--pod", "w")["verdict"], verdict)
            made = self.vgpusim("snapshot", file, "--anonymise", "--out", "kept.json")
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual([row["verdict"] for row in self.document("why", "kept.json")["groups"]], [verdict])


class Words(Answers):
    def test_a_container_and_one_before_it_ask_for_one_sum(self):
        labels = {**L40S, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920",
                  "nvidia.com/gpu.count": "2", "nvidia.com/mig.strategy": "mixed"}
        cut = clusters.node("m", labels=labels, **{"nvidia_com__mig-1g.10gb": "6"})
        waits = clusters.pod("w", {"nvidia.com/mig-1g.10gb": "1"})
        limits = {"nvidia.com/mig-1g.10gb": "7"}
        waits["spec"]["initContainers"] = [{"name": "warm", "resources": {"limits": limits, "requests": dict(limits)}}]
        text = self.answer("why", self.file(cut, waits), "--pod", "w")
        self.assertIn("team/w waits, never: 7 mig-1g.10gb; at most mig-1g.10gb 6/7 on an empty node.\n", text)

    def test_pods_that_fit_may_want_the_same_place(self):
        for count, words in ((1, "1 pod waits, and fits now"), (2, "2 pods wait, all fit now, each alone")):
            file = self.file(node("n"), pod("r", gpus=3, on="n"), *(pod(f"w{i}") for i in range(count)))
            self.assertEqual(self.answer("why", file).splitlines()[0], words + ".")
            self.assertIn(words, self.answer("show", file))
        file = self.file(node("n"), pod("r", gpus=3, on="n"), pod("w0"), pod("w1"), pod("large", gpus=2))
        self.assertEqual(self.answer("why", file).splitlines()[0], "3 pods wait, 2 fit now, each alone.")

    def test_resources_that_are_not_read_are_named(self):
        others = [clusters.pod("a", {"amd.com/gpu": "1"}), clusters.pod("t", {"google.com/tpu": "8"})]
        file = self.file(clusters.node("o", amd_com__gpu="8", google_com__tpu="4"), *others)
        first = "No pod waits for GPUs. 2 pods wait for resources that are not read."
        self.assertEqual(self.answer("why", file).splitlines()[0], first)
        self.assertIn(first, self.answer("show", file))
        rules = self.document("whatif", file)["not_considered"]
        self.assertEqual(len(rules), 2)
        for command in ("show", "why"):
            answer = self.document(command, file)
            self.assertEqual(answer["not_looked_at"], rules)
        self.assertEqual(self.document("show", file)["totals"]["pods_wait_unread"], 2)
        many = self.file(node("n"), *others, pod("w"))
        self.assertIn("1 pod waits, and fits now. 2 pods wait for resources that are not read.", self.answer("why", many))

    def test_tolerations_are_not_bare_words(self):
        waits = pod("w", gpus=5, tolerations=[{"key": "team", "value": "dev"}, {"key": "spot", "operator": "Exists"}])
        file = self.file(node("n"), waits)
        self.assertIn("tolerates team=dev, tolerates spot; priority 0", self.answer("why", file, "--pod", "w"))
        self.assertIn("5 gpu, team=dev, spot", self.answer("show", file))


class Gangs(Answers):
    def member(self, group, number):
        return pod(f"{group}-{number}", gpus=2, annotations={"scheduling.k8s.io/group-name": group},
                   schedulerName="volcano", created=f"2026-11-29T00:0{number}:00Z")

    def test_a_gang_of_which_nothing_says_the_minimum_is_taken_as_a_whole(self):
        file = self.file(node("n", gpus=2), *(self.member(group, number) for group in ("a", "b") for number in range(2)))
        answer = self.document("why", file)
        self.assertEqual([(group["verdict"], group["pods"]) for group in answer["groups"]],
                         [("gang", ["team/a-0", "team/a-1"]), ("gang", ["team/b-0", "team/b-1"])])
        self.assertEqual(answer["groups"][0]["because"],
                         "it fits; of its gang 1 pod fits, and all 2 are taken to start together")
        self.assertEqual(len(answer["not_looked_at"]), 2)
        self.assertTrue(answer["not_looked_at"][0].startswith(
            "how many pods of group a have to start together, all are taken: no object is its PodGroup "))


class Preemption(Answers):
    def lower(self, name, on, priority, gpus=1, **how):
        return pod(name, gpus=gpus, on=on, priority=priority, **how)

    def preempts(self, *objects, **spec):
        answer = self.document("why", self.file(*objects, pod("w", **{"gpus": 2, "priority": 1000, **spec})), "--pod", "w")
        return answer["preempts"] and (answer["preempts"]["node"], answer["preempts"]["pods"])

    def test_the_least_important_pods_of_one_node_go(self):
        nodes = [node("a", gpus=2), node("b", gpus=2)]
        equal = [self.lower("a0", "a", 5), self.lower("a1", "a", 5), self.lower("b0", "b", 5), self.lower("b1", "b", 7)]
        self.assertEqual(self.preempts(*nodes, *equal), ("a", ["team/a0", "team/a1"]))
        self.assertEqual(self.preempts(*nodes, *equal, gpus=1), ("a", ["team/a1"]))
        fewer = [self.lower("a0", "a", 5), self.lower("a1", "a", 5), self.lower("b0", "b", 5, gpus=2)]
        self.assertEqual(self.preempts(*nodes, *fewer), ("b", ["team/b0"]))
        file = self.file(*nodes, *fewer, pod("w", gpus=2, priority=1000))
        text = self.answer("why", file, "--pod", "w")
        self.assertIn("kube-scheduler would preempt team/b0 on b\n", text)
        self.assertNotIn("priority (spec.", text)

    def test_a_pod_that_may_not_or_cannot_preempts_nobody(self):
        full = [node("a", gpus=2), self.lower("a0", "a", 5), self.lower("a1", "a", 1000)]
        self.assertIsNone(self.preempts(*full))
        self.assertEqual(self.preempts(*full, gpus=1), ("a", ["team/a0"]))
        self.assertIsNone(self.preempts(*full, gpus=1, preemptionPolicy="Never"))
        self.assertIsNone(self.preempts(*full, gpus=1, priority=5))
        self.assertIsNone(self.preempts(*full, gpus=1, nodeSelector={"disk": "ssd"}))

    def test_a_manifest_has_the_priority_and_the_policy_of_its_class(self):
        of_class = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "hi"}, "value": 1000}
        manifest = pod("m", priorityClassName="hi")
        for policy, found in ((None, {"node": "a", "pods": ["team/a0"]}), ("Never", None)):
            known = {**of_class, "preemptionPolicy": policy} if policy else of_class
            file = self.file(node("a", gpus=1), known, self.lower("a0", "a", 5))
            answer = self.document("why", file, "--pod", self.write("m.json", json.dumps(manifest)))
            self.assertEqual((answer["verdict"], answer["preempts"]), ("all used", found))
            self.assertEqual(answer["not_looked_at"], [])

    def test_a_pod_with_a_budget_is_spared(self):
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "team"},
                  "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
                  "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1}}
        kept = self.lower("a0", "a", 5, labels={"app": "db"})
        self.assertEqual(self.preempts(node("a", gpus=1), node("b", gpus=1), budget, kept, self.lower("b0", "b", 6), gpus=1),
                         ("b", ["team/b0"]))


if __name__ == "__main__":
    unittest.main()
