"""vgpusim import audit and import kueue: pods, Workloads and GPU-hours, recomputed from the raw records."""

import csv
import datetime
import json
import random
import unittest

from support import SOURCE, CliTest

BEGIN = datetime.datetime(2026, 11, 2, tzinfo=datetime.timezone.utc)
KINDS = ({"nvidia.com/gpu": 2}, {"nvidia.com/mig-1g.10gb": 1}, {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 8192}, {})


def at(seconds):
    return (BEGIN + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def gpus_of(kind):
    return sum(amount for resource, amount in kind.items() if not resource.endswith("-memory"))


def spec_of(kind):
    requests = {"cpu": "1500m", "memory": "2Gi", **{resource: str(amount) for resource, amount in kind.items()}}
    return {"containers": [{"name": "main", "resources": {"requests": requests}}]}


def audit_log(seed, count):
    """Lines of the log, out of order, and the pods that ran: arrival, seconds or None, seconds to the last event, kind."""
    draw = random.Random(seed)
    lines, pods, last = [], {}, 0

    def add(verb, part, name, seconds, **more):
        lines.append((seconds, {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete", "verb": verb, "stageTimestamp": at(seconds),
                                "objectRef": {"resource": "pods", "namespace": "team", "name": name, "subresource": part},
                                "responseStatus": {"code": 201 if verb == "create" else 200}, **more}))

    for number in range(count):
        name, kind = f"pod-{number}", draw.choice(KINDS)
        created = draw.randrange(86_400)
        bound = created + draw.choice((0, 30, 4_000))
        ended = bound + draw.choice((5, 600, 30_001))
        fate = draw.choice(("succeeded", "deleted", "runs", "waits"))
        pod = {"kind": "Pod", "metadata": {"name": name, "uid": name, "creationTimestamp": at(created)}, "spec": spec_of(kind)}
        add("create", "", name, created, responseObject=pod)
        last = max(last, created)
        if fate != "waits":
            add("create", "binding", name, bound, requestObject={"kind": "Binding", "target": {"name": "node"}})
            last = max(last, bound)
        if fate == "succeeded":
            finished = {"state": {"terminated": {"finishedAt": at(ended)}}}
            add("patch", "status", name, ended + 2, responseObject={**pod, "status": {"phase": "Succeeded", "containerStatuses": [finished]}})
            add("delete", "", name, ended + 3_000)
            last = max(last, ended + 3_000)
        if fate == "deleted":
            add("delete", "", name, ended)
            last = max(last, ended)
        if fate != "waits":
            pods[f"team/{name}"] = (created, None if fate == "runs" else ended - bound, bound, kind)
    draw.shuffle(lines)
    pods = {name: (created, ran, last - bound if ran is None else ran, kind) for name, (created, ran, bound, kind) in pods.items()}
    return "".join(json.dumps(event) + "\n" for _, event in lines), pods


def workloads(seed, count):
    """A list of Workloads, and those that were admitted: arrival, seconds or None, GPUs, pods."""
    draw = random.Random(seed)
    items, admitted, last = [], {}, 0
    for number in range(count):
        created = draw.randrange(86_400)
        start = created + draw.choice((0, 60, 9_000))
        end = start + draw.choice((60, 7_201))
        fate = draw.choice(("finished", "finished", "runs", "waits", "evicted"))
        sets = [(name, draw.randrange(1, 5), draw.choice(KINDS)) for name in ("driver", "workers")[:draw.choice((1, 1, 2))]]
        conditions = []
        if fate != "waits":
            conditions.append({"type": "Admitted", "status": "False" if fate == "evicted" else "True", "lastTransitionTime": at(start)})
        if fate == "finished":
            conditions.append({"type": "Finished", "status": "True", "lastTransitionTime": at(end)})
        pod_sets = [{"name": name, "count": pods, "template": {"spec": spec_of(kind)}} for name, pods, kind in sets]
        items.append({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": {"namespace": "team", "name": f"w-{number}", "creationTimestamp": at(created)},
                      "spec": {"queueName": f"lq-{number % 2}", "podSets": pod_sets}, "status": {"conditions": conditions}})
        last = max(last, created, end if fate == "finished" else start if fate == "runs" else created)
        if fate in ("finished", "runs"):
            gpus, pods = sum(pods * gpus_of(kind) for _, pods, kind in sets), sum(pods for _, pods, _ in sets)
            admitted[f"team/w-{number}"] = (created, None if fate == "runs" else end - start, start, gpus, pods)
    admitted = {name: (created, ran, last - start if ran is None else ran, gpus, pods) for name, (created, ran, start, gpus, pods) in admitted.items()}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1), admitted


