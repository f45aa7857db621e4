"""No task of vgpualloc.html on the page's own thread takes longer than 50 ms, on a cluster of 200 nodes and 8,500 pods.

Machines differ, and so does one machine from moment to moment: a task may take longer where a fixed piece of work, timed in the page
before and after each step, takes longer too.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from page_support import IDLE, ROOT, TABS, PageTest

MOST_MS = 50
# Filling a table of 1,000 cells takes about 15 ms.
MOST_OF_REFERENCE = 3.5
# Another answer than before, and all of it.
DRAWN = f"!document.getElementById('before') && {IDLE}"
OBSERVE = """window.long_tasks = [];
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) long_tasks.push(entry.duration); }).observe({ type: 'longtask', buffered: true });"""
REFERENCE = """(() => {
  const begin = performance.now();
  const table = document.createElement('table');
  for (let row = 0; row < 100; ++row) { const cells = table.insertRow(); for (let cell = 0; cell < 10; ++cell) cells.insertCell().textContent = row + ' ' + cell; }
  document.body.append(table);
  table.getBoundingClientRect();
  table.remove();
  return performance.now() - begin;
})()"""


class LongTasks(PageTest):
    def setUp(self):
        self.observer = self.browser.call("Page.addScriptToEvaluateOnNewDocument", source=OBSERVE)["identifier"]
        self.addCleanup(self.browser.call, "Page.removeScriptToEvaluateOnNewDocument", identifier=self.observer)
        super().setUp()

    def reference(self):
        """The fixed piece of work, which is no part of the measured time."""
        milliseconds = max(self.browser.evaluate(REFERENCE) for _ in range(3))
        self.browser.settle(0.2)
        self.browser.evaluate("long_tasks.splice(0)")
        return milliseconds

    def step(self, name, do, done=IDLE):
        """Does something; looks at its longest task."""
        before = self.reference() if name != "load" else 0
        self.browser.evaluate("document.getElementById('panel').firstElementChild.id = 'before'")
        do()
        self.wait(done)
        self.browser.settle(0.5)
        longest = max(self.browser.evaluate("long_tasks"), default=0)
        most = max(MOST_MS, MOST_OF_REFERENCE * max(before, self.reference()))
        print(f"{name:24} longest task {longest:4.0f} ms, at most {most:4.0f} ms")
        if longest > most:
            self.too_long.append(f"{name}: {longest:.0f} ms, at most {most:.0f} ms")

    def choice(self, field, value):
        return lambda: self.choose(field, value)

    def pressed(self, selector):
        return lambda: self.click(selector)

    def test_a_cluster_of_200_nodes(self):
        self.too_long = []
        self.step("load", lambda: None, "document.getElementById('try-atlas')")
        with tempfile.TemporaryDirectory() as folder:
            cluster = Path(folder) / "C.json"
            subprocess.run([sys.executable, ROOT / "tests" / "cli" / "large_cluster.py", cluster, "--nodes", "200", "--pods", "8500"], check=True)
            self.step("open", lambda: self.choose_files(cluster), DRAWN)
        self.step("by node", self.choice("by", "node"), DRAWN)
        self.step("every row", self.pressed("#all"), DRAWN)
        self.step("fullest first", self.choice("order", "fullest"))
        self.step("a node", self.pressed(".strips button"), "document.querySelector('#chosen-node table')")
        self.step("search", lambda: (self.browser.evaluate("document.getElementById('search').focus()"), self.type("app")), "document.querySelectorAll('#hits li').length === 100")
        self.browser.evaluate("document.activeElement.blur()")
        for tab in (*TABS[1:], "see"):
            self.step(tab, self.pressed(f"#tab-{tab}"), DRAWN)
            if tab == "why":
                self.step("one pod", self.pressed(".waiting button"), "document.getElementById('verdict')")
            if tab == "whatif":
                self.step("a node more", self.pressed("#add"), "document.querySelector('.slide') && document.querySelector('#whatif-answer h1')")
                self.step("a slider", lambda: self.choose("nodes-like-" + self.text("#like option"), "5"), "document.querySelector('#terminal code')?.textContent.endsWith('=5')")
        self.browser.evaluate("setTimeout(() => { const begin = performance.now(); while (performance.now() - begin < 120); })")
        self.wait("long_tasks.some((milliseconds) => milliseconds >= 119)")
        self.assertEqual(self.too_long, [])


if __name__ == "__main__":
    unittest.main()
