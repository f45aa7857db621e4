"""vgpusim snapshot keeps what else decides: quotas, budgets, classes, queues, and what makes pods. Answers stay the same."""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

from secrets_planted import SecretsTest
from support import SOURCE, CliTest

QUESTIONS = (["show", "--all"], ["show", "--by", "owner"], ["show", "--by", "queue"], ["why"], ["whatif", "--policy", "best_fit"])
CLUSTERS = ("gpu-operator", "hami", "volcano-queues", "atlas", "harbor")


def without_places(text, name):
    """A place is a file with a line, or with the number of an object."""
    return re.sub(re.escape(name) + r":( object)? ?\d+", "FILE:0", text)


def numbers_of(answer):
    """An answer without its names, and without the order of rows, which may be that of names. Labels are keys: left out."""
    if isinstance(answer, dict):
        return {key: numbers_of(value) for key, value in answer.items() if key != "labels"}
    if isinstance(answer, list):
        return sorted((numbers_of(value) for value in answer), key=json.dumps)
    return "text" if isinstance(answer, str) and answer else answer


def template(**spec):
    return {"metadata": {"labels": {"app": "train"}, "name": "of-alice", "annotations": {"note": "by alice"}},
            "spec": {"schedulerName": "our-scheduler", "priorityClassName": "urgent",
                     "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}], **spec}}


def made(kind, version, spec, status=None, **metadata):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": f"our-{kind.lower()}", "namespace": "team", **metadata},
            "spec": spec, **({"status": status} if status else {})}


def owned_by(kind, name):
    return [{"kind": kind, "name": name, "controller": True}]


NODE = {"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "gpu-a", "labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "2"}},
        "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "2"}}}
RULES = [
    {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus-of-team", "namespace": "team"},
     "spec": {"hard": {"requests.nvidia.com/gpu": "2", "count/pods": "9", "limits.cpu": "40"}, "scopes": ["NotTerminating"],
              "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["urgent"]}]}},
     "status": {"hard": {"requests.nvidia.com/gpu": "2"}, "used": {"requests.nvidia.com/gpu": "1"}}},
    {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits-of-team", "namespace": "team"},
     "spec": {"limits": [{"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "8"}, "default": {"cpu": "4"},
                          "defaultRequest": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}}]}},
    {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "budget-of-team", "namespace": "team"},
     "spec": {"selector": {"matchLabels": {"app": "train"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold"]}]},
              "minAvailable": "50%", "unhealthyPodEvictionPolicy": "AlwaysAllow"},
     "status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000, "globalDefault": True},
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
     "metadata": {"name": "our-gang", "namespace": "team", "ownerReferences": owned_by("Job", "our-job")},
     "spec": {"minMember": 2, "queue": "line-a", "minResources": {"nvidia.com/gpu": "2"}}, "status": {"phase": "Pending"}},
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "line-a"},
     "spec": {"capability": {"nvidia.com/gpu": "1"}}, "status": {"state": "Open", "allocated": {"nvidia.com/gpu": "1"}}},
    {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "line-b"},
     "spec": {"cohort": "everybody", "stopPolicy": "None", "queueingStrategy": "StrictFIFO", "namespaceSelector": {"matchLabels": {"owner": "our-team"}},
              "flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}, "resourceGroups": [
         {"flavors": [{"name": "fast", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 4}]}]}]},
     "status": {"flavorsReservation": [{"name": "fast", "resources": [{"name": "nvidia.com/gpu", "total": "3"}]}]}},
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "everybody"}, "spec": {"parentName": "whole-world"}},
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "fast"},
     "spec": {"nodeLabels": {"our-pool": "our-fast-ones"}, "nodeTaints": [{"key": "our-taint", "value": "our-value", "effect": "NoSchedule"}],
              "tolerations": [{"key": "our-taint", "operator": "Exists"}]}},
    {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "line-c", "namespace": "team"},
     "spec": {"clusterQueue": "line-b"}}]
MAKERS = [
    made("Job", "batch/v1", {"parallelism": 2, "completions": 2, "suspend": False, "template": template()},
         {"conditions": [{"type": "Suspended", "status": "False"}]}),
    made("Deployment", "apps/v1", {"replicas": 2, "template": template()}),
    made("ReplicaSet", "apps/v1", {"replicas": 2, "template": template()}, ownerReferences=owned_by("Deployment", "our-deployment")),
    made("CronJob", "batch/v1", {"jobTemplate": {"spec": {"parallelism": 1, "template": template()}}}),
    made("Job", "batch.volcano.sh/v1alpha1", {"minAvailable": 1, "schedulerName": "volcano", "tasks": [
        {"name": "first", "replicas": 1, "template": template()}]}),
    made("PyTorchJob", "kubeflow.org/v1", {"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}, "pytorchReplicaSpecs": {
        "Master": {"replicas": 1, "template": template()}, "Worker": {"replicas": 1, "template": template()}}}),
    made("RayCluster", "ray.io/v1", {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [
        {"groupName": "small", "replicas": 1, "minReplicas": 0, "maxReplicas": 3, "numOfHosts": 1, "template": template()}]}),
    made("RayJob", "ray.io/v1", {"clusterSelector": {"ray.io/cluster": "our-raycluster"}}),
    made("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", {"replicas": 1, "leaderWorkerTemplate": {
        "size": 2, "leaderTemplate": template(), "workerTemplate": template()}}),
    made("JobSet", "jobset.x-k8s.io/v1alpha2", {"replicatedJobs": [
        {"name": "drivers", "replicas": 1, "template": {"spec": {"parallelism": 1, "template": template()}}}]}),
    made("Workload", "kueue.x-k8s.io/v1beta1", {"queueName": "line-c", "active": True, "podSets": [
        {"name": "main", "count": 2, "template": template()}]},
        {"conditions": [{"type": "QuotaReserved", "status": "False", "message": "no quota for our-job in fast"}],
         "admissionChecks": [{"name": "our-check", "state": "Pending"}]}, ownerReferences=owned_by("Job", "our-job"),
        creationTimestamp="2026-11-20T07:00:00Z")]
