"""vgpualloc.html in headless Chromium: files in, clicks, answers out; nothing is asked of any network.

    bash scripts/web.sh && VGPUSIM=build/release/bin/vgpusim python3 tests/web/page_test.py
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))
import chromium  # noqa: E402

PAGE = os.environ.get("VGPUALLOC_PAGE", ROOT / "build" / "web" / "vgpualloc.html")
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
VGPUSIM = os.environ["VGPUSIM"]
ATLAS = ROOT / "scenarios" / "clusters" / "atlas.json"
TABS = ("see", "why", "whatif", "defragment", "simulate")


def printed(*arguments, cwd=ATLAS.parent):
    done = subprocess.run([VGPUSIM, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        binary = chromium.find()
        if binary is None and os.environ.get("CI") != "true":
            print("no Chromium on this machine")
            sys.exit(77)
        cls.browser = chromium.Browser(binary)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.open()

    def open(self, **how):
        self.browser.open(PAGE, **how)
        self.wait("document.getElementById('try-atlas')")

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])
        others = [address for address in self.browser.requests() if not address.startswith(("file:", "blob:"))]
        self.assertEqual(others, [], "nothing is asked of a network")
        kept = self.browser.evaluate("[Object.keys(localStorage).length, Object.keys(sessionStorage).length, document.cookie]")
        self.assertEqual(kept, [0, 0, ""])

    def wait(self, condition, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.browser.evaluate(f"Boolean({condition})"):
                return
            self.browser.settle(0.05)
        raise AssertionError(f"not in {seconds} s: {condition}; the page says: {self.text('#panel')[:400]}")

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def click(self, selector):
        self.assertTrue(self.browser.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e?.click(); return Boolean(e); }})()"), selector)

    def press_button(self, words):
        script = f"(() => {{ const b = [...document.querySelectorAll('button')].find((e) => e.textContent === {json.dumps(words)}); b?.click(); return Boolean(b); }})()"
        self.assertTrue(self.browser.evaluate(script), words)

    def choose_files(self, *paths):
        root = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        node = self.browser.call("DOM.querySelector", nodeId=root, selector="#chooser")["nodeId"]
        self.browser.call("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

    def try_atlas(self):
        self.click("#try-atlas")
        self.wait("document.querySelector('.strips')")

    def go(self, tab):
        self.click(f"#tab-{tab}")
        self.wait(f"document.querySelector('#tab-{tab}[aria-selected=true]') && !document.querySelector('#panel.busy') && document.querySelector('#terminal')")
        self.browser.settle(0.6)

    def output_in_terminal(self):
        """What the page says that its command prints."""
        self.browser.evaluate("document.querySelector('#terminal details').open = true")
        self.wait("document.querySelector('#terminal .output')?.textContent")
        return self.browser.evaluate("document.querySelector('#terminal .output').textContent")

    def command(self):
        return self.text("#terminal code").split()

    def assert_same_in_a_terminal(self):
        """The command that is shown, run natively, prints what the page says it prints."""
        command = self.command()
        self.assertEqual(command[0], "vgpusim")
        self.assertEqual(self.output_in_terminal(), printed(*command[1:]))

    def test_see(self):
        self.try_atlas()
        self.assertEqual(self.text(".answer h1"), printed("show", "atlas.json").splitlines()[0])
        self.assert_same_in_a_terminal()
        self.browser.evaluate("(() => { const by = document.getElementById('by'); by.value = 'owner'; by.dispatchEvent(new Event('change')); })()")
        self.wait("document.querySelector('#terminal code').textContent.includes('--by owner')")
        self.assert_same_in_a_terminal()
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
        self.wait("document.querySelector('#terminal code').textContent.endsWith('a100-1=3')")
        self.assert_same_in_a_terminal()
        first = printed("whatif", "atlas.json", "--add-nodes", "a100-1=3").splitlines()[0]
        self.wait(f"document.querySelector('#whatif-answer h1')?.textContent === {json.dumps(first)}")
        self.click("#undo")
        self.wait("!document.getElementById('nodes-like-a100-1')")

    def test_a_question_that_cannot_be_answered_keeps_the_controls(self):
        self.try_atlas()
        self.go("whatif")
        self.browser.evaluate("(() => { const c = document.getElementById('change'); c.value = '--drain'; c.dispatchEvent(new Event('change')); })()")
        self.browser.evaluate("(() => { document.getElementById('set').value = 'nosuch'; document.getElementById('add').click(); })()")
        self.wait("document.querySelector('#whatif-answer .error')")
        self.assertIn("nosuch", self.text("#whatif-answer .error"))
        self.click("[aria-label^='Remove change']")
        self.wait("document.querySelector('#whatif-answer h1')")

    def test_defragment(self):
        self.try_atlas()
        self.go("defragment")
        self.assertIn("1 move, 37.8 GPU·s down; then train/llm-3 fits on a100-2.", self.text("#panel"))
        for words in ("Step forward", "Step back", "Play"):
            self.press_button(words)

    def test_simulate(self):
        self.try_atlas()
        self.go("simulate")
        self.click("#run")
        self.wait("document.querySelector('#panel table')")
        traces = ROOT / "traces" / "quickstart"
        with tempfile.TemporaryDirectory() as folder:
            rows = json.loads(printed(*self.command()[1:-2], "--out", folder, "--json", cwd=traces))
        for row in rows:
            self.assertIn(f"{100 * row['acceptance']['accepted_gpu_ratio']:.2f}", self.text("#panel table"))

    def test_files_are_read_as_they_come(self):
        harbor = ATLAS.parent / "harbor.json"
        self.choose_files(harbor)
        self.wait("document.querySelector('.strips')")
        self.assertEqual(self.text(".answer h1"), printed("show", "harbor.json").splitlines()[0])
        self.press_button("Other files")
        self.wait("document.getElementById('try-atlas')")
        with tempfile.TemporaryDirectory() as folder:
            cut = Path(folder) / "cut.json"
            cut.write_text(ATLAS.read_text(encoding="utf-8")[:5000], encoding="utf-8")
            self.choose_files(cut)
            self.wait("document.querySelector('#panel .error')")
        self.assertIn("cut.json", self.text("#panel .error"))
        self.assertIn("was the download cut off?", self.text("#panel .error"))

    def test_accessibility(self):
        axe = AXE.read_text(encoding="utf-8")
        for width in (1280, 390):
            for dark in (False, True):
                self.open(width=width, dark=dark)
                self.browser.evaluate(axe + "\n;0")
                found = []
                for tab in ("start", *TABS):
                    if tab == "start":
                        self.assert_no_violation("start", width, dark, found)
                        self.try_atlas()
                        continue
                    self.go(tab)
                    if tab == "why":
                        self.press_button("train/llm-3")
                        self.wait("document.querySelector('#verdict')")
                        self.browser.settle(0.3)
                    self.assert_no_violation(tab, width, dark, found)
                self.assertEqual(found, [])

    def assert_no_violation(self, tab, width, dark, found):
        script = "axe.run(document).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(', ')))"
        found += [f"{tab} {width} {'dark' if dark else 'light'}: {violation}" for violation in self.browser.evaluate(script)]

    def test_no_sideways_scroll_on_a_phone(self):
        for width in (390, 320):
            self.open(width=width)
            self.try_atlas()
            for tab in TABS:
                self.go(tab)
                self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width, tab)

    def test_the_page_is_small_and_may_not_ask_a_network(self):
        text = Path(PAGE).read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), 2_800_000)
        self.assertIn("default-src 'none'", text)
        self.try_atlas()
        refused = self.browser.evaluate("fetch('https://example.com/').then(() => 'answered', () => 'refused')")
        self.assertEqual(refused, "refused")
        self.browser.events.clear()

    def test_tabs_by_keyboard(self):
        self.try_atlas()
        self.browser.evaluate("document.getElementById('tab-see').focus()")
        for tab in TABS[1:]:
            self.browser.press("ArrowRight", 39)
            self.wait(f"document.querySelector('#tab-{tab}[aria-selected=true]')")
        self.assertEqual(self.browser.evaluate("document.activeElement.id"), "tab-simulate")


if __name__ == "__main__":
    unittest.main()
