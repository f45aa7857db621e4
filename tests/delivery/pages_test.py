"""The pages for operators (docs/deploy): what they name is there, and no reason for refusing is left out."""

import json
import os
import re
import subprocess
import unittest

from support import ADAPTERS, CHART, SOURCE

FOLDER = SOURCE / "docs/deploy"
VGPUSIM = os.environ.get("VGPUSIM")


class PagesTest(unittest.TestCase):
    def setUp(self):
        self.pages = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
        self.assertEqual(set(self.pages), {"install.md", "runbook.md", "switching.md"})

    def test_links_and_paths_lead_somewhere(self):
        for name, text in self.pages.items():
            for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
                self.assertTrue((FOLDER / link).resolve().exists(), f"{name}: {link}")
            for path in re.findall(r"\badapters/[\w/.-]*\w", text):
                self.assertTrue((SOURCE / path).exists(), f"{name}: {path}")

    def test_every_reason_of_nodes_and_devices_is_in_the_runbook(self):
        header = (SOURCE / "libvgpualloc/core/include/vgpualloc/model/rejection.hpp").read_text(encoding="utf-8")
        names = re.findall(r'^        "(\w+)",$', header, re.MULTILINE)
        names = names[:names.index("pod_is_live")]  # what follows is misuse of the library, and queues of the simulator
        self.assertGreater(len(names), 30)
        table = "\n".join(line.split("|")[1] for line in self.pages["runbook.md"].splitlines() if line.startswith("| `"))
        self.assertEqual([name for name in names if f"`{name}`" not in table], [])

    def test_values_of_the_chart_are_its_own(self):
        values = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
        for name, text in self.pages.items():
            for path in re.findall(r"\b((?:scheduler|extender|deviceConfig)\.\w+(?:\.\w+)*)=", text):
                level = values
                for part in path.split("."):
                    self.assertIn(part, level.get("properties", {}), f"{name}: {path}")
                    level = level["properties"][part]

    def test_lines_of_the_log_are_those_of_the_code(self):
        """Quoted messages of our own code are what it prints."""
        code = "".join(path.read_text(encoding="utf-8") for folder in ("scheduler", "kube")
                       for path in (ADAPTERS / folder).rglob("*.go"))
        if "KubeClient" not in code:
            self.skipTest("adapters/scheduler is not there yet")
        quoted = re.findall(r"`(The [^`]*(?:refused|stays?)[^`]*)`", self.pages["runbook.md"])
        self.assertEqual(len(quoted), 2)
        for message in quoted:
            self.assertIn(f'"{message}"', code)

    def test_commands_of_vgpusim_are_there(self):
        if not VGPUSIM:
            self.skipTest("VGPUSIM names no vgpusim")
        known = subprocess.run([VGPUSIM, "--help"], capture_output=True, text=True, check=True).stdout
        for name, text in self.pages.items():
            for command, flags in re.findall(r"\bvgpusim (\w+)([^\n`]*)", text):
                if command == "replay" and "\n  replay" not in known:
                    print("SKIPPED: there is no vgpusim replay yet")
                    continue
                self.assertIn(f"\n  {command} ", known, name)
                options = subprocess.run([VGPUSIM, command, "--help"], capture_output=True, text=True, check=True).stdout
                for flag in re.findall(r"--[\w-]+", flags):
                    self.assertIn(flag, options, f"{name}: vgpusim {command}")


if __name__ == "__main__":
    unittest.main()
