"""Every control of vgpualloc.html on five clusters: the command that is shown, run natively, prints what the page says.

The clusters are atlas, harbor, and the three of docs/questions.md: NVIDIA's GPU operator, HAMi, Volcano with queues.
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from page_support import CLUSTERS, IDLE, ROOT, SEEN, VGPUSIM, PageTest, first_sentence, not_in_a_sample

sys.path.insert(0, str(ROOT / "tests" / "questions"))
import clusters  # noqa: E402

OPTIONS = "[...document.getElementById({!r}).options].map((option) => option.value)"


def comparable(text):
    """Without times, and without the bounds for which the page has no solver."""
    bound = r"; by (what pods ask for|a linear program of what fits) .*?(no plan leaves fewer|with at most \d+ moves?)"
    return re.sub(rf"{bound}|\d+(\.\d+)? (ms|s)\b", "-", " ".join(text.split()))


class Walk(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.clusters = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.clusters.cleanup)
        cls.place = Path(cls.clusters.name)
        clusters.write_all(cls.place)
        for name in ("atlas", "harbor"):
            (cls.place / f"{name}.json").write_bytes((CLUSTERS / f"{name}.json").read_bytes())

    def read(self, name):
        for manifest in self.place.glob("one-more-of-*"):
            manifest.unlink()  # of another cluster
        self.choose_files(self.place / f"{name}.json")
        self.wait(SEEN)
        items = json.loads((self.place / f"{name}.json").read_text(encoding="utf-8"))["items"]
        self.pods = [entry for entry in items if entry["kind"] == "Pod"]
        shown = json.loads(self.native("show", f"{name}.json", "--by", "node", "--json").stdout)
        open_last = sorted(shown["rows"], key=lambda row: not row["out_because"])
        self.kinds = {row["kind"]: row["key"] for row in open_last}  # a node of each kind, one that takes pods where there is one
        self.cordoned = [row["key"] for row in shown["rows"] if any(entry["because"] == "cordoned" for entry in row["out_because"])]
        self.waiting = [entry["pod"] for entry in shown["waiting"]]
        self.asked = 0

    def native(self, *arguments):
        return subprocess.run([VGPUSIM, *arguments], cwd=self.place, capture_output=True, text=True, check=False)

    def compare(self):
        """The answer, or the error, is that of the command."""
        self.asked += 1
        command = self.command()
        for name in command:  # manifests that the page wrote, as a reader would save them
            if name.startswith("one-more-of-") and not (self.place / name).exists():
                self.click(f"[aria-label='Save this file: {name}']")
                (self.place / name).write_bytes(self.saved(name))
        done = self.native(*command[1:])
        if done.returncode != 0:
            said = re.sub(r"^vgpusim: (--[\w-]+: )?", "", done.stderr.strip())
            self.assertTrue(self.text("#panel .error").endswith(said.split(", expected ")[-1]), (self.text("#panel .error"), command))
            return
        self.assertEqual(self.text("#panel .error"), "", command)
        self.assertEqual(comparable(self.output_in_terminal()), comparable(done.stdout), command)
        sentence = first_sentence(done.stdout)
        if command[1] != "plan" or "--consolidate" in command:
            self.assertIn(" ".join(sentence.split()).rstrip("."), " ".join(self.text("#panel").split()), command)
        for part in ("used", "free", "out of service"):
            amounts = re.search(rf"^  {part} +([0-9.]+) +([0-9.]+) +([-+0-9.]+)", done.stdout, re.M)
            if amounts:
                self.assertIn("\t".join((part, *amounts.groups())), self.text("#whatif-answer"), command)

    def each_of(self, field):
        for value in self.browser.evaluate(OPTIONS.format(field)):
            self.drawn(f"(() => {{ const e = document.getElementById('{field}'); e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change')); }})()")
            yield value

    def walk_see(self):
        self.go("see")
        for _ in self.each_of("by"):
            self.compare()
        for who in self.each_of("who"):
            if who != "namespace":
                self.assert_part_same_in_a_terminal("users", self.place)
        self.set("who", "namespace")
        self.drawn("document.getElementById('all').click()")
        self.compare()
        self.choose("order", "fullest")
        self.click("#only-idle")
        self.compare()

    def walk_why(self):
        self.go("why")
        self.compare()
        for pod in self.browser.evaluate("[...document.querySelectorAll('.waiting section')].map((s) => s.querySelector('button').textContent)"):
            self.drawn(f"document.getElementById({json.dumps('pod-' + pod)}).click()")
            self.compare()

    def changes(self):
        """Kinds of changes of the menu, with what is filled in."""
        mig = [node for kind, node in self.kinds.items() if " mig " in kind]
        some = list(self.kinds.values())
        yield from (("--add-nodes", {"like": node}) for node in some)
        yield from ((flag, {"set": some[0]}) for flag in ("--drain", "--fail"))
        yield "--uncordon", {"set": (self.cordoned or some)[0]}
        yield from (("cut", {"set": node, "layout": "all-1g.10gb"}) for node in mig[:2] or some[:1])
        yield from (("mode", {"set": node, "mode": "mps"}) for node in some[:2])
        yield from (("--policy", {"policy": policy}) for policy in ("best_fit", "binpack", "spread", "fgd", "worst_fit", "first_fit", "bid_price"))
        yield "--anew", {}
        one_per_namespace = {pod["metadata"]["namespace"]: pod["metadata"]["name"] for pod in self.pods}
        yield from (("one-more", {"like-pod": f"{namespace}/{name}"}) for namespace, name in one_per_namespace.items())

    def walk_what_if(self):
        self.go("whatif")
        self.compare()
        seen = set()
        for kind, fields in self.changes():
            seen.add(kind)
            if not self.add(kind, fields, "add"):
                continue
            self.compare()
            self.drawn("document.getElementById('over').click()")
        self.assertEqual(seen | {"--add-pods"}, set(self.browser.evaluate(OPTIONS.format("change"))))
        for node in self.kinds.values():
            if self.add("--add-nodes", {"like": node}, "find"):
                self.compare()
        for node in [node for kind, node in self.kinds.items() if " mig " in kind][:1]:
            if not self.add("cut", {"set": node}, "find"):
                continue
            self.compare()
            for row in range(self.browser.evaluate("document.querySelectorAll('#whatif-answer tbody button').length")):
                self.drawn(f"document.querySelectorAll('#whatif-answer tbody button')[{row}].click()")
                self.compare()
                self.drawn("document.getElementById('undo').click()")
        self.drawn("document.getElementById('over').click()")

    def add(self, kind, fields, pressed):
        self.choose("change", kind)
        for field, value in fields.items():
            self.choose(field, value)
        before = self.command()
        self.browser.evaluate("document.getElementById('panel').firstElementChild.id = 'before'")
        self.browser.evaluate(f"document.getElementById('{pressed}').click()")
        self.wait(f"{IDLE} && (!document.getElementById('before') || document.getElementById('wrong'))")
        if self.browser.evaluate("!document.getElementById('wrong')"):
            return True
        self.assertEqual(self.command(), before, "what is refused is not in the list")
        nodes = fields.get("set", fields.get("like"))
        flag, value = {"cut": ("--set-mode", f"{nodes}=mig:{fields.get('layout')}"), "mode": ("--set-mode", f"{nodes}={fields.get('mode')}")}.get(kind, (kind, nodes))
        if pressed == "find":
            flag, value = ("--find-layout" if kind == "cut" else "--find-nodes"), nodes
            if "--find-nodes" in before:  # the page asks one search in place of the other
                before = before[:before.index("--find-nodes")] + before[before.index("--find-nodes") + 2:]
        done = self.native(*before[1:], flag, value)  # as the page asks it
        self.assertNotEqual(done.returncode, 0)
        said = done.stderr.strip().split(", expected ")[-1].removeprefix("none ")
        self.assertTrue(self.text("#wrong").endswith(said), (self.text("#wrong"), done.stderr))
        return False

    def walk_defragment(self):
        self.go("defragment")
        for pod in self.waiting[:4]:
            self.choose("goal-pod", pod)
            self.wait(f"document.querySelector('#terminal code')?.textContent.includes({json.dumps(pod)})")
            self.browser.settle(0.3)
            self.compare()
        for _ in self.each_of("goal"):
            self.compare()
        self.drawn("(() => { const e = document.getElementById('moves'); e.value = 5; e.dispatchEvent(new Event('change')); })()")
        self.compare()

    def walk_simulate(self, name):
        self.go("simulate")
        for source, file, parts in (("sacct", f"{name}-sacct.txt", ("import", "forecast")), ("used", f"{name}-used.csv", ("forecast",))):
            if not (self.place / file).exists():
                continue
            self.set("records-of", source)
            self.choose_files(self.place / file, selector="#records")
            for part in parts:
                self.wait(f"document.getElementById('terminal-{part}')")
                self.browser.settle(0.3)
                self.assert_part_same_in_a_terminal(part, self.place)

    def walk_all(self, name):
        self.read(name)
        for walk in (self.walk_see, self.walk_why, self.walk_what_if, self.walk_defragment):
            walk()
        self.walk_simulate(name)
        self.assertGreater(self.asked, 40)

    def test_atlas(self):
        self.walk_all("atlas")

    @not_in_a_sample
    def test_harbor(self):
        self.walk_all("harbor")

    @not_in_a_sample
    def test_gpu_operator(self):
        self.walk_all("gpu-operator")

    @not_in_a_sample
    def test_hami(self):
        self.walk_all("hami")

    def test_volcano_with_queues(self):
        self.walk_all("volcano-queues")


if __name__ == "__main__":
    unittest.main()
