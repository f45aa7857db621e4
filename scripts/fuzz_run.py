#!/usr/bin/env python3
"""Runs fuzz targets that scripts/fuzz.sh has built, and says of each what was executed and reached.

A target starts from its inputs in tests/fuzz/corpus and from those that earlier runs kept in build/fuzz/corpus. With
--seed it starts from the former alone and draws from that seed, so that two runs differ only in how far they come.
Writes an outcome per target for scripts/count_tests.py into build/fuzz/outcomes. Exits 1 if anything was found, or if
the canary, a planted bug, was not.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"  # what runs keep
PROGRAMS = Path(os.environ["VGPUALLOC_FUZZ_PROGRAMS"])
CANARY = "canary"
CANARY_SECONDS_LEAST = 20
UNIT_SECONDS = 1     # longer is a hang
UNIT_SECONDS_OF = {"c_api": 4}  # one input is a program of calls, in which prices are learned: 1.3 s where nothing hangs
MEMORY_MIB = 512     # more is a finding too
BYTES_MAX = 4096     # of an input
BYTES_MAX_OF = {"recordings": 16384, "catalogs": 8192, "decision_logs": 8192}
# Freed memory that the address sanitizer keeps for a while is counted as the target's.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=16:detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
HANG_EXIT = 70       # libFuzzer's for an input that took too long


@dataclass
class Outcome:
    target: str
    executions: int = 0
    per_second: int = 0
    edges: int = 0
    edges_all: int = 0
    features: int = 0
    corpus: int = 0
    peak_mib: int = 0
    seconds: float = 0
    cpu_seconds: float = 0
    found: str = ""      # what broke, empty: nothing
    log: str = ""

    def take(self, log):
        """Adds the figures of one process of libFuzzer."""
        def last(pattern):
            numbers = re.findall(pattern, log)
            return int(numbers[-1]) if numbers else 0

        self.executions += last(r"stat::number_of_executed_units:\s*(\d+)")
        self.edges_all = last(r"Loaded 1 modules\s+\((\d+) inline 8-bit counters\)")
        self.edges = max(self.edges, last(r" cov: (\d+) "))
        self.features = max(self.features, last(r" ft: (\d+) "))
        self.corpus = max(self.corpus, last(r" corp: (\d+)/"))
        self.peak_mib = max(self.peak_mib, last(r"stat::peak_rss_mb:\s*(\d+)"))
        self.log = log


def program(target):
    return str(PROGRAMS / f"fuzz_{target}")


def run(command):
    """Exit code, output and seconds of processor time of a command."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, env=ENVIRONMENT, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace"), used.ru_utime + used.ru_stime


def seconds_of(target):
    return UNIT_SECONDS_OF.get(target, UNIT_SECONDS)


def cpu_seconds(target, path):
    """What one input costs a process of its own."""
    return run([program(target), "-timeout=60", str(path)])[2]


def is_hang(target, path):
    """libFuzzer looks at the wall clock, which goes on while other processes have the processor."""
    with tempfile.NamedTemporaryFile() as nothing:
        return cpu_seconds(target, path) - cpu_seconds(target, nothing.name) >= seconds_of(target)


def run_once(target, seconds, folders, seed, findings):
    bytes_max = BYTES_MAX_OF.get(target, BYTES_MAX)
    command = [program(target), f"-max_total_time={max(1, round(seconds))}", f"-timeout={seconds_of(target)}",
               f"-timeout_exitcode={HANG_EXIT}", f"-rss_limit_mb={MEMORY_MIB}", f"-max_len={bytes_max}",
               f"-artifact_prefix={findings}/", "-print_final_stats=1"]
    if seed:
        command.append(f"-seed={seed}")
    command += [str(folder) for folder in folders]
    return run(command)


def fuzz(target, seconds, seed):
    outcome = Outcome(target)
    findings = BUILD / "findings" / target
    findings.mkdir(parents=True, exist_ok=True)
    known = set(findings.iterdir())
    seeds = ROOT / "tests" / "fuzz" / "corpus" / target
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as fresh:
        kept = Path(fresh) if seed else BUILD / "corpus" / target
        kept.mkdir(parents=True, exist_ok=True)
        folders = [kept] + ([seeds] if seeds.is_dir() and target != CANARY else [])
        while (left := seconds - (time.monotonic() - start)) > 0 and not outcome.found:
            exit_code, log, cpu = run_once(target, left, folders, seed, findings)
            outcome.take(log)
            outcome.cpu_seconds += cpu
            new = sorted(set(findings.iterdir()) - known)
            if exit_code == 0 and not new:
                break
            # An artifact is named by its contents: one that an earlier run kept is there already.
            slow = new or re.findall(r"Test unit written to (\S+)", outcome.log)
            if exit_code == HANG_EXIT and not any(is_hang(target, path) for path in slow):
                for path in new:
                    path.unlink()
                continue
            outcome.found = ", ".join(str(path.relative_to(ROOT)) for path in new) or f"exit code {exit_code}"
    outcome.seconds = time.monotonic() - start
    outcome.per_second = round(outcome.executions / max(outcome.seconds, 1))
    return outcome


def reach_canary(seconds, seed):
    """The planted bug, searched from nothing."""
    shutil.rmtree(BUILD / "findings" / CANARY, ignore_errors=True)
    shutil.rmtree(BUILD / "corpus" / CANARY, ignore_errors=True)
    outcome = fuzz(CANARY, max(seconds, CANARY_SECONDS_LEAST), seed)
    return outcome, "heap-buffer-overflow" in outcome.log


ROW = "{:<12}{:>12}{:>9}{:>16}{:>10}{:>8}{:>10}{:>9}{:>9}  {}"


def show(outcome, verdict):
    share = 100 * outcome.edges / max(outcome.edges_all, 1)
    edges = f"{outcome.edges} ({share:.0f} %)"
    print(ROW.format(outcome.target, outcome.executions, outcome.per_second, edges, outcome.features, outcome.corpus,
                     f"{outcome.peak_mib} MiB", f"{outcome.seconds:.0f} s", f"{outcome.cpu_seconds:.0f} s", verdict), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=20, help="for each target")
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time")
    parser.add_argument("--seed", type=int, default=0, help="start from the repository's corpus alone, with this seed")
    parser.add_argument("targets", nargs="+")
    arguments = parser.parse_args()
    outcomes = []
    print(ROW.format("target", "executions", "per s", "edges", "features", "corpus", "memory", "time", "CPU", "result"))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        canary = pool.submit(reach_canary, arguments.seconds, arguments.seed)
        for outcome in pool.map(lambda target: fuzz(target, arguments.seconds, arguments.seed), arguments.targets):
            show(outcome, f"FOUND {outcome.found}" if outcome.found else "ok")
            if outcome.found:
                print(outcome.log[-4000:])
            outcomes.append((outcome.target, 1 if outcome.found else 0))
        outcome, reached = canary.result()
        show(outcome, "found, as it has to be" if reached else "NOT FOUND: the harness does not work")
        outcomes.append((CANARY, 0 if reached else 1))
    lines = [f"check:fuzzing {target}:{status}\n" for target, status in outcomes]
    (BUILD / "outcomes").write_text("".join(lines))
    return 1 if any(status for _, status in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
