"""vgpusim import prometheus: pods and GPU-hours of answers of a Prometheus, recomputed sample by sample."""

import csv
import gzip
import json
import random
import unittest

from support import SOURCE, CliTest

BEGIN, STEP = 1_793_577_600, 60  # 2026-11-02
RECORDED = SOURCE / "tests" / "data" / "import" / "prometheus"
RESOURCES = {"nvidia_com_gpu": "nvidia.com/gpu", "nvidia_com_mig_1g_10gb": "nvidia.com/mig-1g.10gb",
             "nvidia_com_gpu_shared": "nvidia.com/gpu.shared", "volcano_sh_vgpu_number": "volcano.sh/vgpu-number"}


def answer(series):
    result = [{"metric": {**labels, "__name__": metric}, "values": [[now, value] for now, value in values]} for metric, labels, values in series]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def invented(seed, count, steps):
    """Series of pods that run at some of the samples, and what they request: GPUs, first and last sample."""
    draw = random.Random(seed)
    requests, phases, pods = [], [], []
    for number in range(count):
        identity = {"namespace": draw.choice(("vision", "language")), "pod": f"pod-{number}", "uid": str(number)}
        first = draw.randrange(steps)
        running = range(min(steps, first + draw.choice((0, 1, 30))), min(steps, first + draw.choice((1, 50, 900))))
        every = [BEGIN + STEP * step for step in range(first, max(running.stop, first + 1))]
        resource, gpus = draw.choice(list(RESOURCES)), draw.choice((0, 1, 2, 8))
        for name, amount in ((resource, gpus), ("cpu", 2.5), ("memory", 2 ** 31)):
            labels = {**identity, "container": "main", "resource": name}
            requests.append(("kube_pod_container_resource_requests", labels, [(now, str(amount)) for now in every]))
        for phase in ("Pending", "Running"):
            is_in = [str(int((now - BEGIN) // STEP in running) if phase == "Running" else int((now - BEGIN) // STEP not in running)) for now in every]
            phases.append(("kube_pod_status_phase", {**identity, "phase": phase}, list(zip(every, is_in))))
        pods.append((identity["namespace"] + "/" + identity["pod"], resource, gpus, first, running))
    return requests, phases, pods


def sum_of_recorded():
    """Of the recorded answers, as PromQL adds up: the GPUs of each sample at which a pod is Running."""
    def series_of(metric):
        return json.loads((RECORDED / f"{metric}.json").read_text(encoding="utf-8"))["data"]["result"]

    running = {(of["metric"]["uid"], now) for of in series_of("kube_pod_status_phase") if of["metric"]["phase"] == "Running"
               for now, value in of["values"] if value == "1"}
    amounts = {}
    for of in series_of("kube_pod_container_resource_requests"):
        labels = of["metric"]
        if labels["resource"] in RESOURCES:
            for now, value in of["values"]:
                if (labels["uid"], now) in running:
                    amounts[labels["uid"], labels["container"], labels["resource"], now] = float(value)
    return sum(amounts.values())


class ImportPrometheus(CliTest):
    def imported(self, *arguments):
        out = self.root / "imported"
        done = self.vgpusim("import", "prometheus", *arguments, "--out", out, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with (out / "arrivals.csv").open(encoding="utf-8") as table:
            return json.loads(done.stdout), list(csv.DictReader(table)), out

    def test_pods_and_gpu_hours_are_those_of_the_samples(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                requests, phases, pods = invented(seed, 150, 2_000)
                file = self.root / "requests.json.gz"
                file.write_bytes(gzip.compress((answer(requests[:9]) + "\n" + answer(requests[9:])).encode()))
                summary, rows, out = self.imported(file, self.write("phases.json", answer(phases)))
                ran = [pod for pod in pods if len(pod[4]) > 0]
                self.assertEqual((summary["source"], summary["jobs"]), ("prometheus", len(ran)))
                self.assertEqual(summary["jobs_with_gpus"], sum(gpus > 0 for _, _, gpus, *_ in ran))
                seconds = sum(gpus * len(running) * STEP for _, _, gpus, _, running in ran)
                self.assertEqual((summary["gpu_seconds"], summary["gpu_hours_of_source"]), (seconds, seconds / 3600))
                self.assertEqual([(entry["count"], entry["reason"]) for entry in summary["left_out_rows"]],
                                 [(len(pods) - len(ran), "they were Running at no sample")])
                devices = {of["name"]: of["devices"] for of in summary["classes"]}
                start = min(first for _, _, _, first, _ in ran)
                last = max(max(running.stop, first + 1) for _, _, _, first, running in pods)
                expected = {name: ((first - start) * STEP, "" if running.stop == last else len(running) * STEP,
                                   {RESOURCES[resource]: gpus} if gpus else {}, name.split("/")[0])
                            for name, resource, gpus, first, running in ran}
                self.assertEqual({row["name"]: (float(row["arrival"]), row["duration"] and float(row["duration"]), devices[row["class"]],
                                                row["queue"]) for row in rows}, expected)
                self.assertEqual(json.loads((out / "import.json").read_text(encoding="utf-8")), summary)

    def test_recorded_answers_have_the_sum_of_promql(self):
        summary, rows, out = self.imported(*sorted(RECORDED.glob("*.json")), "--queue", "queue")
        self.assertEqual(round(summary["gpu_hours_of_source"] * 12, 9), sum_of_recorded())  # the step is 300 s
        self.assertEqual({row["queue"] for row in rows}, {"lq-vision"})
        text = self.vgpusim("import", "prometheus", *sorted(RECORDED.glob("*.json")), "--out", out).stdout
        self.assertRegex(text, r"(?m)^\d+ pods of 1 namespace \(\d+ with GPUs\), 2026-11-\d\dT\d\d:\d\d:\d\dZ to 2026-11-")
        self.assertIn("GPU-hours by the samples alone, as PromQL adds them up", text)

    def test_what_is_imported_is_replayed(self):
        requests, phases, _ = invented(7, 80, 2_000)
        _, rows, out = self.imported(self.write("answers.json", answer(requests + phases)))
        objects = json.loads((SOURCE / "scenarios" / "clusters" / "atlas.json").read_text(encoding="utf-8"))
        objects["items"] = [item for item in objects["items"] if item["kind"] == "Node"]
        done = self.vgpusim("run", "--format", "kubernetes", "--nodes", self.write("nodes.json", json.dumps(objects)), "--classes",
                            out / "classes.json", "--pods", out / "arrivals.csv", "--discipline", "easy", "--out", out / "run")
        self.assertEqual(done.returncode, 0, done.stderr)  # warnings: nodes for shared GPUs are not in this cluster
        replayed = json.loads((out / "run" / "summary.json").read_text(encoding="utf-8"))
        self.assertEqual(replayed["pods"]["arrived"], len(rows))

    def test_used_covers_every_full_day_of_the_samples(self):
        steps = 6 * 1_440
        labels = {"namespace": "vision", "pod": "x", "uid": "1"}
        every = [BEGIN + STEP * step for step in range(steps)]
        series = [("kube_pod_container_resource_requests", {**labels, "container": "c", "resource": "nvidia_com_gpu"}, [(now, "4") for now in every]),
                  ("kube_pod_status_phase", {**labels, "phase": "Running"}, [(now, str(int(720 <= (now - BEGIN) // STEP < 3_600))) for now in every])]
        _, _, out = self.imported(self.write("answers.json", answer(series)))
        with (out / "used.csv").open(encoding="utf-8") as table:
            self.assertEqual([(row["time"], float(row["used"])) for row in csv.DictReader(table)],
                             [(f"2026-11-0{day}T12:00:00", used) for day, used in zip(range(2, 8), (2, 4, 2, 0, 0, 0))])
        forecast = self.vgpusim("forecast", SOURCE / "scenarios" / "clusters" / "atlas.json", "--history", out / "used.csv", "--json")
        self.assertEqual((forecast.returncode, forecast.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
