"""What if, in vgpualloc.html: every change of the menu, and what it searches for."""

import json
import unittest
from pathlib import Path

from page_support import CLUSTERS, SEEN, PageTest, first_sentence, printed


class WhatIf(PageTest):
    def setUp(self):
        super().setUp()
        self.try_atlas()
        self.go("whatif")

    def add(self, change, **fields):
        self.choose("change", change)
        for field, value in fields.items():
            self.choose(field, value)
        self.drawn("document.getElementById('add').click()")

    def find(self, change, **fields):
        self.choose("change", change)
        for field, value in fields.items():
            self.choose(field, value)
        self.drawn("document.getElementById('find').click()")

    def test_every_change_of_the_menu(self):
        menu = self.browser.evaluate("[...document.getElementById('change').options].map((o) => o.textContent)")
        self.assertEqual(menu, ["Add nodes", "Drain", "Fail", "Uncordon", "Cut MIG", "Other mode", "Other policy", "Place all anew", "One more of a pod",
                                "Add pods from a file"])
        for change, fields, flags in (
                ("--add-nodes", {"like": "t4-1"}, ["--add-nodes", "t4-1=1"]), ("--drain", {"set": "a100-*"}, ["--drain", "a100-*"]),
                ("--fail", {"set": "mig-1"}, ["--fail", "mig-1"]), ("--uncordon", {"set": "a100-3"}, ["--uncordon", "a100-3"]),
                ("cut", {"set": "mig-2", "layout": "all-3g.40gb"}, ["--set-mode", "mig-2=mig:all-3g.40gb"]),
                ("mode", {"set": "a100-2", "mode": "mps"}, ["--set-mode", "a100-2=mps"]),
                ("--policy", {"policy": "binpack"}, ["--policy", "binpack"]), ("--anew", {}, ["--anew"])):
            self.add(change, **fields)
            self.assertEqual(self.command(), ["vgpusim", "whatif", "atlas.json", *flags])
            sentence = first_sentence(self.assert_same_in_a_terminal())
            self.assertEqual(self.text("#whatif-answer h1"), sentence)
            self.drawn("document.getElementById('over').click()")
        self.drawn("document.getElementById('undo').click()")
        self.assertEqual(self.command()[-1], "--anew", "what was taken away by Start over is back")

    def test_one_more_of_a_pod(self):
        self.add("one-more", **{"like-pod": "train/cv-0"})
        self.assertEqual(self.command()[-2:], ["--add-pods", "one-more-of-train-cv-0.json"])
        self.press_button("Save this file")
        manifest = self.saved("one-more-of-train-cv-0.json")
        pod = json.loads(manifest)
        self.assertEqual((pod["kind"], pod["metadata"]["name"], "nodeName" in pod["spec"]), ("Pod", "cv-0-one-more", False))
        (Path(self.folder.name) / "atlas.json").write_bytes((CLUSTERS / "atlas.json").read_bytes())
        self.assertIn("cv-0-one-more", self.assert_same_in_a_terminal(cwd=self.folder.name))
        self.add("one-more", **{"like-pod": "train/cv-0"})
        self.assertEqual(self.command()[-1], "one-more-of-train-cv-0-2.json")
        self.choose("change", "one-more")
        self.choose("like-pod", "train/nosuch")
        self.click("#add")
        self.wait("document.getElementById('wrong')")
        self.assertEqual(self.browser.evaluate("document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent"),
                         "No pod of this cluster is called train/nosuch.")

    def test_one_more_of_a_pod_of_hami_that_is_in_yaml(self):
        self.press_button("Other files")
        self.wait("document.getElementById('try-atlas')")
        yaml = Path(self.folder.name) / "harbor.yaml"
        yaml.write_text("# YAML\n" + (CLUSTERS / "harbor.json").read_text(encoding="utf-8"), encoding="utf-8")
        self.choose_files(yaml)
        self.wait(SEEN)
        self.go("whatif")
        self.add("one-more", **{"like-pod": "prod/chat-0"})
        self.press_button("Save this file")
        pod = json.loads(self.saved("one-more-of-prod-chat-0.json"))
        self.assertNotIn("annotations", pod["metadata"], "the devices of the first are not the second's")
        self.assert_same_in_a_terminal(cwd=self.folder.name)

    def test_find_nodes(self):
        self.find("--add-nodes", like="a100-1")
        self.assertEqual(self.command()[-2:], ["--find-nodes", "a100-1"])
        lines = self.assert_same_in_a_terminal().split("\n")
        self.assertEqual(self.text(".found"), lines[0])
        self.assertEqual(self.text("#whatif-answer h1"), lines[lines.index("") + 1])
        self.assertIn("serve/ranker-4: asks 1 mig-3g.40gb, the kind is A100-80GB whole", self.text("#whatif-answer"))
        self.drawn("document.getElementById('take-nodes').click()")
        self.assertEqual(self.command()[-2:], ["--add-nodes", "a100-1=1"])

    def test_find_layout(self):
        self.find("cut", set="mig-*")
        self.assertEqual(self.command()[-2:], ["--find-layout", "mig-*"])
        lines = self.assert_same_in_a_terminal().split("\n")
        self.assertEqual(self.text("#whatif-answer h1"), lines[0])
        self.assertEqual(self.text("#whatif-answer .answer p"), lines[1])
        rows = self.browser.evaluate("[...document.querySelectorAll('#whatif-answer tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
        self.assertEqual(rows[0], ["mig-2 all-balanced", "18", "0", "7", "18.0", "5", "6", "3"])
        self.assertEqual(rows[1][0], "as now")
        self.assertEqual(len(rows), 16)
        self.drawn("document.querySelector('#whatif-answer tbody button').click()")
        self.assertEqual(self.command()[-2:], ["--set-mode", "mig-2=mig:all-balanced"])

    def refused(self, words, button="add"):
        self.click("#" + button)
        self.wait("document.getElementById('wrong')")
        self.assertEqual(self.text("#wrong"), words)
        self.assertEqual(self.browser.evaluate("document.activeElement.getAttribute('aria-describedby')"), "wrong")
        self.assertEqual(self.command()[1:], ["whatif", "atlas.json"], "it is not among the changes")
        return self.focus()

    def test_a_change_that_is_refused_is_not_in_the_list(self):
        self.choose("change", "--drain")
        self.assertEqual(self.refused("Name the nodes first."), "set")
        self.choose("set", "r0")
        self.assertEqual(self.refused("r0 is not a node of the cluster: a100-1, a100-2, a100-3, mig-1, mig-2, t4-1"), "set")
        self.choose("change", "cut")
        self.assertEqual(self.refused("Name the nodes first.", "find"), "set")
        self.choose("set", "t4-1")
        self.assertEqual(self.refused("node t4-1: Tesla-T4-SHARED is not a GPU that the catalog has MIG profiles of", "find"), "set")
        self.choose("set", "mig-1")
        self.choose("layout", "foo")
        self.assertEqual(self.refused("node mig-1: foo is not a layout of A100-80GB: all-disabled, all-1g.10gb, all-1g.10gb.me, all-1g.20gb, all-2g.20gb, all-3g.40gb, "
                                      "all-4g.40gb, all-7g.80gb, all-balanced"), "layout")
        self.choose("change", "mode")
        listed = [mode["name"] for mode in json.loads(printed("modes", "--json"))]
        self.assertEqual(self.browser.evaluate("[...document.getElementById('mode').options].map((o) => o.value)"), [mode for mode in listed if mode != "mig"])
        self.assertEqual(self.text("#whatif-answer .error"), "")

    def test_rows_have_the_names_of_the_command(self):
        self.choose("change", "--add-nodes")
        self.drawn("document.getElementById('add').click()")
        names = self.browser.evaluate("[...document.querySelectorAll('#whatif-answer tbody th')].map((cell) => cell.textContent)")
        self.assertIn("T4 replicas, one node", names)
        self.assertIn("mig-2g.20gb free", names)

    def test_placed_anew_says_where_moves_are(self):
        self.choose("change", "--anew")
        self.drawn("document.getElementById('add').click()")
        self.assertIn("Not a plan: see Defragment.", self.text("#whatif-answer .answer"))
        self.assertNotIn("vgpusim", self.text("#whatif-answer"))
        self.browser.evaluate("document.querySelector('#whatif-answer .answer button').click()")
        self.wait("document.querySelector('#tab-defragment[aria-selected=true]')")


if __name__ == "__main__":
    unittest.main()
