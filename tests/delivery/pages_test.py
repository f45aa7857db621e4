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
        self.assertEqual(set(self.pages), {"device-plugin.md", "install.md", "runbook.md", "switching.md"})

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
            for path in re.findall(r"\b((?:scheduler|extender|deviceConfig|devicePlugin|ascendDevicePlugin)\.\w+(?:\.\w+)*)=", text):
                level = values
                for part in path.split("."):
                    if level == {"type": "object"}:  # any keys, as those of a node selector
                        break
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


def rows(text, head):
    """The rows of the first table whose head begins with this, as lists of cells."""
    lines = text[text.index(f"\n| {head} |") + 1:].splitlines()
    found = []
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line[1:-1].split("|")])
    return found


def codes(cell):
    return re.findall(r"`([^`]+)`", cell)


class DevicePluginPageTest(unittest.TestCase):
    """docs/deploy/device-plugin.md has the flags, variables, keys and metrics of the code: each, and no others."""

    def setUp(self):
        self.text = (FOLDER / "device-plugin.md").read_text(encoding="utf-8")
        self.gpus, self.ascend = self.text.split("\n## Ascend\n")
        self.folder = ADAPTERS / "deviceplugin"

    def code(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def tags(self, name, *types):
        """The keys in files of these types."""
        found = set()
        for kind in types:
            body = re.search(rf"\ntype {kind} struct \{{\n(.*?)\n\}}", self.code(name), re.DOTALL)[1]
            found |= set(re.findall(r'json:"([\w-]+)', body))
        return found

    def documented_flags(self, text):
        return {name.removeprefix("--") for row in rows(text, "flag") for name in codes(row[0]) if name.startswith("--")}

    def test_flags_are_those_of_the_code(self):
        code = self.code("config/flags.go")
        flags = set(re.findall(r'set\.(?:\w+Var\(&[\w.]+, |String\()"([\w-]+)"', code))
        aliases = dict(re.findall(r'"([\w-]+)": "([\w-]+)"', re.search(r"var aliases = .*?\{(.*?)\}", code, re.DOTALL)[1]))
        self.assertGreater(len(flags), 30)
        self.assertEqual(self.documented_flags(self.gpus), flags | set(aliases) | {"v"})
        for row in rows(self.gpus, "flag"):  # other names stand beside their flag
            names = [name.removeprefix("--") for name in codes(row[0])]
            if "(" in row[0]:
                self.assertEqual(aliases[names[1]], names[0])

    def test_variables_are_those_of_the_code(self):
        code = self.code("config/flags.go")
        listed = re.search(r"var variablesOf = .*?\n\}", code, re.DOTALL)[0]
        of_flags = {name: re.findall(r'"(\w+)"', variables) for name, variables in re.findall(r'\{"([\w-]+)", \[\]string\{([^}]*)\}', listed)}
        documented = {}
        for row in rows(self.gpus, "flag"):
            names = [name.removeprefix("--") for name in codes(row[0]) if name.startswith("--")]
            names = names[:1] if "(" in row[0] else names
            variables = codes(row[1])
            for place, name in enumerate(names):
                documented[name] = variables if len(names) == 1 else variables[place:place + 1]
        documented = {name: variables for name, variables in documented.items() if variables and name != "kubeconfig"}
        self.assertEqual(documented, of_flags)
        others = {name for row in rows(self.gpus, "variable") for name in codes(row[0])}
        read = set(re.findall(r'\benv\("(\w+)"\)', code)) | set(re.findall(r'Getenv\("(\w+)"\)', self.code("main.go")))
        chart = set(re.findall(r"name: (NVIDIA_\w+)", (CHART / "templates/device-plugin.yaml").read_text(encoding="utf-8")))
        self.assertEqual(others, read | chart)

    def test_defaults_are_those_of_the_code(self):
        """Of flags that have one, other than false, the page has it."""
        code = self.code("config/flags.go")
        for name, default in re.findall(r'set\.(?:\w+Var\(&[\w.]+, |String\()"([\w-]+)", ("[^"]+"|\d+|true),', code):
            [row] = [row for row in rows(self.gpus, "flag") if f"--{name}" in codes(row[0])]
            self.assertIn(default.strip('"'), row[2], name)

    def test_keys_of_the_device_configuration_are_those_of_the_code(self):
        documented = {name for row in rows(self.gpus.split("\n## The device configuration\n")[1], "key") for name in codes(row[0])}
        self.assertEqual(documented, self.tags("config/deviceconfig.go", "deviceConfig"))
        mig = {name for row in rows(self.gpus.split("\n## MIG\n")[1], "key") for name in codes(row[0])}
        self.assertEqual(mig, self.tags("config/deviceconfig.go", "geometryTexts", "groupText") - {"name", "memory", "count"})

    def test_keys_of_nodes_are_those_of_the_code(self):
        entry = {name for row in rows(self.gpus, "key of an entry") for name in codes(row[0])}
        self.assertEqual(entry, self.tags("config/nodefile.go", "nodeEntry"))
        card = {name for row in rows(self.gpus, "key of a card in `devices`") for name in codes(row[0])}
        self.assertEqual(card, self.tags("config/nodefile.go", "cardEntry"))
        [example] = re.findall(r"```json\n(.*?)```", self.gpus, re.DOTALL)
        [node] = json.loads(example)["nodeconfig"]
        self.assertLessEqual(set(node), entry)
        self.assertLessEqual(set(node["devices"][0]), card)

    def test_those_of_ascend_are_those_of_the_code(self):
        code = self.code("ascend/settings.go")
        flags = set(re.findall(r'flags\.\w+\("(\w+)"', code)) | {"v"}
        self.assertEqual(self.documented_flags(self.ascend), flags)
        variables = {name for row in rows(self.ascend, "variable") for name in codes(row[0])}
        self.assertEqual(variables, set(re.findall(r'variable\("(\w+)"', code)) | {"KUBECONFIG"})
        keys = {name for row in rows(self.ascend, "key of `vnpus`") for name in codes(row[0])}
        self.assertEqual(keys, self.tags("ascend/config.go", "chipConfig") | self.tags("ascend/config.go", "clusterConfig"))
        node = {name for row in rows(self.ascend, "key of an entry of `nodes`") for name in codes(row[0])}
        self.assertEqual(node, self.tags("ascend/config.go", "nodeConfig") - {"index", "uuid"})

    def test_metrics_and_their_labels_are_those_of_the_code(self):
        code = "".join(path.read_text(encoding="utf-8") for path in sorted((self.folder / "metrics").glob("*.go"))
                       if not path.name.endswith("_test.go"))
        names = set(re.findall(r'(?:existing|ours|counter)\("(\w+)"', code)) | set(re.findall(r'Opts\{Name: "(\w+)"', code))
        documented = {codes(row[0])[0] for row in rows(self.gpus, "metric")}
        self.assertEqual(len(names), 23)
        self.assertEqual(documented, names)
        for row in rows(self.gpus, "metric"):
            for label in codes(row[1]):
                self.assertIn(f'"{label}"', code, row[0])

    def test_xids_are_those_of_the_code(self):
        code = self.code("health/xids.go")
        for name in "ofApplications", "ofTheHardware":
            numbers = re.search(rf"var {name} = \[\]uint64\{{([\d, ]+)\}}", code)[1]
            self.assertIn(f"({numbers})", self.text)

    def test_annotations_are_those_of_the_code(self):
        code = "".join(path.read_text(encoding="utf-8") for name in ("config", "plugin", "register", "allocate", "mps")
                       for path in (self.folder / name).glob("*.go") if not path.name.endswith("_test.go"))
        for name in re.findall(r"`(volcano\.sh/(?:node-)?vgpu-re\w+)", self.text):
            self.assertIn(f'"{name}"', code)
        for name in "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "GPU_CORE_UTILIZATION_POLICY", "/run/nvidia/mps":
            self.assertIn(name, self.text)
            self.assertIn(f'"{name}"', code)


if __name__ == "__main__":
    unittest.main()
