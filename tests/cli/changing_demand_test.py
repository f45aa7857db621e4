"""studies/changing_demand.py: lists whose demand changes are the same for a seed, offer the load that they state, and give tables."""

import sys
import unittest
from unittest import mock

from support import SOURCE, VGPUSIM, CliTest

sys.path.insert(0, str(SOURCE / "studies"))
import changing_demand  # noqa: E402
import changing_inputs as inputs  # noqa: E402

GPUS = 800
HOUR_S = inputs.HOUR_S
NODES = [{"sn": f"node-{i:02}", "cpu_milli": 96000, "memory_mib": 393216, "gpu": 8, "model": "G2"} for i in range(5)]


def listed_pods(days=33, pods_a_day=60):
    """A list with openb's columns: lifetimes of minutes to hours, shared and whole GPUs."""
    rows = []
    for day in range(inputs.OWN_DAYS.start, inputs.OWN_DAYS.start + days):
        for i in range(pods_a_day):
            arrival_s = day * inputs.DAY_S + i * 1440
            milli = 1000 if (i + day) % 3 else 460
            rows.append({"name": f"p-{day}-{i}", "cpu_milli": 4000, "memory_mib": 8192, "num_gpu": 1, "gpu_milli": milli, "gpu_spec": "",
                         "creation_time": arrival_s, "deletion_time": arrival_s + 600 + 60 * ((i * 7 + day) % 90)})
    return rows


def offered(rows, begin_s, end_s, matches=lambda row: True):
    """Rate of arrival x mean lifetime x GPUs requested by the rows that match, in that time."""
    requested = sum(inputs.gpus_of(row) for row in rows if begin_s <= row["creation_time"] < end_s and matches(row))
    return requested * inputs.MEAN_LIFETIME_S / (end_s - begin_s)


