#!/usr/bin/env python3
"""vgpusim import prometheus against a real Prometheus: a week of invented pods, compared with PromQL's own sum.

  VGPUSIM=build/dev/bin/vgpusim python3 tests/e2e/prometheus_import.py [--days 7] [--record tests/data/import/prometheus]

Needs `prometheus` and `promtool` (Debian's package prometheus); is skipped where they are missing. Samples in the shape
of kube-state-metrics are written as OpenMetrics, made into blocks by promtool, and queried over HTTP on loopback.
"""
import argparse
import csv
import datetime
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

STEP = 60
BEGIN = int(datetime.datetime(2026, 11, 2, tzinfo=datetime.timezone.utc).timestamp())
PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
GPUS = "nvidia_com_gpu|nvidia_com_gpu_shared|nvidia_com_mig_.+|volcano_sh_vgpu_number"
METRICS = ("kube_pod_container_resource_requests", "kube_pod_status_phase", "kube_pod_created", "kube_pod_start_time",
           "kube_pod_completion_time", "kube_pod_owner", "kube_pod_labels")
# Samples only: what the page gives as PromQL's sum.
OWN_SUM = ('sum(sum_over_time((max by (namespace, pod, uid, container, resource) '
           '(kube_pod_container_resource_requests{{resource=~"{gpus}"}}) * on (namespace, pod, uid) group_left() '
           'max by (namespace, pod, uid) (kube_pod_status_phase{{phase="Running"}}))[{range}s:{step}s])) * {step} / 3600')
KINDS = (({"nvidia_com_gpu": 1}, 8, 32), ({"nvidia_com_gpu": 4}, 32, 128), ({"nvidia_com_mig_1g_10gb": 1}, 4, 16),
         ({"nvidia_com_gpu_shared": 1}, 2, 8), ({"volcano_sh_vgpu_number": 1, "volcano_sh_vgpu_memory": 10240}, 4, 16),
         ({}, 0.5, 1))


def pods_of(draw, count, span):
    """Invented pods: when they are created, run, end and are deleted, on times of their own, and what they request."""
    pods = []
    for number in range(count):
        created = BEGIN + draw.randrange(-7_200, span - 600)
        started = created + draw.choice((3, 20, 400, 3_000))
        ran = draw.choice((45, 600, 7_210, 30_000, 100_003))
        fate = draw.choice(("completed", "completed", "deleted", "deleted", "pending"))
        kind, cpu, memory = draw.choice(KINDS)
        pods.append({"namespace": draw.choice(("vision", "language", "serving")), "pod": f"pod-{number}",
                     "uid": f"00000000-0000-4000-8000-{number:012d}", "created": created, "fate": fate,
                     "started": None if fate == "pending" else started, "ended": None if fate == "pending" else started + ran,
                     "gone": started + ran + (3_600 if fate == "completed" else 0), "kind": kind, "cpu": cpu,
                     "memory": memory * 2 ** 30})
    return pods


def phase_at(pod, now):
    if pod["started"] is None or now < pod["started"]:
        return "Pending"
    return "Running" if now < pod["ended"] else "Succeeded"


