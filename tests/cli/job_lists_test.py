"""Lists of jobs: Philly, DLRM, SWF, plain or compressed, on nodes of either kind; what is wrong with them."""

import gzip
import json
import shutil
import unittest

from support import NODES, NODES_HEADER, CliTest, untimed

PHILLY_HEADER = "timestamp,duration,num_gpus,gpu_time,cluster\n"
PHILLY = (PHILLY_HEADER + "2017-10-09 07:00:10,30.5,2,61.0,vc1\n2017-10-09 07:00:00,20,1,20.0,vc2\n"
          "2017-10-09 07:00:05,5,0,0.0,vc1\n2017-10-09 07:00:40,5,4,20.0,vc1\n")
SWF = ("; Version: 2.2\n" "7 21 -1 100 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n"
       "9 5 -1 10 1 -1 -1 -1 -1 -1 1 1 1 1 2 1 -1 -1\n")
DLRM_HEADER = "instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,deletion_time\n"
DLRM = DLRM_HEADER + "i0,HN,a,12,1,120.0,475.00000000000006,500\ni1,CN,a,4,0,100.0,,\n"
LISTS = {"philly": PHILLY, "swf": SWF, "dlrm": DLRM}
NODE_OBJECTS = """apiVersion: v1
kind: Node
metadata:
  name: node-a
status:
  allocatable: {cpu: "64", memory: 256Gi, nvidia.com/gpu: "2", pods: "110"}
  capacity: {cpu: "64", memory: 256Gi, nvidia.com/gpu: "2", pods: "110"}
"""