class InputsTest(unittest.TestCase):
    def test_the_seed_decides(self):
        for name, (_, pods_by) in inputs.INPUTS.items():
            with self.subTest(name=name):
                first, again, other = (pods_by(GPUS, seed, listed_pods()) for seed in (1, 1, 2))
                self.assertEqual(first, again)
                self.assertNotEqual(first[0], other[0])
                self.assertEqual([row["creation_time"] for row in first[0]], sorted(row["creation_time"] for row in first[0]))

    def test_day_and_night_offer_the_same_load_of_other_pods(self):
        rows = inputs.drawn(inputs.day_and_night(6 * HOUR_S, 9 * HOUR_S), GPUS, 3)
        small, large = [], []
        for begin in (0, 3, 6):
            half = begin * HOUR_S, (begin + 3) * HOUR_S
            self.assertAlmostEqual(offered(rows, *half) / GPUS, 1, delta=0.06)
            small.append(offered(rows, *half, inputs.is_small) / GPUS)
            large.append(offered(rows, *half, lambda row: inputs.gpus_of(row) > 1) / GPUS)
        for day in (0, 2):
            self.assertGreater(small[day], 2 * small[1])
            self.assertLess(large[day], large[1] / 3)

    def test_lifetimes_are_exponential(self):
        rows = inputs.drawn(inputs.day_and_night(6 * HOUR_S, 9 * HOUR_S), GPUS, 4)
        lifetimes = sorted(row["deletion_time"] - row["creation_time"] for row in rows)
        self.assertAlmostEqual(sum(lifetimes) / len(rows) / inputs.MEAN_LIFETIME_S, 1, delta=0.05)
        self.assertAlmostEqual(lifetimes[len(rows) // 2] / inputs.MEAN_LIFETIME_S, 0.693, delta=0.05)

    def test_a_new_class_takes_its_part_from_the_middle_on(self):
        for new_class in (inputs.FOUR_GPUS, inputs.SHARE_700):
            rows = inputs.drawn(inputs.appearing(new_class, 6 * HOUR_S, 12 * HOUR_S), GPUS, 5)

            def is_new(row):
                return inputs.gpus_of(row) == inputs.gpus_of(new_class)

            self.assertEqual(offered(rows, 0, 6 * HOUR_S, is_new), 0)
            self.assertAlmostEqual(offered(rows, 6 * HOUR_S, 12 * HOUR_S, is_new) / GPUS, inputs.NEW_PART, delta=0.03)
            for begin in (0, 6):
                self.assertAlmostEqual(offered(rows, begin * HOUR_S, (begin + 6) * HOUR_S) / GPUS, 1, delta=0.06)

    def test_own_times_keep_lifetimes_and_reach_the_load(self):
        listed = listed_pods()
        rows, begin_s = inputs.own_times(listed, 40, 6)
        pods = [(row["creation_time"], row["deletion_time"] - row["creation_time"], inputs.gpus_of(row)) for row in rows]
        self.assertAlmostEqual(inputs.present(pods, begin_s, rows[-1]["creation_time"]) / 40, 1, delta=0.02)
        self.assertAlmostEqual(begin_s, 3 * sum(lifetime_s for _, lifetime_s, _ in pods) / len(pods))
        self.assertLessEqual({lifetime_s for _, lifetime_s, _ in pods},
                             {row["deletion_time"] - row["creation_time"] for row in listed})

    def test_a_list_that_is_too_short_is_refused(self):
        with self.assertRaises(SystemExit):
            inputs.own_times(listed_pods(), 4000, 6)

    def test_one_node_of_many_keeps_the_kinds(self):
        nodes = [NODES[i % 5] | {"sn": str(i), "model": "T4" if i % 3 == 0 else "G2"} for i in range(60)]
        models = [node["model"] for node in inputs.every(nodes, 4)]
        self.assertEqual((models.count("T4"), models.count("G2")), (5, 10))


class MeasuresTest(unittest.TestCase):
    LISTED = [{"name": name, "num_gpu": gpus, "gpu_milli": 1000} for name, gpus in (("a", 1), ("b", 1), ("c", 2), ("d", 8))]
    RUNS = [{"name": name, "placed": placed, "arrival_s": arrival_s, "start_s": start_s, "end_s": end_s} for
            name, placed, arrival_s, start_s, end_s in (("a", "1", "0", "0", "150"), ("b", "1", "100", "130", "190"),
                                                        ("c", "1", "120", "130", "300"), ("d", "0", "200", "", ""))]

    def test_what_arrives_after_the_warm_up_counts(self):
        values = changing_demand.measured(self.LISTED, self.RUNS, 10, "try_once", 100)
        self.assertAlmostEqual(values["accepted"], 200 / 3)
        self.assertAlmostEqual(values["accepted_gpus"], 300 / 11)
        self.assertAlmostEqual(values["allocated"], 100 * (50 + 60 + 2 * 70) / (10 * 100))  # the first pod still runs
        self.assertEqual(values["accepted_gpus_by_size"], {"1": 100, "2 to 3": 100, "8": 0})
        self.assertEqual(changing_demand.measured(self.LISTED, self.RUNS, 10, "fifo", 100), {"wait_s": 20})

    def test_only_what_the_interval_shows_is_marked(self):
        difference = changing_demand.difference
        self.assertEqual(difference([2, 2.1], [1, 1], 2, 1), "**+1.05 ± 0.64**")
        self.assertEqual(difference([1, 1], [2, 2.1], 2, 1), "*-1.05 ± 0.64*")
        self.assertEqual(difference([10, 11], [20, 20], 0, -1), "**-10 ± 6**")
        self.assertEqual(difference([1, 3], [1, 1], 2, 1), "+1.00 ± 12.71")
        self.assertEqual(difference([1], [0], 2, 1), "–")

    def test_inputs_are_pooled_with_the_variance_within_each(self):
        """Differences 1 and 3, and 11 and 13: means 2 and 12, variance of each mean 1, two degrees of freedom."""
        pairs = [([1, 3], [0, 0]), ([11, 13], [0, 0])]
        self.assertEqual(changing_demand.overall(pairs, 2, 1), "**+7.00 ± 3.04**")
        self.assertEqual(changing_demand.overall([*pairs, ([1], [0])], 2, 1), "–")


class StudyTest(CliTest):
    def test_a_study_runs_once_and_gives_both_tables(self):
        """On five nodes, with two policies that need no solver."""
        traces, results, page = self.root / "traces", self.root / "results", self.root / "page.md"
        traces.mkdir()
        inputs.write(traces / inputs.NODES, NODES, NODES[0].keys())
        inputs.write(traces / inputs.PODS, listed_pods(), listed_pods()[0].keys())
        page.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in ("changing-values", "changing-differences")))
        arguments = ["changing_demand.py", "--vgpusim", VGPUSIM, "--results", str(results), "--page", str(page), "--seeds", "1..2"]
        with (mock.patch.object(changing_demand, "POLICIES", {"bid_price": [], "fgd": []}),
              mock.patch.object(inputs, "INPUTS", {"day-night-6h": inputs.INPUTS["day-night-6h"]}),
              mock.patch.dict("os.environ", {"VGPUALLOC_TRACES": str(traces)})):
            with mock.patch.object(sys, "argv", [*arguments, "--run"]):
                changing_demand.main()
            first = page.read_text()
            with mock.patch.object(sys, "argv", arguments):  # of the results that are there
                changing_demand.main()
        self.assertEqual(page.read_text(), first)
        self.assertEqual(self.present(results), [f"day-night-6h-{seed}-{discipline}.json" for seed in (1, 2)
                                                 for discipline in ("fifo", "try_once")])
        self.assertRegex(first, r"\| \*\*`bid_price`\*\* \| \d+\.\d\d / \d+ \|")
        self.assertIn("| seeds | 2 / 2 |", first)
        self.assertRegex(first, r"\| GPUs accepted, points \| `fgd` \| \**[+-]\d+\.\d\d ± \d+\.\d\d\** \| ")


if __name__ == "__main__":
    unittest.main()
