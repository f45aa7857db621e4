"""`vgpusim conformance --print` and the script that writes cases with it."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from support import SOURCE, VGPUSIM, CliTest  # noqa: E402  (the path comes first)

SCRIPT = SOURCE / "tests" / "conformance" / "make_cases.py"
CASES = SOURCE / "tests" / "conformance" / "cases"


def bare(line):
    case = json.loads(line)
    for node in case["nodes"]:
        del node["loaded"]
    for event in case["events"]:
        del event["out"]
    return json.dumps(case) + "\n"


class MakeCasesTest(CliTest):
    def make(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=60,
                              check=False)

    def test_the_shipped_cases_are_as_the_script_writes_them(self):
        result = self.make("--check", VGPUSIM)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_a_case_without_decisions_is_filled_in(self):
        for shipped in sorted(CASES.glob("*.jsonl")):
            text = shipped.read_text(encoding="utf-8")
            path = Path(self.write("bare.jsonl", "".join(bare(line) for line in text.splitlines())))
            before = path.read_text(encoding="utf-8")
            self.assertEqual(self.make("--check", VGPUSIM, path).returncode, 1)
            self.assertEqual(path.read_text(encoding="utf-8"), before)
            self.assertEqual(self.make(VGPUSIM, path).returncode, 0)
            self.assertEqual([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()],
                             [json.loads(line) for line in text.splitlines()])

    def test_nothing_is_written_for_a_bad_file(self):
        good = next(iter(sorted(CASES.glob("*.jsonl"))))
        path = Path(self.write("bad.jsonl", '{"schema":1}\n'))
        result = self.vgpusim("conformance", "--impl", "compat:volcano", "--print", good, path)
        self.assert_error_line(result, 2, "bad.jsonl:1")
        self.assertEqual(result.stdout, "")
        self.assertNotEqual(self.make(VGPUSIM, path).returncode, 0)
        self.assertEqual(path.read_text(encoding="utf-8"), '{"schema":1}\n')


if __name__ == "__main__":
    unittest.main()
