"""vgpusim forecast: the dates against least squares done here, the page's example, and its error states."""

import datetime
import json
import random
import re
import unittest
from fractions import Fraction

from support import SOURCE, CliTest

ATLAS = "scenarios/clusters/atlas.json"
HISTORY = "scenarios/forecast/atlas-used.csv"
PAGE = (SOURCE / "docs" / "forecast.md").read_text(encoding="utf-8")
T_90 = {1: 6.313752, 6: 1.943180, 10: 1.812461, 25: 1.708141}  # of tables of Student's distribution, by degrees of freedom
WEEK = 7 * 86400


class Line:
    """A least-squares line, in exact fractions; time in weeks since the first row."""

    def __init__(self, rows):
        self.first = rows[0][0]
        self.times = [Fraction(int((time - self.first).total_seconds()), WEEK) for time, _ in rows]
        used = [Fraction(text) for _, text in rows]
        self.count = len(rows)
        self.mean = sum(self.times) / self.count
        self.used_mean = sum(used) / self.count
        self.squares = sum((time - self.mean) ** 2 for time in self.times)
        self.growth = sum((time - self.mean) * gpus for time, gpus in zip(self.times, used)) / self.squares
        residuals = (gpus - self.at(time) for time, gpus in zip(self.times, used))
        self.variance = sum(residual ** 2 for residual in residuals) / (self.count - 2)

    def at(self, weeks):
        return self.used_mean + self.growth * (weeks - self.mean)

    def may_reach(self, level, weeks):
        """Whether the level is within the interval of the line at that time."""
        spread = T_90[self.count - 2] ** 2 * float(self.variance * (Fraction(1, self.count) + (weeks - self.mean) ** 2 / self.squares))
        return float((level - self.at(weeks)) ** 2) <= spread

    def date(self, weeks):
        return (self.first + datetime.timedelta(weeks=float(weeks))).date()

    def edge(self, level, inside, outside):
        """The date between two times of which only the first may reach the level."""
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if self.may_reach(level, middle) else (inside, middle)
        return self.date(inside)


