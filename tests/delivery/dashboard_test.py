"""The Grafana dashboard: every metric and label that it asks for is one that the Go code has, and its panels lie side by side."""

import json
import re
import unittest

from support import ADAPTERS, DELIVERY, SOURCE, skip_or_fail

PATH = DELIVERY / "grafana/vgpualloc.json"
CODE = [path for folder in ("live", "scheduler", "extender", "deviceplugin/metrics") for path in sorted((ADAPTERS / folder).rglob("*.go"))
        if not path.name.endswith("_test.go")]
# Prometheus' own collectors of a process in Go.
STANDARD = {"process_resident_memory_bytes", "process_cpu_seconds_total", "go_goroutines"}
STANDARD_LABELS = {"le", "job", "instance"}  # of histograms, and what Prometheus adds
FUNCTIONS = {"sum", "count", "avg", "min", "time", "rate", "topk", "histogram_quantile", "vector", "or", "by", "label_values"}


def names_in(expression):
    """(metrics, labels) of an expression of Prometheus."""
    labels = {name for listed in re.findall(r"\bby \(([^)]*)\)", expression) for name in re.split(r",\s*", listed)}
    labels |= {name for matcher in re.findall(r"\{([^}]*)\}", expression) for name in re.findall(r"(\w+)\s*[=!]~?", matcher)}
    if queried := re.fullmatch(r"label_values\((\w+), (\w+)\)", expression):
        return {queried[1]}, {queried[2]}
    rest = re.sub(r"\bby \([^)]*\)|\{[^}]*\}|\[[^\]]*\]", " ", expression)
    return {word for word in re.findall(r"[a-zA-Z_]\w*", rest)} - FUNCTIONS, labels


class DashboardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.code = "".join(path.read_text(encoding="utf-8") for path in CODE)
        cls.board = json.loads(PATH.read_text(encoding="utf-8"))
        cls.panels = [panel for panel in cls.board["panels"] if panel["type"] != "row"]
        cls.expressions = [target["expr"] for panel in cls.panels for target in panel["targets"]] + [
            variable["query"]["query"] for variable in cls.board["templating"]["list"] if variable["type"] == "query"]

    def test_names_are_read_from_expressions(self):
        self.assertEqual(names_in('topk(3, sum by (a, b) (rate(m_total{c=~"$node", d="e"}[5m]))) or vector(0)'),
                         ({"m_total"}, {"a", "b", "c", "d"}))
        self.assertEqual(names_in("label_values(m, n)"), ({"m"}, {"n"}))

    def metrics(self):
        asked = {name for expression in self.expressions for name in names_in(expression)[0]} - STANDARD
        return {re.sub(r"_(?:bucket|sum|count)$", "", name) for name in asked}

    def test_metrics_are_those_of_the_code(self):
        self.assertGreater(len(self.metrics()), 10)
        for name in self.metrics():
            self.assertIn(f'"{name}"', self.code)

    def test_parts_of_histograms_are_of_histograms(self):
        asked = {name for expression in self.expressions for name in names_in(expression)[0]}
        for name in {name.removesuffix("_bucket") for name in asked if name.endswith("_bucket")}:
            made = rf'(?:NewHistogram\w*\([^"]*|HistogramOpts\{{)Name:\s+"{name}"'
            field = re.search(rf'(\w+):\s+describe\("{name}"', self.code)
            if field:  # counted elsewhere, and given to Prometheus when it asks
                made = rf"NewConstHistogram\(c\.{field[1]},"
            self.assertTrue(re.search(made, self.code), name)

    def test_labels_are_those_of_the_code(self):
        labels = {name for expression in self.expressions for name in names_in(expression)[1]}
        self.assertIn("NodeName", labels)
        for name in labels - STANDARD_LABELS:
            self.assertIn(f'"{name}"', self.code)
        for legend in {name for panel in self.panels for target in panel["targets"]
                       for name in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])} - STANDARD_LABELS:
            self.assertIn(f'"{legend}"', self.code)

    def test_every_metric_of_ours_is_shown(self):
        of_code = set(re.findall(r'"((?:volcano_vgpu|vgpualloc)_\w+)"', self.code))
        self.assertEqual(of_code - self.metrics(), set(), "metrics that no panel shows")

    def test_the_names_of_the_existing_monitor_are_shown(self):
        """Those that the device plugin has under the names of volcano-vgpu-device-plugin's monitor."""
        names = set(re.findall(r'existing\("(\w+)"', self.code))
        self.assertEqual(len(names), 7)
        self.assertEqual(names - self.metrics(), set())

    def test_the_node_side_has_a_row(self):
        rows = [(panel["gridPos"]["y"], panel["title"]) for panel in self.board["panels"] if panel["type"] == "row"]
        start, _ = next(row for row in rows if row[1] == "The node side")
        shown = {name for panel in self.panels if panel["gridPos"]["y"] > start for target in panel["targets"]
                 for name in names_in(target["expr"])[0]}
        for name in ("vGPU_device_memory_limit_in_bytes", "vGPU_device_memory_usage_in_bytes", "Device_utilization_desc_of_container",
                     "vgpualloc_plugin_mig_instance", "vgpualloc_plugin_device_healthy"):
            self.assertIn(name, shown)

    def test_panels_lie_side_by_side_and_say_what_they_are(self):
        self.assertEqual(len({panel["id"] for panel in self.board["panels"]}), len(self.board["panels"]))
        taken = set()
        for panel in self.board["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells
            self.assertTrue(panel["title"])
        for variable in {name for expression in self.expressions for name in re.findall(r"\$(\w+)", expression)}:
            self.assertIn(variable, [entry["name"] for entry in self.board["templating"]["list"]])

    def test_the_pages_name_the_metrics_that_are_there(self):
        for page in sorted((SOURCE / "docs/deploy").glob("*.md")):
            for name in re.findall(r"`((?:volcano_vgpu|vgpualloc)_[a-z_]+)\b", page.read_text(encoding="utf-8")):
                self.assertIn(f'"{name}"', self.code, page.name)


if __name__ == "__main__":
    if not CODE:
        skip_or_fail("there is no Go code that has metrics")
    unittest.main()
