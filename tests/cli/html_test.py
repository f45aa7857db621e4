"""vgpusim show -o html=FILE: a page that stands alone, with the numbers of the tables."""

import html
import json
import os
import re
import unittest
from html.parser import HTMLParser

import large_cluster
from support import SOURCE, CliTest

CLUSTERS = SOURCE / "scenarios" / "clusters"
GOLDEN = SOURCE / "tests" / "data" / "show" / "atlas_page.txt"
VOID = {"meta"}
MEGABYTE = 1 << 20


class Page(HTMLParser):
    """Reads a page; an element that is not closed where it was opened is an error."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.elements = []  # name and attributes
        self.lines = []  # what a reader finds: headings, notes, names of pictures, rows of tables
        self.rows = []
        self.cells = []
        self.words = ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if "aria-label" in dict(attrs):
            self.lines.append(("picture: " if tag == "svg" else f"{tag}, named: ") + dict(attrs)["aria-label"])
        if tag in ("h1", "h2", "h3", "p", "caption", "li", "summary", "pre", "th", "td"):
            self.words = ""

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()
        if tag in ("th", "td"):
            self.cells.append(self.words)
        elif tag == "tr":
            self.rows.append(self.cells)
            self.lines.append(" | ".join(self.cells))
            self.cells = []
        elif tag in ("h1", "h2", "h3", "p", "caption", "li", "summary", "pre"):
            self.lines.append(f"{tag}: {self.words}")
        else:
            return
        self.words = ""

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words += data.strip("\n")

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


class HtmlPage(CliTest):
    def page(self, *arguments, path="page.html"):
        """The text of the page, which is read strictly."""
        done = self.vgpusim("show", *arguments, "-o", f"html={path}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.endswith(f"\nwritten: {path}\n"), done.stdout)
        text = (self.root / path).read_text(encoding="utf-8")
        self.assertEqual(done.stdout.splitlines()[0], html.unescape(re.search("<h1>(.*?)</h1>", text)[1]))
        return text

    def test_atlas_is_the_page_that_is_written_down(self):
        os.symlink(CLUSTERS / "atlas.json", self.root / "atlas.json")
        lines = Page(self.page("atlas.json")).lines
        self.assertEqual("\n".join(lines) + "\n", GOLDEN.read_text(encoding="utf-8"))

    def test_it_is_whole_and_accessible_and_asks_for_nothing(self):
        for name in ("atlas", "harbor"):
            with self.subTest(cluster=name):
                text = self.page(CLUSTERS / f"{name}.json")
                page = Page(text)
                self.assertEqual(page.named("html"), [{"lang": "en"}])
                self.assertEqual([len(page.named(tag)) for tag in ("h1", "title", "main", "script", "link", "img", "iframe")], [1, 1, 1, 0, 0, 0, 0])
                policy = [meta["content"] for meta in page.named("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
                self.assertEqual(policy, ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"])
                self.assertNotRegex(text, r"https?:|//|@import|\bsrc=|javascript|\son\w+=")
                self.assertEqual({target[0] for target in re.findall(r"url\((.)|href=\"(.)", text) for target in target if target}, {"#"})
                ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
                self.assertEqual(len(ids), len(set(ids)))
                for _, attributes in page.elements:
                    for reference in ("aria-labelledby", "href"):
                        if reference in attributes:
                            self.assertIn(attributes[reference].removeprefix("#"), ids)
                self.assertEqual(len(page.named("caption")), len(page.named("table")))
                self.assertTrue(all("scope" in head for head in page.named("th")))
                pictures = [svg for svg in page.named("svg") if svg.get("aria-hidden") != "true"]
                self.assertTrue(pictures and all(svg["role"] == "img" and svg["aria-label"] for svg in pictures))

    def test_every_row_of_the_tables_is_on_the_page(self):
        for name in ("atlas", "harbor"):
            for by in ("pool", "node", "owner", "kind"):
                for command, form in (("show", "table"), ("show", "wide"), ("why", None)):
                    with self.subTest(cluster=name, by=by, command=command, form=form):
                        rows = [[cell for cell in row if cell] for row in Page(self.page(CLUSTERS / f"{name}.json", "--by", by)).rows]
                        more = ["--by", by, "-o", form] if form else []
                        text = self.vgpusim(command, CLUSTERS / f"{name}.json", *more).stdout
                        printed = [re.split("  +", line) for line in text.splitlines() if re.search(r"\S {2,}\S", line)]
                        self.assertGreater(len(printed), 3)
                        for row in printed:
                            if row[0] != row[0].upper() or row[0] == "TOTAL" or row[0].startswith("MEAN"):
                                # A name that is broken goes on in the next line.
                                wanted = [self.joined(cells[1:]) for cells in rows if cells[0].startswith(row[0])]
                                self.assertIn(self.joined(row[1:]), wanted)

    @staticmethod
    def joined(cells):
        """A row without what divides its cells: a wide cell of a text has two spaces of its own."""
        return re.sub(r"\s+", " ", " ".join(cells))

    def test_every_number_of_the_document_is_on_the_page(self):
        for name in ("atlas", "harbor"):
            with self.subTest(cluster=name):
                page = Page(self.page(CLUSTERS / f"{name}.json", "--all"))
                seen = json.loads(self.vgpusim("show", CLUSTERS / f"{name}.json", "--json").stdout)
                numbers = [[float(cell) for cell in row if re.fullmatch(r"\d+(\.\d)?", cell)] for row in page.rows]
                heads = [row[0] for row in page.rows]

                def is_near(row, wanted):
                    return len(row) >= len(wanted) and all(abs(got - want) < 0.1001 for got, want in zip(row, wanted))

                totals = seen["totals"]
                for row in [*seen["rows"], {**totals, "nodes": range(totals["nodes"]), "key": "TOTAL", "milli": totals["milli"]}]:
                    wanted = [len(row["nodes"]), row["gpus"], *(row[part] / 1000 for part in ("used", "free", "out"))]
                    self.assertTrue(any(head == (row["key"] or row["kind"]) and is_near(row_, wanted) for head, row_ in zip(heads, numbers)), row)
                for shape in seen["shapes"]:
                    parts = [shape["of_use"], shape["scattered"], shape["host_full"], sum(shape["wrong_kind"].values()), shape["out"]]
                    wanted = [shape["run"], shape["wait"], shape["more"], *(part / 1000 for part in parts)]
                    self.assertTrue(any(head == shape["shape"] and is_near(row, wanted) for head, row in zip(heads, numbers)), shape)
                for user in seen["users"]:
                    wanted = [user["run"], user["used"] / 1000, user["wait"], user["asked"] / 1000]
                    self.assertTrue(any(head == user["namespace"] and is_near(row, wanted) for head, row in zip(heads, numbers)), user)
                self.assertEqual(sum(line.startswith("picture: ") and " used, " in line for line in page.lines), totals["nodes"])
                self.assertEqual(self.bars_that_do_not_add_up(page), [])

    @staticmethod
    def bars_that_do_not_add_up(page):
        bars = [line for line in page.lines if line.startswith("picture: ") and line.endswith(" GPUs")]
        assert len(bars) > 8
        wrong = []
        for bar in bars:
            *parts, total = [int(number.replace(".", "")) for number in re.findall(r"\d+\.\d", bar)]
            if sum(parts) != total:
                wrong.append(bar)
        return wrong

    def test_the_command_gives_the_same_answer(self):
        text = self.page(CLUSTERS / "atlas.json", "-l", "pool in (train,dev)", "-n", "train", "--by", "node", "--all")
        command = html.unescape(re.search("<code>(.*?)</code>", text)[1])
        self.assertEqual(command, f"vgpusim show {CLUSTERS / 'atlas.json'} -l 'pool in (train,dev)' -n train --by node --all")
        self.assertRegex(text, "<h1>28 GPUs on 4 nodes")
        self.assertIn("train/llm-3", text)
        self.assertNotIn("serve/ranker", text)

    def test_the_same_input_gives_the_same_bytes_and_replaces_the_page(self):
        first = self.page(CLUSTERS / "harbor.json")
        self.assertEqual(self.page(CLUSTERS / "harbor.json"), first)
        self.assertEqual(self.page(CLUSTERS / "harbor.json", path="new/folder/page.html"), first)
        self.assertEqual(self.present(), ["new", "new/folder", "new/folder/page.html", "page.html"])

    def refusal(self, *arguments):
        before = self.present()
        done = self.vgpusim("show", *arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done)
        self.assertEqual(self.present(), before)
        return done.stderr

    def test_what_cannot_be_a_page_is_one_error(self):
        cluster = self.write("cluster.json", (CLUSTERS / "atlas.json").read_text(encoding="utf-8"))
        (self.root / "folder").mkdir()
        for form in ("html", "html="):
            self.assertIn(f"--output: got '{form}', expected html=FILE, the page to write", self.refusal(cluster, "-o", form))
        self.assertIn("expected table, wide, json, yaml or html=FILE", self.refusal(cluster, "-o", "pdf"))
        self.assertIn("'-', expected a file", self.refusal(cluster, "-o", "html=-"))
        self.assertIn("expected a file, not a folder", self.refusal(cluster, "-o", "html=folder/"))
        self.assertIn("folder", self.refusal(cluster, "-o", "html=folder"))
        self.assertIn("cluster.json", self.refusal(cluster, "-o", f"html={cluster}"))
        os.mkfifo(self.root / "pipe")
        for device in ("/dev/null", "/dev/stdout", "pipe"):
            self.assertIn("expected html=FILE where there is nothing or a file", self.refusal(cluster, "-o", f"html={device}"))
        os.link(cluster, self.root / "other-name.json")
        self.assertIn("other-name.json", self.refusal(cluster, "-o", "html=other-name.json"))
        self.assertIn("-o: got 'html=page.html', expected either a page or --json", self.refusal(cluster, "--json", "-o", "html=page.html"))
        self.assertIn("no node", self.refusal(cluster, "-l", "zone=z", "-o", "html=page.html"))
        self.assertIn("no nodes in", self.refusal(self.write("none.json", '{"kind": "List", "apiVersion": "v1", "items": []}'), "-o", "html=page.html"))

    def test_names_are_no_markup_and_steer_nothing(self):
        evil = "<b onload=x>&'\"\x1b[31m\u202e{{title}}</title>"
        label = {"pool": evil, "kubernetes.io/hostname": evil, "nvidia.com/gpu.product": "Tesla-T4" + evil, "nvidia.com/gpu.memory": "15360", "nvidia.com/gpu.count": "2"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": evil, "labels": label}, "spec": {"unschedulable": True},
                "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "2"}, "conditions": [{"type": "Ready", "status": "True"}]}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": evil, "namespace": evil}, "spec": {
            "nodeSelector": {"x": evil}, "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}
        file = self.write("it's {{evil}}.json", json.dumps({"kind": "List", "apiVersion": "v1", "items": [node, pod]}))
        text = self.page(file)
        page = Page(text)
        self.assertNotIn("<b ", text)
        self.assertFalse({"b", "script"} & {name for name, _ in page.elements})
        self.assertFalse([character for character in text if (ord(character) < 32 and character != "\n") or 0x7F <= ord(character) < 0xA0 or character == "\u202e"])
        self.assertEqual(text.count("<title>"), 1)
        self.assertIn("&lt;b onload=x&gt;&amp;&#39;&quot;\\x1b[31m\\u202e{{title}}&lt;/title&gt;", text)
        self.assertIn(html.escape("it'\\''s {{evil}}.json'", quote=False).replace("'", "&#39;"), text)

    def test_clusters_without_gpus_or_pods(self):
        bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8"}}}
        page = Page(self.page(self.write("bare.json", json.dumps(bare))))
        self.assertTrue(page.lines[1].startswith("h1: 0 GPUs on 1 node. Looked for: "), page.lines)
        self.assertIn("p: no pods in these files: everything counts as free", page.lines)
        self.assertEqual([page.named("table"), "p: Nothing waits." in page.lines], [[], True])

    def test_prices_are_on_the_page(self):
        prices = self.write("prices.json", json.dumps({"gpu_hour": {"A100-80GB": 2.10, "T4": 0.30}, "currency": "EUR"}))
        page = Page(self.page(CLUSTERS / "atlas.json", "--prices", prices))
        line = next(line for line in self.vgpusim("show", CLUSTERS / "atlas.json", "--prices", prices).stdout.splitlines() if line.startswith("EUR A DAY"))
        self.assertIn("p: " + line, page.lines)

    def test_thousands_of_nodes_stay_a_page(self):
        cluster = self.root / "large.json"
        large_cluster.write(cluster, nodes=5000, pods=20_000, seed=1)
        text = self.page(cluster)
        self.assertLess(len(text.encode()), 2 * MEGABYTE)
        self.assertIn("neighbours share a strip", text)
        self.assertLessEqual(text.count("<use "), 2000)
        Page(text)


if __name__ == "__main__":
    unittest.main()
