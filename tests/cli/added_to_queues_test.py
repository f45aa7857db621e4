"""What is added to queues of Kueue and Volcano: whatif, why, explain and plan ask the queue before the nodes."""

import json
import unittest

from start_test import whole_node
from support import CliTest

GPU = "nvidia.com/gpu"


def made(kind, version, name, spec, status=None, **metadata):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec, **({"status": status} if status else {})}


def cluster_queue(name, nominal, used, cohort=""):
    flavor = {"name": "f", "resources": [{"name": GPU, "nominalQuota": nominal}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": [GPU], "flavors": [flavor]}], **({"cohort": cohort} if cohort else {})}
    return made("ClusterQueue", "kueue.x-k8s.io/v1beta1", name, spec,
                {"flavorsReservation": [{"name": "f", "resources": [{"name": GPU, "total": str(used)}]}]})


TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "resources": {"limits": {GPU: 1}}}]}}
JOB = made("Job", "batch/v1", "train", {"parallelism": 2, "completions": 2, "suspend": True, "template": TEMPLATE}, namespace="team",
           labels={"kueue.x-k8s.io/queue-name": "lq"})
VOLCANO_JOB = made("Job", "batch.volcano.sh/v1alpha1", "batch", {"queue": "vq", "minAvailable": 1, "tasks": [
    {"name": "t", "replicas": 3, "template": TEMPLATE}]}, namespace="team")
LOCAL_QUEUE = made("LocalQueue", "kueue.x-k8s.io/v1beta1", "lq", {"clusterQueue": "cq"}, namespace="team")
VOLCANO_QUEUE = made("Queue", "scheduling.volcano.sh/v1beta1", "vq", {"capability": {GPU: 2}}, {"state": "Open", "allocated": {GPU: 1}})


class AddedToQueues(CliTest):
    def asked(self, objects, added, *command):
        cluster = self.write("cluster.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [whole_node("a", 8), *objects]}))
        job = self.write("job.json", json.dumps(added))
        done = self.vgpusim(command[0], cluster, command[1], job, *command[2:])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_kueue_holds_the_whole_job_back(self):
        objects = [LOCAL_QUEUE, cluster_queue("cq", 4, 3)]
        text = self.asked(objects, JOB, "whatif", "--add-pods", "--policy", "best_fit")
        self.assertIn("0 pods start, 0 stop; 2 still wait (2 queue).", text)
        self.assertIn("2 of team/train  queue: insufficient unused quota for nvidia.com/gpu in flavor f, 1 more needed", text)
        answer = json.loads(self.asked(objects, JOB, "whatif", "--add-pods", "--policy", "best_fit", "--json"))
        [entry] = [pod for pod in answer["pods"] if pod.get("quota")]
        self.assertEqual((entry["quota"]["queue"], entry["quota"]["quota"]), ("queue lq", None))
        why = self.asked(objects, JOB, "why", "--pod")
        self.assertIn("would wait, queue: queue lq: insufficient unused quota", self.flat(why))
        self.assertIn("its queue lets it in  a takes it now", why)
        explained = self.asked(objects, JOB, "explain", "--pod")
        self.assertIn("2 of 2 pods are held back by queue lq: insufficient unused quota", explained)

    def test_what_a_cohort_lends_counts(self):
        objects = [LOCAL_QUEUE, cluster_queue("cq", 4, 3, "all"), cluster_queue("other", 3, 0, "all")]
        self.assertIn("2 pods start, 0 stop; none waits.", self.asked(objects, JOB, "whatif", "--add-pods", "--policy", "best_fit"))

    def test_volcano_lets_in_what_its_queue_has_room_for(self):
        text = self.asked([VOLCANO_QUEUE], VOLCANO_JOB, "whatif", "--add-pods", "--policy", "best_fit")
        self.assertIn("1 pod starts, 0 stop; 2 still wait (2 queue).", text)
        self.assertIn("queue: nvidia.com/gpu 2 of 2 used, 1 more needed", text)

    def test_without_queues_the_answer_says_so(self):
        text = self.asked([], JOB, "whatif", "--add-pods", "--policy", "best_fit")
        self.assertIn("2 pods start", text)
        self.assertIn("not looked at: LocalQueue lq, which is not among the objects", text)


if __name__ == "__main__":
    unittest.main()