POD = {"apiVersion": "v1", "kind": "Pod",
       "metadata": {"name": "our-pod", "namespace": "team", "ownerReferences": owned_by("ReplicaSet", "serve-5d4f"),
                    "labels": {"app": "train", "pod-template-hash": "5d4f", "kueue.x-k8s.io/queue-name": "line-c"}},
       "status": {"phase": "Pending"}, **{"spec": template(activeDeadlineSeconds=60)["spec"]}}


def cluster_of(objects):
    return {"apiVersion": "v1", "kind": "List", "items": objects}


class SnapshotRules(CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.questions = SOURCE / "tests" / "questions"

    def clusters(self):
        subprocess.run([sys.executable, str(self.questions / "clusters.py"), str(self.root)], check=True, stdout=subprocess.DEVNULL)
        for name in CLUSTERS:
            own = SOURCE / "scenarios" / "clusters" / f"{name}.json"
            yield own if own.exists() else self.root / f"{name}.json"

    def answer(self, file, question):
        done = self.vgpusim(question[0], file, *question[1:], "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_answers_are_the_same(self):
        everything = self.write("everything.json", json.dumps(cluster_of([NODE, *RULES, *MAKERS, POD])))
        for file in [*self.clusters(), Path(everything)]:
            plain, nameless = self.root / "plain.json", self.root / "nameless.json"
            for out, options in ((plain, []), (nameless, ["--anonymise"])):
                out.unlink(missing_ok=True)
                self.assertEqual(self.vgpusim("snapshot", file, *options, "--out", out).returncode, 0)
            for question in QUESTIONS:
                with self.subTest(file=file.name, question=question):
                    original = self.answer(file, question)
                    self.assertEqual(without_places(self.answer(plain, question), str(plain)), without_places(original, str(file)))
                    expected = numbers_of(json.loads(original))
                    self.assertEqual(numbers_of(json.loads(self.answer(nameless, question))), expected)

    def test_no_name_is_left(self):
        for file in self.clusters():
            out = self.root / "nameless.json"
            out.unlink(missing_ok=True)
            self.assertEqual(self.vgpusim("snapshot", file, "--anonymise", "--out", out).returncode, 0)
            text = out.read_text()
            names = set()
            for item in json.loads(file.read_text())["items"]:
                metadata = item["metadata"]
                names |= {metadata["name"], metadata.get("namespace", "default")}
                names |= {owner["name"] for owner in metadata.get("ownerReferences", [])}
                names |= {value for key, value in metadata.get("labels", {}).items() if not key.startswith("nvidia.com/")}
                names |= {gate["name"] for gate in item.get("spec", {}).get("schedulingGates", [])}
            left = [name for name in names - {"default", "true", "false"} if f'"{name}"' in text]
            self.assertEqual(left, [], file.name)

    def test_a_job_whose_pods_have_ended_has_made_some(self):
        """A quota that is used up keeps no Job from its pods whose pods have ended."""
        job = MAKERS[0]
        ended = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"e{i}", "namespace": "team",
                                                                  "ownerReferences": owned_by("Job", "our-job")},
                  "spec": template()["spec"], "status": {"phase": "Succeeded"}} for i in range(3)]
        quota = json.loads(json.dumps(RULES[0]))
        quota["spec"] = {"hard": {"requests.nvidia.com/gpu": "0"}}
        quota["status"] = {"hard": {"requests.nvidia.com/gpu": "0"}, "used": {"requests.nvidia.com/gpu": "0"}}
        for pods, makes_none in ((ended, 0), ([], 1)):
            file = self.write("c.json", json.dumps(cluster_of([NODE, job, quota, *pods])))
            out = self.root / "plain.json"
            out.unlink(missing_ok=True)
            self.assertEqual(self.vgpusim("snapshot", file, "--out", out).returncode, 0)
            kept = [item for item in json.loads(out.read_text())["items"] if item["kind"] == "Pod"]
            self.assertEqual(len(kept), len(pods))
            for cluster in (file, out):
                self.assertEqual("1 Job makes no pods: quota" in self.vgpusim("show", cluster).stdout, bool(makes_none))

    def test_what_cannot_be_read_is_hidden_and_no_error_of_ours(self):
        """A phase that nobody knows, and an amount that is too long to be kept."""
        job = json.loads(json.dumps(MAKERS[0]))
        job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "9223372036854775807"
        file = self.write("c.json", json.dumps(cluster_of([NODE, job, {**POD, "status": {"phase": "100%"}}])))
        done = self.vgpusim("snapshot", file, "--anonymise", "--out", self.root / "nameless.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class NothingOfRulesLeaks(SecretsTest):
    def test_in_every_field(self):
        kept, tries = [], 0
        objects = [*RULES, *MAKERS, POD]
        for begin in range(0, len(objects), 3):
            left, tried = self.secrets_kept(cluster_of([NODE, *objects[begin:begin + 3]]))
            kept, tries = kept + left, tries + tried
        self.assertGreater(tries, 200)
        self.assertEqual(kept, [])


if __name__ == "__main__":
    unittest.main()
