"""vgpualloc.html with keys alone: the twelve questions of docs/questions.md, and the focus, which is never lost."""

import unittest

from page_support import CLUSTERS, IDLE, SEEN, PageTest, not_in_a_sample, printed

HAS_FOCUS = "document.activeElement !== document.body && document.activeElement !== null"


class Keyboard(PageTest):
    def setUp(self):
        super().setUp()
        self.tab_to("try-atlas")
        self.press("Enter")
        self.wait(SEEN)

    def enter(self, condition, key="Enter"):
        """Presses a key, waits for what it does, and looks where the focus is."""
        self.press(key)
        self.wait(f"({condition}) && {IDLE}")
        self.browser.settle(0.2)
        self.assertTrue(self.browser.evaluate(HAS_FOCUS), f"the focus is lost: {condition}")

    def to_tab(self, letter, name):
        self.press("g")
        self.enter(f"document.querySelector('#tab-{name}[aria-selected=true]') && document.activeElement.id === 'tab-{name}'", letter)

    def select(self, field, value):
        """Chooses in a list by arrows."""
        self.tab_to(field)
        self.press("Home")
        for _ in range(40):
            if self.browser.evaluate(f"document.getElementById('{field}').value") == value:
                break
            self.press("ArrowDown")
            self.wait(IDLE)
            self.browser.settle(0.15)
            self.assertEqual(self.focus(), field, "a choice keeps the focus")
        self.assertEqual(self.browser.evaluate(f"document.getElementById('{field}').value"), value)

    def change(self, kind, **fields):
        self.select("change", kind)
        for field, text in fields.items():
            self.tab_to(field)
            self.press_all("a")
            self.type(text)

    def press_all(self, letter):
        """Ctrl and a letter."""
        for kind in ("rawKeyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=letter, code="Key" + letter.upper(), windowsVirtualKeyCode=ord(letter.upper()), modifiers=2,
                              **({"commands": ["selectAll"]} if kind == "rawKeyDown" and letter == "a" else {}))
        self.browser.settle(0.05)

    def assert_first_line(self, *command):
        first = printed(*command).splitlines()[0]
        self.wait(f"document.querySelector('#whatif-answer h1')?.textContent === {first!r}")

    def test_1_and_2_why_a_pod_waits(self):
        self.to_tab("w", "why")
        self.assertEqual(self.text(".answer h1"), "4 pods wait, none fits now.")
        self.tab_to("pod-train/llm-3")
        self.enter("document.activeElement.id === 'verdict'")
        self.assertIn("train/llm-3 waits, scattered", self.text("#verdict"))
        self.enter("document.activeElement.id === 'pod-train/llm-3'", "Escape")

    @not_in_a_sample
    def test_3_4_5_and_6_how_full_it_is_and_who_has_it(self):
        self.to_tab("s", "see")
        self.assertIn("36 GPUs on 6 nodes: 20.5 used", self.text(".answer h1"))
        self.select("shape", "1 gpu, 12 cpu")
        self.assertIn("of use 3.0", self.text(".one-shape"))
        self.browser.evaluate("document.getElementById('tab-see').focus()")
        self.select("by", "namespace")
        self.assertEqual(self.command()[-2:], ["--by", "namespace"])
        self.assertIn("research", self.text("#panel table"))

    def test_7_how_many_nodes(self):
        self.to_tab("i", "whatif")
        self.change("--add-nodes")
        self.tab_to("find")
        self.enter("document.querySelector('.found')")
        self.assertIn("1 node like a100-1 is enough", self.text(".found"))
        self.tab_to("take-nodes")
        self.enter("document.getElementById('nodes-like-a100-1')")
        self.tab_to("nodes-like-a100-1")
        for key, number in (("ArrowRight", 2), ("PageUp", 7), ("Home", 1), ("End", 16)):
            self.press(key)
            self.wait(f"document.querySelector('#terminal code')?.textContent.endsWith('a100-1={number}')")
        self.assert_first_line("whatif", "atlas.json", "--add-nodes", "a100-1=16")
        self.assertEqual(self.focus(), "nodes-like-a100-1")

    @not_in_a_sample
    def test_8_a_rack_that_goes_and_is_back(self):
        self.to_tab("i", "whatif")
        self.change("--fail", set="a100-*")
        self.tab_to("add")
        self.enter("document.querySelector('#terminal code')?.textContent.includes('--fail')")
        self.assert_first_line("whatif", "atlas.json", "--fail", "a100-*")
        self.tab_to("Remove change: a100-* fails")
        self.enter("!document.querySelector('#terminal code')?.textContent.includes('--fail')")
        self.press_all("z")
        self.wait("document.querySelector('#terminal code')?.textContent.includes('--fail')")

    @not_in_a_sample
    def test_9_which_layout(self):
        self.to_tab("i", "whatif")
        self.change("cut", set="mig-*")
        self.tab_to("find")
        self.enter("document.querySelector('#whatif-answer tbody button')")
        self.assertIn("Cut mig-2 all-balanced: 18 of 18 pods", self.text("#whatif-answer h1"))
        self.tab_to("mig-2 all-balanced")
        self.enter("document.querySelector('#terminal code')?.textContent.endsWith('--set-mode mig-2=mig:all-balanced')")

    def test_10_another_policy_placing_anew_and_moves(self):
        self.to_tab("i", "whatif")
        self.change("--policy")
        self.select("policy", "best_fit")
        self.tab_to("add")
        self.enter("document.querySelector('#terminal code')?.textContent.includes('--policy')")
        self.change("--anew")
        self.tab_to("add")
        self.enter("document.querySelector('#terminal code')?.textContent.includes('--anew')")
        self.assert_first_line("whatif", "atlas.json", "--policy", "best_fit", "--anew")
        self.to_tab("d", "defragment")
        self.assertIn("1 move, 37.8 GPU·s down", self.text("#panel"))
        self.tab_to("Step forward")
        self.enter("document.querySelector('.step.done')")
        self.assertEqual(self.focus(), "Step forward")

    def test_11_a_replay(self):
        self.to_tab("m", "simulate")
        self.tab_to("run")
        self.enter("document.querySelector('#panel table')")
        self.tab_to("Served %")
        self.enter("document.querySelector('th[aria-sort=descending]')")
        self.assertEqual(self.focus(), "Served %")
        self.select("begin", "empty")
        self.tab_to("load")
        self.type("1")
        self.tab_to("run")
        self.enter("document.querySelector('#panel table')")
        self.assertIn("nodes-of-the-cluster.json", self.command())

    def test_12_when_it_is_full(self):
        self.to_tab("m", "simulate")
        self.select("records-of", "used")
        self.tab_to("records")
        self.choose_files(CLUSTERS.parent / "forecast" / "atlas-used.csv", selector="#records")
        self.wait(f"document.getElementById('full') && {IDLE}")
        self.browser.settle(0.2)
        self.assertTrue(self.browser.evaluate(HAS_FOCUS))
        self.assertIn("about 2027-08-24", self.text("#full"))
        self.tab_to("Copy the command, forecast")

    def test_12_a_price_that_is_written(self):
        self.tab_to("Prices")
        self.press("Enter")
        self.tab_to("price-0")
        self.type("2.1")
        self.tab_to("cost")
        self.enter("document.querySelector('#terminal code')?.textContent.endsWith('--prices prices.json')")

    @not_in_a_sample
    def test_12_a_cost(self):
        self.tab_to("other-files")
        self.press("Enter")
        self.wait("document.getElementById('choose')")
        self.choose_files(CLUSTERS / "atlas.json", CLUSTERS.parent / "forecast" / "prices.json")  # a window of the system's, which is not ours to test
        self.wait(SEEN)
        self.assertIn("968.40", self.text("#panel"))


if __name__ == "__main__":
    unittest.main()