def samples_of(pod, span, outage):
    """(metric, labels, value, time) of a pod at the times of the scrapes."""
    identity = {"namespace": pod["namespace"], "pod": pod["pod"], "uid": pod["uid"]}
    first = BEGIN + max(0, -(-(pod["created"] - BEGIN) // STEP) * STEP)
    for now in range(first, min(pod["gone"], BEGIN + span + 1), STEP):
        if outage[0] <= now < outage[1]:
            continue
        phase = phase_at(pod, now)
        node = "" if phase == "Pending" else "node-7"
        for resource, amount in {**pod["kind"], "cpu": pod["cpu"], "memory": pod["memory"]}.items():
            unit = {"cpu": "core", "memory": "byte"}.get(resource, "integer")
            yield METRICS[0], {**identity, "container": "main", "node": node, "resource": resource, "unit": unit}, amount, now
        for name in PHASES:
            yield METRICS[1], {**identity, "phase": name}, int(name == phase), now
        yield METRICS[2], identity, pod["created"], now
        if phase != "Pending":
            yield METRICS[3], identity, pod["started"], now
        if phase == "Succeeded":
            yield METRICS[4], identity, pod["ended"], now
        yield METRICS[5], {**identity, "owner_kind": "Job", "owner_name": pod["pod"] + "-job", "owner_is_controller": "true"}, 1, now
        yield METRICS[6], {**identity, "label_kueue_x_k8s_io_queue_name": "lq-" + pod["namespace"]}, 1, now


def write_openmetrics(path, pods, span, outage):
    lines = {metric: [] for metric in METRICS}
    for pod in pods:
        for metric, labels, value, now in samples_of(pod, span, outage):
            text = ",".join(f'{key}="{word}"' for key, word in {**labels, "job": "kube-state-metrics"}.items())
            lines[metric].append(f"{metric}{{{text}}} {value} {now}\n")
    with path.open("w", encoding="utf-8") as file:
        for metric, of_metric in lines.items():
            file.write(f"# TYPE {metric} gauge\n")
            file.writelines(of_metric)
        file.write("# EOF\n")
    return sum(map(len, lines.values()))


class Prometheus:
    def __init__(self, folder, openmetrics):
        data = folder / "data"
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=168h", openmetrics, data], check=True,
                       stdout=subprocess.DEVNULL, timeout=600)
        (folder / "prometheus.yml").write_text("global: {scrape_interval: 1m}\n", encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        # Blocks that were made of texts have no marks of staleness: a lookback below the step stands for them.
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={data}",
             "--storage.tsdb.retention.time=100y", f"--web.listen-address=127.0.0.1:{port}", "--query.lookback-delta=50s"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                with urllib.request.urlopen(self.url + "/-/ready", timeout=2):
                    return
            except OSError:
                time.sleep(0.1)
        self.stop()
        raise RuntimeError("Prometheus does not become ready")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)

    def get(self, path, **parameters):
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=300) as answer:
            return answer.read()

    def value(self, query, at):
        result = json.loads(self.get("query", query=query, time=at))["data"]["result"]
        return float(result[0]["value"][1]) if result else 0.0


