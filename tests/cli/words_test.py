"""Words that docs/glossary.md replaces for a live cluster are in no output of show, why, whatif, plan and forecast, and not in
their pages: allocated, available, unschedulable, vGPU. Names of resources and of the program, keys of JSON and what
kube-scheduler itself says are apart."""

import json
import re
import unittest

from support import SOURCE, CliTest

CLUSTERS = ("scenarios/clusters/atlas.json", "scenarios/clusters/harbor.json")
HISTORY = "scenarios/forecast/atlas-used.csv"
FORMER = re.compile(r"\b(allocated|available|unschedulable|vgpus?)\b", re.IGNORECASE)
PAGES = ("show.md", "why.md", "whatif.md", "defragmentation.md", "forecast.md")


def own_words(text):
    """Without what others say: kube-scheduler, names of resources, labels and fields, and the name of the plugin."""
    text = re.sub(r"kube-scheduler: [^\n]*(?:\n  [^\n]*)*", "", text)
    text = re.sub(r"\d+/\d+ nodes are available:[^\n]*", "", text)
    text = re.sub(r"`[^`\n]*`", "", text)
    text = re.sub(r"kubectl[ -]vgpu\b", "", text)
    return re.sub(r"[\w.-]+/[\w./-]+", "", text)


def values_of(document, key=""):
    """Texts in a document, without its keys and without what kube-scheduler says."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from values_of(value, name)
    elif isinstance(document, list):
        for value in document:
            yield from values_of(value, key)
    elif isinstance(document, str) and key not in ("scheduler_words", "code", "text"):  # `text` is about a code
        yield document


class Words(CliTest):
    def printed(self, *arguments):
        done = self.vgpusim(*arguments, cwd=SOURCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def assert_own(self, text, where):
        former = [line for line in own_words(text).splitlines() if FORMER.search(line)]
        self.assertEqual(former, [], where)

    def check(self, *arguments):
        self.assert_own(self.printed(*arguments), arguments)
        for text in values_of(json.loads(self.printed(*arguments, "--json"))):
            self.assert_own(text, (*arguments, "--json"))

    def waiting(self, cluster):
        return [pod["pod"] for pod in json.loads(self.printed("show", cluster, "--json"))["waiting"]]

    def test_the_search_finds_such_words(self):
        for text in ("3 GPUs available", "Allocated: 3", "a vGPU", "2 vgpus", "`a` is unschedulable"):
            self.assertIsNotNone(FORMER.search(own_words(text)), text)
        for text in ("volcano.sh/vgpu-number 1", "vgpusim why", "kubectl vgpu show", "`allocated_milli`",
                     "0/6 nodes are available: 1 node(s) were unschedulable."):
            self.assertIsNone(FORMER.search(own_words(text)), text)

    def test_show(self):
        for cluster in CLUSTERS:
            self.check("show", cluster)
            self.assert_own(self.printed("show", cluster, "-o", "wide", "--all"), cluster)

    def test_why(self):
        for cluster in CLUSTERS:
            self.check("why", cluster)
            for pod in self.waiting(cluster):
                self.check("why", cluster, "--pod", pod)
        for named in ("research/sweep", "serve/ranker", "tests/data/why/trainer.yaml"):
            self.check("why", CLUSTERS[0], "--pod", named)

    def test_whatif(self):
        for changes in (["--uncordon", "a100-3"], ["--drain", "a100-1"], ["--fail", "mig-1"], ["--anew"],
                        ["--set-mode", "mig-2=mig:all-balanced"], ["--find-nodes", "a100-1"], ["--find-layout", "mig-*"]):
            self.check("whatif", CLUSTERS[0], *changes)
            self.assert_own(self.printed("whatif", CLUSTERS[0], *changes, "--all"), changes)

    def test_plan(self):
        self.check("plan", CLUSTERS[0], "--pod", "train/llm-3")
        self.check("plan", CLUSTERS[0], "--consolidate", "nodes")

    def test_forecast(self):
        self.check("forecast", CLUSTERS[0], "--history", HISTORY)

    def test_pages(self):
        for page in PAGES:
            self.assert_own((SOURCE / "docs" / page).read_text(encoding="utf-8"), page)


if __name__ == "__main__":
    unittest.main()
