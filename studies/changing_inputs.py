"""Clusters and lists of pods whose demand changes while a run goes on, for changing_demand.py. The same seed gives the same lists."""

import bisect
import csv
import itertools
import json
import math
import pathlib
import random

MODEL = pathlib.Path(__file__).resolve().parent.parent / "traces" / "models" / "openb-like.json"
NODES, PODS = "openb_node_list_gpu_node.csv", "openb_pod_list_default.csv"
POD_KEYS = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time", "deletion_time"]

HOUR_S, DAY_S = 3600, 86400
MEAN_LIFETIME_S = HOUR_S
LONGEST_S = 12 * MEAN_LIFETIME_S
WARM_UP_LIFETIMES = 3
LOAD = 1.0
SMALL_BY_DAY, LARGE_BY_NIGHT = 3, 4
NEW_PART = 0.15  # of the GPUs requested, of the class that appears
OWN_DAYS = range(116, 149)  # in which openb's pods arrive one after the other (docs/trace-model.md)
OWN_LENGTH_DAYS = 3 * len(OWN_DAYS)

FOUR_GPUS = {"cpu_milli": 32200, "memory_mib": 132096, "num_gpu": 4, "gpu_milli": 1000}
SHARE_700 = {"cpu_milli": 6000, "memory_mib": 16384, "num_gpu": 1, "gpu_milli": 700}


def gpus_of(pod):
    """The GPUs that a class or a row requests."""
    count = int(pod["num_gpu"])
    return count if count > 1 else count * int(pod["gpu_milli"]) / 1000


def is_small(pod_class):
    return 0 < gpus_of(pod_class) < 1


def openb_classes():
    return json.loads(MODEL.read_text())["pods"]["classes"]


def weighted(classes, factor, matches):
    """The classes, with the weights of those that match times the factor."""
    return [pod_class | {"weight": pod_class["weight"] * (factor if matches(pod_class) else 1)} for pod_class in classes]


def with_new(classes, new_class, part):
    """The classes and a new one, which has that part of the GPUs requested."""
    requested = sum(pod_class["weight"] * gpus_of(pod_class) for pod_class in classes)
    return [*classes, new_class | {"weight": part / (1 - part) * requested / gpus_of(new_class)}]


def rate_of(classes, gpus):
    """Pods in a second at which rate x lifetime x GPUs requested is LOAD times the GPUs of the cluster."""
    weight = sum(pod_class["weight"] for pod_class in classes)
    mean_gpus = sum(pod_class["weight"] * gpus_of(pod_class) for pod_class in classes) / weight
    return LOAD * gpus / (MEAN_LIFETIME_S * mean_gpus)


def drawn(phases, gpus, seed):
    """Poisson arrivals with exponential lifetimes. A phase is its end and its classes; each offers the same load."""
    numbers, rows, now = random.Random(seed), [], 0.0
    for end_s, classes in phases:
        rate, sums = rate_of(classes, gpus), list(itertools.accumulate(pod_class["weight"] for pod_class in classes))
        while True:
            now -= math.log(1 - numbers.random()) / rate
            if now >= end_s:
                now = end_s  # the gap that is left is exponential again, at the rate of the next phase
                break
            pod_class = classes[bisect.bisect_right(sums, numbers.random() * sums[-1])]
            lifetime_s = min(LONGEST_S, max(1, round(-MEAN_LIFETIME_S * math.log(1 - numbers.random()))))
            rows.append(row_of(len(rows), pod_class, int(now), lifetime_s))
    return rows


