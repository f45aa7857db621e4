"""Reading google-benchmark's JSON: one figure per benchmark."""
import json
import statistics

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


class BadFile(Exception):
    pass


def read(path):
    """name -> list of the entries of that name, one per repetition; aggregates are left out."""
    try:
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)["benchmarks"]
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise BadFile(f"{path}: not a result of --benchmark_out: {failure}") from failure
    by_name = {}
    for entry in entries:
        if entry.get("run_type") == "aggregate" or entry.get("error_occurred"):
            continue
        by_name.setdefault(entry.get("run_name", entry["name"]), []).append(entry)
    return by_name


def seconds(entries):
    """The median over the repetitions. Where a benchmark measures by itself, its time; otherwise CPU time."""
    def one(entry):
        key = "real_time" if entry["name"].split("/repeats:")[0].endswith("/manual_time") else "cpu_time"
        return entry[key] * UNITS[entry["time_unit"]]
    return statistics.median(one(entry) for entry in entries)


def counter(entries, name):
    return statistics.median(entry[name] for entry in entries)


def readable(value):
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
