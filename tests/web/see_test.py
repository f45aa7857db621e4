"""See, in vgpualloc.html: the picture, a node and its pods, what is idle; finding nodes and pods."""

import copy
import json
import unittest
from pathlib import Path

from page_support import CLUSTERS, PageTest, printed

CLUSTER = json.loads((CLUSTERS / "atlas.json").read_text(encoding="utf-8"))["items"]


class See(PageTest):
    def setUp(self):
        super().setUp()
        self.try_atlas()

    def test_a_node_lists_its_pods(self):
        self.click("#node-mig-1")
        self.wait("document.querySelector('#chosen-node table')")
        rows = self.browser.evaluate("[...document.querySelectorAll('#chosen-node tbody tr')].map((r) => r.cells[0].textContent)")
        self.assertEqual(sorted(rows), sorted(f"{entry['metadata']['namespace']}/{entry['metadata']['name']}" for entry in CLUSTER
                                              if entry["kind"] == "Pod" and entry["spec"].get("nodeName") == "mig-1"))
        self.assertIn("nvidia.com/mig-3g.40gb 1", self.text("#chosen-node table"))
        self.press_button("serve/ranker-0")
        self.wait("document.querySelector('#verdict')")
        self.assertEqual(self.focus(), "verdict")
        self.assertIn("serve/ranker-0 runs on mig-1.", self.text("#verdict"))
        self.assert_same_in_a_terminal()

    def test_the_picture_by_keys(self):
        self.tab_to("node-a100-1")
        for key, node in (("ArrowRight", "a100-2"), ("End", "t4-1"), ("ArrowRight", "a100-1"), ("ArrowLeft", "t4-1"), ("Home", "a100-1"), ("ArrowDown", "a100-2")):
            self.press(key)
            self.assertEqual(self.focus(), "node-" + node)
        self.press("Enter")
        self.wait("document.activeElement.id === 'chosen-title'")
        self.assertEqual(self.text("#chosen-title"), "a100-2: 5.0 of 8.0 GPUs used, 3.0 free")
        self.press("Escape")
        self.assertEqual(self.focus(), "node-a100-2")
        self.assertEqual(self.text("#chosen-node"), "")

    def test_order_and_only_idle(self):
        names = "[...document.querySelectorAll('.strips li:not([hidden]) button')].map((b) => b.textContent)"
        self.choose("order", "fullest")
        self.assertEqual(self.browser.evaluate(names)[:3], ["a100-1", "a100-2", "a100-3"])
        self.click("#only-idle")
        self.assertNotIn("a100-3", self.browser.evaluate(names), "nothing of it is free")
        self.choose("order", "pool")
        self.click("#only-idle")
        self.assertEqual(self.browser.evaluate(names), ["a100-1", "a100-2", "a100-3", "mig-1", "mig-2", "t4-1"])

    def test_what_would_help(self):
        shapes = {shape["shape"]: shape for shape in json.loads(printed("show", "atlas.json", "--json"))["shapes"]}
        self.assertEqual(set(self.browser.evaluate("[...document.getElementById('shape').options].map((o) => o.value)")), set(shapes))
        self.assertEqual(self.text(".one-shape .note"), "To 4 gpu, 48 cpu: of use 0.0, scattered 5.0, host full 0.0, wrong kind 6.5, out of service 4.0, together 15.5 GPUs")
        self.click("#help")
        self.wait("document.querySelector('#verdict')?.textContent.startsWith('train/llm-3 waits, scattered')")
        self.go("see")
        self.choose("shape", "1 gpu, 2 cpu, pool=dev")
        self.click("#help")
        self.wait("document.querySelector('#verdict')?.textContent.startsWith('research/embed-0 waits, never')")
        self.go("see")
        self.choose("shape", "2 gpu, 40 cpu")
        self.click("#help")
        self.wait("document.querySelector('#whatif-answer .found')")
        self.assertEqual(self.command()[-4:-1], ["--add-pods", "one-more-of-train-llm-1.json", "--find-nodes"])
        self.assertEqual(self.text("#own-answer"), "train/llm-1-one-more fits without a node more; it starts on a100-2.")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#whatif-answer details:not([open]) .found').length"), 1, "other pods are folded away")
        self.assertEqual(self.browser.evaluate("[...document.querySelectorAll('#whatif-answer tbody tr')].filter((r) => r.checkVisibility() && r.cells[0].textContent.includes('/')).map((r) => r.cells[0].textContent)"),
                         ["train/llm-1-one-more"])
        self.go("see")
        self.choose("shape", "1 gpu, 2 cpu, pool=dev, team=dev")
        self.drawn("document.getElementById('help').click()")
        self.assertIn("dev/nb-0-one-more", self.text("#own-answer"), "its own shape, not the one without the rule")
        self.assertEqual(len([word for word in self.command() if word == "--add-pods"]), 1, "that of the shape before is gone")

    def test_rows_by_a_label(self):
        objects = copy.deepcopy(CLUSTER)
        for node in objects:
            if node["kind"] == "Node":
                node["metadata"]["labels"]["topology.kubernetes.io/zone"] = "b" if node["metadata"]["name"] == "t4-1" else "a"
        place = Path(self.folder.name)
        (place / "zones.json").write_text(json.dumps({"kind": "List", "items": objects}), encoding="utf-8")
        self.press_button("Other files")
        self.choose_files(place / "zones.json")
        self.wait("document.querySelector('#by option[value=\"topology.kubernetes.io/zone\"]')")
        self.set("by", "topology.kubernetes.io/zone")
        self.assertEqual(self.command()[-2:], ["--by", "topology.kubernetes.io/zone"])
        self.assertEqual(self.browser.evaluate("location.hash"), "#see")
        self.assert_same_in_a_terminal(cwd=place)

    def test_who_uses_it(self):
        table = "[...document.getElementById('who').closest('section').querySelectorAll('tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
        for who in ("queue", "owner", "namespace"):
            self.set("who", who)
            rows = {cells[0]: cells[1:] for cells in self.browser.evaluate(table)}
            lines = printed("show", "atlas.json", "--by", who).split("\n\n")[1].splitlines()
            self.assertEqual(len(rows), len(lines) - 1)
            self.assertEqual(rows["TOTAL"][:4], lines[-1].split()[1:5])
            if who != "namespace":
                self.assertEqual(self.browser.evaluate("location.hash"), f"#see&who={who}")
                self.assert_part_same_in_a_terminal("users", CLUSTERS)
            self.assert_same_in_a_terminal()

    def test_pools_and_idle_side_by_side(self):
        tops = "[...document.querySelectorAll('.side > section')].map((s) => [s.querySelector('h2').textContent, s.getBoundingClientRect().top, s.getBoundingClientRect().left])"
        for width, are_beside in ((1280, True), (390, False)):
            self.open(width=width)
            self.try_atlas()
            (pools, pools_top, pools_left), (idle, idle_top, idle_left) = self.browser.evaluate(tops)
            self.assertEqual((pools, idle), ("Pools", "Idle: 15.5 GPUs"))
            self.assertEqual((pools_top == idle_top, pools_left < idle_left), (are_beside, are_beside))
            cut = "[...document.querySelectorAll('.side > section > .scroll, .side > section > .shares')].filter((s) => s.scrollWidth > s.clientWidth).length"
            if are_beside:
                self.assertEqual(self.browser.evaluate(cut), 0, "both fit")

    def test_find(self):
        self.press("/")
        self.assertEqual(self.focus(), "search")
        self.type("llm")
        self.wait("document.querySelectorAll('#hits li').length === 3")
        self.press("ArrowDown")
        self.press("ArrowDown")
        self.assertEqual(self.browser.evaluate("document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).innerText.split('\\n')[0]"), "train/llm-3")
        self.press("Enter")
        self.wait("document.querySelector('#verdict')?.textContent.startsWith('train/llm-3 waits')")
        self.assertEqual(self.focus(), "verdict")
        self.press("/")
        self.type("mig-2")
        self.wait("document.querySelectorAll('#hits li').length > 0")
        self.press("Escape")
        self.assertEqual(self.focus(), "search")
        self.assertEqual(self.browser.evaluate("document.getElementById('search').getAttribute('aria-expanded')"), "false")
        self.press("Escape")
        self.type("MIG-2")
        self.press("Enter")
        self.wait("document.querySelector('#chosen-title')")
        self.assertIn("mig-2", self.text("#chosen-title"))
        self.wait("document.activeElement.id === 'chosen-title'", 5)
        self.press("Escape")
        self.assertEqual(self.focus(), "node-mig-2")

    def test_the_keys_are_shown(self):
        self.browser.evaluate("document.getElementById('tab-see').focus()")
        self.press("?")
        self.wait("document.querySelector('dialog[open]')")
        self.press("Escape")
        self.wait("!document.querySelector('dialog')")
        self.assertEqual(self.focus(), "tab-see")


if __name__ == "__main__":
    unittest.main()