def row_of(index, pod, arrival_s, lifetime_s):
    """Of the pod list, for a class or a row of another list."""
    request = {key: pod[key] for key in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")}
    return {"name": f"pod-{index:06}", **request, "gpu_spec": pod.get("gpu_spec", ""), "creation_time": arrival_s,
            "deletion_time": arrival_s + lifetime_s}


def day_and_night(period_s, length_s):
    """Small pods by day, which is the first half of a period, and pods of 2 to 8 GPUs by night."""
    classes = openb_classes()
    halves = [weighted(classes, SMALL_BY_DAY, is_small), weighted(classes, LARGE_BY_NIGHT, lambda pod_class: gpus_of(pod_class) > 1)]
    count = math.ceil(2 * length_s / period_s)
    return [(min(length_s, (half + 1) * period_s / 2), halves[half % 2]) for half in range(count)]


def appearing(new_class, from_s, length_s):
    """Openb's classes without those of the new one's GPUs, and from a time on the new one too."""
    before = [pod_class for pod_class in openb_classes() if gpus_of(pod_class) != gpus_of(new_class)]
    return [(from_s, before), (length_s, with_new(before, new_class, NEW_PART))]


def present(pods, begin_s, end_s):
    """The GPUs that pods (arrival, lifetime, GPUs) request on average in that time, if none of them is lost or waits."""
    total = sum(gpus * max(0.0, min(end_s, arrival_s + lifetime_s) - max(begin_s, arrival_s)) for arrival_s, lifetime_s, gpus in pods)
    return total / (end_s - begin_s)


def own_times(listed, gpus, seed, days=OWN_DAYS, length_days=OWN_LENGTH_DAYS):
    """Days of a list, drawn with replacement, with the arrivals moved together until the pods that would run request LOAD times
    the GPUs on average, from the end of the warm-up on. Lifetimes are the list's own. Gives the rows and the warm-up."""
    of_day = {day: [] for day in days}
    for row in sorted(listed, key=lambda row: int(row["creation_time"])):
        day, time_s = divmod(int(row["creation_time"]), DAY_S)
        if day in of_day:
            of_day[day].append((time_s, max(1, int(row["deletion_time"]) - int(row["creation_time"])), row))
    numbers, pods = random.Random(seed), []
    for day in range(length_days):
        pods += [(day * DAY_S + time_s, lifetime_s, row) for time_s, lifetime_s, row in of_day[numbers.choice(list(days))]]
    warm_up_s = WARM_UP_LIFETIMES * sum(lifetime_s for _, lifetime_s, _ in pods) / len(pods)

    requests = [gpus_of(row) for *_, row in pods]

    def offered(factor):
        moved = ((arrival_s / factor, lifetime_s, request) for (arrival_s, lifetime_s, _), request in zip(pods, requests))
        return present(moved, warm_up_s, length_days * DAY_S / factor)

    low, high = 1.0, length_days * DAY_S / (2 * warm_up_s)  # at the latter, half of the run is warm-up
    if offered(high) < LOAD * gpus:
        raise SystemExit("changing_demand: the list is too short for this cluster")
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if offered(middle) < LOAD * gpus else (low, middle)
    return [row_of(index, row, int(arrival_s / high), lifetime_s) for index, (arrival_s, lifetime_s, row) in enumerate(pods)], warm_up_s


def every(nodes, step):
    """One node of so many, of each kind in proportion."""
    return sorted(nodes, key=lambda node: [node[key] for key in ("model", "gpu", "cpu_milli", "memory_mib", "sn")])[::step]


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows, keys):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, keys, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# By name: one node of how many, and what makes the rows and the warm-up of GPUs, a seed and openb's list.
WARM_UP_S = WARM_UP_LIFETIMES * MEAN_LIFETIME_S
INPUTS = {
    "day-night-6h": (4, lambda gpus, seed, _: (drawn(day_and_night(6 * HOUR_S, 9 * HOUR_S), gpus, seed), WARM_UP_S)),
    "day-night-24h": (8, lambda gpus, seed, _: (drawn(day_and_night(24 * HOUR_S, 27 * HOUR_S), gpus, seed), WARM_UP_S)),
    "new-4-gpus": (4, lambda gpus, seed, _: (drawn(appearing(FOUR_GPUS, 6 * HOUR_S, 9 * HOUR_S), gpus, seed), WARM_UP_S)),
    "new-0.7-gpu": (4, lambda gpus, seed, _: (drawn(appearing(SHARE_700, 6 * HOUR_S, 9 * HOUR_S), gpus, seed), WARM_UP_S)),
    "own-times": (8, lambda gpus, seed, listed: own_times(listed, gpus, seed)),
}