class JobListsTest(CliTest):
    def run_jobs(self, form, *more, nodes=NODES, pods=None, **how):
        return self.run_lists("--format", form, *more, nodes=nodes, pods=LISTS[form] if pods is None else pods, **how)

    def assert_runs(self, form, *more, **how):
        result = self.run_jobs(form, *more, **how)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def rows(self):
        return [(row["name"], row["node"], row["gpus"], row["placed"]) for row in self.pods()]

    def test_philly(self):
        self.assert_runs("philly", "--policy", "best_fit")
        self.assertEqual(self.rows()[:3], [("1", "node-a", "0", "1"), ("2", "node-a", "", "1"), ("0", "", "", "0")])
        self.assertEqual(self.rows()[3][0], "3")
        self.assertFalse({"left_out_rows", "skipped_rows"} & set(self.summary()))
        self.assert_runs("philly", "--skip-bad-rows")
        self.assertEqual(self.summary()["skipped_rows"], {"count": 0, "first": []})

    def test_swf_ends_jobs_at_their_estimates(self):
        self.assert_runs("swf", "--policy", "best_fit")
        self.assertEqual([row[0] for row in self.rows()], ["9", "7"])
        self.assertEqual(float(self.series()[-1]["time"]), 21 + 60)

    def test_dlrm(self):
        self.assert_runs("dlrm", "--policy", "best_fit")
        self.assertEqual(self.rows(), [("i0", "node-a", "0", "1"), ("i1", "node-a", "", "1")])

    def test_compressed_lists_give_the_same(self):
        for form, text in LISTS.items():
            with self.subTest(form):
                self.assert_runs(form)
                plain = self.pods()
                self.assert_runs(form, pods=gzip.compress(text.encode()), nodes=gzip.compress(NODES.encode()))
                self.assertEqual(self.pods(), plain)

    def test_nodes_may_be_objects_of_kubernetes(self):
        self.assert_runs("philly", nodes=NODE_OBJECTS)
        placed = {row["name"]: row["gpus"] for row in self.pods()}
        self.assertEqual(placed["1"], "0")
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"},
             "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "2", "pods": "110"}}}]})
        self.assert_runs("philly", nodes=listed)
        self.assertEqual({row["name"]: row["gpus"] for row in self.pods()}, placed)
        shutil.rmtree(self.out)
        self.assert_refused(self.run_jobs("philly", "--mode", "exclusive", nodes=NODE_OBJECTS), "mode", "objects say")

    def test_offered_load_moves_the_arrivals(self):
        self.assert_runs("philly", "--offered-load", "2")
        self.assertAlmostEqual(self.summary()["gpu"]["offered_load"], 2.0, places=4)

    def test_same_input_same_bytes(self):
        for form in LISTS:
            self.assert_runs(form)
            first = ((self.out / "pods.csv").read_bytes(), untimed((self.out / "summary.json").read_text()))
            self.assert_runs(form)
            again = ((self.out / "pods.csv").read_bytes(), untimed((self.out / "summary.json").read_text()))
            self.assertEqual(first, again)

    def test_bad_rows_are_refused_by_line_column_and_value(self):
        for form, line, words in (
                ("philly", "2017-02-30 00:00:00,1,1,1,vc", [":6: timestamp: got '2017-02-30 00:00:00'", "that exist"]),
                ("philly", "2017-02-03 00:00:00,-1,1,1,vc", [":6: duration: got '-1'", "seconds from 0"]),
                ("philly", "2017-02-03 00:00:00,nan,1,1,vc", [":6: duration: got 'nan'"]),
                ("philly", "2017-02-03 00:00:00,1,99999999999999999999,1,vc", [":6: num_gpus: got '9999"]),
                ("philly", "2017-02-03 00:00:00,1", [":6: expected 5 fields, found 2"]),
                ("swf", "8 1 -1 x 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1", [":4: field 4 (run time): got 'x'"]),
                ("swf", "8 1 -1 1 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1", [":4: expected 18 fields, found 17"]),
                ("swf", "8 -1 -1 1 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1", [":4: field 2 (submit time): got '-1'"]),
                ("swf", "7 1 -1 1 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1", [":4: field 1 (job number): got '7'", "once"]),
                ("dlrm", "i2,XN,a,1,1,1,,", [":4: role: got 'XN'", "HN or CN"]),
                ("dlrm", "i2,HN,a,1,1,1,9,8", [":4: deletion_time: got '8'", "creation_time"]),
                ("dlrm", "i0,HN,a,1,1,1,,", [":4: instance_sn: got 'i0'", "once"])):
            with self.subTest(form=form, line=line):
                self.assert_refused(self.run_jobs(form, pods=LISTS[form] + line + "\n"), "pods.csv" + words[0],
                                    *words[1:])
                result = self.assert_runs(form, "--skip-bad-rows", pods=LISTS[form] + line + "\n")
                self.assertIn("1 row is left out: bad", result.stderr)
                self.assertIn(words[0], result.stderr)
                skipped = self.summary()["skipped_rows"]
                self.assertEqual(skipped["count"], 1)
                self.assertIn("pods.csv" + words[0], skipped["first"][0])
                rows = self.rows()
                self.assert_runs(form)
                self.assertEqual(rows, self.rows())
                shutil.rmtree(self.out)

    def test_bytes_that_are_no_text_are_shown_escaped(self):
        bad = PHILLY.encode() + b"2017-02-03 00:00:00,\xff\x1b[2J,1,1,vc\n"
        refused = self.run_jobs("philly", pods=bad)
        self.assert_refused(refused, "pods.csv:6: duration: got '")
        self.assertNotIn("\x1b", refused.stderr)

    def test_wrong_headers_and_files_without_jobs(self):
        self.assert_refused(self.run_jobs("philly", pods=DLRM), "pods.csv:1: timestamp: missing")
        self.assert_refused(self.run_jobs("dlrm", pods=PHILLY), "pods.csv:1: instance_sn: missing")
        self.assert_refused(self.run_jobs("swf", pods=PHILLY), "pods.csv:1: expected 18 fields")
        for form, header in (("philly", PHILLY_HEADER), ("dlrm", DLRM_HEADER), ("swf", "; nothing\n")):
            self.assert_refused(self.run_jobs(form, pods=header), "pods.csv:", "at least one job")
            self.assert_refused(self.run_jobs(form, pods=""), "pods.csv:1")

    def test_wrong_node_lists(self):
        self.assert_refused(self.run_jobs("swf", nodes="name,gpus\nn,4\n"), "nodes.csv:1: sn: missing")
        self.assert_refused(self.run_jobs("swf", nodes="kind: Pod\n"), "nodes.csv")
        self.assert_refused(self.run_jobs("swf", nodes="{\"kind\": "), "nodes.csv:1")
        self.assert_refused(self.run_jobs("swf", nodes=NODES_HEADER + "n,1,1,1025,G\n"), "nodes.csv:2: gpu: got '1025'")

    def test_rows_left_out_are_counted(self):
        lines = SWF + "8 1 -1 -1 2 -1 -1 2 60 -1 5 1 1 1 1 1 -1 -1\n9 1 -1 1 1 -1 -1 1 60 -1 2 1 1 1 1 1 -1 -1\n"
        result = self.assert_runs("swf", pods=lines)
        self.assertEqual([row["count"] for row in self.summary()["left_out_rows"]], [1, 1])
        self.assertIn("1 row is left out: the run time is not known", result.stderr)
        self.assertEqual(len(self.rows()), 2)

    def test_keys_without_use_are_refused(self):
        for form in LISTS:
            self.assert_refused(self.run_jobs(form, "--tune", "1"), "tune", "format " + form)
            self.assert_refused(self.run_jobs(form, "--departures"), "departures", "format " + form)
        self.assert_refused(self.run_lists("--format", "parquet"), "format: got 'parquet'", "openb, kubernetes, model, philly, dlrm, swf")
        self.assertIn("Standard Workload Format", self.vgpusim("run", "--help").stdout)

    def test_a_mapping_of_a_scenario(self):
        rules = [{"devices": 1, "request": "pods/half.yaml"},
                 {"devices": [2, 9], "fraction": 0.5, "per": "device", "request": {"memory_percent": 25}}]
        self.write("pods/half.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: half}\nspec:\n  containers:\n"
                   "  - {name: c, image: i, resources: {limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory-percentage: 50}}}\n")
        self.inputs(NODES, PHILLY)
        study = self.write("study.json", json.dumps({"format": "philly", "nodes": "nodes.csv", "pods": "pods.csv",
                                                     "policy": "best_fit", "mapping": rules}))
        self.assert_done(self.vgpusim("run", study, "--out", self.out, cwd="/"))
        summary = self.summary()
        self.assertEqual([item["path"] for item in summary["inputs"]][-1], str(self.root / "pods" / "half.yaml"))
        self.assertEqual(json.loads(summary["config"]["mapping"]),
                         [{**rules[0], "request": str(self.root / "pods" / "half.yaml")}, rules[1]])
        shutil.rmtree(self.out)
        for text, words in (("{", ["mapping"]), ("{}", ["mapping", "list of rules"]),
                            ('[{"request": {"profil": "x"}}]', ["mapping", "[0].request", "profile"]),
                            ('[{"request": "absent.yaml"}]', ["absent.yaml"])):
            self.assert_refused(self.run_jobs("philly", "--set", "mapping=" + text), *words)
        self.assert_refused(self.run_lists("--set", 'mapping=[{"request": {"count": 1}}]'), "mapping", "format openb")

    def test_quotas_of_queues(self):
        queues = self.write("queues.yaml", "[{name: vc1, guaranteed: {devices: 1}}, {name: vc2}]\n")
        self.assert_runs("philly", "--queues", queues)
        shutil.rmtree(self.out)
        self.assert_refused(self.run_jobs("philly", "--queues", self.write("queues.yaml", "[{name: vc1}]\n")),
                            "queue: got 'vc2'")

    def test_jobs_that_wait_beyond_all_times_are_refused(self):
        """One after the other they would pass 2^63 microseconds, and start before the first one has arrived."""
        rows = PHILLY_HEADER + "2017-10-09 07:00:00,1000000000000,4,1,vc\n" * 20
        nodes = NODES_HEADER + "n,64000,262144,4,G\n"
        for discipline in ("fifo", "easy", "conservative", "priority", "gang"):
            self.assert_refused(self.run_jobs("philly", "--discipline", discipline, nodes=nodes, pods=rows),
                                f"discipline: got '{discipline}'", "20000000000000 s")
        self.assert_runs("philly", nodes=nodes, pods=rows) # nobody waits
        self.assert_runs("philly", "--discipline", "fifo", nodes=nodes, pods=PHILLY_HEADER + rows.splitlines()[1] + "\n")

    def test_jobs_of_any_size(self):
        huge = "8 1 -1 1 2 -1 -1 10000000 60 -1 1 1 1 1 1 1 -1 -1\n"
        self.assert_refused(self.run_jobs("swf", nodes=NODES_HEADER + "n,1,1,1,G\n", pods="".join(
            huge.replace("8", str(i), 1) for i in range(6))), "10000000 devices", "50000000 pods")


if __name__ == "__main__":
    unittest.main()
