"""vgpualloc.html: files in, clicks, answers out; nothing is asked of any network.

    bash scripts/web.sh && VGPUSIM=build/release/bin/vgpusim python3 tests/web/page_test.py
"""

import json
import tempfile
import unittest
from pathlib import Path

from page_support import CLUSTERS, PAGE, ROOT, SEEN, TABS, PageTest, printed

ATLAS = CLUSTERS / "atlas.json"


class Page(PageTest):
    def test_see(self):
        self.try_atlas()
        self.assertEqual(self.text(".answer h1"), printed("show", "atlas.json").splitlines()[0])
        self.assert_same_in_a_terminal()
        self.browser.evaluate("(() => { const by = document.getElementById('by'); by.value = 'owner'; by.dispatchEvent(new Event('change')); })()")
        self.wait("document.querySelector('#terminal code')?.textContent.includes('--by owner')")
        self.assert_same_in_a_terminal()
        heads = "[...document.querySelectorAll('.side table')[0].tHead.rows[0].cells]"
        column = "[...document.querySelectorAll('.side table')[0].tBodies[0].rows].map((row) => row.cells[{}].textContent)"
        used = self.browser.evaluate(heads + ".findIndex((head) => head.textContent === 'Used')")
        self.browser.evaluate(f"{heads}[{used}].querySelector('button').click()")
        self.assertEqual(self.browser.evaluate(f"{heads}[{used}].getAttribute('aria-sort')"), "descending")
        amounts = [float(text) for text in self.browser.evaluate(column.format(used))[:-1]]
        self.assertEqual(amounts, sorted(amounts, reverse=True))
        self.assertEqual(self.browser.evaluate(column.format(0))[-1], "TOTAL")
        self.press_button("a100-3")
        self.wait("document.querySelector('#chosen-node h3')")
        self.assertIn("a100-3: 4.0 of 8.0 GPUs used, 0.0 free", self.text("#chosen-node"))
        self.press_button("Uncordon")
        self.wait("document.querySelector('#whatif-answer h1')")
        self.assertEqual(self.command()[1:], ["whatif", "atlas.json", "--uncordon", "a100-3"])
        self.assert_same_in_a_terminal()

    def test_why(self):
        self.try_atlas()
        self.go("why")
        self.assertIn("4 pods wait, none fits now.", self.text(".answer h1"))
        self.assert_same_in_a_terminal()
        for pod in ("train/llm-3", "serve/ranker-4", "research/embed-0", "train/eval-7", "research/sweep"):
            self.press_button(pod)
            self.wait(f"document.querySelector('#verdict')?.textContent.startsWith({json.dumps(pod)})")
            self.assert_same_in_a_terminal()
        self.press_button("research/sweep")
        self.wait("document.querySelector('#verdict')?.textContent.startsWith('research/sweep')")
        self.assertNotIn("cpu 0", self.text("#one"))
        self.assertNotIn("All nodes", self.text("#one"))
        self.press_button("train/llm-3")
        self.wait("document.querySelector('#verdict')?.textContent.startsWith('train/llm-3 waits, scattered: 4 gpu on one node; 5 free')")
        self.press_button("Try it")
        self.wait("document.querySelector('#whatif-answer h1')")
        self.assertIn("1 pod starts", self.text("#whatif-answer h1"))

    def test_what_if(self):
        self.try_atlas()
        self.go("whatif")
        self.click("#add")
        self.wait("document.querySelector('#whatif-answer h1')?.textContent.startsWith('1 pod starts')")
        self.assert_same_in_a_terminal()
        script = "(() => { const s = document.getElementById('nodes-like-a100-1'); s.value = 3; s.dispatchEvent(new Event('input')); })()"
        self.browser.evaluate(script)
        self.wait("document.querySelector('#terminal code')?.textContent.endsWith('a100-1=3')")
        self.assert_same_in_a_terminal()
        first = printed("whatif", "atlas.json", "--add-nodes", "a100-1=3").splitlines()[0]
        self.wait(f"document.querySelector('#whatif-answer h1')?.textContent === {json.dumps(first)}")
        self.click("#undo")
        self.wait("!document.getElementById('nodes-like-a100-1')")

    def test_defragment(self):
        self.try_atlas()
        self.go("defragment")
        self.assertIn("1 move, 37.8 GPU·s down; then train/llm-3 fits on a100-2.", self.text("#panel"))
        for words in ("Step forward", "Step back", "Play"):
            self.press_button(words)
        self.set("goal-pod", "serve/ranker-4")
        self.assertEqual(self.text(".answer h1"), "No plan for serve/ranker-4: there is none with 3 moves: all of them were looked at.")

    def test_simulate(self):
        self.try_atlas()
        self.go("simulate")
        self.assertEqual(self.text("#status"), "Replay a workload under several policies")
        self.set("source", "files")
        self.set("format", "kubernetes")
        self.assertIn("Choose the files: nodes, pods, classes.", self.text("#panel"))
        self.set("source", "quickstart")
        self.click("#run")
        self.wait("document.querySelector('#panel table')")
        traces = ROOT / "traces" / "quickstart"
        with tempfile.TemporaryDirectory() as folder:
            rows = json.loads(printed(*self.command()[1:-2], "--out", folder, "--json", cwd=traces))
        for row in rows:
            self.assertIn(f"{100 * row['acceptance']['accepted_gpu_ratio']:.2f}", self.text("#panel table"))

    def test_the_report_is_there_in_place(self):
        self.try_atlas()
        self.go("simulate")
        self.click("#run")
        self.wait("document.getElementById('report')")
        self.click("#report summary")
        self.wait("document.querySelector('#report iframe')")
        self.browser.settle(1)
        self.assertEqual(self.in_frame("document.documentElement.className"), "scripted", "its scripts are allowed")
        self.assertIn("In use", self.in_frame("document.body.innerText"))
        self.assertGreater(self.in_frame("document.querySelectorAll('svg, canvas').length"), 2)
        self.assertEqual(self.in_frame("fetch('https://example.com/').then(() => 'answered', () => 'refused')"), "refused")
        self.assertEqual(self.in_frame("(() => { try { return parent.document.title; } catch { return 'refused'; } })()"), "refused")

    def test_files_are_read_as_they_come(self):
        harbor = ATLAS.parent / "harbor.json"
        self.choose_files(harbor)
        self.wait(SEEN)
        self.assertEqual(self.text(".answer h1"), printed("show", "harbor.json").splitlines()[0])
        self.press_button("Other files")
        self.wait("document.getElementById('try-atlas')")
        with tempfile.TemporaryDirectory() as folder:
            cut = Path(folder) / "cut.json"
            cut.write_text(ATLAS.read_text(encoding="utf-8")[:5000], encoding="utf-8")
            self.choose_files(cut)
            self.wait("document.querySelector('#trouble .error')")
        self.assertIn("line 1, column 5001: the text ends inside a string. What was read before it is not used.", self.text("#trouble .error"))
        self.wait(SEEN)
        self.assertEqual(self.focus(), "trouble-error")

    def test_the_page_is_small_and_may_not_ask_a_network(self):
        text = Path(PAGE).read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), 2_200_000)
        self.assertIn("default-src 'none'", text)
        self.try_atlas()
        refused = self.browser.evaluate("fetch('https://example.com/').then(() => 'answered', () => 'refused')")
        self.assertEqual(refused, "refused")
        self.browser.events.clear()

    def test_back_comes_to_the_choice_before(self):
        self.try_atlas()
        self.choose("by", "owner")
        self.wait("location.hash === '#see&by=owner' && document.getElementById('by').value === 'owner'")
        self.go("defragment")
        self.browser.evaluate("history.back()")
        self.wait("document.querySelector('#tab-see[aria-selected=true]') && document.querySelector('#terminal code')?.textContent.endsWith('--by owner')")
        self.browser.evaluate("history.back()")
        self.wait("document.getElementById('by')?.value === 'pool' && location.hash === '#see'")

    def test_tabs_by_keyboard(self):
        self.try_atlas()
        self.browser.evaluate("document.getElementById('tab-see').focus()")
        for tab in TABS[1:]:
            self.browser.press("ArrowRight", 39)
            self.wait(f"document.querySelector('#tab-{tab}[aria-selected=true]')")
        self.assertEqual(self.browser.evaluate("document.activeElement.id"), "tab-simulate")


if __name__ == "__main__":
    unittest.main()
