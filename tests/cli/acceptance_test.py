"""What was accepted of the pods and GPUs asked for, and by size: added up here from pods.csv and the pod list."""

import json
import re
import unittest

from support import NODES_HEADER, PODS_HEADER, QUICKSTART, SOURCE, TIMED_HEADER, CliTest, read_csv

SIZES = [("below 1", 0, 1), ("1", 1, 2), ("2 to 3", 2, 4), ("4 to 7", 4, 8), ("8 to 15", 8, 16), ("16 to 31", 16, 32),
         ("32 to 63", 32, 64), ("64 or more", 64, None)]


def gpus_by_name(pod_list):
    return {row["name"]: int(row["num_gpu"]) * int(row["gpu_milli"]) / 1000 for row in read_csv(pod_list)}


def added_up(pods_csv, pod_list):
    """The figures of `acceptance`, from what became of each pod and from what it asks for."""
    gpus = gpus_by_name(pod_list)
    outcomes = [(gpus[row["name"].split("-tuned-")[0]], row) for row in read_csv(pods_csv)]
    accepted = [(size, row) for size, row in outcomes if row["placed"] == "1"]
    waits = [(size, float(row["start_s"]) - float(row["arrival_s"])) for size, row in accepted]
    asked, placed = sum(size for size, _ in outcomes), sum(size for size, _ in accepted)
    figures = {"pods_arrived": len(outcomes), "pods_accepted": len(accepted), "accepted_ratio": len(accepted) / len(outcomes),
               "gpus_arrived": asked, "gpus_accepted": placed, "accepted_gpu_ratio": placed / asked if asked else 1.0,
               "gpu_wait_mean_s": sum(size * wait for size, wait in waits) / placed if placed else None}
    by_size = []
    for name, least, below in SIZES:
        def is_of_size(size):
            return size > 0 and size >= least and (below is None or size < below)
        arrived = sum(is_of_size(size) for size, _ in outcomes)
        if arrived == 0:
            continue
        of_size = [wait for size, wait in waits if is_of_size(size)]
        by_size.append({"size": name, "gpus_from": least, "gpus_below": below, "arrived": arrived, "accepted": len(of_size),
                        "accepted_ratio": len(of_size) / arrived,
                        "wait_mean_s": sum(of_size) / len(of_size) if of_size else None})
    return figures, by_size


