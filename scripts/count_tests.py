#!/usr/bin/env python3
"""Adds up what scripts/test.sh ran: names the ten slowest tests, and prints 'N passed, N failed, N skipped' as the last line.

Each argument is one outcome:
  ctest:NAME:EXIT:JUNIT   one ctest run and the JUnit file it wrote; a test that left a report gtest/TEST.xml, of GoogleTest or pytest,
                          beside that file counts as the cases in the report
  check:NAME:EXIT         a command that counts as one test
  step:NAME:EXIT          a command that counts only when it failed (a build, say)
  skip:NAME               a check that was left out
--exit STATUS is the status the script ends with: a failure that nothing above counted still counts as one.
Exits 1 when anything failed.
"""
import argparse
import json
import re
import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path


def verdict(case):
    """ctest calls a test 'notrun' both when it asked to be skipped and when it could not be started at all."""
    status = case.get("status")
    if status == "run":
        return "passed"
    if status == "disabled":
        return "skipped"
    skipped = case.find("skipped")
    asked_to = skipped is not None and skipped.get("message", "").startswith("SKIP_")
    return "skipped" if asked_to else "failed"


def case_verdict(case):
    """The verdict of one case of a report of GoogleTest or pytest."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "passed" if case.get("result", "completed") == "completed" and case.find("skipped") is None else "skipped"


def cases_of(test, reports):
    """(name, verdict) of every case that one ctest test stands for: itself, or those of the report it left."""
    name, result = test.get("name"), verdict(test)
    report = reports / f"{name}.xml"
    if not report.is_file():
        return [(name, result)]
    try:
        cases = [(f"{name}: {case.get('classname')}.{case.get('name')}", case_verdict(case))
                 for case in xml.parse(report).iter("testcase")]
    except xml.ParseError:
        cases = []
    if not cases:
        return [(f"{name}: its report has no case", "failed")]
    if result != "passed" and all(outcome != "failed" for _, outcome in cases):
        cases.append((f"{name}: {result}, although none of its cases failed", "failed"))
    return cases


def tests_of(junit):
    try:
        return list(xml.parse(junit).iter("testcase"))
    except (OSError, xml.ParseError):
        return []


def print_slowest(outcomes, shown=10):
    """The tests of ctest that took longest, by the clock."""
    runs = [outcome.split(":", 3) for outcome in outcomes if outcome.startswith("ctest:")]
    times = [(float(test.get("time", 0)), f"{name}: {test.get('name')}") for _, name, _, junit in runs for test in tests_of(junit)]
    if times:
        print(f"  slowest: {', '.join(f'{test} {seconds:.0f} s' for seconds, test in sorted(times, reverse=True)[:shown])}")


# Labels of ctest tests of the node side.
TIERS = {"tier1": "tier 1 (fake NVML)", "tier2": "tier 2 (the kubelet's device manager)",
         "tier3": "tier 3 (real kubelet, containerd and runc)"}


def labels_of(junit):
    """The labels of every test, from what `ctest --show-only=json-v1` wrote beside the JUnit file, or None."""
    try:
        tests = json.loads((Path(junit).parent / "tests.json").read_text(encoding="utf-8"))["tests"]
    except (OSError, ValueError, KeyError):
        return None
    return {test["name"]: {label for entry in test.get("properties", []) if entry["name"] == "LABELS" for label in entry["value"]}
            for test in tests}


def why_not(test):
    """Why a test did not run: the last line it printed, or what ctest says."""
    printed = (test.findtext("system-out") or "").strip().splitlines()
    skipped = test.find("skipped")
    return printed[-1].strip() if printed else skipped.get("message", "no reason given") if skipped is not None else "no reason given"


def print_tiers(outcomes):
    """For each tier of the node side, which of its tests ran and for how long by the clock, and why the others did not."""
    files = [outcome.split(":", 3)[3] for outcome in outcomes if outcome.startswith("ctest:")]
    labels = {junit: labels_of(junit) for junit in files}
    if all(known is None for known in labels.values()):
        return
    tests = [(test, (labels[junit] or {}).get(test.get("name"), set())) for junit in files for test in tests_of(junit)]
    for label, name in TIERS.items():
        chosen = [test for test, its_labels in tests if label in its_labels]
        ran = [test for test in chosen if test.get("status") in ("run", "fail")]
        seconds = sum(float(test.get("time", 0)) for test in ran)
        if ran:
            print(f"  {name}: ran, {len(ran)} tests, {seconds:.0f} s")
        else:
            print(f"  {name}: did not run{'' if chosen else ': ctest ran with none of its tests'}")
        for test in chosen:
            if test not in ran:
                print(f"    {test.get('name')} did not run: {why_not(test)}")


LOG_LINE = re.compile(r"[IWEF]\d{4} ")  # of a program that the test runs


def print_output(test, shown=12, width=200):
    """What a failed test printed: from the first Go test on that failed, and the last lines."""
    lines = [line for line in (test.findtext("system-out") or "").splitlines() if line.strip() and not LOG_LINE.match(line)]
    failed = next((i for i, line in enumerate(lines) if line.lstrip().startswith("--- FAIL")), None)
    from_failed = [] if failed is None else lines[failed:failed + shown]
    rest = lines if failed is None else lines[failed + shown:]
    for line in from_failed + rest[-shown:]:
        print(f"    | {line[:width]}")


def count_ctest(name, status, junit):
    counts = Counter()
    tests = tests_of(junit)
    cases = [case for test in tests for case in cases_of(test, Path(junit).parent / "gtest")]
    for case, result in cases:
        counts[result] += 1
        if result != "passed":
            print(f"  {result}: {name}: {case}")
    for test in tests:
        if verdict(test) == "failed":
            print(f"  what {name}: {test.get('name')} printed:")
            print_output(test)
    if (status != 0 or not cases) and counts["failed"] == 0:
        counts["failed"] += 1
        print(f"  failed: {name}: ctest ended with {status} and {len(cases)} results")
    return counts


def count(outcome):
    if outcome.startswith("skip:"):
        print(f"  skipped: {outcome.removeprefix('skip:')}")
        return Counter(skipped=1)
    kind, name, status, *junit = outcome.split(":", 3)
    if kind == "ctest":
        counts = count_ctest(name, int(status), junit[0])
    elif status != "0":
        counts = Counter(failed=1)
        print(f"  failed: {name}")
    else:
        return Counter(passed=1) if kind == "check" else Counter()
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exit", type=int, default=0)
    parser.add_argument("outcomes", nargs="*")
    arguments = parser.parse_args()
    print_slowest(arguments.outcomes)
    print_tiers(arguments.outcomes)
    total = sum((count(outcome) for outcome in arguments.outcomes), Counter())
    if total["failed"] == 0 and (arguments.exit != 0 or total["passed"] == 0):
        print(f"  failed: the script ended with {arguments.exit} before its tests did")
        total["failed"] = 1
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped", flush=True)
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
