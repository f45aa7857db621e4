"""`vgpusim run --departures` on traces small enough to know what must happen when."""

import json
import unittest

from support import NODES_HEADER, PODS, TIMED_HEADER, CliTest

ONE_GPU = NODES_HEADER + "n,64000,262144,1,G\n"
TWO_GPUS = NODES_HEADER + "n,64000,262144,2,G\n"


class DeparturesTest(CliTest):
    def replay(self, pods, *more, nodes=ONE_GPU):
        """Pods as "name gpus milli creation deletion"; gives "time:arrived:allocated" of every row."""
        lines = []
        for pod in pods:
            name, gpus, milli, creation, deletion = pod.split(" ")
            lines.append(f"{name},1000,1024,{gpus},{milli},,{creation},{deletion.replace('-', '')}\n")
        result = self.run_lists("--departures", "--policy", "best_fit", *more, nodes=nodes,
                                pods=TIMED_HEADER + "".join(lines))
        self.assert_done(result)
        return [f"{row['time']}:{row['arrived_milli']}:{row['allocated_milli']}" for row in self.series()]

    def outcome(self):
        return {row["name"]: row["placed"] for row in self.pods()}

    def test_pods_come_and_go(self):
        rows = self.replay(["a 1 1000 10 20", "b 1 500 30 50", "c 1 500 35 40"])
        self.assertEqual(rows, ["10:1000:1000", "20:1000:0", "30:1500:500", "35:2000:1000", "40:2000:500",
                                "50:2000:0"])
        summary = self.summary()
        self.assertEqual(summary["pods"], {"arrived": 3, "placed": 3, "failed": 0, "finished": 3,
                                           "failed_by_reason": {}})
        self.assertEqual((summary["gpu"]["allocated_milli"], summary["gpu"]["arrived_milli"]), (0, 2000))
        self.assertEqual((summary["gpu"]["active"], summary["nodes"]["active"]), (0, 0))
        self.assertEqual(summary["config"]["departures"], "true")

    def test_without_the_flag_the_times_do_nothing(self):
        result = self.run_lists(nodes=ONE_GPU, pods=TIMED_HEADER + "a,1,1,1,1000,,10,20\nb,1,1,1,1000,,30,40\n")
        self.assert_done(result)
        self.assertEqual([row["time"] for row in self.series()], ["0", "1"])
        self.assertEqual(self.summary()["pods"]["placed"], 1)

    def test_what_ends_is_free_for_what_arrives_at_that_instant(self):
        rows = self.replay(["a 1 1000 0 10", "b 1 1000 10 20"])
        self.assertEqual(rows, ["0:1000:1000", "10:1000:0", "10:2000:1000", "20:2000:0"])
        self.assertEqual(self.outcome(), {"a": "1", "b": "1"})

    def test_a_second_too_early_is_too_early(self):
        self.replay(["a 1 1000 0 10", "b 1 1000 9 20"])
        self.assertEqual(self.outcome(), {"a": "1", "b": "0"})
        self.assertEqual(self.pods()[1]["reason"], "insufficient_gpu_share")

    def test_equal_times_go_by_name(self):
        self.replay(["z 1 1000 5 9", "y 1 1000 5 9"])
        self.assertEqual([row["name"] for row in self.pods()], ["y", "z"])
        self.assertEqual(self.outcome(), {"y": "1", "z": "0"})

    def test_a_pod_of_no_duration(self):
        rows = self.replay(["a 1 1000 5 5", "b 1 1000 6 7"])
        self.assertEqual(rows, ["5:1000:1000", "5:1000:0", "6:2000:1000", "7:2000:0"])

    def test_two_of_no_duration_at_one_instant(self):
        # Both are tried before either starts, so the second finds the GPU taken.
        self.replay(["a 1 1000 5 5", "b 1 1000 5 5"])
        self.assertEqual(self.outcome(), {"a": "1", "b": "0"})

    def test_a_pod_that_is_never_deleted_stays(self):
        rows = self.replay(["a 1 600 1 -", "b 1 400 2 3"])
        self.assertEqual(rows[-1], "3:1000:600")
        self.assertEqual(self.summary()["pods"]["finished"], 1)
        self.assertEqual(self.summary()["gpu"]["active"], 1)

    def test_a_failed_pod_does_not_finish(self):
        rows = self.replay(["a 2 1000 1 5", "b 1 1000 2 3"])
        self.assertEqual(rows, ["1:2000:0", "2:3000:1000", "3:3000:0"])
        self.assertEqual(self.summary()["pods"]["finished"], 1)

    def test_copies_of_a_tuned_list_keep_their_original_s_times(self):
        rows = self.replay(["a 1 500 3 8"], "--tune", "1", nodes=TWO_GPUS)
        self.assertEqual([row["name"] for row in self.pods()], ["a", "a-tuned-0", "a-tuned-1", "a-tuned-2"])
        self.assertEqual({row.split(":")[0] for row in rows}, {"3", "8"})
        self.assertEqual(rows[-1], "8:2000:0")

    def test_means_and_the_peak_are_the_headline(self):
        """The cluster is empty at the end, and that is not what the run says of it."""
        self.replay(["a 1 1000 10 20", "b 1 500 30 50", "c 1 500 35 40"])
        gpu = self.summary()["gpu"]
        self.assertEqual((gpu["allocation_ratio"], gpu["allocation_peak_ratio"]), (0.0, 1.0))
        self.assertAlmostEqual(gpu["allocation_mean_ratio"], (10 + 0.5 * 20 + 0.5 * 5) / 40, places=12)
        self.assertAlmostEqual(gpu["served_ratio"], gpu["allocation_mean_ratio"], places=12)
        shown = self.vgpusim("run", *self.inputs(nodes=ONE_GPU, pods=(self.root / "pods.csv").read_text()),
                             "--departures", "--out", self.out).stdout
        self.assertIn("allocation     56.25 % of 1 GPU on average, 100.00 % at the peak, "
                      "50.00 % on average until the last pod has arrived\n", shown)
        self.assertIn("active         1 node, 1 GPU at the peak\n", shown)
        page = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertIn("Every GPU <span id=\"occupancy-moment\">when the most was allocated", page)
        data = json.loads(page.split('id="report-data">')[1].split("</script>")[0])
        history = data["runs"][0]["history"]
        # Differences of thousandths of a percent: at the moment shown the GPU is full.
        self.assertEqual(sum(history["allocated"][:history["shown"] + 1]), 100000)
        self.assertEqual(data["runs"][0]["curves"]["allocation"]["rest"], ["56.25 %", "mean over time"])

    def test_fault_domains_are_those_of_the_peak(self):
        self.replay(["a 1 300 10 20", "b 1 500 11 20"], "--mode", "mps")
        self.assertEqual(self.summary()["fault_domains"], {"shared": 1, "containers_max": 2})

    def test_the_offered_load(self):
        """Rate of arrival x duration x GPUs asked for, of all GPUs; and a knob that sets it."""
        pods = ["a 1 1000 10 20", "b 1 500 30 50", "c 1 500 35 40"]
        offered = (10 + 0.5 * 20 + 0.5 * 5) / 25
        self.replay(pods)
        self.assertAlmostEqual(self.summary()["gpu"]["offered_load"], offered, places=12)
        rows = self.replay(pods, "--offered-load", offered / 4)
        self.assertEqual(rows, ["10:1000:1000", "20:1000:0", "90:1500:500", "110:1500:0", "110:2000:500", "115:2000:0"])
        self.assertAlmostEqual(self.summary()["gpu"]["offered_load"], offered / 4, places=12)
        self.assertEqual(self.summary()["config"]["offered_load"], str(offered / 4))

    def test_tune_is_not_called_a_load(self):
        pods = TIMED_HEADER + "a,1,1,1,1000,,10,20\nb,1,1,1,500,,30,50\n"
        shown = self.run_lists("--departures", "--tune", "1.5", nodes=TWO_GPUS, pods=pods)
        self.assert_done(shown)
        self.assertRegex(shown.stdout, r"(?m)^offered load +\d\.\d{4} of all GPUs in the 20 s of arrivals: arrival rate x "
                                       r"duration x GPUs requested$")
        self.assertRegex(shown.stdout, r"(?m)^tune +pods request 1\.5 times all GPUs; where pods leave, this is not the load$")
        staying = self.run_lists("--tune", "1.5", nodes=TWO_GPUS, pods=pods)
        self.assertNotIn("load", staying.stdout)
        self.assertNotIn("offered_load", self.summary()["gpu"])

    def test_an_offered_load_that_cannot_be_set(self):
        pods = TIMED_HEADER + "a,1,1,1,1000,,10,20\nb,1,1,1,500,,30,50\n"
        self.assert_refused(self.run_lists("--offered-load", "0.5", pods=pods), "offered_load: got '0.5'", "departures")
        for value in ("-1", "nan", "1001", "x"):
            self.assert_refused(self.run_lists("--departures", "--offered-load", value, pods=pods), "offered_load", value)
        for lines, word in (("a,1,1,1,1000,,10,20\n", "one instant"), ("a,1,1,1,1000,,10,\nb,1,1,1,1000,,20,\n", "leaves")):
            self.assert_refused(self.run_lists("--departures", "--offered-load", "1", pods=TIMED_HEADER + lines), word)

    def test_rows_at_an_interval(self):
        rows = self.replay(["a 1 1000 10 20", "b 1 500 30 50", "c 1 500 35 40"], "--sample-interval-s", "10")
        self.assertEqual(rows, ["10:1000:1000", "20:1000:0", "30:1500:500", "40:2000:500", "50:2000:0"])

    def test_an_interval_longer_than_everything(self):
        rows = self.replay(["a 1 1000 10 20"], "--sample-interval-s", "1000")
        self.assertEqual(rows, ["10:1000:1000", "1010:1000:0"])

    def test_an_interval_without_departures(self):
        self.assert_done(self.run_lists("--sample-interval-s", "2", nodes=TWO_GPUS))
        self.assertEqual([row["time"] for row in self.series()], ["0", "2"])

    def test_deletion_before_creation(self):
        result = self.run_lists("--departures", pods=TIMED_HEADER + "a,1,1,1,1000,,10,20\nb,1,1,1,1000,,10,9\n")
        self.assert_refused(result, "pods.csv:3: deletion_time: got '9'", "creation_time")

    def test_a_list_without_times(self):
        self.assert_refused(self.run_lists("--departures", pods=PODS), "creation_time")

    def test_one_pod_without_a_time(self):
        result = self.run_lists("--departures", pods=TIMED_HEADER + "a,1,1,1,1000,,10,20\nb,1,1,1,1000,,,\n")
        self.assert_refused(result, "b", "creation_time")


if __name__ == "__main__":
    unittest.main()
