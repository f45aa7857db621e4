"""Whom vgpualloc.html shuts out: axe-core in every tab and state, zoom, narrow windows, forced colours, less motion."""

import unittest

from page_support import AXE, CLUSTERS, SAMPLE, TABS, PageTest


class Access(PageTest):
    def states(self):
        """Names of states, each with the page in it."""
        yield "start"
        self.try_atlas()
        self.click("#node-a100-3")
        self.wait("document.querySelector('#chosen-node table')")
        self.browser.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        yield "see, all open"
        self.browser.evaluate("document.getElementById('search').focus()")
        self.type("a")
        self.wait("document.querySelectorAll('#hits li').length > 0")
        yield "search"
        self.browser.evaluate("document.activeElement.blur()")
        self.press("?")
        self.wait("document.querySelector('dialog[open]')")
        yield "keys"
        self.press("Escape")
        self.go("why")
        self.click("[id='pod-train/llm-3']")
        self.wait("document.querySelector('#verdict')")
        self.browser.settle(0.3)
        yield "why"
        self.go("whatif")
        self.drawn("document.getElementById('add').click()")
        self.drawn("document.getElementById('find').click()")
        yield "find nodes"
        self.choose("change", "one-more")
        self.choose("like-pod", "no/such")
        self.click("#add")
        self.wait("document.getElementById('wrong')")
        yield "a wrong name"
        self.choose("change", "cut")
        self.browser.evaluate("(() => { document.getElementById('set').value = 'mig-*'; document.getElementById('find').click(); })()")
        self.wait("document.getElementById('wrong')")
        self.assertIn("Find layout", self.text("#wrong"))
        yield "a change that is refused"
        self.drawn("document.getElementById('over').click()")
        self.drawn("(() => { document.getElementById('set').value = 'mig-*'; document.getElementById('find').click(); })()")
        yield "find layout"
        self.go("defragment")
        yield "defragment"
        self.go("simulate")
        self.click("#run")
        self.wait("document.querySelector('#panel table')")
        self.set("records-of", "used")
        self.choose_files(CLUSTERS.parent / "forecast" / "atlas-used.csv", selector="#records")
        self.wait("document.getElementById('full')")
        self.browser.settle(0.3)
        self.browser.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        self.browser.settle(0.5)
        yield "simulate, all open"
        self.press_button("Other files")
        self.wait("document.getElementById('chooser')")

    def test_axe_core(self):
        axe = AXE.read_text(encoding="utf-8")
        script = "axe.run(document).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(', ')))"
        violations = []
        for width, dark in ((1280, False), (390, True)) if SAMPLE else ((1280, False), (1280, True), (390, False), (390, True)):
            self.open(width=width, dark=dark)
            self.browser.evaluate(axe + "\n;0")
            for state in self.states():
                violations += [f"{state} {width} {'dark' if dark else 'light'}: {violation}" for violation in self.browser.evaluate(script)]
        self.assertEqual(violations, [])

    def test_no_sideways_scroll(self):
        """On a phone, on a narrow one, and at 1280 px with a zoom of 200 %."""
        for width in (320,) if SAMPLE else (390, 320, 640):
            self.open(width=width)
            for state in self.states():
                self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width, state)

    def test_controls_are_large_enough(self):
        small = """[...document.querySelectorAll('button, select, input, summary')].filter((e) => e.checkVisibility() && e.type !== 'range' && e.getBoundingClientRect().height < %d
          && !e.closest('td, th, .strips, label.tick')).map((e) => e.outerHTML.slice(0, 80))"""
        for width, least in ((390, 44),) if SAMPLE else ((1280, 24), (390, 44)):
            self.open(width=width)
            for state in self.states():
                self.assertEqual(self.browser.evaluate(small % least), [], f"{state} {width}")

    def test_forced_colours(self):
        self.try_atlas()
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
        style = "getComputedStyle(document.querySelector({!r})).{}"
        self.assertNotEqual(self.browser.evaluate(style.format(".tabs [aria-selected=true]", "backgroundColor")),
                            self.browser.evaluate(style.format(".tabs [aria-selected=false]", "backgroundColor")))
        fills = [self.browser.evaluate(style.format(f".area.{part}", "fill")) for part in ("used", "free", "of-use", "scattered", "host-full", "wrong-kind", "out")]
        self.assertEqual(len(set(fills)), len(fills), "each has its pattern")

    def test_less_motion(self):
        self.try_atlas()
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        self.go("defragment")
        self.press_button("Play")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.step.done').length"), 1, "all steps at once")

    def test_the_title_is_the_verdict(self):
        self.try_atlas()
        for tab in TABS[:-1]:
            self.go(tab)
            sentence = self.text(".answer h1")
            self.assertEqual(self.browser.evaluate("document.title"), f"{sentence} - vgpualloc")
            self.assertEqual(self.text("#status"), sentence)
        self.assertEqual(self.browser.evaluate("document.documentElement.lang"), "en")


if __name__ == "__main__":
    unittest.main()
