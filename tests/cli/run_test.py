"""`vgpusim run`: how it is told what to do, and the files it writes."""

import hashlib
import json
import os
import re
import shutil
import socket
import unittest
from collections import Counter

from support import DEFAULT_OUTPUTS, NODES, OUTPUTS, PODS, QUICKSTART, TIMED_HEADER, VGPUSIM, CliTest, on_a_terminal, read_csv

PODS_COLUMNS = ["order", "name", "node", "gpus", "placed", "reason", "arrival_s", "start_s", "end_s",
                "attempts"]
SERIES_COLUMNS = ["event", "time", "arrived_milli", "allocated_milli", "used_nodes", "used_gpus",
                  "fragmentation_milli", "fragmentation_pct", "served_milli", "waiting", "running", "power_w",
                  "served_memory_milli", "served_compute_milli"]


class OutputTest(CliTest):
    def test_files(self):
        result = self.run_lists("--policy", "best_fit")
        self.assert_done(result)
        self.assertEqual(self.present(self.out), OUTPUTS)
        self.assertIn("best_fit", result.stdout)
        self.assertIn(f"{self.out}/report.html", result.stdout)

    def test_pods_csv(self):
        self.assert_done(self.run_quickstart("--policy", "best_fit"))
        rows = self.pods()
        self.assertEqual(list(rows[0]), PODS_COLUMNS)
        self.assertEqual([row["order"] for row in rows], [str(i) for i in range(len(rows))])
        self.assertEqual(len(rows), 2038)
        self.assertEqual({row["placed"] for row in rows}, {"0", "1"})
        for row in rows:
            if row["placed"] == "1":
                self.assertTrue(row["node"].startswith("quick-node-"))
                self.assertEqual(row["reason"], "")
                gpus = [int(gpu) for gpu in row["gpus"].split("|") if gpu]
                self.assertEqual(gpus, sorted(set(gpus)))
            else:
                self.assertEqual((row["node"], row["gpus"]), ("", ""))
                self.assertRegex(row["reason"], r"^[a-z_]+$")

    def test_a_tiny_replay_placement_by_placement(self):
        self.assert_done(self.run_lists("--policy", "best_fit"))
        self.assertEqual((self.out / "pods.csv").read_text(), "order,name,node,gpus,placed,reason,arrival_s,start_s,end_s,attempts\n"
                         "0,pod-2,node-a,,1,,0,0,,1\n1,pod-1,node-a,0|1,1,,1,1,,1\n"
                         "2,pod-0,,,0,insufficient_gpu_share,2,,,1\n")
        rows = [(row["arrived_milli"], row["allocated_milli"], row["used_nodes"], row["used_gpus"])
                for row in self.series()]
        self.assertEqual(rows, [("0", "0", "1", "0"), ("2000", "2000", "1", "2"), ("2500", "2000", "1", "2")])

    def test_idle_devices_by_cause_add_up(self):
        result = self.run_quickstart("--policy", "best_fit")
        self.assert_done(result)
        summary = self.summary()
        self.assertEqual(sum(summary["idle"].values()), summary["gpu"]["total_milli"] - summary["gpu"]["allocated_milli"])
        numbers = [float(number) for number in re.search("^idle .*$", result.stdout, re.MULTILINE)[0].split() if number[0].isdigit()]
        self.assertAlmostEqual(numbers[0], sum(numbers[1:]))
        self.assertEqual(len(numbers), 6)

    def test_idle_devices_of_a_tiny_cluster(self):
        """Of two GPUs 600 of 1000 are given out each, and a third pod of 600 fits on neither."""
        nodes = self.write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,9000,9000,1,T4\nb,9000,9000,1,T4\n")
        pods = self.write("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
                          + "".join(f"p{i},1000,100,1,600,,LS,Running,{i},,\n" for i in range(3)))
        self.assert_done(self.vgpusim("run", "--nodes", nodes, "--pods", pods, "--policy", "best_fit", "--out", str(self.out)))
        self.assertEqual(self.summary()["idle"], {"of_use_milli": 0, "host_full_milli": 0, "scattered_milli": 800,
                                                  "wrong_kind_milli": 0, "out_of_service_milli": 0})

    def test_timeseries_csv(self):
        self.assert_done(self.run_quickstart())
        rows = self.series()
        self.assertEqual(list(rows[0]), SERIES_COLUMNS)
        self.assertEqual(len(rows), len(self.pods()))
        self.assertEqual([row["event"] for row in rows], [str(i) for i in range(len(rows))])
        self.assertEqual([row["time"] for row in rows], [row["event"] for row in rows])  # one arrival a second
        before = 0
        for row in rows:
            arrived, allocated = int(row["arrived_milli"]), int(row["allocated_milli"])
            self.assertGreaterEqual(arrived, max(allocated, before))
            before = arrived
            self.assertLessEqual(int(row["used_gpus"]), 412)
            self.assertLessEqual(int(row["used_nodes"]), 64)
            self.assertLessEqual(float(row["fragmentation_milli"]), 412000 - allocated + 1e-4)
            self.assertTrue(0 <= float(row["fragmentation_pct"]) <= 100)
            self.assertRegex(row["fragmentation_pct"], r"^\d+\.\d+$")

    def test_summary_json(self):
        result = self.run_quickstart("--policy", "fgd", "--seed", "7", "--json")
        self.assert_done(result)
        summary = self.summary()
        self.assertEqual(json.loads(result.stdout), summary)
        whole, text, number = int, str, float
        shape = {"version": text, "seed": whole, "policy": text, "config": dict,
                 "inputs": [{"path": text, "sha256": text}, {"path": text, "sha256": text}],
                 "pods": {"arrived": whole, "placed": whole, "failed": whole, "finished": whole,
                          "failed_by_reason": dict},
                 "acceptance": {"pods_arrived": whole, "pods_accepted": whole, "accepted_ratio": number, "gpus_arrived": number,
                                "gpus_accepted": number, "accepted_gpu_ratio": number,
                                "by_size": [{"size": text, "gpus_from": whole, "gpus_below": whole, "arrived": whole,
                                             "accepted": whole, "accepted_ratio": number}] * 5},
                 "gpu": {"total_milli": whole, "arrived_milli": whole, "allocated_milli": whole,
                         "allocation_ratio": number, "active": whole, "count": whole,
                         "served_ratio": number, "served_memory_ratio": number, "served_compute_ratio": number,
                         "served_peak_ratio": number, "allocation_mean_ratio": number,
                         "allocation_until_last_arrival_ratio": number, "allocation_peak_ratio": number},
                 "nodes": {"active": whole, "count": whole},
                 "fragmentation": {"amount_milli": number, "ratio": number, "buckets_milli": dict,
                                   "mean_milli": number, "mean_ratio": number},
                 "idle": {"of_use_milli": whole, "host_full_milli": whole, "scattered_milli": whole, "wrong_kind_milli": whole,
                          "out_of_service_milli": whole},
                 "fault_domains": {"shared": whole, "containers_max": whole},
                 "power": {"idle_w": whole, "busy_w": whole, "end_w": whole, "gpus_unknown": whole},
                 "timing": {"wall_s": number, "cpu_s": number, "decisions_per_s": number, "decision_p50_us": number,
                            "decision_p99_us": number}}
        self.assert_shape(summary, shape)
        self.assertEqual((summary["seed"], summary["policy"]), (7, "fgd"))
        pods, gpu = summary["pods"], summary["gpu"]
        self.assertEqual(pods["arrived"], pods["placed"] + pods["failed"])
        self.assertEqual(sum(pods["failed_by_reason"].values()), pods["failed"])
        self.assertEqual(gpu["total_milli"], 1000 * gpu["count"])
        self.assertAlmostEqual(gpu["allocation_ratio"], gpu["allocated_milli"] / gpu["total_milli"], delta=1e-12)
        for ratio in (gpu["allocation_ratio"], summary["fragmentation"]["ratio"]):
            self.assertTrue(0 <= ratio <= 1, ratio)
        idle = gpu["total_milli"] - gpu["allocated_milli"]
        self.assertAlmostEqual(summary["fragmentation"]["ratio"], summary["fragmentation"]["amount_milli"] / idle,
                               delta=1e-12)
        self.assertAlmostEqual(sum(summary["fragmentation"]["buckets_milli"].values()), idle, delta=1e-3)
        for entry, name in zip(summary["inputs"], ("nodes.csv", "pods.csv")):
            content = (QUICKSTART / name).read_bytes()
            self.assertEqual(entry, {"path": str(QUICKSTART / name), "sha256": hashlib.sha256(content).hexdigest()})
        for value in summary["timing"].values():
            self.assertGreaterEqual(value, 0)

    def test_reasons_are_in_the_words_of_the_trace(self):
        """openb knows no GPU memory, so no pod fails for want of it."""
        self.assert_done(self.run_quickstart("--policy", "best_fit"))
        reasons = Counter(row["reason"] for row in self.pods() if row["reason"])
        self.assertEqual(dict(reasons), self.summary()["pods"]["failed_by_reason"])
        self.assertGreater(reasons["insufficient_gpu_share"], 100)
        for name in ("pods.csv", "summary.json", "report.html"):
            text = (self.out / name).read_text(encoding="utf-8")
            self.assertIn("insufficient_gpu_share", text, name)
            self.assertNotIn("insufficient_device", text, name)

    def test_what_is_served_and_what_is_allocated(self):
        """By allocation, sharing loses; by what pods asked for it gains."""
        self.assert_done(self.run_quickstart("--policy", "best_fit", "--mode", "exclusive"))
        requested = {row["name"]: int(row["num_gpu"]) * int(row["gpu_milli"]) for row in read_csv(QUICKSTART / "pods.csv")}
        served = sum(requested[row["name"]] for row in self.pods() if row["placed"] == "1")
        gpu = self.summary()["gpu"]
        self.assertEqual(gpu["served_ratio"], served / 412_000)
        self.assertEqual((gpu["allocation_mean_ratio"], gpu["allocation_peak_ratio"]), (1.0, 1.0))
        self.assertEqual(self.series()[-1]["served_milli"], str(served))
        self.assertLess(gpu["served_ratio"], 0.32)

    def test_fault_domains(self):
        """Containers under MPS share their faults: as many as pods.csv puts on one GPU. Others do not."""
        for mode in ("mps", "hami_core", "exclusive"):
            self.assert_done(self.run_quickstart("--policy", "binpack", "--mode", mode))
            users = Counter((row["node"], gpu) for row in self.pods() for gpu in row["gpus"].split("|") if gpu)
            shared = [count for count in users.values() if count > 1] if mode == "mps" else []
            self.assertEqual(self.summary()["fault_domains"],
                             {"shared": len(shared), "containers_max": max(shared, default=0)}, mode)
            self.assertEqual(mode == "mps", bool(shared))

    def assert_shape(self, value, shape, where=""):
        if isinstance(shape, type):
            # A ratio of exactly 0 or 1 may well be written as 0.0 or 1.0, but never a count as 1.0.
            self.assertIsInstance(value, shape, where)
            self.assertNotIsInstance(value, bool, where)
        elif isinstance(shape, list):
            self.assertEqual(len(value), len(shape), where)
            for i, (element, expected) in enumerate(zip(value, shape)):
                self.assert_shape(element, expected, f"{where}/{i}")
        else:
            self.assertEqual(list(value), list(shape), where)
            for key, expected in shape.items():
                self.assert_shape(value[key], expected, f"{where}/{key}")

    def test_a_full_and_an_empty_cluster_still_have_ratios(self):
        for pods, ratio in ((PODS.splitlines()[0] + "\np,1,1,2,1000\n", 1.0), (PODS.splitlines()[0] + "\np,1,1,0,0\n", 0.0)):
            self.assert_done(self.run_lists(pods=pods))
            gpu, shown = self.summary()["gpu"], self.summary()["fragmentation"]
            self.assertEqual(gpu["allocation_ratio"], ratio)
            self.assertIsInstance(gpu["allocation_ratio"], float)
            self.assertTrue(0 <= shown["ratio"] <= 1)

    def test_a_cluster_without_gpus(self):
        self.assert_done(self.run_lists(nodes=NODES.splitlines()[0] + "\nn,64000,262144,0,\n"))
        self.assertEqual(self.summary()["gpu"]["allocation_ratio"], 0)
        self.assertEqual(self.summary()["pods"]["placed"], 1)
        self.assertEqual(self.series()[-1]["fragmentation_pct"], "0.0000")

    def test_nodes_without_gpus_among_others(self):
        """Whatever rank the seed gives them, the first one too."""
        nodes = NODES + "".join(f"cpu-{i},32000,131072,0,\n" for i in range(3))
        for seed in range(8):
            with self.subTest(seed=seed):
                self.assert_done(self.run_lists("--seed", seed, nodes=nodes))
                self.assertEqual(self.summary()["gpu"]["count"], 2)

    def test_report_html_is_self_contained(self):
        self.assert_done(self.run_quickstart())
        page = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertTrue(page.lstrip().lower().startswith("<!doctype html"))
        self.assertIn("</html>", page)
        self.assertEqual(re.findall(r"""<(?:script|img|iframe|link|source)[^>]*\s(?:src|href)\s*=\s*["']?(?!data:|\#)""",
                                    page), [])
        self.assertEqual(re.findall(r"""(?:@import|url\()\s*["']?(?:https?:)?//""", page), [])
        self.assertNotRegex(page, r"\bfetch\s*\(\s*[\"']|XMLHttpRequest\(\)\.open\(\s*[\"']GET[\"'],\s*[\"']http")

    def test_trace_json_is_written_where_it_is_asked_for(self):
        pods = TIMED_HEADER + "a,1,1,1,400,,10,30\nb,1,1,1,600,,20,50\nc,1,1,0,0,,25,26\n"
        self.assert_done(self.run_lists("--departures", "--trace", pods=pods))
        trace = json.loads((self.out / "trace.json").read_text())
        spans = {event["name"]: event for event in trace["traceEvents"] if event["ph"] == "X"}
        self.assertEqual({name: (span["ts"], span["dur"]) for name, span in spans.items()},
                         {"a": (10e6, 20e6), "b": (20e6, 30e6), "c": (25e6, 1e6)})
        self.assertEqual(spans["b"]["args"], {"request": "a part of one", "parts": "600 milli-GPU"})
        self.assertEqual(self.present(self.out), sorted([*DEFAULT_OUTPUTS, "trace.json"]))
        self.assert_done(self.run_lists("--departures", pods=pods))
        self.assertEqual(self.present(self.out), DEFAULT_OUTPUTS)  # an earlier run's goes

    def test_a_trace_does_not_replace_an_input(self):
        folder = self.root / "trace.json"
        folder.write_text(PODS)
        self.write("nodes.csv", NODES)
        result = self.vgpusim("run", "--nodes", "nodes.csv", "--pods", "trace.json", "--out", self.root, "--trace")
        self.assert_error_line(result, 2, "trace.json")
        self.assertEqual(folder.read_text(), PODS)

    def test_a_second_run_replaces_the_first_one_s_files(self):
        self.assert_done(self.run_quickstart())
        (self.out / "mine.txt").write_text("not vgpusim's")
        self.assert_done(self.run_lists())
        self.assertEqual(self.present(self.out), sorted([*DEFAULT_OUTPUTS, "mine.txt"]))
        self.assertEqual(len(self.pods()), 3)
        self.assertEqual(self.summary()["pods"]["arrived"], 3)

    def test_a_pipe_in_place_of_an_output_is_written_and_never_read(self):
        """The program looked for earlier outputs in pipes and waited there for ever."""
        for earlier in (False, True):
            for name in [*DEFAULT_OUTPUTS, "trace.json"]:
                with self.subTest(name=name, earlier=earlier):
                    shutil.rmtree(self.out, ignore_errors=True)
                    if earlier:
                        self.assert_done(self.run_lists("--trace"))
                        (self.out / name).unlink()
                    self.out.mkdir(exist_ok=True)
                    done, received = self.vgpusim_into_pipe(self.out / name, "run", *self.inputs(), "--out", self.out, "--trace")
                    self.assert_done(done)
                    self.assertTrue(received)
                    self.assertTrue((self.out / name).is_fifo())

    def test_a_pipe_that_is_no_output_is_left_alone(self):
        """What an earlier run has left is looked for in regular files only."""
        self.assert_done(self.run_lists("--policy", "best_fit"))  # which has no prices
        os.mkfifo(self.out / "trace.json")
        os.mkfifo(self.out / "prices.json")
        (self.out / "summary.json").rename(self.out / "elsewhere.json")
        (self.out / "summary.json").symlink_to("elsewhere.json")
        self.assert_done(self.run_lists("--policy", "best_fit"))
        self.assertTrue((self.out / "trace.json").is_fifo())
        self.assertEqual(self.present(self.out), sorted([*OUTPUTS, "elsewhere.json", "prices.json", "trace.json"]))

    def test_links_stay_and_devices_and_sockets_are_not_replaced(self):
        self.out.mkdir()
        (self.root / "mine.csv").write_text("old")
        (self.out / "pods.csv").symlink_to(self.root / "mine.csv")
        (self.out / "timeseries.csv").symlink_to("/dev/null")
        self.assert_done(self.run_lists())
        self.assertTrue((self.out / "pods.csv").is_symlink())
        self.assertTrue((self.root / "mine.csv").read_text().startswith("order,name,"))
        self.assertTrue((self.out / "timeseries.csv").is_char_device())
        (self.out / "report.html").unlink()
        with socket.socket(socket.AF_UNIX) as endpoint:
            endpoint.bind(str(self.out / "report.html"))
            self.assert_error_line(self.run_lists(), 2, "report.html", "it is a socket")
            self.assertTrue((self.out / "report.html").is_socket())

    def test_folders_that_do_not_exist_are_made(self):
        self.out = self.root / "a" / "b" / "c"
        self.assert_done(self.run_lists())
        self.assertEqual(self.present(self.out), DEFAULT_OUTPUTS)

    def test_bad_rows_of_the_pod_list_are_counted_and_listed(self):
        bad = PODS + "x,1,1,1\n" + "y,1,1,1,nan\n" + PODS.splitlines()[1] + "\n"
        self.assert_refused(self.run_lists(pods=bad), "pods.csv:5: expected 5 fields, found 4")
        for more in ((), ("--departures",)):
            result = self.run_lists("--skip-bad-rows", *more, pods=bad)
            if more:  # the rows that are left have no times, which is no matter of single rows
                self.assert_error_line(result, 2, "creation_time")
                continue
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("3 rows are left out: bad, the first of them", result.stderr)
            skipped = self.summary()["skipped_rows"]
            self.assertEqual((skipped["count"], len(skipped["first"])), (3, 3))
            self.assertIn("pods.csv:6: gpu_milli: got 'nan'", skipped["first"][1])
            rows = self.pods()
            self.assert_done(self.run_lists())
            self.assertEqual(self.pods(), rows)
            self.assertNotIn("skipped_rows", self.summary())
        self.assert_done(self.run_lists("--skip-bad-rows"))
        self.assertEqual(self.summary()["skipped_rows"], {"count": 0, "first": []})
        self.assert_error_line(self.run_lists("--skip-bad-rows", nodes=NODES + "n,1,1\n"), 2, "nodes.csv:")

    def test_an_input_is_not_overwritten_by_an_output(self):
        """The pod list is called pods.csv, as the output is: writing beside it would destroy it."""
        arguments = self.inputs()
        result = self.vgpusim("run", *arguments, "--out", self.root)
        self.assert_error_line(result, 2, "pods.csv")
        self.assertEqual((self.root / "pods.csv").read_text(), PODS)
        self.assertEqual(self.present(), ["nodes.csv", "pods.csv"])