class AcceptanceTest(CliTest):
    def assert_figures(self, told, expected):
        self.assertEqual(list(told), list(expected))
        for key, value in expected.items():
            if isinstance(value, float):
                self.assertAlmostEqual(told[key], value, delta=1e-9 * max(1.0, abs(value)), msg=key)
            else:
                self.assertEqual(told[key], value, key)

    def assert_added_up(self, folder, pod_list, has_queue):
        told = json.loads((folder / "summary.json").read_text())["acceptance"]
        figures, by_size = added_up(folder / "pods.csv", pod_list)
        if not has_queue:  # nobody waits, and nothing is said of it
            for row in (figures, *by_size):
                row.pop("gpu_wait_mean_s", None)
                row.pop("wait_mean_s", None)
        told_by_size = told.pop("by_size")
        self.assert_figures(told, figures)
        self.assertEqual(len(told_by_size), len(by_size))
        for row, expected in zip(told_by_size, by_size):
            self.assert_figures(row, expected)
        return told, told_by_size

    def test_pods_that_stay(self):
        result = self.vgpusim("run", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--tune", "1.3",
                              "--policy", "fgd", "--out", self.out)
        self.assert_done(result)
        told, by_size = self.assert_added_up(self.out, QUICKSTART / "pods.csv", False)
        self.assertGreaterEqual(len(by_size), 4)
        self.assertLess(told["accepted_gpu_ratio"], 1)
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertEqual((told["pods_arrived"], told["pods_accepted"]),
                         (summary["pods"]["arrived"], summary["pods"]["placed"]))
        shown = re.search(r"^accepted +([\d.]+) % of ([\d.]+) GPUs asked for; pods by GPUs: (.*)$", result.stdout, re.M)
        self.assertEqual(shown[1], f"{100 * told['accepted_gpu_ratio']:.2f}")
        self.assertEqual(shown[2], f"{told['gpus_arrived']:.2f}")
        self.assertEqual(shown[3], ", ".join(f"{row['size']}: {100 * row['accepted_ratio']:.2f} %" for row in by_size))

    def test_pods_that_wait_and_leave(self):
        """Large pods hold the node for 100 s each, and under fifo all others wait behind them."""
        nodes = self.write("nodes.csv", NODES_HEADER + "n,64000,262144,8,G\n")
        pods = self.write("pods.csv", TIMED_HEADER + "".join(
            f"p{i},1000,1024,{gpus},{milli},,{10 * i},{10 * i + 100}\n"
            for i, (gpus, milli) in enumerate([(8, 1000), (1, 250), (1, 1000), (8, 1000), (3, 1000), (1, 500), (0, 0)])))
        self.assert_done(self.vgpusim("run", "--nodes", nodes, "--pods", pods, "--departures", "--discipline", "fifo", "--policy",
                                      "fgd", "--out", self.out))
        _, by_size = self.assert_added_up(self.out, pods, True)
        self.assertEqual({row["size"]: row["wait_mean_s"] > 0 for row in by_size},
                         {"below 1": True, "1": True, "2 to 3": True, "8 to 15": True})

    def test_a_pod_that_still_waits_is_not_accepted(self):
        nodes = self.write("nodes.csv", NODES_HEADER + "n,64000,262144,8,G\n")
        pods = self.write("pods.csv", PODS_HEADER + "small,1000,1024,1,500\nwide,1000,1024,3,1000\nall,1000,1024,8,1000\n"
                          "cpu,1000,1024,0,0\n")
        self.assert_done(self.vgpusim("run", "--nodes", nodes, "--pods", pods, "--discipline", "fifo", "--policy", "fgd",
                                      "--out", self.out))
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertGreater(summary["pods"]["waiting"], 0)
        told, by_size = self.assert_added_up(self.out, pods, True)
        self.assertEqual(told["gpus_arrived"], 11.5)
        self.assertEqual([row["size"] for row in by_size], ["below 1", "2 to 3", "8 to 15"])

    def test_no_pod_asks_for_gpus(self):
        nodes = self.write("nodes.csv", NODES_HEADER + "n,64000,262144,8,G\n")
        pods = self.write("pods.csv", PODS_HEADER + "cpu,1000,1024,0,0\nlarge,90000,1024,0,0\n")
        result = self.vgpusim("run", "--nodes", nodes, "--pods", pods, "--policy", "fgd", "--out", self.out)
        self.assert_done(result)
        told, by_size = self.assert_added_up(self.out, pods, False)
        self.assertEqual((told["accepted_ratio"], told["accepted_gpu_ratio"], by_size), (0.5, 1.0, []))
        self.assertNotRegex(result.stdout, "(?m)^accepted ")

    def test_policies_side_by_side(self):
        policies = ["spread", "best_fit"]
        result = self.vgpusim("compare", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv",
                              *(word for policy in policies for word in ("--policy", policy)), "--tune", "1.3", "--out", self.out)
        self.assert_done(result)
        figures = {policy: added_up(self.out / policy / "pods.csv", QUICKSTART / "pods.csv") for policy in policies}
        lines = result.stdout.splitlines()
        for line, policy in zip(lines[1:3], policies):
            self.assertEqual(line.split()[:2], [policy, f"{100 * figures[policy][0]['accepted_gpu_ratio']:.2f}"])
        table = lines.index(next(line for line in lines if line.startswith("pods accepted %, by GPUs")))
        self.assertEqual(re.findall(r"  +(\S+(?: \S+)*)", lines[table].removeprefix("pods accepted %, by GPUs")),
                         [row["size"] for row in figures[policies[0]][1]])
        for line, policy in zip(lines[table + 1:], policies):
            self.assertEqual(line.split(), [policy, *(f"{100 * row['accepted_ratio']:.2f}" for row in figures[policy][1])])
        lead = 100 * (figures["best_fit"][0]["accepted_gpu_ratio"] - figures["spread"][0]["accepted_gpu_ratio"])
        self.assertRegex(result.stdout, rf"(?m)^best_fit \S+ it accepts {lead:.2f} percentage points of the GPUs asked for more")
        page = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertIn("Accepted pods, by GPUs asked for", page)
        self.assertNotRegex(page, r"<td>Pods placed</td>[^\n]*?★.*?</tr>(?=<tr><td>Pods not placed)")

    def test_seeds_and_studies_have_the_values_of_single_runs(self):
        policies = ["fgd", "best_fit"]
        lists = ["--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--tune", "1.3"]
        chosen = [word for policy in policies for word in ("--policy", policy)]
        single = {}
        for policy in policies:
            for seed in (5, 6):
                self.assert_done(self.vgpusim("run", *lists, "--policy", policy, "--seed", seed, "--out", self.out))
                single[policy, seed] = added_up(self.out / "pods.csv", QUICKSTART / "pods.csv")
        self.assert_done(self.vgpusim("compare", *lists, *chosen, "--seeds", "5..6", "--out", self.root / "compared"))
        compared = json.loads((self.root / "compared" / "compare.json").read_text())
        for entry in compared["policies"]:
            for seed, value in zip((5, 6), entry["accepted_gpu_ratio"]["by_seed"]):
                self.assertAlmostEqual(value, single[entry["policy"], seed][0]["accepted_gpu_ratio"], 9)
        judged = {difference["measure"]: difference["judged"] for difference in compared["differences"]}
        self.assertEqual([measure for measure, is_judged in judged.items() if not is_judged], ["pods_placed"])
        result = self.vgpusim("study", *lists, *chosen, "--seeds", "5..6", "--out", self.root / "studied")
        self.assert_done(result)
        self.assertRegex(result.stdout.splitlines()[0], "unusable % of GPUs +GPUs accepted % +pods failed")
        for headline in json.loads((self.root / "studied" / "study.json").read_text())["headlines"]:
            runs = [single[headline["policy"], seed] for seed in (5, 6)]
            for key in ("accepted_ratio", "accepted_gpu_ratio"):
                self.assertAlmostEqual(headline[key]["mean"], sum(figures[key] for figures, _ in runs) / 2, 9)
            for name, value in headline["accepted_ratio_by_size"].items():
                expected = [row["accepted_ratio"] for _, by_size in runs for row in by_size if row["size"] == name]
                self.assertAlmostEqual(value["mean"], sum(expected) / len(expected), 9)

    def test_pods_that_fill_the_cluster_first_are_not_counted(self):
        self.assert_done(self.vgpusim("study", "scenarios/mig-bimodal.json", "--policy", "best_fit", "--loads", "1.1", "--seeds",
                                      "3..3", "--arrivals", "300", "--out", self.out, cwd=SOURCE))
        policy = json.loads((self.out / "study.json").read_text())["cells"][0]["policies"][0]
        self.assertEqual(len(policy["accepted_gpu_ratio"]["by_seed"]), 1)
        rows = {row["measure"]: float(row["mean"]) for row in read_csv(self.out / "study.csv")}
        self.assertAlmostEqual(rows["accepted_gpu_ratio"], policy["accepted_gpu_ratio"]["mean"], delta=5e-7)
        for name, mean in policy["accepted_ratio_by_size"].items():
            self.assertAlmostEqual(rows["accepted_ratio_by_size:" + name], mean, delta=5e-7)
        self.assertAlmostEqual(300 * policy["accepted_ratio"]["mean"], round(300 * policy["accepted_ratio"]["mean"]), 6)


if __name__ == "__main__":
    unittest.main()
