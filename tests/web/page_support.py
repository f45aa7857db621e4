"""vgpualloc.html in headless Chromium: what all tests of the page have in common."""

import json
import os
import shlex
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
CLUSTERS = ROOT / "scenarios" / "clusters"
TABS = ("see", "why", "whatif", "defragment", "simulate")
SAMPLE = bool(os.environ.get("VGPUALLOC_WEB_SAMPLE"))  # a part of the tests, as in CI
IDLE = "!document.querySelector('#panel.busy') && document.querySelector('#terminal')"
SEEN = f"document.querySelector('.strips') && {IDLE}"
CODES = {"Enter": 13, "Escape": 27, "Tab": 9, " ": 32, "Home": 36, "End": 35, "PageUp": 33, "PageDown": 34,
         "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def printed(*arguments, cwd=CLUSTERS):
    done = subprocess.run([VGPUSIM, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def first_sentence(text):
    """The first line of an answer, with those that it goes on in where it would be too long."""
    sentence, *lines = text.split("\n")
    length = len(sentence)
    for line in lines:
        if not line.startswith("  ") or "  " in line.strip() or length + len(line.split()[0]) < 100:
            break
        sentence += " " + line.strip()
        length = len(line)
    return sentence


def not_in_a_sample(test):
    return unittest.skipIf(SAMPLE, "scripts/test.sh --web")(test)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        binary = chromium.find()
        if os.environ.get("CI") != "true" and (binary is None or not os.path.exists(PAGE)):
            print("no Chromium on this machine" if binary is None else f"no {PAGE}: bash scripts/web.sh makes it")
            sys.exit(77)
        cls.browser = chromium.Browser(binary)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.open()

    def open(self, **how):
        self.browser.open(PAGE, **how)
        self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.folder.name)
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

    def choose(self, field, value):
        """A choice, or the text of a field, as a reader makes it."""
        kind = "change" if self.browser.evaluate(f"document.getElementById({json.dumps(field)}).tagName") == "SELECT" else "input"
        self.browser.evaluate(f"(() => {{ const e = document.getElementById({json.dumps(field)}); e.value = {json.dumps(value)}; e.dispatchEvent(new Event('{kind}')); }})()")

    def choose_files(self, *paths, selector="#chooser"):
        root = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        node = self.browser.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.browser.call("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

    def try_atlas(self):
        self.click("#try-atlas")
        self.wait(SEEN)

    def go(self, tab):
        self.click(f"#tab-{tab}")
        self.wait(f"document.querySelector('#tab-{tab}[aria-selected=true]') && {IDLE}")
        self.browser.settle(0.6)

    def drawn(self, script, seconds=60):
        """Does something that draws the answer anew, and waits until it is there."""
        self.browser.evaluate("document.getElementById('panel').firstElementChild.id = 'before'")
        self.browser.evaluate(script)
        self.wait(f"!document.getElementById('before') && {IDLE}", seconds)

    def set(self, field, value):
        """A choice, or a number, after which the answer is drawn anew."""
        self.drawn(f"(() => {{ const e = document.getElementById({json.dumps(field)}); e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change')); }})()")

    def prepare_long_run(self):
        """Simulate with runs of many seconds, on any machine."""
        self.go("simulate")
        self.set("source", "files")
        for part in ("nodes", "pods"):
            head, *rows = (ROOT / "traces" / "quickstart" / f"{part}.csv").read_text(encoding="utf-8").splitlines()
            path = Path(self.folder.name) / f"many-{part}.csv"
            path.write_text("\n".join([head, *(f"{i}-{row}" for i in range(10) for row in rows)]) + "\n", encoding="utf-8")
            self.choose_files(path, selector=f"#file-{part}")
            self.wait(f"document.getElementById('file-{part}').parentElement.textContent.includes('{path.name}') && {IDLE}")
        self.set("seeds", "50")

    def press(self, key):
        """A key, with its letter where it has one."""
        self.browser.press(key, CODES.get(key, ord(key[0].upper())), text=key if len(key) == 1 else {"Enter": "\r"}.get(key, ""))

    def type(self, text):
        for letter in text:
            self.browser.press(letter, 0, text=letter)

    def focus(self):
        """What has the focus: its id, or its words."""
        return self.browser.evaluate("document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.slice(0, 80)")

    def tab_to(self, wanted, steps=80):
        """Presses Tab until the control has the focus."""
        for _ in range(steps):
            if self.focus() == wanted:
                return
            self.press("Tab")
        raise AssertionError(f"{wanted} is not reached by Tab; the focus is on {self.focus()}")

    def in_frame(self, script):
        """A value of the frame of the page, which has a process of its own."""
        frame = next(target for target in self.browser.call("Target.getTargets")["targetInfos"] if target["type"] == "iframe")
        page = self.browser.session
        self.browser.session = self.browser.call("Target.attachToTarget", targetId=frame["targetId"], flatten=True)["sessionId"]
        try:
            return self.browser.evaluate(script)
        finally:
            self.browser.session = page

    def output_in_terminal(self):
        """What the page says that its command prints."""
        self.browser.evaluate("document.querySelector('#terminal details').open = true")
        self.wait("document.querySelector('#terminal .output')?.textContent")
        return self.browser.evaluate("document.querySelector('#terminal .output').textContent")

    def command(self):
        return shlex.split(self.browser.evaluate("document.querySelector('#terminal code').textContent"))

    def assert_same_in_a_terminal(self, cwd=CLUSTERS):
        """The command that is shown, run natively, prints what the page says it prints. Returns what both print."""
        command = self.command()
        self.assertEqual(command[0], "vgpusim")
        output = printed(*command[1:], cwd=cwd)
        self.assertEqual(self.output_in_terminal(), output)
        return output

    def assert_part_same_in_a_terminal(self, part, cwd):
        """As above, of one answer of a tab that has several."""
        code = f"document.querySelector('#terminal-{part} code').textContent"
        self.browser.evaluate(f"document.querySelector('#terminal-{part} details').open = true")
        self.wait(f"document.querySelector('#terminal-{part} .output').textContent")
        output = printed(*shlex.split(self.browser.evaluate(code))[1:], cwd=cwd)
        self.assertEqual(self.browser.evaluate(f"document.querySelector('#terminal-{part} .output').textContent"), output)
        return output

    def saved(self, name, seconds=20):
        """The bytes of a file that the page has saved."""
        path = Path(self.folder.name) / name
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if path.exists() and path.stat().st_size > 0:  # the browser makes an empty one first
                return path.read_bytes()
            self.browser.settle(0.1)
        raise AssertionError(f"{name} was not saved: {[entry.name for entry in Path(self.folder.name).iterdir()]}")
