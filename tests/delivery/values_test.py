"""Every value of the Helm chart has an effect: with two values of it the chart makes two different things."""

import json
import unittest

from support import CHART, render, renderer

# What is switched on, so that values below it count.
IMAGE = {"image": {"repository": "example.com/one"}}
BASES = {
    "scheduler": {"scheduler": IMAGE},
    "deviceConfig": {"scheduler": IMAGE, "deviceConfig": {"create": True}},
    "extender": {"scheduler": {"enabled": False}, "extender": {"enabled": True, **IMAGE}},
    "devicePlugin": {"scheduler": {"enabled": False}, "devicePlugin": {"enabled": True, **IMAGE, "hamiCore": IMAGE}},
    "ascendDevicePlugin": {"scheduler": {"enabled": False}, "ascendDevicePlugin": {"enabled": True, **IMAGE, "vnpuCore": IMAGE}},
}
# Values that count only together with others.
TOGETHER = {
    "scheduler.leaderElection": {"enabled": True},
    "scheduler.decisionLog": {"enabled": True},
    "extender.decisionLog": {"enabled": True},
    "devicePlugin.mps": {"enabled": True},
}
PAIRS = {  # where the type does not say what is taken
    "scheduler.schedulePeriod": ("1s", "2s"),
    "scheduler.decisionLog.sizeLimit": ("1Gi", "2Gi"),
    "extender.decisionLog.sizeLimit": ("1Gi", "2Gi"),
    "scheduler.configMap.text": ("", "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: vgpualloc\n"),
    "deviceConfig.text": ("", "nvidia: {gpuMemoryFactor: 4}"),
    "deviceConfig.namespace": ("kube-system", "volcano-system"),
    "deviceConfig.namespaces": (["kube-system"], ["kube-system", "mindx-dl"]),
    "ascendDevicePlugin.config.text": ("", "vnpus: {configs: []}"),
    "devicePlugin.nodeConfig.nodes": ([{"name": "a"}], [{"name": "b"}]),
    "ascendDevicePlugin.nodeConfig.nodes": ([{"name": "a"}], [{"name": "b"}]),
    "scheduler.enabled": (True, False),
}


def leaves(schema, path=()):
    """(path, schema) of each value."""
    if schema.get("type") == "object" and "properties" in schema:
        for name, below in schema["properties"].items():
            yield from leaves(below, (*path, name))
    else:
        yield path, schema


def pair(path, schema):
    """Two values that are taken."""
    items = schema.get("items", {})
    if ".".join(path) in PAIRS:
        return PAIRS[".".join(path)]
    if "enum" in schema:
        return schema["enum"][:2]
    if "enum" in items:
        return items["enum"][:1], items["enum"][1:2]
    return {"boolean": (False, True), "integer": (3, 4), "object": ({"a": "b"}, {"a": "c"}), "string": ("/one", "/two"),
            "array": (["one"], ["two"]) if items.get("type") == "string" else ([{"name": "one"}], [{"name": "two"}]),
            None: (3, 4)}[schema.get("type")]


def merged(base, over):
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return {**base, **{name: merged(base.get(name), value) for name, value in over.items()}}


def nested(path, value):
    for name in reversed(path):
        value = {name: value}
    return value


class ValuesTest(unittest.TestCase):
    def test_every_value_has_an_effect(self):
        schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
        count = 0
        for path, below in leaves(schema):
            if path == ("global",):  # Helm's own, for charts that have charts
                continue
            base = BASES[path[0]]
            for prefix, switched in TOGETHER.items():
                if ".".join(path).startswith(prefix + "."):
                    base = merged(base, nested(prefix.split("."), switched))
            outcomes = []
            for value in pair(path, below):
                objects, error = render(merged(base, nested(path, value)))
                self.assertEqual(error, "", f"{'.'.join(path)}: {value}")
                outcomes.append(objects)
            with self.subTest(".".join(path)):
                self.assertNotEqual(*outcomes)
            count += 1
        self.assertGreater(count, 70)


if __name__ == "__main__":
    renderer()
    unittest.main()
