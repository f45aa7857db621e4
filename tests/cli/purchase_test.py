"""What to buy (vgpusim forecast --buy): the cheapest nodes are those of a calculation without vgpusim."""

import heapq
import itertools
import json
import math
import random
import shlex
import unittest

import clusters
from start_test import gpus, table, whole_node
from support import SOURCE, CliTest

T4 = "Tesla-T4"
PRICES = {"gpu_hour": {"A100-80GB": 2.1, "T4": 0.3}, "currency": "EUR"}


def t4_node(name, count):
    node = whole_node(name, count)
    node["metadata"]["labels"].update({"nvidia.com/gpu.product": T4})
    return node


def waits_of(servers, ends, rows):
    """First come, first served by so many GPUs, each pod one of them; `ends`: when those end that run at first."""
    free = [0.0] * (servers - len(ends)) + list(ends)
    heapq.heapify(free)
    waits = []
    for arrival, duration in rows:
        start = max(arrival, heapq.heappop(free))
        waits.append(start - arrival)
        heapq.heappush(free, start + duration)
    return waits


def quantile(waits, percent):
    return sorted(waits)[max(math.ceil(len(waits) * percent / 100), 1) - 1]


class Purchase(CliTest):
    def files(self, objects, rows):
        one = clusters.pod("one", gpus(1))
        del one["metadata"]["namespace"]
        return (self.write("cluster.json", json.dumps(clusters.cluster(*objects))), "--classes",
                self.write("classes.json", json.dumps(one)), "--pods",
                self.write("rows.csv", table([(f"p{i}", "one", *row) for i, row in enumerate(rows)])), "--prices",
                self.write("prices.json", json.dumps(PRICES)))

    def buy(self, *arguments, expect=0):
        done = self.vgpusim("forecast", *arguments)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def test_the_cheapest_purchase_is_that_of_a_calculation_without_vgpusim(self):
        draw = random.Random(5)
        objects = [whole_node("a", 4), t4_node("t", 3),
                   *(clusters.pod(f"r{i}", gpus(1), on="a", ns="now") for i in range(3))]
        ends = [400.0, 900.0, 5000.0]
        known = self.write("ends.csv", "pod,end\n" + "".join(f"now/r{i},{end}\n" for i, end in enumerate(ends)))
        rows = sorted((round(draw.uniform(0, 7200), 1), draw.randint(300, 4000)) for _ in range(80))
        files = self.files(objects, rows)
        price = {"a": 4 * 2.1, "t": 3 * 0.3}
        for percent, limit in ((95, 600), (50, 60), (95, 7000), (99, 0)):
            goal = f"p{percent} wait <= {limit}s"
            answer = json.loads(self.buy(*files, "--buy", "a,t", "--goal", goal, "--start-ends", known, "--seeds", "1..2",
                                         "--most", 9, "--json").stdout)
            possible = {}
            for a, t in itertools.product(range(10), repeat=2):
                waits = waits_of(7 + 4 * a + 3 * t, ends, rows)
                if quantile(waits, percent) <= limit:
                    possible[a, t] = a * price["a"] + t * price["t"]
            cheapest = min(possible.values())
            best = answer["best"]
            self.assertAlmostEqual(best["hour_micro"] / 1e6, cheapest, 5, goal)
            self.assertIn((best["nodes"]["a"], best["nodes"]["t"]), possible)
            servers = 7 + 4 * best["nodes"]["a"] + 3 * best["nodes"]["t"]
            self.assertAlmostEqual(best["results"][0]["wait_ticks"] / 1e6, quantile(waits_of(servers, ends, rows), percent), 4)
            self.assertEqual([result["seed"] for result in best["results"]], [1, 2])
            self.assertEqual((answer["pods"], answer["pods_never"]), (80, 0))
            below = answer["next_cheaper"]
            if cheapest > 0:
                self.assertFalse(below["holds"])
                self.assertLess(below["hour_micro"], best["hour_micro"])
                dearest = max(a * price["a"] + t * price["t"] for a, t in itertools.product(range(10), repeat=2)
                              if round(a * price["a"] + t * price["t"], 6) < round(cheapest, 6))
                self.assertAlmostEqual(below["hour_micro"] / 1e6, dearest, 5)

    def test_the_answer_in_words(self):
        objects = [whole_node("a", 2), clusters.pod("waits", gpus(1), ns="now"), clusters.pod("mig", {"nvidia.com/mig-1g.10gb": "1"}, ns="now")]
        files = self.files(objects, [(0, 600)] * 6)
        text = self.buy(*files, "--buy", "a,NVIDIA-A100-SXM4-80GB:exclusive:1", "--goal", "max wait <= 5m", "--seeds", "1..3").stdout
        self.assertEqual(text.splitlines()[0], "Buy 5 NVIDIA-A100-SXM4-80GB:exclusive:1: 5 GPUs for EUR 10.50 an hour. "
                                               "max wait <= 5m holds under 3 of 3 seeds: at most 0 s.")
        self.assertIn("max wait 10 min under seed 1.", text.splitlines()[1])
        self.assertEqual(text.splitlines()[2], "7 pods count, those of the table and those that wait; 1 more fit on no empty node, "
                                               "even with 16 nodes of every kind.")
        enough = self.buy(*files, "--buy", "a", "--goal", "max wait <= 30m").stdout
        self.assertIn("Nothing to buy: max wait <= 30m holds under 10 of 10 seeds: at most 30 min.", enough)
        short = self.buy(*files, "--buy", "a", "--goal", "max wait <= 1m", "--most", 1).stdout
        self.assertIn("No purchase holds max wait <= 1m: with 1 a max wait 10 min under seed 42.", short)

    def test_the_number_of_threads_changes_nothing(self):
        files = self.files([whole_node("a", 2)], [(10 * i, 700) for i in range(30)])
        question = (*files, "--buy", "a", "--goal", "mean wait <= 2m", "--policy", "random", "--seeds", "1..6", "--json")
        self.assertEqual(self.buy(*question, "--jobs", 1).stdout, self.buy(*question, "--jobs", 4).stdout)

    def test_what_is_wrong_is_one_clear_error(self):
        files = self.files([whole_node("a", 2), clusters.node("bare")], [(0, 600)])
        goal = ("--goal", "p95 wait <= 30m")
        for arguments, words in (
                ((*files, "--buy", "a", "--goal", "p95 wait < 30m"), "--goal: got 'p95 wait < 30m'"),
                ((*files, "--buy", "b", *goal), "--buy: got 'b', expected"),
                ((*files, "--buy", "a,", *goal), "--buy: got 'a,', expected kinds with a name, one ',' between two"),
                ((*files, "--buy", "a,a", *goal), "--buy: got 'a', expected every kind once"),
                ((*files, "--buy", "bare", *goal), "--buy: got 'bare', expected a kind whose GPUs have a price above 0"),
                ((*files, "--buy", "NVIDIA-H100-80GB-HBM3:exclusive:8", *goal), "no price for H100"),
                ((*files, "--buy", "a,b,c,d,e", *goal), "5 kinds"),
                ((*files, "--buy", "a", *goal, "--discipline", "try_once"), "try_once"),
                ((*files, "--buy", "a", *goal, "--most", "0"), "--most"),
                ((files[0],), "--history or --buy"),
                ((files[0], "--history", "h.csv", "--buy", "a", *goal), "--buy"),
                ((files[0], "--goal", "p95 wait <= 30m"), "--buy")):
            done = self.buy(*arguments, expect=2)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_the_example_of_the_page(self):
        """The command of docs/forecast.md answers what the page says."""
        page = (SOURCE / "docs/forecast.md").read_text()
        block = page[page.index("$ vgpusim forecast scenarios/clusters/atlas.json --buy"):]
        command, _, printed = block[:block.index("```")].partition("\n")
        done = self.vgpusim(*shlex.split(command)[2:], cwd=SOURCE)
        self.assertEqual(done.stdout, printed)


if __name__ == "__main__":
    unittest.main()
