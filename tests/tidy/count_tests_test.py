#!/usr/bin/env python3
"""The closing count of scripts/test.sh: nothing that failed, or never ran, may look like a pass.
Usage: count_tests_test.py ROOT"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = sys.argv.pop(1)

JUNIT = """<testsuite>
<testcase name="a" status="run"/>
<testcase name="b" status="run"/>
<testcase name="skipped by its exit code" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="skipped by GoogleTest" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
<testcase name="disabled" status="disabled"><skipped message="Disabled"/></testcase>
{}</testsuite>"""
FAILED = '<testcase name="f" status="fail"><failure message=""/></testcase>\n'
NOT_BUILT = '<testcase name="n" status="notrun"><skipped message="Unable to find executable"/></testcase>\n'


def printed(*arguments):
    return subprocess.run([sys.executable, f"{ROOT}/scripts/count_tests.py", *arguments], capture_output=True, text=True,
                          check=False)


def count(*arguments):
    result = printed(*arguments)
    return result.stdout.splitlines()[-1], result.returncode


class Counting(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def junit(self, extra=""):
        path = Path(self.folder.name) / "junit.xml"
        path.write_text(JUNIT.format(extra), encoding="utf-8")
        return str(path)

    def test_passes_and_skips(self):
        self.assertEqual(("2 passed, 0 failed, 3 skipped", 0), count(f"ctest:release:0:{self.junit()}"))

    def test_runs_and_checks_are_added_up_and_steps_are_not(self):
        run = f"ctest:release:0:{self.junit()}"
        self.assertEqual(("5 passed, 0 failed, 6 skipped", 0), count(run, run, "check:coverage:0", "step:build:0"))

    def test_a_check_that_is_left_out_is_skipped(self):
        self.assertEqual(("1 passed, 0 failed, 1 skipped", 0), count("check:coverage:0", "skip:fuzz targets"))

    def test_what_a_failed_test_printed_stands_at_the_end(self):
        lines = ["begin", "--- FAIL: TestCuts (0.3s)", "    mig_test.go:140: refused", "E1129 20:20:21.29 daemons.go:53] log",
                 *(f"ok {i}" for i in range(40)), "rule broken"]
        case = f'<testcase name="f" status="fail"><failure message=""/><system-out>{chr(10).join(lines)}</system-out></testcase>'
        text = printed(f"ctest:release:8:{self.junit(case)}").stdout.splitlines()
        self.assertIn("  what release: f printed:", text)
        shown = [line.removeprefix("    | ") for line in text if line.startswith("    | ")]
        self.assertEqual(shown[:3], ["--- FAIL: TestCuts (0.3s)", "    mig_test.go:140: refused", "ok 0"])
        self.assertEqual(shown[-1], "rule broken")
        self.assertEqual(len(shown), 24)

    def test_the_ten_slowest_are_named(self):
        times = [3, 14, 15, 9, 26, 5, 35, 8, 97, 93, 2, 38]
        cases = "".join(f'<testcase name="t{i}" status="run" time="{time}"/>\n' for i, time in enumerate(times))
        slowest = printed(f"ctest:release:0:{self.junit(cases)}").stdout.splitlines()[0]
        wanted = [f"release: t{times.index(time)} {time} s" for time in sorted(times, reverse=True)[:10]]
        self.assertEqual("  slowest: " + ", ".join(wanted), slowest)

    def label(self, **labels):
        """Leaves beside the JUnit file what ctest says about its tests."""
        tests = [{"name": name, "properties": [{"name": "LABELS", "value": value}]} for name, value in labels.items()]
        (Path(self.folder.name) / "tests.json").write_text(json.dumps({"tests": tests}), encoding="utf-8")

    def test_tiers_are_said_from_the_labels_of_what_ran(self):
        cases = ('<testcase name="n1" status="run" time="3"/>'
                 '<testcase name="n2" status="fail" time="4"><failure message=""/></testcase>'
                 '<testcase name="n3" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>x\nno root\n</system-out></testcase>'
                 '<testcase name="n5" status="run" time="6"/>')
        self.label(n1=["unit", "tier1"], n2=["tier1"], n3=["e2e", "tier3"], n4=["tier1"], n5=["adapters", "tier2"])
        lines = printed(f"ctest:release:8:{self.junit(cases)}").stdout.splitlines()
        self.assertIn("  tier 1 (fake NVML): ran, 2 tests, 7 s", lines)
        self.assertIn("  tier 2 (the kubelet's device manager): ran, 1 tests, 6 s", lines)
        self.assertIn("  tier 3 (real kubelet, containerd and runc): did not run", lines)
        self.assertIn("    n3 did not run: no root", lines)

    def test_a_tier_without_tests_did_not_run(self):
        self.label(a=["unit"])
        lines = printed(f"ctest:release:0:{self.junit()}").stdout.splitlines()
        self.assertIn("  tier 1 (fake NVML): did not run: ctest ran with none of its tests", lines)

    def test_a_failure_is_counted_once(self):
        self.assertEqual(("2 passed, 1 failed, 3 skipped", 1),
                         count("--exit", "1", f"ctest:release:8:{self.junit(FAILED)}"))

    def report(self, cases, test="a"):
        """Leaves the report of a GoogleTest program beside the JUnit file."""
        folder = Path(self.folder.name) / "gtest"
        folder.mkdir(exist_ok=True)
        (folder / f"{test}.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>",
                                            encoding="utf-8")

    def test_a_program_counts_as_the_cases_of_its_report(self):
        run = f"ctest:release:0:{self.junit()}"
        self.report('<testcase name="x" classname="s" status="run" result="completed"/>' * 3 +
                    '<testcase name="y" classname="s" status="run" result="skipped"><skipped message=""/></testcase>')
        self.assertEqual(("4 passed, 0 failed, 4 skipped", 0), count(run))

    def test_a_case_that_failed_is_a_failure_and_named(self):
        self.report('<testcase name="x" classname="s" status="run" result="completed"><failure message=""/></testcase>')
        self.assertEqual(("1 passed, 1 failed, 3 skipped", 1), count(f"ctest:release:8:{self.junit()}"))

    def test_a_program_that_failed_after_its_cases_passed_is_a_failure(self):
        self.report('<testcase name="x" classname="s" status="run" result="completed"/>', "f")
        self.assertEqual(("3 passed, 1 failed, 3 skipped", 1), count(f"ctest:release:8:{self.junit(FAILED)}"))

    def test_a_report_without_cases_is_a_failure(self):
        self.report("")
        self.assertEqual(("1 passed, 1 failed, 3 skipped", 1), count(f"ctest:release:0:{self.junit()}"))

    def test_what_could_not_start_is_a_failure(self):
        self.assertEqual(("2 passed, 1 failed, 3 skipped", 1), count(f"ctest:release:8:{self.junit(NOT_BUILT)}"))

    def test_a_ctest_that_died_is_a_failure(self):
        self.assertEqual(("2 passed, 1 failed, 3 skipped", 1), count(f"ctest:release:139:{self.junit()}"))
        self.assertEqual(("0 passed, 1 failed, 0 skipped", 1), count("ctest:release:0:/nonexistent/junit.xml"))

    def test_a_failed_step_or_check_or_script_is_a_failure(self):
        run = f"ctest:release:0:{self.junit()}"
        for outcome in ("step:build:2", "check:coverage:2"):
            self.assertEqual(("2 passed, 1 failed, 3 skipped", 1), count(run, outcome))
        self.assertEqual(("2 passed, 1 failed, 3 skipped", 1), count("--exit", "1", run))

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(("0 passed, 1 failed, 0 skipped", 1), count())


if __name__ == "__main__":
    sys.exit(unittest.main())
