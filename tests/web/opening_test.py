"""Files are opened in vgpualloc.html: what is read is said at once, and what cannot be read leaves the answer that is there."""

import copy
import gzip
import json
import unittest
from pathlib import Path

from page_support import CLUSTERS, IDLE, SEEN, PageTest

ATLAS = CLUSTERS / "atlas.json"
DROP = """(() => {
  const dropped = new DataTransfer();
  for (const [name, text] of %s) dropped.items.add(new File([text], name));
  const on = document.querySelector(%s);
  const event = (kind) => new DragEvent(kind, { dataTransfer: dropped, bubbles: true, cancelable: true });
  on.dispatchEvent(event('dragover'));
  const is_marked = document.body.classList.contains('dropping') && getComputedStyle(document.body, '::before').content.includes('Drop files here');
  const drop = event('drop');
  on.dispatchEvent(drop);
  return [is_marked, drop.defaultPrevented, document.body.classList.contains('dropping')];
})()"""


class Opening(PageTest):
    def file(self, name, content):
        path = Path(self.folder.name) / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def refused(self):
        self.wait("document.querySelector('#trouble .error')")
        self.wait(IDLE)
        return self.text("#trouble-error")

    def many_pods(self):
        """A file whose answer takes a while."""
        cluster = json.loads(ATLAS.read_text(encoding="utf-8"))
        pod = next(entry for entry in cluster["items"] if entry["kind"] == "Pod" and not entry["spec"].get("nodeName"))
        for i in range(20_000):
            other = copy.deepcopy(pod)
            other["metadata"]["name"] = f"more-{i}"
            other["metadata"]["annotations"] = {"padding": "x" * 1000}
            cluster["items"].append(other)
        return self.file("many.json", json.dumps(cluster))

    def test_what_takes_long_is_not_waited_for_by_who_leaves(self):
        """Neither other files nor another tab are drawn over when it ends."""
        self.try_atlas()
        self.prepare_long_run()
        self.click("#run")
        self.wait("document.querySelector('#progress:not(.stopped)')")
        self.click("#tab-why")
        self.wait("document.querySelector('.answer h1')?.textContent === '4 pods wait, none fits now.'")
        self.wait(IDLE)
        self.click("#tab-simulate")
        self.wait("document.getElementById('run')")
        self.click("#run")
        self.wait("document.querySelector('#progress:not(.stopped)')")
        self.click("#other-files")
        self.wait("document.getElementById('try-atlas')")
        self.browser.settle(1.5)
        self.assertIn("Drop files here", self.text("#panel"))
        self.assertIsNone(self.browser.evaluate("document.querySelector('#progress:not(.stopped)')"))

    def test_files_are_dropped_on_an_answer(self):
        self.try_atlas()
        self.go("why")
        harbor = (CLUSTERS / "harbor.json").read_text(encoding="utf-8")
        self.assertEqual(self.browser.evaluate(DROP % (json.dumps([["harbor.json", harbor]]), json.dumps("#panel h1"))), [True, True, False])
        self.wait("document.getElementById('files').textContent.startsWith('harbor.json')")
        self.wait(SEEN)
        self.assertTrue(self.browser.evaluate(DROP % ("[]", json.dumps("footer")))[1], "what is no file leads nowhere")

    def test_a_file_that_cannot_be_read_keeps_the_answer(self):
        self.try_atlas()
        self.go("why")
        sentence = self.text(".answer h1")
        for name, content, words in (
                ("cut.json", ATLAS.read_text(encoding="utf-8")[:5000], "cut.json, line 1, column 5001: the text ends inside a string. What was read before it is not used."),
                ("empty.json", "", "empty.json is empty."),
                ("cut.json.gz", gzip.compress(ATLAS.read_bytes())[:1000], "cut.json.gz: the gzip file is cut short. What was read before it is not used.")):
            self.browser.evaluate(DROP % ("[]", json.dumps("main")))
            self.choose_files(self.file(name, content), selector="#chooser-more")
            self.wait(f"document.getElementById('trouble-error')?.textContent === {json.dumps(words)}")
            self.assertEqual(self.focus(), "trouble-error")
            self.assertEqual(self.text(".answer h1"), sentence)
            self.browser.evaluate("document.querySelector('#trouble [aria-label=\"Close the message\"]').click()")
        self.assertEqual(self.text("#trouble"), "")
        self.press_button("train/llm-3")
        self.wait("document.querySelector('#verdict')")
        self.assert_same_in_a_terminal()

    def test_a_bad_file_after_other_files_comes_back_to_the_answer(self):
        self.try_atlas()
        self.press_button("Other files")
        self.press_button("Back to atlas.json")
        self.wait(SEEN)
        self.press_button("Other files")
        self.choose_files(self.file("empty.json", ""))
        self.assertEqual(self.refused(), "empty.json is empty.")
        self.assertIn("36 GPUs on 6 nodes", self.text(".answer h1"))

    def test_pods_without_nodes_get_their_nodes(self):
        objects = json.loads(ATLAS.read_text(encoding="utf-8"))["items"]
        parts = {kind: self.file(f"{kind}.json", json.dumps({"kind": "List", "items": [entry for entry in objects if (entry["kind"] == "Node") == (kind == "nodes")]}))
                 for kind in ("nodes", "pods")}
        self.choose_files(CLUSTERS / "harbor.json")
        self.wait(SEEN)
        text = parts["pods"].read_text(encoding="utf-8")
        self.browser.evaluate(DROP % (json.dumps([["pods.json", text]]), json.dumps("main")))
        self.assertEqual(self.refused(), "These are pods without nodes. Add the nodes:")
        self.choose_files(parts["nodes"], selector="#chooser-beside")
        self.wait("document.querySelector('.answer h1')?.textContent.startsWith('36 GPUs on 6 nodes')")
        self.assertEqual(self.text("#trouble"), "")
        self.assertNotIn("taken as one cluster", self.text("#files"))

    def test_two_clusters_are_taken_as_one(self):
        self.choose_files(ATLAS, CLUSTERS / "harbor.json")
        self.wait(SEEN)
        self.assertIn("atlas.json, harbor.json · 2 files with nodes: taken as one cluster · 10 nodes", self.text("#files"))

    def test_reading_is_said_and_stopped(self):
        many = self.many_pods()
        self.choose_files(many)
        self.wait("document.getElementById('progress-words')", 3)
        self.assertEqual(self.text("#invitation"), "Reading many.json …")
        self.assertRegex(self.text("#progress-words"), r"^(Reading many.json … .* of \d+\.\d MB|many.json: \d+\.\d MB are read. Computing…)$")
        self.click("#stop")
        self.browser.settle(2)
        self.assertEqual(self.text("#progress"), "Stopped.")
        self.assertEqual(self.text("#status"), "Stopped.")
        self.assertEqual(self.text("#invitation"), "Drop files here")
        self.assertNotIn("Computing", self.text("body"))
        self.try_atlas()
        self.choose_files(many, selector="#chooser-more")
        self.wait("document.getElementById('stop')", 3)
        self.click("#stop")
        self.browser.settle(1)
        self.assertEqual(self.text("#progress"), "Stopped. The answer above is of before.")
        self.go("why")
        self.assertEqual(self.text(".answer h1"), "4 pods wait, none fits now.")

    def test_a_stop_between_reading_and_computing_takes_no_files(self):
        self.try_atlas()
        harbor = (CLUSTERS / "harbor.json").read_bytes()
        node = json.loads(ATLAS.read_text(encoding="utf-8"))["items"][0]
        small = json.dumps({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "small"}, "status": {"allocatable": node["status"]["allocatable"]}})
        self.assertLess(len(small), 1000, "read whole to see whether it is empty")
        for name, content in (("large.json", harbor), ("small.json", small)):
            self.browser.evaluate("""(() => { const { text: at_once } = Blob.prototype; window.again = () => { Blob.prototype.text = at_once; };
              Blob.prototype.text = async function () { window.is_late = true; await new Promise((go) => setTimeout(go, 1500)); return at_once.call(this); }; })()""")
            self.choose_files(self.file(name, content), selector="#chooser-more")
            self.wait("window.is_late && document.getElementById('stop')", 10)
            self.click("#stop")
            self.browser.settle(5)
            self.browser.evaluate("(() => { again(); is_late = false; })()")
            self.assertEqual(self.text("#progress"), "Stopped. The answer above is of before.", name)
            self.go("why")
            self.assertEqual(self.text(".answer h1"), "4 pods wait, none fits now.", name)
        self.choose_files(CLUSTERS / "harbor.json", selector="#chooser-more")
        self.wait("document.getElementById('files').textContent.includes('harbor.json')")

    def test_what_cannot_be_opened_does_not_hold_the_page(self):
        """While many pods are computed, other files are opened that cannot be used."""
        self.try_atlas()
        self.go("why")
        self.choose_files(self.many_pods(), selector="#chooser-more")
        self.wait("document.getElementById('progress-words')?.textContent.includes('Computing')")
        self.choose_files(self.file("cut.json", ATLAS.read_text(encoding="utf-8")[:5000]), selector="#chooser-more")
        self.assertIn("cut.json", self.refused())
        self.go("whatif")
        self.go("why")
        self.assertEqual(self.text(".answer h1"), "4 pods wait, none fits now.")

    def test_commands_that_write_the_objects(self):
        commands = self.browser.evaluate("[...document.querySelectorAll('#panel .command')].map((command) => command.textContent)")
        self.assertEqual(len(commands), 3)
        for kind in ("nodes", "pods", "namespaces", "resourcequotas", "jobs"):
            self.assertIn(kind, commands[0])
        self.assertIn("workloads,localqueues,clusterqueues", commands[1])
        self.assertIn("podgroups.scheduling.volcano.sh", commands[2])


if __name__ == "__main__":
    unittest.main()
