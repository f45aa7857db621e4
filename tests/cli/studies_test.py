"""studies/: every script that makes tables of the pages can be started, with what it takes from the others."""

import importlib
import sys
import unittest

from support import SOURCE

sys.path.insert(0, str(SOURCE / "studies"))


class Studies(unittest.TestCase):
    def test_every_script_finds_what_it_imports(self):
        names = sorted(path.stem for path in (SOURCE / "studies").glob("*.py"))
        self.assertGreater(len(names), 5)
        for name in names:
            with self.subTest(name):
                importlib.import_module(name)


if __name__ == "__main__":
    unittest.main()
