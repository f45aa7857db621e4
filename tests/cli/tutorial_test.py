"""docs/tutorial.md and pages that show commands in the same way: these run, and print what the page shows."""

import json
import re
import subprocess
import unittest

from support import SOURCE, VGPUSIM, CliTest

FENCE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
CUT = "…"


def steps(page):
    """(command, lines shown) of every console block, in order."""
    for block in FENCE.findall(page):
        for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *shown = step.splitlines()
            yield command, shown


class TutorialTest(CliTest):
    def setUp(self):
        super().setUp()
        (self.root / "out").mkdir()
        for folder in ("traces", "scenarios", "tests"):
            (self.root / folder).symlink_to(SOURCE / folder)

    def printed_by(self, command):
        """What goes to the output, then what goes to standard error."""
        shell = f'vgpusim() {{ "{VGPUSIM}" "$@"; }}\n{command}'
        result = subprocess.run(["bash", "-c", shell], cwd=self.root, env={**self.environment, "LC_ALL": "C"},
                                stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
                                encoding="utf-8")
        return (result.stdout + result.stderr).splitlines()

    def test_every_command_prints_what_the_page_shows(self):
        for page, least in (("tutorial.md", 10), ("explain.md", 2), ("snapshot.md", 3), ("whatif.md", 3), ("defragmentation.md", 1), ("decision-log.md", 3)):
            commands = list(steps((SOURCE / "docs" / page).read_text(encoding="utf-8")))
            self.assertGreaterEqual(len(commands), least, page)
            for command, shown in commands:
                with self.subTest(command=command):
                    self.assert_shows(shown, self.printed_by(command))

    def test_the_page_on_policies_says_how_one_is_built_and_tried(self):
        """What the page names is there."""
        page = (SOURCE / "docs" / "adding-a-policy.md").read_text(encoding="utf-8")
        section = page.split("## Building and trying it\n")[1].split("\n## ")[0]
        block = "".join(section.split("```\n")[1::2]).replace("\\\n", "")
        commands = [line.split("  #")[0].split() for line in block.splitlines()]
        presets = {entry["name"] for entry in json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]}
        self.assertEqual(sum(command[:2] == ["cmake", "--build"] for command in commands), 2)
        self.assertIn(["cmake", "--preset", "debug"], commands)
        self.assertIn("unit_policy", block)
        modules = (SOURCE / "tests" / "unit_layers.cmake").read_text()
        self.assertRegex(modules, r"set\(vgpualloc_tests_core [^)]*\bpolicy\b")
        for preset in re.findall(r"--preset (\w+)", section):
            self.assertIn(preset, presets)
        ours = [command[1:] for command in commands if command[0].endswith("/vgpusim")]
        self.assertEqual([command[0] for command in ours], ["policies", "compare"])
        for command in ours:
            done = self.vgpusim(*("fgd" if word == "balanced" else word for word in command))
            self.assert_done(done)
            self.assertIn("best_fit", done.stdout)

    def assert_shows(self, shown, printed):
        """Line by line; a line that ends in … may go on, and a line … stands for any number of them."""
        position, skipping = 0, False
        for line in shown:
            if line == CUT:
                skipping = True
                continue
            fits = [at for at in range(position, len(printed)) if self.is_line(line, printed[at])]
            self.assertTrue(fits, f"nowhere: {line}\n" + "\n".join(printed))
            if not skipping:
                self.assertEqual(fits[0], position, f"not where it stands: {line}\n" + "\n".join(printed))
            position, skipping = fits[0] + 1, False
        if not skipping:
            self.assertEqual(printed[position:], [])

    @staticmethod
    def is_line(shown, printed):
        if shown.endswith(CUT):
            return printed.startswith(shown.removesuffix(CUT))
        return printed.rstrip() == shown.rstrip()


if __name__ == "__main__":
    unittest.main()
