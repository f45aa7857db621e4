"""Queues of Kueue and Volcano, and workloads of frameworks, in vgpusim show, why, whatif, explain and validate."""

import json
import unittest

from support import SOURCE, CliTest

ATLAS = "scenarios/clusters/atlas.json"


def template(gpus):
    return {"spec": {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]}}


def headed(kind, version, name, metadata=None, **members):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "train", **(metadata or {})}, **members}


def workload(name, owner, message):
    owners = [{"kind": owner, "name": name, "controller": True}]
    conditions = [{"type": "QuotaReserved", "status": "False", **({"message": message} if message else {})}]
    metadata = {"ownerReferences": owners, "creationTimestamp": "2026-11-26T08:00:00Z"}
    spec = {"queueName": "user-queue", "podSets": [{"name": "main", "count": 2, "template": template(2)}]}
    return headed("Workload", "kueue.x-k8s.io/v1beta1", f"wl-{name}", metadata, spec=spec, status={"conditions": conditions})


def flavors(amount, value):
    return [{"name": "a100", "resources": [{"name": "nvidia.com/gpu", amount: value}]}]


SHORT = "insufficient unused quota for nvidia.com/gpu in flavor a100, {} more needed"
KUEUE = [
    workload("big", "Job", "couldn't assign flavors to pod set main: " + SHORT.format(4)),
    workload("ray", "RayJob", ""),
    headed("LocalQueue", "kueue.x-k8s.io/v1beta1", "user-queue", spec={"clusterQueue": "team"}),
    {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "team"},
     "spec": {"namespaceSelector": {}, "resourceGroups": [{"flavors": flavors("nominalQuota", 8)}]}, "status": {"flavorsReservation": flavors("total", "7")}},
]


def volcano(phase, used="8"):
    version = "scheduling.volcano.sh/v1beta1"
    queue = {"apiVersion": version, "kind": "Queue", "metadata": {"name": "research"}, "spec": {"capability": {"nvidia.com/gpu": 8}},
             "status": {"allocated": {"nvidia.com/gpu": used}, "state": "Open"}}
    group = headed("PodGroup", version, "pg", spec={"minMember": 1, "queue": "research"}, status={"phase": phase})
    pod = headed("Pod", "v1", "held-0", {"annotations": {"scheduling.k8s.io/group-name": "pg"}}, spec=template(2)["spec"])
    return [queue, group, pod]


def volcano_pods(count):
    return [headed("Pod", "v1", f"held-{number}", {"annotations": {"scheduling.k8s.io/group-name": "pg"}}, spec=template(2)["spec"])
            for number in range(1, count)]


PYTORCH = headed("PyTorchJob", "kubeflow.org/v1", "fine-tune", spec={"pytorchReplicaSpecs": {
    "Master": {"template": template(1)}, "Worker": {"replicas": 2, "template": template(2)}}})


class QueuesTest(CliTest):
    def listed(self, name, items):
        return str(self.write(name, json.dumps({"apiVersion": "v1", "kind": "List", "items": items})))

    def printed(self, *arguments):
        done = self.vgpusim(*map(str, arguments), cwd=SOURCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def document(self, *arguments):
        return json.loads(self.printed(*arguments, "--json"))

    def test_owners_that_kueue_has_not_let_in(self):
        files = [ATLAS, self.listed("queues.json", KUEUE)]
        self.assertIn("3 owners make no pods: 1 quota, 2 queue.", self.flat(self.printed("show", *files)))
        rows = self.printed("why", *files).splitlines()
        self.assertEqual(rows[0], "4 pods wait, none fits now. 3 owners make no pods.")
        big = next(row for row in rows if "train/big Job" in row)
        self.assertRegex(big, r"^queue +- +4\.0  train/big Job +insufficient unused quota .* +11-26 08:00Z$")
        because = {entry["name"]: entry["because"] for entry in self.document("why", *files)["makes_no_pods"]}
        self.assertEqual(because["train/big"], SHORT.format(4))
        self.assertIn("preemption and fair sharing of ClusterQueue: team", rows[-1])
        answer = self.flat(self.printed("why", *files, "--pod", "train/ray"))
        self.assertTrue(answer.startswith(f"train/ray (RayJob) makes no pods, queue: {SHORT.format(3)}. "), answer)
        owner = self.document("why", *files, "--pod", "train/big")
        self.assertEqual((owner["kind"], owner["verdict"], owner["asked"]), ("Job", "queue", 4000))
        shown = {entry["job"]: entry["verdict"] for entry in self.document("show", *files)["makes_no_pods"]}
        self.assertEqual(shown, {"train/big": "queue", "train/ray": "queue", "research/sweep": "quota"})

    def test_a_job_that_a_quota_holds_back_says_so(self):
        self.assertEqual(
            self.printed("why", ATLAS, "--pod", "research/sweep").splitlines()[0],
            "research/sweep (Job) makes no pods, quota gpu: 2 of 2 used, 1 more needed (requests.nvidia.com/gpu).")

    def test_pods_that_a_queue_of_volcano_holds_back(self):
        files = [ATLAS, self.listed("volcano.json", volcano("Pending"))]
        answer = self.document("why", *files, "--pod", "train/held-0")
        reason = "queue research: nvidia.com/gpu 8 of 8 used, 2 more needed; fits without it"
        self.assertEqual((answer["verdict"], answer["because"]), ("queue", reason))
        self.assertEqual([change["what"] for change in answer["changes"]], ["its queue lets it in"])
        # Its group is let in, and then its queue is asked for the pod.
        full = [ATLAS, self.listed("full.json", volcano("Inqueue"))]
        answer = self.document("why", *full, "--pod", "train/held-0")
        self.assertEqual((answer["verdict"], answer["because"]), ("queue", reason))
        part = [ATLAS, self.listed("part.json", [*volcano("Inqueue", "6"), *volcano_pods(3)])]
        started = [pod for pod in self.document("whatif", *part)["pods"] if pod["name"].startswith("held-") and pod["placed"]]
        self.assertEqual(len(started), 1, "two GPUs are left to the queue")
        let_in = [ATLAS, self.listed("let-in.json", volcano("Inqueue", "6"))]
        self.assertEqual(self.document("why", *let_in, "--pod", "train/held-0")["verdict"], "fits now")
        for clusters, refused in ((files, 1), (full, 1), (let_in, 0)):
            entry = next(e for e in self.document("whatif", *clusters)["pods"] if e["name"] == "held-0")
            self.assertEqual(entry["refused"], refused)

    def test_a_workload_of_a_framework_is_read_as_its_pods(self):
        file = str(self.write("job.json", json.dumps(PYTORCH)))
        pods = {e["name"]: e for e in self.document("whatif", ATLAS, "--add-pods", file)["pods"]}
        self.assertEqual((pods["fine-tune/Master"]["wanted"], pods["fine-tune/Worker"]["wanted"]), (1, 2))
        for command in (["validate", file], ["explain", ATLAS, "--pod", file]):
            self.assertIn("fine-tune/Worker", self.printed(*command))
        queues = self.printed("validate", self.listed("queues.json", KUEUE))
        self.assertEqual(queues.count("note: makes no pods"), len(KUEUE))
        waiting = self.document("show", ATLAS)["totals"]["pods_wait"]
        self.assertEqual(self.document("show", ATLAS, file)["totals"]["pods_wait"], waiting, "an object of the cluster makes none")


if __name__ == "__main__":
    unittest.main()
