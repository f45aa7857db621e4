"""docs/faults.md: every fault that compat.md numbers is provoked there or has the reason why not, and the page is of the
faults that are played today."""

import re
import unittest

from support import SOURCE


def rows_of(part):
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in part.splitlines()
            if line.startswith("| ") and not line.startswith("| fault ")]


class FaultsTest(unittest.TestCase):
    def setUp(self):
        self.page = (SOURCE / "docs/faults.md").read_text(encoding="utf-8")
        provoked, not_provoked = self.page.split("\n## Not provoked\n")
        self.provoked, self.not_provoked = rows_of(provoked), rows_of(not_provoked)

    def test_every_quirk_stands_in_exactly_one_table(self):
        compat = (SOURCE / "docs/compat.md").read_text(encoding="utf-8")
        quirks = set(re.findall(r"^\*\*(Q\d+[a-z]?)\b", compat, re.MULTILINE)) | set(re.findall(r"^\| (Q\d+[a-z]?) \|", compat, re.MULTILINE))
        self.assertGreater(len(quirks), 30)
        # One fault may be shown in several ways, as Q25 and Q25-memory.
        shown = {row[0].split("-")[0] for row in self.provoked}
        shown = {name for name in shown if re.fullmatch(r"Q\d+[a-z]?", name)}
        explained = [row[0] for row in self.not_provoked]
        self.assertEqual(len(set(explained)), len(explained))
        self.assertEqual(shown & set(explained), set())
        self.assertEqual(shown | set(explained), quirks)

    def test_the_page_has_the_faults_that_are_played(self):
        folder = SOURCE / "adapters/scheduler/e2e/scenario"
        played = {"start"}
        for name in ("faultlist.go", "faultsets.go"):
            played |= set(re.findall(r'^\t+\{"([\w-]+)", "', (folder / name).read_text(encoding="utf-8"), re.MULTILINE))
        self.assertEqual({row[0] for row in self.provoked}, played)

    def test_rows_and_counts_are_whole(self):
        self.assertEqual([row for row in self.provoked if len(row) != 5 or "" in row], [])
        self.assertEqual([row for row in self.not_provoked if len(row) != 2 or "" in row], [])
        counts = re.search(r"Of (\d+) rows (\d+) show a fault with stock Volcano and (\d+) with ours", self.page)
        stock = sum(row[2] == "**yes**" for row in self.provoked)
        ours = sum(row[4].startswith("**the fault**") for row in self.provoked)
        self.assertEqual([int(count) for count in counts.groups()], [len(self.provoked), stock, ours])
        self.assertEqual(ours, 0, "a fault that ours shows is to be mended, not to be published")


if __name__ == "__main__":
    unittest.main()
