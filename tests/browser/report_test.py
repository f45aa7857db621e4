"""report.html as a reader meets it: opened in headless Chromium, looked at, moved about in."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import chromium
from support import QUICKSTART, SOURCE, VGPUSIM, clean_environment, skip_or_fail

SAMPLE = os.environ.get("REPORT_SAMPLE", "report_sample")
WIDE, NARROW = 1280, 390
# Whether a canvas has pixels of more than one colour.
IS_DRAWN = """[...document.querySelectorAll(%s)].map((canvas) => {
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const colours = new Set();
  for (let i = 0; i < pixels.length; i += 4 * 31) if (pixels[i + 3] > 0) colours.add(pixels.slice(i, i + 3).join());
  return colours.size > 2;
})"""
PICTURE = "document.getElementById('occupancy-canvas').toDataURL()"
CLOSE_UP = "document.querySelector('.nodes').innerHTML"
SLIDER = "document.getElementById('moment')"


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        root = Path(cls.folder.name)
        cls.sample, cls.run_folder, cls.departing = root / "sample.html", root / "run", root / "departing"
        lists = ["--nodes", str(QUICKSTART / "nodes.csv"), "--pods", str(QUICKSTART / "pods.csv")]
        subprocess.run([SAMPLE, str(cls.sample)], check=True)
        environment = clean_environment(HOME=str(root))
        subprocess.run([VGPUSIM, "run", *lists, "--out", str(cls.run_folder)], check=True, env=environment,
                       stdout=subprocess.DEVNULL)
        subprocess.run([VGPUSIM, "run", *lists, "--departures", "--discipline", "easy", "--offered-load", "0.9", "--out", str(cls.departing)],
                       check=True, env=environment, stdout=subprocess.DEVNULL)
        cls.pages = [cls.sample, cls.run_folder / "report.html", cls.departing / "report.html"]
        cls.browser = chromium.Browser(CHROMIUM)
        cls.addClassCleanup(cls.browser.close)

    def value(self, expression):
        return self.browser.evaluate(expression)

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)}).textContent")

    def cards(self):
        """Headline numbers by title; of one run."""
        return self.value("Object.fromEntries([...document.querySelectorAll('.headline')].map((card) =>"
                          " [card.querySelector('h3').textContent, card.querySelector('strong').textContent]))")

    def test_every_page_is_drawn_without_a_complaint_or_a_request(self):
        for page in self.pages:
            for width, dark in ((WIDE, False), (WIDE, True), (NARROW, False), (NARROW, True)):
                with self.subTest(page=page.parent.name, width=width, dark=dark):
                    self.browser.open(page, width=width, dark=dark)
                    self.assertEqual(self.browser.complaints(), [])
                    self.assertEqual(self.browser.requests(), [page.resolve().as_uri()])
                    self.assertEqual(self.value(IS_DRAWN % "'#occupancy-canvas'"), [True])
                    charts = self.value("document.querySelectorAll('.chart').length")
                    self.assertGreaterEqual(charts, 3)
                    # dygraphs draws on the first canvas of a plot; the second one is for the pointer.
                    self.assertEqual(self.value(IS_DRAWN % "'.plot canvas:first-of-type'"), [True] * charts)

    def test_nothing_is_wider_than_the_window(self):
        for page in self.pages:
            for width in (NARROW, WIDE):
                with self.subTest(page=page.parent.name, width=width):
                    self.browser.open(page, width=width)
                    self.assertEqual(self.value("document.documentElement.scrollWidth"), width)
                    # Only the boxes of tables may have more than they show.
                    wide = self.value("[...document.querySelectorAll('main *')].filter((part) =>"
                                      " part.getBoundingClientRect().right > innerWidth + 1 && !part.closest('.scroll, .bar')"
                                      " && !part.closest('[hidden]')).map((part) => part.outerHTML.slice(0, 120))")
                    self.assertEqual(wide, [])

    def test_no_headline_leaves_its_card(self):
        for width in (NARROW, 700, 1000, WIDE):
            self.browser.open(self.departing / "report.html", width=width)
            out = self.value("[...document.querySelectorAll('.headline')].filter((card) => [...card.querySelectorAll('*')]"
                             ".some((part) => part.getBoundingClientRect().right > card.getBoundingClientRect().right))"
                             ".map((card) => card.textContent)")
            self.assertEqual(out, [], width)

    def test_the_figures_are_those_of_the_summary(self):
        for folder, when in ((self.run_folder, "at the end"), (self.departing, "mean over time")):
            with self.subTest(folder.name):
                summary = json.loads((folder / "summary.json").read_text())
                self.browser.open(folder / "report.html")
                cards = self.cards()
                pods, gpu = summary["pods"], summary["gpu"]
                self.assertEqual(cards["Pods placed"], f"{pods['placed']:,}")
                self.assertEqual(cards["Pods not placed"], f"{pods['failed']:,}")
                self.assertEqual(cards["GPUs accepted, of those asked for"],
                                 f"{summary['acceptance']['accepted_gpu_ratio'] * 100:.2f} %")
                self.assertEqual(cards["GPUs served, " + when], f"{gpu['served_ratio'] * 100:.2f} %")
                self.assertEqual(cards["GPUs allocated, " + when], f"{gpu['allocation_mean_ratio'] * 100:.2f} %")
                reasons = self.value("Object.fromEntries([...document.querySelectorAll('#failures tbody tr')].map((row) =>"
                                     " [row.children[0].textContent, row.children[1].textContent]))")
                expected = {reason: f"{count:,}" for reason, count in pods["failed_by_reason"].items()}
                self.assertEqual(reasons, expected)

    def test_what_the_devices_give_out_and_draw_is_that_of_the_summary(self):
        root = Path(self.folder.name)
        model, out = SOURCE / "traces" / "models" / "every-mode.json", root / "every-mode-run"
        nodes = root / "every-mode"
        for arguments in (["generate", model, "--out", nodes],
                          ["run", "--format", "kubernetes", "--nodes", nodes / "nodes.json", "--classes", nodes / "classes.yaml",
                           "--pods", nodes / "arrivals.csv", "--discipline", "easy", "--out", out]):
            subprocess.run([VGPUSIM, *map(str, arguments)], check=True, env=clean_environment(HOME=str(root)),
                           stdout=subprocess.DEVNULL)
        summary = json.loads((out / "summary.json").read_text())
        self.browser.open(out / "report.html")
        self.assertEqual(self.browser.complaints(), [])
        titles = self.value("[...document.querySelectorAll('.chart h2')].map((title) => title.textContent)")
        for title in ("Running pods", "Jobs in the queue", "Device memory given out, GiB", "Compute given out, in devices",
                      "Power of the GPUs whose power is known, W", "MIG slices stranded for 4g.20gb"):
            self.assertIn(title, titles)
        figures = self.value("Object.fromEntries([...document.querySelectorAll('tr')].filter((row) => row.children.length === 2)"
                             ".map((row) => [row.children[0].textContent, row.children[1].textContent]))")
        power = summary["power"]
        self.assertEqual(figures["Energy"], f"{power['energy_kwh']:,.1f} kWh")
        self.assertEqual(figures["Power, mean"], f"{power['mean_w'] / 1000:.2f} kW")
        for entry in summary["stranded_slices"]:
            self.assertEqual(figures[f"MIG slices stranded for {entry['profile']}, mean"], f"{entry['mean']:.2f}")
        groups = self.value("[...document.querySelectorAll('#waits option')].map((option) => option.textContent)")
        self.assertTrue(any(group.startswith("queue ") for group in groups), groups)
        self.assertTrue(any(group.startswith("class ") for group in groups), groups)

    def test_the_waits_are_those_of_the_summary(self):
        summary = json.loads((self.departing / "summary.json").read_text())
        self.browser.open(self.departing / "report.html")
        for table, key in (("#spread-0", "wait_s"), ("#spread-1", "jct_s")):
            shown = self.value(f"[...document.querySelectorAll('{table} tr.all td[title]')].map((cell) => cell.title)")
            expected = [summary[key][name] for name in ("mean", "p50", "p95", "p99", "max")]
            self.assertEqual(len(shown), 5)
            for text, value in zip(shown, expected):
                self.assertAlmostEqual(float(text.removesuffix(" s").replace(",", "")), value, delta=0.001)
        self.assertTrue(self.value("!!document.querySelector('#waits canvas')"))

    def test_the_picture_agrees_with_the_tables(self):
        # What the cells of the first picture have in use together is what the table of models says.
        for folder in (self.run_folder, self.departing):
            self.browser.open(folder / "report.html")
            titles = self.value("""(() => {
              const data = JSON.parse(document.getElementById('report-data').textContent), run = data.runs[0];
              const groups = data.clusters[run.cluster].groups;
              const cells = groups.reduce((sum, group) => sum + group.gpus * group.columns, 0);
              const history = read_history(run.history, cells);
              history.seek(history.shown);
              let cell = 0;
              return groups.map((group) => {
                let used = 0;
                for (let i = 0; i < group.gpus * group.columns; ++i) used += history.look(cell++).used;
                return [group.model, used];
              });
            })()""")
            used = {}
            for model, milli in titles:
                used[model] = used.get(model, 0) + milli
            rows = self.value("[...document.querySelectorAll('#models tbody tr')].map((row) =>"
                              " [...row.children].map((cell) => cell.textContent))")
            self.assertEqual(len(rows), len(used))
            for model, _, gpus, allocated, *_ in rows:
                self.assertEqual(allocated, f"{used[model] / (10 * int(gpus.replace(',', ''))):.2f} %", model)

    def test_the_slider_moves_the_picture(self):
        for page in self.pages:
            with self.subTest(page.parent.name):
                self.browser.open(page)
                before, near = self.value(PICTURE), self.value(CLOSE_UP)
                heading = self.text("#occupancy-moment")
                self.value(f"{SLIDER}.value = 40; {SLIDER}.dispatchEvent(new Event('input'))")
                self.assertNotEqual(self.value(PICTURE), before)
                self.assertNotEqual(self.value(CLOSE_UP), near)
                self.assertNotEqual(self.text("#occupancy-moment"), heading)
                self.value("document.getElementById('to-shown').click()")
                self.assertEqual(self.value(PICTURE), before)
                self.assertEqual(self.value(CLOSE_UP), near)
                self.assertEqual(self.text("#occupancy-moment"), heading)

    def test_the_same_moment_looks_the_same_from_either_side(self):
        self.browser.open(self.sample)
        go = f"{SLIDER}.value = %d; {SLIDER}.dispatchEvent(new Event('input'))"
        self.value(go % 100)
        forward = self.value(PICTURE)
        self.value(go % 400)
        self.value(go % 100)
        self.assertEqual(self.value(PICTURE), forward)

    def test_the_keyboard_reaches_and_moves_everything(self):
        self.browser.open(self.sample)
        reached = []
        for _ in range(70):
            self.browser.press("Tab", 9)
            reached.append(self.value("(() => { const at = document.activeElement; const style = getComputedStyle(at);"
                                      " return [at.id || at.dataset.curve || at.dataset.axis || at.dataset.order || at.tagName,"
                                      " style.outlineStyle !== 'none' || at.matches('summary')]; })()"))
        names = [name for name, _ in reached]
        for name in ("load", "time", "served", "allocation", "play", "moment", "occupancy-canvas", "list", "SELECT", "INPUT"):
            self.assertIn(name, names)
        self.assertEqual([name for name, outlined in reached if not outlined and name not in ("BODY", "HTML")], [])

        self.value(f"{SLIDER}.focus()")
        at = int(self.value(SLIDER + ".value"))
        before = self.value(PICTURE)
        last = int(self.value(SLIDER + ".max"))
        for key, code, expected in (("ArrowRight", 39, at + 1), ("ArrowLeft", 37, at), ("End", 35, last), ("Home", 36, 0)):
            self.browser.press(key, code)
            self.assertEqual(int(self.value(SLIDER + ".value")), expected)
        self.assertNotEqual(self.value(PICTURE), before)
        spoken = self.value(SLIDER + ".getAttribute('aria-valuetext')")
        self.assertIn("after the first arrival", spoken)
        self.assertEqual(spoken, self.text("#moment-text"))

        # The canvas's arrows choose the node that is shown close up.
        self.value("document.getElementById('occupancy-canvas').focus()")
        self.browser.press("End", 35)
        self.assertEqual(self.text(".where"), "Nodes 37 to 38 of 38")
        self.assertEqual(self.text(".node.chosen h4"), "shared-19L40S")

    def test_playing_moves_on_until_it_is_paused(self):
        self.browser.open(self.sample)
        play = "document.getElementById('play')"
        begin = int(self.value(SLIDER + ".value"))
        self.value(play + ".focus()")
        self.browser.press("Enter", 13, "\r")
        self.browser.settle(1.0)
        self.assertEqual(self.value(play + ".textContent"), "Pause")
        self.browser.press("Enter", 13, "\r")
        end = int(self.value(SLIDER + ".value"))
        self.assertGreater(end, begin)
        self.browser.settle(0.4)
        self.assertEqual(int(self.value(SLIDER + ".value")), end)

    def test_instances_stand_in_their_slices(self):
        self.browser.open(self.sample)
        parts = self.value("[...document.querySelectorAll('.bar.sliced')].map((bar) => [bar.getAttribute('aria-label'),"
                           " [...bar.children].map((part) => [part.textContent || 'stranded', parseFloat(part.style.left),"
                           " parseFloat(part.style.width)])])")
        sizes = {"1g.5gb": 12.5, "2g.10gb": 25, "3g.20gb": 50, "stranded": 12.5}
        self.assertGreater(sum(len(inside) for _, inside in parts), 50)
        for spoken, inside in parts:
            end = 0
            for name, left, width in sorted(inside, key=lambda part: part[1]):
                self.assertEqual(width, sizes[name])
                self.assertGreaterEqual(left, end, spoken)  # no two of them in one slice
                end = left + width
                if name != "stranded":
                    self.assertIn(f"{name} from slice {int(left / 12.5)}", spoken)
            self.assertLessEqual(end, 100)
        self.assertTrue(self.value("document.querySelectorAll('.bar.closed').length === 8"))
        self.assertIn("stranded", self.text("#parts-legend"))

    def test_a_node_can_be_found(self):
        self.browser.open(self.sample)
        find = ("(() => { const box = document.querySelector('#closeup input'); box.value = %s;"
                " box.dispatchEvent(new Event('input')); return box.getAttribute('aria-invalid'); })()")
        self.assertEqual(self.value(find % "'npu-3'"), "false")
        self.assertEqual(self.text(".node.chosen h4"), "npu-3Ascend910B4")
        self.assertEqual(self.value(find % "'nowhere'"), "true")

    def test_sections_without_data_are_not_there(self):
        self.browser.open(self.run_folder / "report.html")
        self.assertFalse(self.value("!!document.getElementById('waits')"))
        self.assertFalse(self.value("!!document.querySelector('[id^=spread-], #figures')"))
        self.browser.open(self.sample)
        headings = self.value("[...document.querySelectorAll('h2')].map((heading) => heading.textContent)")
        for heading in ("Queue length", "Running jobs", "Power, W", "Time from arrival to start", "Wait",
                        "Completion time", "Bounded slowdown"):
            self.assertIn(heading, headings)

    def test_waits_of_one_queue_can_be_chosen(self):
        self.browser.open(self.sample)
        plot = "[...document.querySelectorAll('#waits canvas')].map((canvas) => canvas.toDataURL()).join()"
        before = self.value(plot)
        self.value("(() => { const box = document.querySelector('#waits select'); box.value = 'queue research';"
                   " box.dispatchEvent(new Event('change')); })()")
        self.assertNotEqual(self.value(plot), before)

    def test_dark_is_dark_and_readable(self):
        contrast = """(() => {
          const light = (colour) => { const c = colour.match(/[\\d.]+/g).slice(0, 3).map((v) => { v /= 255;
            return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
          const behind = (part) => { for (let at = part; at; at = at.parentElement) { const c = getComputedStyle(at).backgroundColor;
            if (c.startsWith('rgb(')) return c; } return 'rgb(255, 255, 255)'; };
          const low = [];
          for (const part of document.querySelectorAll('h1, h2, h3, h4, p, td, th, label, .hint, .detail, .tabs button, output')) {
            if (!part.checkVisibility()) continue;
            const [a, b] = [light(getComputedStyle(part).color), light(behind(part))].sort((x, y) => y - x);
            if ((a + 0.05) / (b + 0.05) < 4.5) low.push(part.outerHTML.slice(0, 90));
          }
          return { low, page: light(getComputedStyle(document.body).backgroundColor) };
        })()"""
        for dark in (False, True):
            self.browser.open(self.sample, dark=dark)
            seen = self.value(contrast)
            self.assertEqual(seen["low"], [], f"dark: {dark}")
            self.assertEqual(seen["page"] < 0.05, dark)

    def test_without_scripts_the_numbers_are_there(self):
        self.browser.open(self.run_folder / "report.html", scripts=False)
        tree = self.browser.call("DOM.getDocument", depth=-1)["root"]["nodeId"]
        for selector in (".headline", "#models", "#facts"):
            self.assertNotEqual(self.browser.call("DOM.querySelector", nodeId=tree, selector=selector)["nodeId"], 0)
        shown = self.browser.call("DOM.querySelector", nodeId=tree, selector="#occupancy")["nodeId"]
        with self.assertRaises(RuntimeError):  # what scripts draw takes no room
            self.browser.call("DOM.getBoxModel", nodeId=shown)


if __name__ == "__main__":
    CHROMIUM = chromium.find()
    if CHROMIUM is None:
        skip_or_fail("report.html is not opened in a browser: there is no chromium here (scripts/packages.txt)")
    sys.exit(not unittest.main(verbosity=1, exit=False).result.wasSuccessful())
