"""scripts/requirements.py: a tree of one test file, and programs that report what they are told to."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = {"id": "R1", "kind": "core", "seeds": "000", "statement": "It works."}
LABELLED = 'TEST(works, well) {\n    covers({"R1"});\n}\n'
PROGRAM = """#!{python}
import sys
output = next(a for a in sys.argv if a.startswith("--gtest_output=json:")).split(":", 1)[1]
open(output, "w").write({report!r})
"""


def report(case="well", **changes):
    cases = [{"name": case, "status": "RUN", "result": "COMPLETED", "covers": "R1", **changes}]
    return json.dumps({"testsuites": [{"name": "works", "testsuite": cases}]})


class RequirementsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for part in ("tests/requirements", "tests/unit/a", "docs", "specs"):
            (self.root / part).mkdir(parents=True)
        self.case_file(LABELLED)
        self.rows(ROW)
        self.program(report())

    def case_file(self, text):
        (self.root / "tests/unit/a/a_test.cpp").write_text(text)

    def rows(self, *rows):
        (self.root / "tests/requirements/rows.json").write_text(json.dumps(rows))

    def program(self, text):
        path = self.root / "program"
        path.write_text(PROGRAM.format(python=sys.executable, report=text))
        path.chmod(0o755)

    def run_it(self, what, *more, **environment):
        return subprocess.run([sys.executable, ROOT / "scripts/requirements.py", what, "--root", self.root, *more],
                              env={**os.environ, **environment}, capture_output=True, text=True, check=False)

    def check(self, what="check"):
        return self.run_it(what, "--binary", f"unit/a={self.root / 'program'}")

    def assert_problem(self, words):
        written = self.check("write")
        checked = self.check()
        self.assertEqual((written.returncode, checked.returncode), (1, 1), checked.stdout)
        self.assertIn(words, checked.stdout)
        self.assertNotIn("is not what the tests say", checked.stdout)

    def test_a_page_that_was_written_is_current_until_it_is_changed(self):
        self.assertIn("is not what the tests say", self.check().stdout)
        self.assertEqual(self.check("write").returncode, 0)
        self.assertEqual(self.check().returncode, 0)
        page = self.root / "docs/requirements.md"
        self.assertIn("| R1 | 000 | It works. | `a: works.well` |", page.read_text())
        self.assertIn("1 in all: 1 have labelled tests, all of which pass; 0 are shown by", page.read_text())
        page.write_text(page.read_text().replace("works", "worked"))
        self.assertEqual(self.check().returncode, 1)

    def test_a_requirement_without_a_test(self):
        self.rows(ROW, {**ROW, "id": "R2"})
        self.assert_problem("R2 has no test")

    def test_a_label_that_names_no_requirement(self):
        self.case_file(LABELLED.replace('"R1"', '"R1", "R9"'))
        self.program(report(covers="R1 R9"))
        self.assert_problem("R9 is no requirement")

    def test_a_labelled_test_that_did_not_pass(self):
        for changes, words in (({"failures": [{}]}, "failed"), ({"status": "NOTRUN"}, "skipped"),
                               ({"result": "SKIPPED"}, "skipped"), ({"case": "other"}, "not run"),
                               ({"covers": "R2"}, "reported ['R2']")):
            self.program(report(**changes))
            self.assert_problem(f"works.well: {words}" if "covers" not in changes else words)
        self.program("nothing that could be read")
        self.assert_problem("works.well: not run")

    def test_a_label_in_no_case_of_its_own(self):
        self.case_file(LABELLED + 'TEST_P(works, often) {\n    covers({"R1"});\n}\n')
        self.assert_problem("a label belongs into a TEST or TEST_F, once")
        self.case_file(LABELLED.replace("}\n", 'covers({"R1"});\n}\n'))
        self.assert_problem("a label belongs into a TEST or TEST_F, once")

    def test_labels_that_no_program_runs(self):
        self.assertIn("no program was named", self.run_it("check").stdout)

    def test_a_list_that_is_wrong(self):
        self.rows(ROW, ROW)
        self.assert_problem("R1 is there twice")
        self.rows({**ROW, "kind": "wish"})
        self.assert_problem("needs id, kind")
        self.rows(ROW, {**ROW, "id": "R2", "kind": "docs", "shown": ["docs/nowhere.md: word"]})
        self.assert_problem("R2: there is no docs/nowhere.md")

    def test_what_shows_a_row_is_there(self):
        (self.root / "docs/page.md").write_text("Some words\nover lines.\n")
        for folder in ("tests/cli", "tests/adapters", "tests/scripts", "adapters/part/sub"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "tests/cli/CMakeLists.txt").write_text("function(vga_cli_test name)\nendfunction()\nvga_cli_test(one)\n")
        (self.root / "tests/cli/one_test.py").write_text("class A:\n    def test_it(self):\n        pass\n")
        (self.root / "tests/cli/other_test.py").write_text("def test_unregistered():\n    pass\n")
        (self.root / "tests/adapters/CMakeLists.txt").write_text(
            "vga_adapter_test(part test -count=1 ./part)\nvga_adapter_test(all test ./...)\n"
            "vga_adapter_test(module test -C module ./plugin)\n")
        (self.root / "adapters/module/plugin").mkdir(parents=True)
        (self.root / "adapters/module/go.mod").write_text("module m\n")
        (self.root / "adapters/module/plugin/c_test.go").write_text("func TestModule(t *testing.T) {\n}\n")
        (self.root / "adapters/part/a_test.go").write_text("func TestPart(t *testing.T) {\n}\n")
        (self.root / "adapters/part/sub/b_test.go").write_text("func TestBelow(t *testing.T) {\n}\n")
        (self.root / "tests/scripts/CMakeLists.txt").write_text(
            "add_test(NAME tier.three\n  COMMAND bash ${PROJECT_SOURCE_DIR}/tests/scripts/run.sh $<TARGET_FILE:x>)\n"
            "vga_add_tests(things LABELS unit\n  SOURCES c_test.cpp d.cpp\n  ENVIRONMENT \"A=b\")\n")
        (self.root / "tests/scripts/run.sh").write_text("kills() {\n    :\n}\n")
        (self.root / "tests/scripts/c_test.cpp").write_text("TEST_P(many, times) {\n}\n")
        row = {**ROW, "id": "R2", "kind": "docs"}
        there = ["docs/page.md: words over", "cli.one: test_it", "adapters.part: TestPart", "adapters.all: TestBelow",
                 "adapters.module: TestModule",
                 "tier.three: kills", "things: many.times"]
        self.rows(ROW, {**row, "shown": there})
        self.assertEqual(self.check("write").returncode, 0, self.check("write").stdout)
        page = (self.root / "docs/requirements.md").read_text()
        self.assertIn('| R2 | 000 | It works. | [docs/page.md](page.md): "words over"<br>`cli.one: test_it`<br>', page)
        for entry, words in (("docs/page.md: other words", "docs/page.md does not say 'other words'"),
                             ("cli.two: test_it", "ctest has no test cli.two"),
                             ("cli.other: test_unregistered", "ctest has no test cli.other"),
                             ("cli.one: test_i", "the test cli.one has no case test_i"),
                             ("adapters.part: TestBelow", "the test adapters.part has no case TestBelow"),
                             ("adapters.all: TestModule", "the test adapters.all has no case TestModule"),
                             ("tier.three: kill", "the test tier.three has no case kill"),
                             ("things: many.time", "the test things has no case many.time"),
                             ("docs/page.md", "expected TEST: CASE or PAGE.md: WORDS")):
            self.rows(ROW, {**row, "shown": [entry]})
            self.assert_problem(words)

    def test_statements_that_need_no_test_say_what_shows_them_or_that_nothing_does(self):
        self.rows(ROW, {**ROW, "id": "R2", "kind": "adapter"})
        self.assert_problem("R2 has no test, and nothing says what shows it or what is missing")
        (self.root / "docs/page.md").write_text("One word.\n")
        self.rows(ROW, {**ROW, "id": "R2", "kind": "adapter", "open": "nothing yet"},
                  {**ROW, "id": "R3", "kind": "docs", "shown": ["docs/page.md: word"]})
        self.assertEqual(self.check("write").returncode, 0)
        page = (self.root / "docs/requirements.md").read_text()
        self.assertIn("| R2 | 000 | It works. | nothing yet |", page)
        self.assertIn('| R3 | 000 | It works. | [docs/page.md](page.md): "word" |', page)
        self.assertIn("The project began with 3 statements", page)

    def test_the_list_against_the_specification(self):
        specs = self.root / "specs"
        environment = {"VGPUALLOC_EVIDENCE": str(self.root), "CI": ""}
        self.assertEqual(self.run_it("compare", **environment).returncode, 77)
        self.assertEqual(self.run_it("compare", **{**environment, "CI": "true"}).returncode, 1)
        (specs / "SEED-REQUIREMENTS.md").write_text("| R1 | 000 | core | x |\n| R2 | 000,001 | wish | y |\n")
        (specs / "SPEC-cce.md").write_text("| C1 | empty | 40 | fit |\n")
        self.assertIn("C1: ", self.run_it("compare", **environment).stdout)
        self.rows(ROW, {**ROW, "id": "C1", "kind": "check", "seeds": "004"})
        self.assertEqual(self.run_it("compare", **environment).returncode, 0)
        self.rows({**ROW, "kind": "docs"}, {**ROW, "id": "C1", "kind": "check", "seeds": "004"})
        self.assertIn("R1: ", self.run_it("compare", **environment).stdout)
        self.rows({**ROW, "seeds": "001"}, {**ROW, "id": "C1", "kind": "check", "seeds": "004"})
        self.assertIn("R1: ", self.run_it("compare", **environment).stdout)


if __name__ == "__main__":
    unittest.main()