class ConfigurationTest(CliTest):
    """Where a setting may come from: scenario, --set, flag; the later one wins."""

    def scenario(self, text=None, **keys):
        self.inputs()
        return self.write("study.json", text if text is not None else
                          json.dumps({"nodes": "nodes.csv", "pods": "pods.csv", **keys}))

    def config(self, *arguments, **how):
        self.assert_done(self.vgpusim("run", *arguments, "--out", self.out, **how))
        return self.summary()["config"]

    def test_every_flag(self):
        config = self.config(*self.inputs(), "--format", "openb", "--policy", "worst_fit", "--device-policy", "binpack",
                             "--mode", "exclusive", "--tune", "0.25", "--seed", "9", "--discipline", "easy",
                             "--sample-interval-s", "5")
        self.assertEqual(config, {
            "format": "openb", "nodes": str(self.root / "nodes.csv"), "pods": str(self.root / "pods.csv"),
            "classes": "", "queues": "", "config": "", "scheduler_config": "", "catalog": "", "events": "", "failures": "", "autoscaler": "",
            "policy": "worst_fit", "device_policy": "binpack", "mode": "exclusive", "tune": "0.25", "offered_load": "0", "seed": "9",
            "departures": "false", "mapping": "", "skip_bad_rows": "false", "discipline": "easy", "after_failure": "requeue", "layout_change_s": "0",
            "sample_interval_s": "5"})

    def test_scenario(self):
        path = self.scenario(name="a study", description="for a test", policy="spread", seed=5, tune=0.5)
        config = self.config(path)
        self.assertEqual((config["policy"], config["seed"], config["tune"]), ("spread", "5", "0.5"))
        self.assertEqual(config["nodes"], str(self.root / "nodes.csv"))

    def test_paths_in_a_scenario_start_at_its_folder(self):
        self.inputs()
        path = self.write("deep/study.json", '{"nodes": "../nodes.csv", "pods": "../pods.csv"}')
        self.assertEqual(self.config(path, cwd="/")["nodes"], str(self.root / "nodes.csv"))
        self.assertEqual(self.config("deep/study.json")["nodes"], "nodes.csv")

    def test_precedence(self):
        path = self.scenario(policy="spread", seed=1, tune=0.5)
        config = self.config(path, "--set", "seed=2", "--set", "tune=0.75", "--seed", "3")
        self.assertEqual((config["policy"], config["tune"], config["seed"]), ("spread", "0.75", "3"))
        config = self.config(path, "--seed", "3", "--set", "seed=2", "--set", "seed=4")
        self.assertEqual(config["seed"], "3")
        self.assertEqual(self.config(path, "--set", "seed=2", "--set", "seed=4")["seed"], "4")

    def test_a_scenario_after_set(self):
        path = self.scenario(seed=1)
        self.assertEqual(self.config("--set", "seed=2", path)["seed"], "2")

    def test_out_from_a_scenario_starts_at_the_current_folder(self):
        path = self.scenario(out="results")
        (self.root / "elsewhere").mkdir()
        self.assert_done(self.vgpusim("run", path, cwd=self.root / "elsewhere"))
        self.assertEqual(self.present(self.root / "elsewhere" / "results"), DEFAULT_OUTPUTS)

    def test_weighted_policy(self):
        self.assertEqual(self.config(*self.inputs(), "--policy", "weighted:fgd=0.7,binpack=0.3")["policy"],
                         "weighted:fgd=0.7,binpack=0.3")
        alone = self.run_quickstart("--policy", "weighted:best_fit=2", out=self.root / "one")
        self.assert_done(alone)
        self.assert_done(self.run_quickstart("--policy", "best_fit", out=self.root / "two"))
        self.assertEqual((self.root / "one" / "pods.csv").read_bytes(), (self.root / "two" / "pods.csv").read_bytes())

    def test_device_policy_decides_the_device_only(self):
        pods = PODS.splitlines()[0] + "\n" + "".join(f"p{i},100,100,1,300\n" for i in range(4))
        self.assert_done(self.run_lists("--policy", "best_fit", "--device-policy", "worst_fit", pods=pods))
        self.assertEqual(sorted(row["gpus"] for row in self.pods()), ["0", "0", "1", "1"])
        self.assert_done(self.run_lists("--policy", "best_fit", pods=pods))
        self.assertEqual(sorted(row["gpus"] for row in self.pods()), ["0", "0", "0", "1"])

    def test_a_model_that_no_node_has_is_told_of(self):
        """Such pods failed like others, without a word that nothing could ever take them."""
        pods = PODS.splitlines()[0] + ",gpu_spec\n" + "".join(
            f"p{i},100,100,1,300,{spec}\n" for i, spec in enumerate(["A100", "NOPE", "NOPE", "T4|A100", "G1|G2", ""]))
        result = self.run_lists(pods=pods)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.splitlines(), [
            "vgpusim: warning: gpu_spec: got 'NOPE', expected a model of the node list; 2 pods that ask for it can go nowhere",
            "vgpusim: warning: gpu_spec: got 'G1|G2', expected a model of the node list; a pod that asks for it can go nowhere"])
        self.assertEqual(sum(row["placed"] == "0" for row in self.pods()), 3)
        compared = self.vgpusim("compare", *self.inputs(pods=pods), "--policy", "fgd", "--policy", "random", "--out", self.out)
        self.assertEqual(compared.stderr, result.stderr)

    def test_names_of_models_have_nothing_around_them(self):
        """' G2' was another model than 'G2', and looked the same."""
        for spec in ("G2 | T4", " A100", "A100 ", "A100|", "A\x00", "A\x7f"):
            pods = PODS.splitlines()[0] + f",gpu_spec\np,100,100,1,300,{spec}\n"
            self.assert_refused(self.run_lists(pods=pods), "pods.csv:2: gpu_spec: got '", "expected models without spaces")
        self.assert_refused(self.run_lists(nodes=NODES.replace("A100", " A100")), "nodes.csv:2: model: got ' A100'")

    def test_exclusive_mode_gives_whole_gpus(self):
        pods = PODS.splitlines()[0] + "\n" + "".join(f"p{i},100,100,1,300\n" for i in range(4))
        self.assert_done(self.run_lists("--mode", "exclusive", pods=pods))
        self.assertEqual(sorted(row["gpus"] for row in self.pods() if row["placed"] == "1"), ["0", "1"])
        self.assertEqual(self.summary()["pods"]["failed"], 2)

    def test_bare_names_are_looked_for_here_then_in_vgpualloc_traces(self):
        listed = {"VGPUALLOC_TRACES": str(self.root / "traces")}
        self.write("nodes.csv", NODES)
        self.write("traces/pods.csv", PODS + "one-more,1,1,0,0\n")
        lists = ["run", "--nodes", "nodes.csv", "--pods", "pods.csv", "--out", self.out]
        result = self.vgpusim(*lists, env=listed)
        self.assert_done(result)
        self.assertEqual([entry["path"] for entry in self.summary()["inputs"]],
                         ["nodes.csv", f"{self.root}/traces/pods.csv"])
        self.assertIn(f"\ninputs         nodes.csv, {self.root}/traces/pods.csv\n", result.stdout)
        self.assertEqual(self.summary()["pods"]["arrived"], 4)
        self.write("pods.csv", PODS)  # the file in the current folder was not the one that was read
        result = self.vgpusim(*lists, env=listed)
        self.assertEqual(self.summary()["pods"]["arrived"], 3)
        self.assertIn("\ninputs         nodes.csv, pods.csv\n", result.stdout)
        compared = self.vgpusim("compare", *lists[1:], "--policy", "fgd", "--policy", "random", env=listed)
        self.assertIn("\ninputs: nodes.csv, pods.csv\n", compared.stdout)

    def test_bare_names_in_a_scenario_are_looked_for_in_vgpualloc_traces_too(self):
        self.write("traces/n.csv", NODES)
        self.write("traces/p.csv", PODS)
        path = self.write("study/s.json", '{"nodes": "n.csv", "pods": "p.csv"}')
        result = self.vgpusim("run", path, "--out", self.out, env={"VGPUALLOC_TRACES": str(self.root / "traces")})
        self.assert_done(result)
        self.assertEqual(self.summary()["pods"]["arrived"], 3)
        self.write("study/p.csv", PODS + "one-more,1,1,0,0\n")  # beside the scenario comes first
        result = self.vgpusim("run", path, "--out", self.out, env={"VGPUALLOC_TRACES": str(self.root / "traces")})
        self.assertEqual(self.summary()["pods"]["arrived"], 4)


class ProgressTest(CliTest):
    def test_silent_on_a_pipe(self):
        self.assertEqual(self.run_quickstart("--tune", "20").stderr, "")

    def test_rate_and_time_left_on_a_terminal(self):
        code, shown = on_a_terminal(
            [VGPUSIM, "run", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--tune", "20",
             "--out", self.out], self.environment)
        self.assertEqual(code, 0)
        self.assertRegex(shown, rb"\r[^\r]*\d+%  \d+ pods/s  \d+ s left")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])  # nothing of it stays

    def test_an_error_on_a_terminal_is_still_one_line(self):
        code, shown = on_a_terminal([VGPUSIM, "run", "--nodes", "absent.csv", "--pods", "absent.csv"], self.environment)
        self.assertEqual(code, 2)
        self.assertEqual(shown.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
