"""vgpusim import: the sums of what other systems have accounted, and replays of it."""

import csv
import datetime
import json
import random
import unittest

from support import SOURCE, CliTest

HEADER = "JobID|JobName|User|Account|Partition|Submit|Start|End|State|ElapsedRaw|TimelimitRaw|AllocTRES"
BEGIN = datetime.datetime(2026, 10, 1)


def at(seconds):
    return (BEGIN + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")


def accounted(seed, count):
    """Rows as sacct prints them, with the jobs that are replayed: id, arrival, time run or None, GPUs, nodes, account."""
    draw = random.Random(seed)
    rows, jobs = [], []
    for number in range(1, count + 1):
        submit = draw.randrange(86_400)
        wait, ran = draw.choice((0, 7, 400)), draw.choice((0, 30, 3_600, 90_061))
        nodes = draw.choice((1, 1, 1, 2, 3))
        gpus = draw.choice((0, 1, 2, 4)) * (nodes if draw.random() < 0.8 else 1)
        account = draw.choice(("vision", "language"))
        state = draw.choice(("COMPLETED", "COMPLETED", "FAILED", "CANCELLED by 1000", "RUNNING", "PENDING"))
        start, end, tres = at(submit + wait), at(submit + wait + ran), f"billing=9,cpu={4 * nodes},mem={16 * nodes}G,node={nodes}"
        if gpus:
            tres += f",gres/gpu={gpus}" + (f",gres/gpu:a100={gpus}" if draw.random() < 0.5 else "")
        if state == "RUNNING":
            end = "Unknown"
        if state == "PENDING":
            start, end, ran, tres = "Unknown", "Unknown", 0, ""
        limit = draw.choice(("60", "UNLIMITED", ""))
        rows.append("|".join([str(number), "a name", f"user{number % 7}", account, "gpu", at(submit), start, end, state, str(ran), limit, tres]))
        if state != "PENDING":
            rows.append("|".join([f"{number}.batch", "batch", "", account, "", at(submit), start, end, state, str(ran), "", tres]))
            jobs.append((str(number), submit, None if state == "RUNNING" else ran, ran, gpus, nodes, account))
    return "\n".join([HEADER, *rows]) + "\n", jobs


class Import(CliTest):
    def imported(self, text, *arguments):
        out = self.root / "imported"
        done = self.vgpusim("import", "sacct", self.write("jobs.txt", text), "--out", out, "--json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        summary = json.loads(done.stdout)
        self.assertEqual(summary, json.loads((out / "import.json").read_text(encoding="utf-8")))
        with (out / "arrivals.csv").open(encoding="utf-8") as table:
            return summary, list(csv.DictReader(table)), out

    def test_jobs_and_gpu_hours_are_those_of_the_records(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                text, jobs = accounted(seed, 400)
                summary, rows, out = self.imported(text, "--queue", "account")
                self.assertEqual(summary["jobs"], len(jobs))
                gpu_seconds = sum(gpus * ran for _, _, _, ran, gpus, _, _ in jobs)
                self.assertEqual((summary["gpu_seconds"], summary["gpu_hours"]), (gpu_seconds, gpu_seconds / 3600))
                self.assertEqual(sum(of["gpu_seconds"] for of in summary["classes"]), gpu_seconds)
                self.assertEqual(summary["jobs_running"], sum(ran is None for _, _, ran, *_ in jobs))
                gpus_of = {of["name"]: of["gpus"] for of in summary["classes"]}
                first = min(arrival for _, arrival, *_ in jobs)
                expected = {name: [] for name, *_ in jobs}
                for row in rows:
                    expected[row["gang"] or row["name"]].append(row)
                for name, arrival, ran, _, gpus, nodes, account in jobs:
                    pods = expected[name]
                    self.assertEqual(len(pods), nodes)
                    self.assertEqual(sum(gpus_of[pod["class"]] for pod in pods), gpus)
                    self.assertEqual({(float(pod["arrival"]), pod["duration"] and float(pod["duration"]), pod["queue"]) for pod in pods},
                                     {(arrival - first, "" if ran is None else ran, account)})
                self.assertEqual({entry["reason"].split()[0] for entry in summary["left_out_rows"]}, {"steps", "the"})

    def test_what_is_imported_is_replayed(self):
        text, _ = accounted(11, 120)
        _, rows, out = self.imported(text)
        objects = json.loads((SOURCE / "scenarios" / "clusters" / "atlas.json").read_text(encoding="utf-8"))
        objects["items"] = [item for item in objects["items"] if item["kind"] == "Node"]
        done = self.vgpusim("run", "--format", "kubernetes", "--nodes", self.write("nodes.json", json.dumps(objects)), "--classes",
                            out / "classes.json", "--pods", out / "arrivals.csv", "--discipline", "easy", "--out", out / "run")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        replayed = json.loads((out / "run" / "summary.json").read_text(encoding="utf-8"))
        self.assertEqual(replayed["pods"]["arrived"], len(rows))

    def test_used_is_the_mean_of_full_days_or_weeks(self):
        """Summed up here second by second of the jobs, and read by forecast."""
        for days, length in ((20, 1), (100, 7)):
            with self.subTest(days=days):
                draw = random.Random(days)
                rows, jobs = [], []
                for number in range(300):
                    start, gpus = draw.randrange(days * 86_400), draw.choice((0, 1, 2, 8))
                    end = start + draw.choice((0, 60, 7_201, 90_061, 400_000))
                    runs = draw.random() < 0.05
                    tres = f"cpu=4,node=1,gres/gpu={gpus}" if gpus else "cpu=4,node=1"
                    rows.append(f"{number}|j|u|a|gpu|{at(start)}|{at(start)}|{'Unknown' if runs else at(end)}|X|{end - start}||{tres}")
                    jobs.append((start, end, gpus, runs))
                _, _, out = self.imported(HEADER + "\n" + "\n".join(rows) + "\n")
                first, last = min(end for _, end, *_ in jobs), max(start for start, *_ in jobs)
                weekday = BEGIN.weekday() if length == 7 else 0
                expected, day = [], 0
                while (day + length) * 86_400 <= last:
                    begin, end = day * 86_400, (day + length) * 86_400
                    if begin < first or (day + weekday) % length:
                        day += 1
                        continue
                    seconds = sum(gpus * max(0, min(end, end if runs else until) - max(begin, since)) for since, until, gpus, runs in jobs)
                    expected.append((at((begin + end) // 2), f"{seconds / (end - begin):.3f}"))
                    day += length
                with (out / "used.csv").open(encoding="utf-8") as table:
                    self.assertEqual([(row["time"], row["used"]) for row in csv.DictReader(table)], expected)
                self.assertGreater(len(expected), 10)
                atlas = SOURCE / "scenarios" / "clusters" / "atlas.json"
                forecast = self.vgpusim("forecast", atlas, "--history", out / "used.csv", "--json")
                self.assertEqual((forecast.returncode, forecast.stderr), (0, ""))
                self.assertEqual(json.loads(forecast.stdout)["trend"]["points"], len(expected))

    def test_a_type_of_gpu_is_a_product(self):
        rows = "".join(f"{number}|j|u|a|gpu|{at(0)}|{at(0)}|{at(9)}|COMPLETED|9||gres/gpu:{kind}=1,gres/gpu=1,node=1\n"
                       for number, kind in ((1, "a100"), (2, "v100")))
        summary, _, out = self.imported(HEADER + "\n" + rows, "--gpu-type", "a100=NVIDIA-A100-SXM4-80GB")
        self.assertEqual(summary["types_without_product"], {"v100": 1})
        selectors = {item["metadata"]["name"]: item["spec"].get("nodeSelector")
                     for item in json.loads((out / "classes.json").read_text(encoding="utf-8"))["items"]}
        self.assertEqual(selectors, {"1gpu-0cpu-nvidia-a100-sxm4-80gb": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
                                     "1gpu-0cpu": None})

    def test_types_of_instances_are_mig_profiles(self):
        rows = "".join(f"{number}|j|u|a|gpu|{at(0)}|{at(0)}|{at(9)}|COMPLETED|9||gres/gpu:{kind}=2,gres/gpu=2,node=1,cpu=4\n"
                       for number, kind in ((1, "a100_1g.5gb"), (2, "3g.40gb"), (3, "a100_1g.5gbx"), (4, "g.gb")))
        summary, _, out = self.imported(HEADER + "\n" + rows)
        items = json.loads((out / "classes.json").read_text(encoding="utf-8"))["items"]
        self.assertEqual({item["metadata"]["name"]: item["spec"]["containers"][0]["resources"]["limits"] for item in items},
                         {"2mig-1g.5gb-4cpu": {"nvidia.com/mig-1g.5gb": "2"}, "2mig-3g.40gb-4cpu": {"nvidia.com/mig-3g.40gb": "2"},
                          "2gpu-4cpu": {"nvidia.com/gpu": "2"}})
        self.assertEqual(summary["types_without_product"], {"a100_1g.5gb": 2, "a100_1g.5gbx": 2, "g.gb": 2})

    def test_bad_input_is_refused_and_nothing_is_written(self):
        good = accounted(1, 9)[0]
        out = self.root / "nothing"
        for arguments, text, said in (
                (("sacct", "FILE", "--out", out), good + "1|2\n", "jobs.txt:"),
                (("sacct", "FILE", "--out", out), "no header\n", "jobs.txt:1: JobID: missing"),
                (("sacct", "FILE"), good, "--out"),
                (("slurm", "FILE", "--out", out), good, "slurm"),
                (("sacct", "FILE", "FILE", "--out", out), good, "got 2 files, expected one with import sacct"),
                (("prometheus", "FILE", "--out", out), good, "jobs.txt:1: got 'JobID"),
                (("prometheus", "FILE", "--out", out, "--queue", "qos"), good, "got 'qos', expected namespace, owner, queue or none"),
                (("prometheus", "FILE", "--out", out, "--gpu-type", "a=b"), good, "only sacct names types of GPUs"),
                (("sacct", "FILE", "--out", out, "--gpu-type", "a100"), good, "expected TYPE=PRODUCT"),
                (("sacct", "FILE", "--out", out, "--queue", "rack"), good, "rack"),
                (("sacct", self.root / "missing.txt", "--out", out), good, "missing.txt")):
            with self.subTest(arguments=arguments):
                file = self.write("jobs.txt", text)
                done = self.vgpusim("import", *(file if word == "FILE" else word for word in arguments))
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)
                self.assertFalse(out.exists())
        skipped = self.vgpusim("import", "sacct", self.write("jobs.txt", good + "1|2\n"), "--out", out, "--skip-bad-rows")
        self.assertEqual((skipped.returncode, skipped.stderr), (0, ""))
        self.assertIn("not read: 1 row, the first: ", skipped.stdout)


if __name__ == "__main__":
    unittest.main()