class Forecast(CliTest):
    def forecast(self, *arguments):
        done = self.vgpusim("forecast", *arguments, cwd=SOURCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def history(self, rows):
        return self.write("used.csv", "time,used\n" + "".join(f"{time.isoformat()},{used}\n" for time, used in rows))

    def test_the_page_shows_what_is_printed(self):
        examples = re.findall(r"```console\n\$ vgpusim ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)
        self.assertEqual(examples[0][0], f"forecast {ATLAS} --history {HISTORY}")
        self.assertEqual(self.forecast(ATLAS, "--history", HISTORY), examples[0][1])
        self.assertLessEqual(max(map(len, examples[0][1].splitlines())), 100)

    def check(self, line, path):
        seen = json.loads(self.forecast(ATLAS, "--history", path, "--json"))
        trend = seen["trend"]
        self.assertEqual((seen["schema"], trend["points"], seen["level_percent"]), ("vgpualloc.forecast/1", line.count, 90))
        self.assertAlmostEqual(trend["gpus_a_week"], float(line.growth), delta=1e-9)
        self.assertAlmostEqual(trend["gpus_at_last"], float(line.at(line.times[-1])), delta=1e-9)
        self.assertAlmostEqual(trend["gpus_deviation"] ** 2, float(line.variance), delta=1e-9)
        for full, level in zip(seen["full"], (32, 36), strict=True):
            self.assertEqual(full["milli"], 1000 * level)
            weeks = line.mean + (level - line.used_mean) / line.growth
            self.assertEqual((full["state"], full["about"]), ("grows", str(line.date(weeks))))
            self.assertEqual(full["from"], str(line.edge(level, weeks, line.times[-1])))
            is_endless = line.may_reach(level, weeks + 10 ** 9)
            self.assertEqual(full["or_never"], is_endless)
            self.assertEqual(full["to"], None if is_endless else str(line.edge(level, weeks, weeks + 10 ** 9)))
        return seen

    def test_dates_are_those_of_least_squares(self):
        rows = [line.split(",") for line in (SOURCE / HISTORY).read_text(encoding="utf-8").splitlines()[1:]]
        self.check(Line([(datetime.datetime.fromisoformat(time), used) for time, used in rows]), HISTORY)
        draw = random.Random(2)  # of the third history the interval has no end
        for count, growth, scatter in ((8, 0.5, 0.2), (12, 0.3, 0.4), (12, 0.12, 1.5), (3, 1.0, 0.1)):
            with self.subTest(count=count, growth=growth, scatter=scatter):
                time = datetime.datetime(2026, 3, 1, 6)
                rows = []
                for _ in range(count):
                    weeks = (time - datetime.datetime(2026, 3, 1)).total_seconds() / WEEK
                    rows.append((time, f"{15 + growth * weeks + draw.uniform(-scatter, scatter):.3f}"))
                    time += datetime.timedelta(hours=draw.randrange(60, 260))
                line = Line(rows)
                draw.shuffle(rows)
                seen = self.check(line, self.history(rows))
                self.assertEqual(seen["full"][0]["or_never"], scatter == 1.5)

    def test_the_answer_is_the_same_for_any_order_zone_and_column(self):
        rows = (SOURCE / HISTORY).read_text(encoding="utf-8").splitlines()[1:]
        changed = "node,used,time\n" + "".join(f"x,{used},{time}T02:00:00+02:00\r\n" for time, used in (row.split(",") for row in reversed(rows)))
        expected = self.forecast(ATLAS, "--history", HISTORY)
        self.assertEqual(self.forecast(ATLAS, "--history", self.write("changed.csv", changed)), expected)
        self.assertEqual(self.forecast(ATLAS, "--history", HISTORY), expected)

    def test_a_set_of_nodes(self):
        rows = [(datetime.datetime(2026, 1, 5) + datetime.timedelta(weeks=week), used) for week, used in enumerate((10, 11, 12, 13, 14, 15))]
        seen = json.loads(self.forecast(ATLAS, "--history", self.history(rows), "-l", "pool=train", "--json"))
        self.assertEqual([full["milli"] for full in seen["full"]], [20000, 24000])
        self.assertEqual([full["about"] for full in seen["full"]], ["2026-03-16", "2026-04-13"])

    def test_states_without_a_date(self):
        time = [datetime.datetime(2026, 1, 5) + datetime.timedelta(weeks=week) for week in range(4)]
        falls = self.forecast(ATLAS, "--history", self.history(list(zip(time, (24, 23, 22, 21)))))
        self.assertTrue(falls.startswith("Not full (32.0 GPUs in service) at this growth (90 %: never): -1.00 a week (3 weeks).\n"), falls)
        above = self.forecast(ATLAS, "--history", self.history(list(zip(time, (32, 33, 34, 35)))))
        self.assertIn("The trend has been above 32.0 GPUs in service since 2026-01-05, at +1.00 a week (3 weeks); 11.5 are free today. ", self.flat(above))
        self.assertIn("note: the trend ends at 35.0 GPUs used, these files have 20.5\n", above)
        full = self.forecast(ATLAS, "-l", "a100-3", "--history", self.history(list(zip(time, (1, 2, 3, 3.5)))))
        self.assertTrue(full.startswith("Full already: all of the 4.0 GPUs in service are used; growth +0.85 a week (3 weeks).\n"), full)

    def test_bad_input_is_one_line_and_nothing_on_stdout(self):
        good = "time,used\n2026-01-05,1\n2026-01-12,2\n"
        for text, said in (
                (good, "used.csv: 2 rows; expected at least 3 for a trend and its interval"),
                (good + "2026-01-19,x\n", "used.csv:4: used: got 'x', expected a number of GPUs from 0 to 10000000"),
                (good + "19.1.2026,3\n", "used.csv:4: time: got '19.1.2026', expected a date or time of ISO 8601 that exists"),
                (good + "2026-01-12,3\n", "used.csv:4: time: got '2026-01-12', expected every time once"),
                (good + "0000-01-19,3\n", "used.csv:4: time: got '0000-01-19', expected a time from 1970 on"),
                ("time,used\n2026-01-05T00:00Z,1\n2026-01-12T00:00,2\n",
                 "used.csv:3: time: got '2026-01-12T00:00', expected a time with a zone, as in the rows before"),
                ("time,used\n2026-01-05 00:00,1\n2026-01-12T00:00+01:00,2\n",
                 "used.csv:3: time: got '2026-01-12T00:00+01:00', expected a time without a zone, as in the rows before"),
                (good + "2026-01-19\n", "used.csv:4: expected 2 fields, found 1"),
                ("day,used\n2026-01-05,1\n", "used.csv:1: time: missing; expected this column in the header")):
            with self.subTest(said=said):
                done = self.vgpusim("forecast", SOURCE / ATLAS, "--history", self.write("used.csv", text))
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}}}
        for arguments, said in ((("forecast", SOURCE / ATLAS), "--history"),
                                (("forecast", SOURCE / ATLAS, "--buy", ",", "--goal", "p95 wait <= 30m", "--pods", "p", "--classes", "c", "--prices", "x"),
                                 "--buy: got ',', expected kinds with a name, one ',' between two"),
                                (("forecast", SOURCE / ATLAS, "--history", "nowhere.csv"), "nowhere.csv: cannot open"),
                                (("forecast", "-", "--history", "-"), "standard input can be read once"),
                                (("forecast", self.write("node.json", json.dumps(node)), "--history", SOURCE / HISTORY), "no GPU on these nodes")):
            done = self.vgpusim(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
