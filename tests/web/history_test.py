"""Simulate, in vgpualloc.html: the cluster's mix, a history that is imported, when the cluster is full; prices in See.

Every command is run natively on the files that the reader has, or saves.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from page_support import CLUSTERS, ROOT, SEEN, VGPUSIM, PageTest

sys.path.insert(0, str(ROOT / "tests" / "questions"))
import clusters  # noqa: E402

FORECAST = CLUSTERS.parent / "forecast"
PROMETHEUS = sorted((ROOT / "tests" / "data" / "import" / "prometheus").glob("*.json"))
KUEUE = {"apiVersion": "v1", "kind": "List", "items": [{
    "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
    "metadata": {"name": f"train-{number}", "namespace": "team", "creationTimestamp": f"2026-10-{number + 1:02}T08:00:00Z"},
    "spec": {"queueName": "gpus", "podSets": [{"name": "main", "count": 2, "template": {"spec": {"containers": [
        {"name": "main", "resources": {"requests": {"nvidia.com/gpu": "1", "cpu": "2", "memory": "4Gi"}}}]}}}]},
    "status": {"conditions": [{"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": f"2026-10-{day:02}T09:00:00Z"}
                              for kind, day in (("Admitted", number + 1), ("Finished", number + 4))]}} for number in range(12)]}
AUDIT = [{"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete", "verb": verb, "responseStatus": {"code": 201},
          "requestReceivedTimestamp": f"2026-10-{day + late:02}T{hour}:00:00.000000Z", "stageTimestamp": f"2026-10-{day + late:02}T{hour}:00:00.000000Z",
          "objectRef": {"resource": "pods", "namespace": "team", "name": f"train-{day}", "apiVersion": "v1", **({"subresource": part} if part else {})},
          **({"responseObject": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": f"train-{day}", "namespace": "team", "uid": f"u-{day}",
                                                                               "creationTimestamp": f"2026-10-{day:02}T08:00:00Z"},
                                 "spec": {"containers": [{"name": "main", "resources": {"requests": {"nvidia.com/gpu": "2", "cpu": "2", "memory": "4Gi"}}}]}}}
             if verb == "create" and not part else {})}
         for day in range(1, 12) for verb, part, late, hour in (("create", "", 0, "08"), ("create", "binding", 0, "09"), ("delete", "", 3, "10"))]


class History(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.records = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.records.cleanup)
        cls.sources = Path(cls.records.name)
        clusters.write_all(cls.sources)
        (cls.sources / "workloads.json").write_text(json.dumps(KUEUE), encoding="utf-8")
        (cls.sources / "audit.log").write_text("\n".join(json.dumps(event) for event in AUDIT) + "\n", encoding="utf-8")

    def setUp(self):
        super().setUp()
        self.place = Path(self.folder.name)

    def read(self, *paths):
        for path in paths:
            (self.place / path.name).write_bytes(path.read_bytes())
        self.choose_files(*paths)
        self.wait(SEEN)

    def give(self, source, *paths, waits_for="document.getElementById('imported') && document.getElementById('full')"):
        self.drawn(f"(() => {{ const e = document.getElementById('records-of'); e.value = '{source}'; e.dispatchEvent(new Event('change')); }})()")
        for path in paths:
            (self.place / path.name).write_bytes(path.read_bytes())
        self.choose_files(*paths, selector="#records")
        self.wait(waits_for)

    def lines_of_forecast(self):
        """Lines that go on below, set in, are one."""
        return self.assert_part_same_in_a_terminal("forecast", self.place).replace("\n  ", " ").splitlines()

    def run_and_compare(self):
        """Runs the replay, and the same natively. Returns the command."""
        self.browser.evaluate("(() => { document.querySelector('#panel .verdict')?.remove(); document.getElementById('run').click(); })()")
        self.wait("document.querySelector('#panel .verdict')")  # not that of the run before
        command = self.command()
        for words in self.browser.evaluate("[...document.querySelectorAll('#panel button')].map((b) => b.textContent).filter((t) => /^Save .*[.]/.test(t))"):
            name = words.removeprefix("Save ")
            (self.place / name).unlink(missing_ok=True)  # that of the run before
            self.press_button(words)
            self.saved(name)
        done = subprocess.run([VGPUSIM, *command[1:], "--json"], cwd=self.place, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.browser.evaluate("[...document.querySelectorAll('#panel .verdict')][0].closest('div').querySelectorAll('tbody tr').length")
        self.assertEqual(rows, len(json.loads(done.stdout)))
        shown = self.browser.evaluate("[...[...document.querySelectorAll('#panel table')].find((t) => t.caption.textContent === 'One row a policy').tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))")
        self.assertEqual(shown, [[row["policy"], *(f"{100 * ratio:.2f}" for ratio in (row["acceptance"]["accepted_gpu_ratio"], row["gpu"]["served_ratio"], row["gpu"]["allocation_mean_ratio"])),
                                  *(str(row["pods"][part]) for part in ("placed", "failed", "waiting") if part in row["pods"])] for row in json.loads(done.stdout)])
        ran, ended = (json.loads(done.stdout)[0]["pods"].get(part, 0) for part in ("ran_before", "ran_before_ended"))
        words = f"{ran} pods ran at the beginning; {'all' if ended == ran else ended or 'none'} of them ended."
        self.assertEqual(words in self.text("#panel"), ran > 0, words)
        return command

    def test_the_mix_of_every_cluster(self):
        for name in ("gpu-operator", "hami", "volcano-queues"):
            self.open()
            self.read(self.sources / f"{name}.json")
            self.go("simulate")
            self.assertEqual(self.run_and_compare()[2:6], ["--format", "kubernetes", "--start", f"{name}.json"])
            self.set("begin", "empty")
            self.set("load", "0.9")
            self.set("discipline", "easy")
            self.set("seeds", "2")
            self.set("seeds", "1")
            command = self.run_and_compare()
            self.assertEqual(command[4:6], ["--nodes", "nodes-of-the-cluster.json"])
            self.assertEqual(command[command.index("--discipline") + 1], "easy")
            self.assertEqual(command[command.index("--offered-load") + 1], "0.9")
            self.set("begin", "start")
            self.set("discipline", "try_once")
            self.assertNotIn("--offered-load", self.command())

    def test_the_mix_of_a_cluster_in_two_files(self):
        items = json.loads((CLUSTERS / "harbor.json").read_text(encoding="utf-8"))["items"]
        for kind in ("Node", "Pod"):
            (self.sources / f"{kind}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [entry for entry in items if entry["kind"] == kind]}), encoding="utf-8")
        self.read(self.sources / "Node.json", self.sources / "Pod.json")
        self.go("simulate")
        self.assertEqual(self.run_and_compare()[4:6], ["--start", "cluster-in-one.json"])

    def test_the_mix_of_a_cluster_in_yaml_with_settings(self):
        data = ROOT / "tests" / "data" / "explain"
        self.read(data / "cluster.yaml", data / "device-config.yaml")
        self.go("simulate")
        command = self.run_and_compare()
        self.assertIn("pods like team/both are left out: resources: got", self.browser.evaluate("document.getElementById('panel').textContent"))
        self.assertEqual(command[4:6] + command[command.index("--config"):][:2], ["--start", "cluster.yaml", "--config", "device-config.yaml"])
        self.set("begin", "empty")
        self.run_and_compare()

    def test_another_cluster_of_the_same_name_has_no_answer_yet(self):
        for name in ("gpu-operator", "hami"):
            cluster = self.place / "cluster.json"
            cluster.write_bytes((self.sources / f"{name}.json").read_bytes())
            self.choose_files(cluster)
            self.wait(SEEN)
            self.go("simulate")
            self.assertEqual(self.text("#panel .verdict"), "")
            self.run_and_compare()
            for written in ("mix-classes.json", "mix-arrivals.csv"):
                (self.place / written).unlink()
            self.press_button("Other files")
            self.wait("document.getElementById('chooser')")

    def test_a_history_of_every_source(self):
        self.read(self.sources / "gpu-operator.json")
        self.go("simulate")
        self.set("source", "history")
        self.assertEqual(self.browser.evaluate("document.getElementById('run').disabled"), True)
        for source, paths, is_long in (("sacct", [self.sources / "gpu-operator-sacct.txt"], True), ("prometheus", PROMETHEUS, False),
                                       ("audit", [self.sources / "audit.log"], True), ("kueue", [self.sources / "workloads.json"], True)):
            self.give(source, *paths, waits_for="document.getElementById('terminal-import')")
            self.browser.settle(0.5)
            first = self.assert_part_same_in_a_terminal("import", self.place).splitlines()[0]
            self.assertEqual(self.text("#imported"), first)
            if is_long:
                self.assertEqual(self.text("#full"), self.lines_of_forecast()[0])
            else:
                self.assertIn("used.csv", self.text("#panel .error"), "no full day is in it")
            self.assertIn("history/arrivals.csv", self.run_and_compare())
            for queue in self.browser.evaluate("[...document.getElementById('queue').options].map((o) => o.value)")[1:]:
                self.set("queue", queue)
                self.assert_part_same_in_a_terminal("import", self.place)
            self.drawn("document.getElementById('skips').click()")
            self.assert_part_same_in_a_terminal("import", self.place)
            self.drawn("document.getElementById('skips').click()")

    def test_prices_are_written(self):
        for name in ("atlas", "gpu-operator", "hami", "volcano-queues"):
            self.open()
            self.read(CLUSTERS / "atlas.json" if name == "atlas" else self.sources / f"{name}.json")
            self.browser.evaluate("document.getElementById('prices').open = true")
            models = self.browser.evaluate("[...document.querySelectorAll('#prices [id^=price-]')].slice(0, -2).map((e) => e.id)")
            for number, field in enumerate(models):
                self.choose(field, f"{number + 1}.25")
            self.choose("price-kwh", "0.2")
            self.drawn("document.getElementById('cost').click()")
            self.assertEqual(self.command()[-2:], ["--prices", "prices.json"])
            self.press_button("Save this file")
            self.assertEqual(len(json.loads(self.saved("prices.json"))["gpu_hour"]), len(models))
            cost = next(line for line in self.assert_same_in_a_terminal(cwd=self.place).splitlines() if line.startswith("EUR A DAY"))
            self.assertIn(" ".join(cost.split()), " ".join(self.text("#panel").split()))
            (self.place / "prices.json").unlink()
            self.drawn("document.getElementById('no-prices').click()")
            self.assertNotIn("--prices", self.command())
        self.browser.evaluate("document.getElementById('prices').open = true")
        self.choose("price-0", "-1")
        self.click("#cost")
        self.wait("document.getElementById('wrong')")
        self.assertIn("prices.json", self.text("#wrong"))
        self.assertNotIn("--prices", self.command())

    def test_a_table_of_gpus_in_use(self):
        self.read(CLUSTERS / "atlas.json")
        self.go("simulate")
        self.give("used", FORECAST / "atlas-used.csv", waits_for="document.getElementById('full')")
        lines = self.lines_of_forecast()
        self.assertEqual(lines[0], "Full (32.0 GPUs in service) about 2027-08-24 (90 %: 08-09 to 09-10), at +0.29 a week (26 weeks).")
        self.assertEqual(self.text("#full"), lines[0])
        for line in lines[1:]:
            self.assertIn(line, self.text("#panel"))
        self.give("used", FORECAST / "prices.json", waits_for="document.querySelector('#panel .error')")
        self.assertIn("prices.json", self.text("#panel .error"))
        self.assertTrue(self.browser.evaluate("Boolean(document.getElementById('run'))"), "the controls stay")


if __name__ == "__main__":
    unittest.main()
