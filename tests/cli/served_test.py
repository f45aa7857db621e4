"""What is served: a property of the pods that run, whoever places them; means of compared runs; bounds on it."""

import json
import unittest
from fractions import Fraction

from clusters import cluster, gpu_node, node, pod, vgpu
from support import SOURCE, CliTest, read_csv

GIB_40 = 40960


def whole(count, **spec):
    return pod("whole", {"nvidia.com/gpu": str(count), "cpu": "1"}, ns="t", **spec)


def nvidia_node(name, count, memory, labels=None):
    return node(name, cpu="256", labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": str(memory),
                                         **(labels or {})}, nvidia_com__gpu=str(count))


class ServedTest(CliTest):
    def flags(self, nodes, classes, rows, header="name,class,arrival"):
        for number, entry in enumerate(classes):
            del entry["metadata"]["namespace"]
            entry["metadata"]["name"] = f"c{number}"
        table = header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
        return ["--format", "kubernetes", "--nodes", self.write("nodes.json", json.dumps(cluster(*nodes))),
                "--classes", self.write("classes.json", json.dumps(cluster(*classes))), "--pods", self.write("pods.csv", table)]

    def compared(self, flags, *policies, more=()):
        result = self.vgpusim("compare", *flags, *[word for name in policies for word in ("--policy", name)], *more, "--out", self.out)
        self.assertEqual(result.returncode, 0, result)
        return {summary["policy"]: summary for summary in json.loads((self.out / "compare.json").read_text())}, result.stdout

    def complements(self):
        """Four pods of 90 % memory and 10 % cores, and four of the opposite, on eight GPUs."""
        classes = [pod("m", vgpu(GIB_40 * 9 // 10, cores=10)), pod("c", vgpu(GIB_40 // 10, cores=90))]
        return self.flags([gpu_node("a", 8)], classes, [(f"p{i}", f"c{i // 4}", i) for i in range(8)])

    def test_pods_that_complement_each_other_count_the_same_on_one_gpu_and_on_two(self):
        summaries, text = self.compared(self.complements(), "binpack", "spread")
        gpus = {name: summary["gpu"] for name, summary in summaries.items()}
        self.assertEqual([gpus[name]["allocation_ratio"] for name in ("binpack", "spread")], [0.5, 0.9])
        for figures in gpus.values():
            self.assertEqual((figures["served_ratio"], figures["served_memory_ratio"], figures["served_compute_ratio"]),
                             (0.5, 0.5, 0.5))
        self.assertIn("All pods run under every policy, and none waits: no winner.", text)

    def test_a_gpu_that_is_full_of_instances_is_all_given_out(self):
        """Seven of seven 1g.5gb of a geometry of --config were 980 thousandths."""
        config = ["--config", SOURCE / "tests" / "data" / "explain" / "device-config.yaml"]
        for more in (config, []):
            flags = self.flags([gpu_node("g", cards=1, mode="mig")], [pod("s", vgpu(3000))], [(f"p{i}", "c0", i) for i in range(7)])
            self.assertEqual(self.vgpusim("run", *flags, *more, "--policy", "binpack", "--out", self.out).returncode, 0)
            self.assertEqual([row["placed"] for row in self.pods()], ["1"] * 7)
            allocated = [int(row["allocated_milli"]) for row in self.series()]
            self.assertEqual(len(allocated), 7)
            self.assertEqual(allocated[-1], 1000, more)
            for instances, milli in enumerate(allocated, 1):
                self.assertLessEqual(abs(milli - Fraction(1000 * instances, 7)), 1)

    def test_both_sums_are_in_every_output(self):
        flags = self.flags([gpu_node("a", 2)], [pod("m", vgpu(GIB_40 // 2, cores=10))], [("p0", "c0", 0), ("p1", "c0", 1)])
        result = self.vgpusim("run", *flags, "--policy", "binpack", "--out", self.out)
        self.assertIn("served         running pods requested 50.00 % of 2 GPUs (50.00 % of memory, 10.00 % of compute)", result.stdout)
        last = self.series()[-1]
        self.assertEqual((last["served_milli"], last["served_memory_milli"], last["served_compute_milli"]), ("1000", "1000", "200"))
        _, text = self.compared(flags, "binpack", "spread")
        self.assertRegex(text.splitlines()[0], r"served % +memory % +compute % +allocation %")
        report = (self.out / "report.html").read_text()
        self.assertIn("Memory served", report)
        self.assertIn("Compute served", report)

    def test_an_instance_counts_what_was_asked_for(self):
        nodes = [gpu_node(f"g{i}", 1, mode="mig") for i in range(2)]
        flags = self.flags(nodes, [pod("s", vgpu(3000)), pod("l", vgpu(9000))],
                           [(f"p{i}", f"c{c}", i) for i, c in enumerate((0, 1, 0, 1, 0))])
        summaries, _ = self.compared(flags, "binpack", "spread")
        for summary in summaries.values():
            self.assertEqual(summary["gpu"]["served_ratio"], float(Fraction(3 * 3000 + 2 * 9000, 2 * GIB_40)))

    def test_means_of_compared_runs_are_over_one_span(self):
        """Spread loses the long pod and is done early."""
        rows = [(f"s{i}", "c0", i, 100) for i in range(6)] + [("long", "c1", 10, 10000)]
        flags = self.flags([nvidia_node(f"n{i}", 5, 81920) for i in range(2)], [whole(1), whole(4)], rows, "name,class,arrival,duration")
        summaries, _ = self.compared(flags, "binpack", "spread")
        self.assertEqual(summaries["spread"]["pods"]["failed"], 1)
        for name, gpu_seconds, end in (("binpack", 600 + 40000, 10010), ("spread", 600, 105)):
            gpu = summaries[name]["gpu"]
            self.assertEqual((gpu["span_s"], gpu["end_s"]), (10010, end))
            self.assertAlmostEqual(gpu["served_gpu_s"], gpu_seconds, 6)
            self.assertAlmostEqual(gpu["served_ratio"], gpu_seconds / 10 / 10010, 12)

    def test_seeds_share_the_span_too(self):
        lists = self.inputs(nodes="sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,5,A\nb,64000,262144,5,A\n",
                            pods="name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n" +
                            "".join(f"s{i},1,1,1,1000,,{i},{i + 100}\n" for i in range(6)) + "long,1,1,4,1000,,10,10010\n")
        result = self.vgpusim("compare", *lists, "--departures", "--seeds", "1..2", "--policy", "binpack", "--policy", "spread",
                              "--out", self.out)
        self.assert_done(result)
        measured = {entry["policy"]: entry["served_ratio"]["by_seed"] for entry in json.loads((self.out / "compare.json").read_text())["policies"]}
        self.assertAlmostEqual(measured["spread"][0], 600 / 10 / 10010, 12)
        self.assertAlmostEqual(measured["binpack"][0], 40600 / 10 / 10010, 12)

    def test_where_all_pods_run_waits_decide(self):
        rows = [("a", "c0", 0, 100), ("b", "c1", 1, 100), ("c", "c0", 2, 100)]
        classes = [pod("m", vgpu(GIB_40 * 6 // 10)), pod("l", vgpu(GIB_40 * 9 // 10))]
        flags = self.flags([gpu_node("a", 2)], classes, rows, "name,class,arrival,duration")
        _, text = self.compared(flags, "binpack", "spread", more=["--discipline", "fifo"])
        self.assertRegex(text, r"All pods run under every policy, and wait \d+\.\d s on average under each: no winner\.")

    def test_a_time_sliced_node_that_nobody_may_use_changes_nothing(self):
        """What a pod asks for is measured on devices that its rules admit."""
        slices = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing", "pool": "dev"}
        train = nvidia_node("a", 8, 81920, {"pool": "train"})
        for nodes, gpus in (([train], 8), ([train, nvidia_node("t", 16, 15360, slices)], 12)):
            flags = self.flags(nodes, [whole(8, nodeSelector={"pool": "train"})], [("j", "c0", 0)])
            self.vgpusim("run", *flags, "--policy", "binpack", "--out", self.out)
            summary = self.summary()["gpu"]
            self.assertEqual((summary["count"], summary["arrived_milli"], summary["served_ratio"]), (gpus, 8000, 8 / gpus))

    def test_offered_load_is_of_the_same_quantity(self):
        slices = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing", "pool": "dev"}
        nodes = [nvidia_node("a", 8, 81920, {"pool": "train"}), nvidia_node("t", 4, 15360, slices)]
        rows = [(f"j{i}", "c0", i, 90) for i in range(201)]
        flags = self.flags(nodes, [whole(8, nodeSelector={"pool": "train"})], rows, "name,class,arrival,duration")
        self.vgpusim("run", *flags, "--policy", "binpack", "--offered-load", "0.8", "--discipline", "fifo", "--out", self.out)
        last = float(self.pods()[-1]["arrival_s"])  # 201 jobs x 8 GPUs x 90 s are 0.8 of nine GPUs for so long
        self.assertAlmostEqual(last, 201 * 8 * 90 / 0.8 / 9, 3)

    def test_units_of_different_sizes_are_noted(self):
        slices = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}
        train = nvidia_node("a", 8, 81920, {})
        note = "note: 1 of 1 different requests may get whole devices or parts of some"
        for nodes, is_noted in (([train], False), ([train, nvidia_node("t", 16, 15360, slices)], True)):
            flags = self.flags(nodes, [whole(1)], [("j", "c0", 0)])
            result = self.vgpusim("run", *flags, "--policy", "binpack", "--out", self.out)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(note in result.stderr, is_noted, result.stderr)
            self.assertEqual(self.summary()["gpu"]["arrived_milli"], 1000, "nvidia.com/gpu: 1 means a GPU")

    def test_replicas_are_served_as_what_they_are(self):
        slices = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}
        nodes = [nvidia_node("a", 8, 81920, {}), nvidia_node("t", 16, 15360, slices)]
        flags = self.flags(nodes, [whole(1)], [(f"j{i}", "c0", i) for i in range(24)])
        self.assertEqual(self.vgpusim("run", *flags, "--policy", "binpack", "--out", self.out).returncode, 0)
        gpu = self.summary()["gpu"]
        self.assertEqual((gpu["arrived_milli"], gpu["allocation_ratio"], gpu["served_ratio"]), (24_000, 1.0, 24 / 4 / 12))

    def test_uneven_devices_are_noted(self):
        flags = self.flags([gpu_node("a", 3), gpu_node("b", 1)], [pod("m", vgpu(1000))], [("p", "c0", 0)])
        self.assert_done(self.vgpusim("run", *flags, "--policy", "binpack", "--out", self.out))
        register = f"GPU-l-0,10,{4 * GIB_40},NVIDIA B200,true,hami-core:"
        large = gpu_node("l", 1)
        large["metadata"]["annotations"]["volcano.sh/node-vgpu-register"] = register
        flags = self.flags([gpu_node("a", 3), large], [pod("m", vgpu(1000))], [("p", "c0", 0)])
        result = self.vgpusim("run", *flags, "--policy", "binpack", "--out", self.out)
        self.assertEqual(result.returncode, 0)
        self.assertIn("note: 1 of 1 different requests may get devices of which the largest has more than 1.5 times the mean memory", result.stderr)
        self.assertEqual(self.summary()["gpu"]["arrived_milli"], round(1000 * 1000 / (4 * GIB_40)))

    def test_a_container_that_nothing_serves_is_named_and_counts_as_a_whole_device(self):
        """The other container counts as ever, unless no node has what the pod's containers ask for together."""
        def added(entry, limits):
            entry["spec"]["containers"].append({"name": "second", "image": "i", "resources": {"limits": limits}})
            return entry

        def cut_node(name, profile, count):
            result = nvidia_node(name, 0, 81920, {"nvidia.com/gpu.count": "1", "nvidia.com/mig.strategy": "mixed"})
            for amounts in (result["status"]["allocatable"], result["status"]["capacity"]):
                amounts[f"nvidia.com/mig-{profile}"] = str(count)
            return result
        cases = [([gpu_node("a", 2)], added(pod("m", vgpu(GIB_40 // 10)), vgpu(GIB_40 * 2)), 1100),
                 ([cut_node("s", "1g.10gb", 7), cut_node("l", "3g.40gb", 2)],
                  added(pod("m", {"nvidia.com/mig-1g.10gb": "1"}), {"nvidia.com/mig-3g.40gb": "1"}), 2000)]
        for nodes, entry, arrived in cases:
            flags = self.flags(nodes, [entry], [("p", "c0", 0)])
            result = self.vgpusim("run", *flags, "--policy", "binpack", "--out", self.out)
            self.assertEqual(result.returncode, 0, result)
            self.assertIn("class: got 'c0', expected what the devices of a node can serve when idle; 1 row asks for it", result.stderr)
            self.assertEqual(self.summary()["gpu"]["arrived_milli"], arrived)

    def test_bounds_are_on_what_is_served(self):
        """Where every pod runs, all of the bound is achieved."""
        def instances():
            return self.flags([gpu_node("g", 1, mode="mig")], [pod("s", vgpu(3000)), pod("l", vgpu(9000))],
                              [(f"p{i}", f"c{c}", i) for i, c in enumerate((0, 0, 0, 0, 1))])
        for flags, milli in ((instances, 21000 * 1000 / GIB_40), (self.complements, 4000)):
            result = self.vgpusim("bound", *flags(), "--policy", "binpack", "--exact", "--json")
            if result.returncode == 2 and "HiGHS" in result.stderr:
                self.skipTest("no solver in this build")
            self.assertEqual(result.returncode, 0, result)
            bound = json.loads(result.stdout)
            for key in ("configuration", "exact"):
                self.assertAlmostEqual(bound[key]["milli"], milli, 6)
                self.assertEqual(bound[key]["achieved_ratio"], 1.0)

    def test_compute_of_npus_in_hamis_mode_is_given_out(self):
        """A template has its AI cores of all, a whole card has all of them."""
        model = {"format": "kubernetes", "prefix": "t", "arrivals": {"process": "batch"},
                 "nodes": {"kinds": [{"count": 1, "devices": 2, "cpu_milli": 64000, "memory_mib": 65536, "kind": "Ascend910B3",
                                      "mode": "ascend_vir"}]},
                 "pods": {"count": 1, "classes": [{"name": "part", "weight": 1, "request": {"template": "vir05_1c_16g"}},
                                                  {"name": "card", "weight": 1, "request": {"count": 1}}]}}
        folder = self.root / "generated"
        self.assert_done(self.vgpusim("generate", self.write("model.json", json.dumps(model)), "--out", folder))
        pods = self.write("rows.csv", "name,class,arrival\na,part,0\nb,card,1\n")
        self.vgpusim("run", "--format", "kubernetes", "--nodes", folder / "nodes.json", "--classes", folder / "classes.yaml",
                     "--pods", pods, "--policy", "binpack", "--out", self.out)
        self.assertEqual([row["compute_milli"] for row in read_csv(self.out / "timeseries.csv")], ["250", "1250"])
        self.assertEqual(self.summary()["compute"]["allocated_milli"], 1250)


if __name__ == "__main__":
    unittest.main()
