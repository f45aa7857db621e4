"""Saving from vgpualloc.html, a long run that is stopped, and what is said of files that cannot be used."""

import json
import re
import tempfile
import unittest
from pathlib import Path

from page_support import CLUSTERS, SAMPLE, SEEN, TABS, PageTest, printed


class Save(PageTest):
    def save(self, kind, name):
        self.choose("save", kind)
        return self.saved(name)

    def fill(self, tab):
        """An answer in that tab."""
        self.go(tab)
        if tab == "simulate":
            self.click("#run")
            self.wait("document.querySelector('#panel table')")
        return self.text("#panel .answer h1") if tab != "simulate" else self.text("#panel .answer h2")

    def test_the_answer_as_html(self):
        for tab in ("whatif",) if SAMPLE else TABS:
            self.open()
            self.try_atlas()
            sentence = self.fill(tab)
            (Path(self.folder.name) / "answer.html").unlink(missing_ok=True)
            text = self.save("html", "answer.html").decode()
            self.assertIn("default-src 'none'", text)
            for never in ("<script", "<a ", "href=\"http", "src=", "<button", "<input", "<select"):
                self.assertNotIn(never, text, tab)
            command = self.browser.evaluate("document.querySelector('#terminal code')?.textContent")
            self.browser.open(Path(self.folder.name) / "answer.html", scripts=False)
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
            self.assertIn(sentence, self.text("main"), tab)
            self.assertEqual(self.text("#terminal code"), command)
            self.assertIn("atlas.json", self.text("header"))
            self.assertEqual(self.browser.complaints(), [], tab)

    def test_the_answer_as_json(self):
        self.try_atlas()
        for tab in TABS[:-1]:
            self.go(tab)
            (Path(self.folder.name) / "answer.json").unlink(missing_ok=True)
            texts = (self.save("json", "answer.json").decode(), printed(*self.command()[1:], "--json"))
            self.assertEqual(*(re.sub(r'"plan_s": [0-9.e-]+', '"plan_s": 0', text) for text in texts), tab)
        self.assertEqual(self.text("#saved"), "Saved. The file has your names in it.")
        self.fill("simulate")
        (Path(self.folder.name) / "answer.json").unlink()
        self.assertEqual([row["policy"] for row in json.loads(self.save("json", "answer.json"))], ["bid_price", "best_fit", "fgd"])

    def test_a_snapshot_with_and_without_names(self):
        self.try_atlas()
        with tempfile.TemporaryDirectory() as folder:
            for kind, flags in (("snapshot", []), ("anonymised", ["--anonymise"])):
                path = Path(folder) / "expected.json"
                printed("snapshot", "atlas.json", *flags, "--out", str(path))
                self.assertEqual(self.save(kind, f"{kind}.json"), path.read_bytes())
        self.assertEqual(self.text("#saved"), "Saved without names. Check: 6 nodes, 32 pods, 0 of 52 names found in it.")
        self.assertEqual(self.text("#status"), self.text("#saved"))

    def test_a_long_run_is_stopped(self):
        self.try_atlas()
        self.prepare_long_run()
        self.browser.evaluate("""(() => { window.announced = []; window.values = [];
          new MutationObserver(() => announced.push(document.getElementById('status').textContent)).observe(document.getElementById('status'), { childList: true });
          setInterval(() => { const bar = document.querySelector('[role=progressbar]'); if (bar?.hasAttribute('aria-valuenow')) values.push(Number(bar.getAttribute('aria-valuenow'))); }, 20); })()""")
        self.click("#run")
        self.wait("new Set(values).size > 1")  # the bar moves
        self.browser.evaluate("""(() => { const pressed = document.getElementById('stop'); const panel = document.getElementById('panel');
          pressed.focus();
          pressed.addEventListener('click', () => { const begin = performance.now();
            const look = () => (panel.classList.contains('busy') ? setTimeout(look, 5) : (window.stopped_in = performance.now() - begin)); look(); }, { capture: true }); })()""")
        self.press("Enter")
        self.wait("window.stopped_in !== undefined")
        self.assertLess(self.browser.evaluate("stopped_in"), 200)
        steps = self.browser.evaluate("announced.filter((words) => words.endsWith('%')).map((words) => Number(words.match(/(\\d+) %$/)[1]))")
        self.assertLessEqual(set(steps), {0, 25, 50, 75, 100})
        self.assertGreater(len(steps), 0)
        self.assertEqual(self.text("#progress"), "Stopped. The answer above is of before.")
        self.assertNotEqual(self.browser.evaluate("document.activeElement.tagName"), "BODY")
        self.click("#tab-why")
        self.wait("document.querySelector('.answer h1').textContent === '4 pods wait, none fits now.'")
        self.assertEqual(self.browser.evaluate("document.getElementById('progress')"), None)

    def test_pods_without_nodes(self):
        pods = json.loads((CLUSTERS / "atlas.json").read_text(encoding="utf-8"))
        nodes = {**pods, "items": [entry for entry in pods["items"] if entry["kind"] == "Node"]}
        pods["items"] = [entry for entry in pods["items"] if entry["kind"] != "Node"]
        for name, objects in (("pods.json", pods), ("nodes.json", nodes)):
            (Path(self.folder.name) / name).write_text(json.dumps(objects), encoding="utf-8")
        self.choose_files(Path(self.folder.name) / "pods.json")
        self.wait("document.querySelector('.error')")
        self.assertEqual(self.text("#error"), "These are pods without nodes. Add the nodes:")
        self.assertIn("kubectl get nodes -o json > nodes.json", self.text(".error"))
        self.choose_files(Path(self.folder.name) / "nodes.json")
        self.wait(SEEN)
        self.assert_same_in_a_terminal(cwd=self.folder.name)

    def test_prices_of_a_file_beside_it(self):
        self.choose_files(CLUSTERS / "atlas.json", CLUSTERS.parent / "forecast" / "prices.json")
        self.wait(SEEN)
        self.assertEqual(self.command()[1:], ["show", "atlas.json", "--prices", "prices.json"])
        for path in (CLUSTERS / "atlas.json", CLUSTERS.parent / "forecast" / "prices.json"):
            (Path(self.folder.name) / path.name).write_bytes(path.read_bytes())
        self.assertIn("EUR A DAY", self.assert_same_in_a_terminal(cwd=self.folder.name))


if __name__ == "__main__":
    unittest.main()