class ImportKubernetes(CliTest):
    def imported(self, source, text, *arguments):
        out = self.root / source
        done = self.vgpusim("import", source, self.write(source + ".json", text), "--out", out, "--json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with (out / "arrivals.csv").open(encoding="utf-8") as table:
            return json.loads(done.stdout), list(csv.DictReader(table)), out

    def replayed(self, out, rows):
        objects = json.loads((SOURCE / "scenarios" / "clusters" / "atlas.json").read_text(encoding="utf-8"))
        objects["items"] = [item for item in objects["items"] if item["kind"] == "Node"]
        done = self.vgpusim("run", "--format", "kubernetes", "--nodes", self.write("nodes.json", json.dumps(objects)), "--classes",
                            out / "classes.json", "--pods", out / "arrivals.csv", "--discipline", "easy", "--out", out / "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads((out / "run" / "summary.json").read_text(encoding="utf-8"))
        self.assertEqual(summary["pods"]["arrived"], len(rows))

    def test_pods_and_gpu_hours_are_those_of_the_audit_log(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                text, pods = audit_log(seed, 200)
                summary, rows, out = self.imported("audit", text)
                seconds = sum(gpus_of(kind) * ran for _, _, ran, kind in pods.values())
                self.assertEqual((summary["jobs"], summary["gpu_seconds"]), (len(pods), seconds))
                self.assertEqual(summary["jobs_with_gpus"], sum(gpus_of(kind) > 0 for *_, kind in pods.values()))
                devices = {of["name"]: of["devices"] for of in summary["classes"]}
                first = min(created for created, *_ in pods.values())
                self.assertEqual({row["name"]: (float(row["arrival"]), row["duration"] and float(row["duration"]), devices[row["class"]]) for row in rows},
                                 {name: (created - first, "" if ran is None else ran, kind) for name, (created, ran, _, kind) in pods.items()})
                self.assertEqual([entry["count"] for entry in summary["left_out_rows"]], [200 - len(pods)])
        self.replayed(out, rows)

    def test_workloads_and_gpu_hours_are_those_of_kueue(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                text, admitted = workloads(seed, 200)
                summary, rows, out = self.imported("kueue", text, "--queue", "queue")
                self.assertEqual((summary["jobs"], summary["gpu_seconds"]), (len(admitted), sum(ran * gpus for _, _, ran, gpus, _ in admitted.values())))
                self.assertEqual(summary["jobs_with_gpus"], sum(gpus > 0 for *_, gpus, _ in admitted.values()))
                self.assertEqual(summary["pods"], sum(pods for *_, pods in admitted.values()))
                self.assertEqual(summary["jobs_running"], sum(ran is None for _, ran, *_ in admitted.values()))
                first = min(created for created, *_ in admitted.values())
                jobs = {}
                for row in rows:
                    times = float(row["arrival"]), row["duration"] and float(row["duration"]), row["queue"]
                    jobs.setdefault(row["gang"] or row["name"], []).append(times)
                self.assertEqual(jobs, {name: [(created - first, "" if ran is None else ran, f"lq-{int(name.split('-')[1]) % 2}")] * pods
                                        for name, (created, ran, _, _, pods) in admitted.items()})
                self.assertEqual([entry["count"] for entry in summary["left_out_rows"]], [200 - len(admitted)])
        self.replayed(out, rows)

    def test_bad_input_is_refused_and_nothing_is_written(self):
        text, _ = audit_log(1, 20)
        listed, _ = workloads(1, 20)
        for source, bad, said in (("audit", text + "{", "audit.json:"), ("audit", text.replace("1500m", "x", 1), "resources.requests.cpu: got 'x'"),
                                  ("audit", "{}\n", "audit.json:1: kind: missing"), ("kueue", listed.replace("1500m", "x", 1), "resources.requests.cpu: got 'x'"),
                                  ("kueue", "[]", "kueue.json:1"), ("kueue", text, "at least one Workload")):
            with self.subTest(source=source, said=said):
                out = self.root / "nothing"
                done = self.vgpusim("import", source, self.write(source + ".json", bad), "--out", out)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)
                self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