def vgpusim(*arguments):
    done = subprocess.run([os.environ["VGPUSIM"], *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(f"vgpusim {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def expect(what, actual, expected):
    print(f"{what}: {actual}, expected {expected}")
    if actual != expected:
        sys.exit(f"{what}: got {actual}, expected {expected}")


def queried(server, folder, metrics, begin, span, selector=""):
    """One file a day and metric, of ranges whose ends are not shared."""
    files = []
    for metric in metrics:
        for start in range(begin, begin + span + 1, 86_400):
            file = folder / f"{metric}-{start}.json"
            end = min(start + 86_400 - STEP, begin + span)
            file.write_bytes(server.get("query_range", query=metric + selector, start=start, end=end, step=STEP))
            files.append(file)
    return files


def check(server, folder, pods, span, outage):
    answers = folder / "answers"
    answers.mkdir()
    files = queried(server, answers, METRICS, BEGIN, span)
    print(f"answers: {len(files)} files, {sum(file.stat().st_size for file in files) / 1e6:.1f} MB")
    started = time.monotonic()
    summary = json.loads(vgpusim("import", "prometheus", *files, "--out", folder / "imported", "--json"))
    print(f"import: {time.monotonic() - started:.1f} s, {summary['rows']} series")
    own = server.value(OWN_SUM.format(gpus=GPUS, range=span, step=STEP), BEGIN + span)
    expect("GPU-hours of the samples, by import and by PromQL", round(summary["gpu_hours_of_source"], 6), round(own, 6))

    def was_scraped(pod, since, until):
        return any(since <= now < until and not outage[0] <= now < outage[1] for now in
                   range(BEGIN + max(0, -(-(since - BEGIN) // STEP) * STEP), min(until, BEGIN + span + 1), STEP))

    seconds, count, with_gpus = 0, 0, 0
    for pod in pods:
        gpus = sum(amount for resource, amount in pod["kind"].items() if not resource.endswith("_memory"))
        if pod["started"] is None or not was_scraped(pod, pod["created"], pod["gone"]):
            continue
        is_completed = pod["fate"] == "completed" and was_scraped(pod, pod["ended"], pod["gone"])
        is_seen = was_scraped(pod, pod["started"], pod["ended"])
        if (not is_seen and not is_completed) or (is_completed and pod["ended"] <= BEGIN):
            continue
        scraped = [now for now in range(BEGIN, BEGIN + span + 1, STEP)
                   if pod["started"] <= now < pod["ended"] and not outage[0] <= now < outage[1]]
        end = pod["ended"] if is_completed else scraped[-1] + STEP
        count, with_gpus, seconds = count + 1, with_gpus + (gpus > 0), seconds + gpus * (end - pod["started"])
    expect("pods", summary["jobs"], count)
    expect("pods with GPUs", summary["jobs_with_gpus"], with_gpus)
    expect("GPU-hours by exact times", round(summary["gpu_hours"], 6), round(seconds / 3600, 6))

    only = [file for file in files if re.match("kube_pod_(container|status)", file.name)]
    by_samples = json.loads(vgpusim("import", "prometheus", *only, "--out", folder / "samples", "--json"))
    print(f"GPU-hours by samples alone, gaps filled: {by_samples['gpu_hours']:.6f}; PromQL: {own:.6f}")
    if outage[0] == outage[1]:
        expect("GPU-hours by samples alone", round(by_samples["gpu_hours"], 6), round(own, 6))
    return summary


def replay(folder):
    root = Path(__file__).resolve().parents[2]
    objects = json.loads((root / "scenarios" / "clusters" / "atlas.json").read_text(encoding="utf-8"))
    cluster = folder / "nodes.json"
    objects["items"] = [item for item in objects["items"] if item["kind"] == "Node"]
    cluster.write_text(json.dumps(objects), encoding="utf-8")
    out = folder / "imported"
    vgpusim("run", "--format", "kubernetes", "--nodes", cluster, "--classes", out / "classes.json", "--pods",
            out / "arrivals.csv", "--discipline", "easy", "--out", out / "run")
    arrived = json.loads((out / "run" / "summary.json").read_text(encoding="utf-8"))["pods"]["arrived"]
    with (out / "arrivals.csv").open(encoding="utf-8") as table:
        expect("pods of the replay", arrived, len(list(csv.DictReader(table))))
    print(vgpusim("forecast", root / "scenarios" / "clusters" / "atlas.json", "--history", out / "used.csv").splitlines()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=7, choices=range(4, 57), metavar="4..56", help="of full days forecast needs three")
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--record", type=Path, help="folder into which the answers of a few pods and hours go")
    chosen = parser.parse_args()
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        print("skipped: prometheus and promtool are not installed")
        sys.exit(77)
    span = chosen.days * 86_400
    noon = BEGIN + span // 2
    for seed, outage in ((1, (0, 0)), (2, (noon, noon + 1_800))):
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root)
            pods = pods_of(random.Random(seed), chosen.pods, span)
            count = write_openmetrics(folder / "samples.txt", pods, span, outage)
            print(f"{len(pods)} pods, {count} samples, {(outage[1] - outage[0]) // 60} minutes without any")
            server = Prometheus(folder, folder / "samples.txt")
            try:
                check(server, folder, pods, span, outage)
                replay(folder)
                if chosen.record and outage[0]:
                    chosen.record.mkdir(parents=True, exist_ok=True)
                    few = '{namespace="vision",pod=~"pod-[0-9]?[0-9]"}'
                    for metric in METRICS:
                        (chosen.record / f"{metric}.json").write_bytes(
                            server.get("query_range", query=metric + few, start=noon - 7_200, end=noon + 7_200, step=300))
            finally:
                server.stop()


if __name__ == "__main__":
    main()
