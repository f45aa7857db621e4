"""The general workload: nodes and classes as Kubernetes objects and a table of arrivals, in every mode and mixed."""

import csv
import io
import json
import unittest

from support import SOURCE, CliTest

EVERY_MODE = SOURCE / "traces" / "models" / "every-mode.json"
ARRIVALS = "name,class,arrival\n"
NATIVE = ["binpack", "spread", "best_fit", "worst_fit", "random", "fgd", "weighted:fgd=0.7,binpack=0.3"]

KINDS = {
    "hami_core": {"kind": "V100", "device_memory_mib": 32768, "mode": "hami_core"},
    "mig": {"kind": "A100-40GB", "mode": "mig"},
    "mps": {"kind": "A30-24GB", "mode": "mps"},
    "ascend_vir": {"kind": "Ascend910B4", "mode": "ascend_vir"},
    "mindcluster_310p": {"kind": "Ascend310P", "mode": "mindcluster_310p"},
    "cce": {"kind": "V100", "device_memory_mib": 16160, "mode": "cce"},
    "exclusive": {"kind": "H100-80GB", "mode": "exclusive"},
}


def pod(name, limits, **metadata):
    return {"kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]}}


class WorkloadTest(CliTest):
    def model(self, kinds, classes, **more):
        """Generates nodes of two devices each, and the classes as manifests; gives the flags that name them."""
        model = {"format": "kubernetes", "prefix": "t", "arrivals": {"process": "batch"}, **more,
                 "nodes": {"kinds": [{"count": 1, "devices": 2, "cpu_milli": 64000, "memory_mib": 65536, **kind} for kind in kinds]},
                 "pods": {"count": 1, "classes": [{"weight": 1, **entry} for entry in classes]}}
        folder = self.root / "generated"
        self.assert_done(self.vgpusim("generate", self.write("model.json", json.dumps(model)), "--out", folder))
        return ["--nodes", folder / "nodes.json", "--classes", folder / "classes.yaml"]

    def replay(self, files, rows, *more, policy="binpack", header=ARRIVALS):
        table = self.write("arrivals.csv", header + "".join(",".join(map(str, row)) + "\n" for row in rows))
        self.assert_done(self.vgpusim("run", "--format", "kubernetes", *files, "--pods", table, "--policy", policy,
                                      "--out", self.out, *more))
        return self.pods()

    def placements(self, files, rows, **how):
        """By name: devices, or why there is none."""
        return {row["name"]: row["gpus"] if row["placed"] == "1" else row["reason"] for row in self.replay(files, rows, **how)}

    def in_mode(self, mode, requests, rows, **how):
        files = self.model([KINDS[mode]], [{"name": name, "request": request} for name, request in requests.items()])
        rows = [(f"p{i}", name, i) for i, name in enumerate(rows)]
        return list(self.placements(files, rows, **how).values())


class OverTimeTest(WorkloadTest):
    """Columns of timeseries.csv and figures of summary.json that come from the devices, by hand."""

    HEADER = "name,class,arrival,duration\n"

    def rows(self):
        with open(self.out / "timeseries.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_memory_compute_power_and_stranded_slices(self):
        files = self.model([KINDS["mig"]], [{"name": name, "request": {"profile": name}} for name in ("1g.5gb", "3g.20gb", "7g.40gb")])
        # GPU 0 is taken whole for 10 s. The small one goes where it blocks most, which is among the slices of GPU 1 where alone a
        # 4g.20gb may start; as long as the half is in slices 4 to 7, what is left would not be enough for one anyhow.
        self.replay(files, [("whole", "7g.40gb", 0, 10), ("small", "1g.5gb", 2, 18), ("half", "3g.20gb", 4, 6)], header=self.HEADER,
                    policy="weighted:mcc=-1")
        columns = ["time", "running", "memory_mib", "power_w", "stranded_1g.5gb", "stranded_4g.20gb", "stranded_7g.40gb"]
        rows = [[row[column] for column in columns] for row in self.rows()]
        whole, small, half = int(rows[0][2]), int(rows[1][2]) - int(rows[0][2]), int(rows[2][2]) - int(rows[1][2])
        self.assertTrue(39000 < whole < 41000 and 4800 < small < 5200, rows)
        self.assertEqual(rows[0], ["0", "1", str(whole), str(400 + 52), "0", "0", "0"])
        self.assertEqual(rows[1], ["2", "2", str(whole + small), str(400 + 400), "0", "4", "0"])
        summary = self.summary()
        self.assertEqual(rows[2][5], "0")
        stranded = {entry["profile"]: entry for entry in summary["stranded_slices"]}
        self.assertEqual(stranded["4g.20gb"], {"profile": "4g.20gb", "end": 0, "max": 4, "mean": 4 * (2 + 10) / 20})
        power = summary["power"]
        self.assertEqual((power["idle_w"], power["busy_w"], power["gpus_unknown"], power["end_w"]), (104, 800, 0, 104))
        watt_seconds = (400 + 52) * 2 + 800 * 8 + (52 + 400) * 10
        self.assertAlmostEqual(power["energy_kwh"], watt_seconds / 3.6e6)
        self.assertAlmostEqual(power["mean_w"], watt_seconds / 20)
        self.assertAlmostEqual(summary["memory"]["mean_mib"], (whole * 10 + small * 18 + half * 6) / 20)
        self.assertEqual(summary["over_time"], {"seconds": 20, "running_pods": (10 + 18 + 6) / 20, "waiting_jobs": 0,
                                                "active_gpus": (10 + 18) / 20, "active_nodes": 1})

    def test_boards_of_a_file(self):
        files = self.model([KINDS["hami_core"]], [{"name": "c", "request": {"memory_mib": 1000}}])
        row = [("p", "c", 0, 3600)]
        self.replay(files, row, header=self.HEADER)
        self.assertEqual(self.summary()["power"]["gpus_unknown"], 0)
        mine = {"schema": "vgpualloc-catalog/1", "power": [{"key": "V100-SXM2", "card_types": ["V100"], "idle_w": 1000, "busy_w": 3000}]}
        self.out = self.root / "mine"
        self.replay(files, row, "--file", self.write("mine.json", json.dumps(mine)), header=self.HEADER)
        self.assertEqual(self.summary()["power"]["energy_kwh"], 4.0)

    def test_what_is_away_draws_nothing_and_may_be_out_of_service_at_the_end(self):
        files = self.model([KINDS["hami_core"]], [{"name": "c", "request": {"memory_mib": 1000}}])
        mine = {"schema": "vgpualloc-catalog/1", "power": [{"key": "V100-SXM2", "card_types": ["V100"], "idle_w": 1000, "busy_w": 3000}]}
        events = self.write("events.csv", "time,what,node,device\n20,fails,t-node-0000,\n30,repaired,t-node-0000,\n32,drained,t-node-0000,1\n")
        rows = self.replay(files, [("p", "c", 0, 10), ("q", "c", 31, 5)], "--file", self.write("mine.json", json.dumps(mine)),
                           "--events", events, header=self.HEADER)
        self.assertEqual([(row["start_s"], row["end_s"]) for row in rows], [("0", "10"), ("31", "36")])
        watt_seconds = 4000 * 10 + 2000 * 10 + 0 * 10 + 2000 * 1 + 4000 * 5
        self.assertAlmostEqual(self.summary()["power"]["energy_kwh"], watt_seconds / 3.6e6)

    def test_a_device_that_fails_after_pods_ran_there(self):
        files = self.model([KINDS["mig"]], [{"name": "c", "request": {"profile": "1g.5gb"}}])
        for what in ("fails", "drained"):
            events = self.write("events.csv", f"time,what,node,device\n20,{what},t-node-0000,0\n")
            self.replay(files, [("p", "c", 0, 10), ("q", "c", 31, 5)], "--events", events, header=self.HEADER)
            self.assertEqual(self.summary()["pods"]["finished"], 2)


class NamesTest(WorkloadTest):
    def test_names_are_utf8(self):
        files = self.model([KINDS["mps"]], [{"name": "c"}])
        table = self.root / "bytes.csv"
        table.write_bytes(ARRIVALS.encode() + b"p\xffq,c,0\n")
        run = ["run", "--format", "kubernetes", *files, "--pods", table, "--out", self.out]
        self.assert_refused(self.vgpusim(*run), "bytes.csv:2", "name", "UTF-8")
        table.write_bytes(ARRIVALS.encode() + "größe,c,0\n".encode())
        self.assert_done(self.vgpusim(*run))


class ModesTest(WorkloadTest):
    def test_hami_core(self):
        # 32,768 MiB and 100 % a device: two halves of the compute fill one, and 20,000 MiB do not fit beside 20,000.
        requests = {"half": {"memory_mib": 8192, "cores": 50}, "large": {"memory_mib": 20000}}
        self.assertEqual(self.in_mode("hami_core", requests, ["half", "half", "half", "large"]), ["0", "0", "1", "1"])
        self.out = self.root / "second"
        self.assertEqual(self.in_mode("hami_core", requests, ["large", "large", "large"]),
                         ["0", "1", "insufficient_device_memory"])

    def test_mig(self):
        # Two 3g.20gb fill a GPU of 8 memory slices, seven 1g.5gb its 7 compute slices; beside one 3g.20gb there are 3 at least.
        requests = {"small": {"profile": "1g.5gb"}, "large": {"profile": "3g.20gb"}}
        self.assertEqual(self.in_mode("mig", requests, ["large"] * 3 + ["small"] * 3 + ["large"]),
                         ["0", "0", "1", "1", "1", "1", "no_free_instance"])
        self.out = self.root / "second"
        self.assertEqual(self.in_mode("mig", requests, ["small"] * 15), ["0"] * 7 + ["1"] * 7 + ["insufficient_device_slots"])

    def test_mps(self):
        # 24,576 MiB: four quarters a GPU.
        self.assertEqual(self.in_mode("mps", {"quarter": {"memory_percent": 25}}, ["quarter"] * 9),
                         ["0"] * 4 + ["1"] * 4 + ["insufficient_device_memory"])

    def test_ascend_vir(self):
        # 32,768 MiB: two templates of 16 GiB, or four of 8 GiB, a chip.
        requests = {"half": {"template": "vir10_3c_16g"}, "quarter": {"template": "vir05_1c_8g"}}
        placed = self.in_mode("ascend_vir", requests, ["half", "quarter", "quarter", "half", "half", "quarter"])
        self.assertEqual(placed[:5], ["0", "0", "0", "1", "1"])
        self.assertNotIn(placed[5], ("0", "1"))

    def test_mindcluster_310p(self):
        # 8 AI cores a chip: two of 4 cores, four of 2; a whole chip needs one that is idle.
        requests = {"four": {"template": "vir04"}, "two": {"template": "vir02"}, "whole": {"cores": 8}}
        placed = self.in_mode("mindcluster_310p", requests, ["two", "two", "whole", "four", "two"])
        self.assertEqual(placed[:3], ["0", "0", "1"])
        self.assertEqual(len(set(placed[3:]) & {"1"}), 0, "the other chip is given out as a whole")

    def test_cce(self):
        # Rule C2: memory alone and memory with compute do not share a GPU. Rule C7: 16,256 MiB are more than a GPU has.
        requests = {"memory": {"memory_mib": 5120}, "both": {"memory_mib": 5120, "cores": 25}}
        self.assertEqual(self.in_mode("cce", requests, ["memory", "both", "memory", "both", "memory"]),
                         ["0", "1", "0", "1", "0"])
        files = self.model([KINDS["cce"]], [{"manifest": pod("large", {"volcano.sh/gpu-mem.128Mi": 127})}])
        self.out = self.root / "second"
        result = self.vgpusim("run", "--format", "kubernetes", *files, "--pods",
                              self.write("a.csv", ARRIVALS + "p,large,0\n"), "--out", self.out)
        self.assertEqual(result.returncode, 0)
        self.assertIn("class: got 'large', expected what the devices of a node can serve when idle; 1 row", result.stderr)
        self.assertEqual(self.pods()[0]["placed"], "0")

    def test_exclusive(self):
        placed = self.in_mode("exclusive", {"one": {"count": 1}, "two": {"count": 2}}, ["one", "two", "one", "one"])
        self.assertEqual((placed[0], placed[2]), ("0", "1"))
        self.assertFalse({placed[1], placed[3]} & {"0", "1"})

    def test_every_policy_decides_in_a_mixed_cluster_as_explain_does(self):
        """The first pod of every class goes where explain puts it in the empty cluster."""
        folder = self.root / "generated"
        self.assert_done(self.vgpusim("generate", EVERY_MODE, "--out", folder))
        nodes, classes = folder / "nodes.json", folder / "classes.yaml"
        names = ["notebook", "instance-1g", "instance-3g", "server", "npu-quarter", "chip-part", "cloud-part"]
        for policy in NATIVE:
            if policy == "random":
                continue # its draws are those of the pods before as well
            for name in names:
                with self.subTest(policy=policy, name=name):
                    self.out = self.root / "mixed" / name
                    [row] = self.replay(["--nodes", nodes, "--classes", classes], [("p", name, 0)], policy=policy)
                    told = self.vgpusim("explain", nodes, classes, "--pod", name, "--policy", policy, "--json")
                    self.assertEqual(told.returncode, 0, told)
                    choice = json.loads(told.stdout)["choice"]
                    self.assertEqual(row["node"], choice["node"])
                    self.assertEqual(row["gpus"], "|".join(str(share["device"]) for share in choice["shares"]))

    def test_a_mixed_workload_runs_under_every_policy(self):
        folder = self.root / "generated"
        self.assert_done(self.vgpusim("generate", EVERY_MODE, "--out", folder))
        table = list(csv.DictReader(io.StringIO((folder / "arrivals.csv").read_text())))
        for policy in NATIVE:
            self.out = self.root / policy[:8]
            self.assert_done(self.vgpusim("run", "--format", "kubernetes", "--nodes", folder / "nodes.json", "--classes",
                                          folder / "classes.yaml", "--pods", folder / "arrivals.csv", "--policy", policy,
                                          "--out", self.out))
            pods = self.pods()
            self.assertEqual(len(pods), sum(2 if row["class"] == "training" else 1 for row in table))
            used = {row["node"][-1] for row in pods if row["placed"] == "1"}
            self.assertLessEqual({"4", "5", "6", "7", "8"}, used, "the nodes of modes that have one")
            self.assertTrue(used & {"0", "1"} and used & {"2", "3"}, "a node of each of the others")
        self.assertEqual(self.summary()["inputs"][0]["path"], str(folder / "nodes.json"))
        self.assertEqual(self.vgpusim("validate", folder / "nodes.json", folder / "classes.yaml").returncode, 0)

    def test_rows_of_many_pods_and_gangs(self):
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "trio"},
               "spec": {"parallelism": 3, "template": pod("", {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 1024})}}
        files = self.model([KINDS["hami_core"]], [{"manifest": job}])
        rows = self.replay(files, [("late", "trio", 7.5, "g"), ("early", "trio", 0, "g")], header="name,class,arrival,gang\n")
        self.assertEqual([row["name"] for row in rows], [f"{name}-{i}" for name in ("early", "late") for i in range(3)])

    def test_a_scenario_names_the_files(self):
        files = self.model([KINDS["mps"]], [{"name": "c", "request": {"memory_mib": 1024}}])
        self.write("arrivals.jsonl", '{"name": "p", "class": "c", "arrival": 0.5, "duration": 2}\n')
        self.write("events.csv", "time,what,node\n1,fails,t-node-0000\n1.5,repaired,t-node-0000\n")
        study = {"format": "kubernetes", "nodes": "generated/nodes.json", "classes": "generated/classes.yaml",
                 "pods": "arrivals.jsonl", "queues": "queues.yaml", "events": "events.csv", "policy": "spread"}
        self.write("queues.yaml", "- {name: default, guaranteed: {devices: 1}}\n")
        self.assert_done(self.vgpusim("run", self.write("study.json", json.dumps(study)), "--out", self.out))
        self.assertEqual(len(self.summary()["inputs"]), 5)
        self.assertTrue(files)


class MovesAtIntervalsTest(WorkloadTest):
    """defragment=periodic: devices are emptied, and nodes where no device can be."""

    HEADER = "name,class,arrival,duration\n"

    def moved(self, kinds, requests, rows, *more, policy):
        files = self.model(kinds, [{"name": name, "request": request} for name, request in requests.items()])
        rows = self.replay(files, rows, "--discipline", "fifo", "--set", "defragment=periodic", "--set", "defragment_every_s=50",
                           "--set", "defragment_share=1", *more, policy=policy, header=self.HEADER)
        return {row["name"]: row for row in rows}, self.summary()["moves"]

    def test_a_node_is_emptied_where_no_gpu_can_be(self):
        kinds = [{"kind": "H100-80GB", "mode": "exclusive", "count": 2, "devices": 8}]
        requests = {"half": {"count": 4}, "whole": {"count": 8}}
        rows = [("a", "half", 0, 10000), ("b", "half", 1, 10000), ("c", "whole", 100, 10000)]
        pods, moves = self.moved(kinds, requests, rows, policy="spread")
        self.assertEqual((moves["planned"], moves["done"]), (1, 1))
        self.assertEqual((pods["a"]["node"], pods["c"]["start_s"]), (pods["b"]["node"], "100"))

    def test_a_node_of_more_pods_than_moves_is_left(self):
        kinds = [{"kind": "H100-80GB", "mode": "exclusive", "count": 2, "devices": 8}]
        rows = [(f"p{i}", "one", 0, 10000) for i in range(8)]
        for moves_max, planned, done in ((3, 0, 0), (4, 1, 4)):
            with self.subTest(moves_max=moves_max):
                self.out = self.root / str(moves_max)
                _, moves = self.moved(kinds, {"one": {"count": 1}}, rows, "--set", f"defragment_moves_max={moves_max}", policy="spread")
                self.assertEqual((moves["planned"], moves["done"]), (planned, done))

    def test_a_node_is_not_emptied_for_more_gpus_in_use(self):
        """The two pods of the large GPU would each take a small one. Small GPUs that are full keep them off these at first."""
        kinds = [{**KINDS["hami_core"], "devices": devices, "device_memory_mib": memory} for devices, memory in ((4, 20000), (1, 30000))]
        rows = [(f"full-{i}", "full", 0, 5000 if i == 0 else 100) for i in range(4)] + [(f"half-{i}", "half", 1, 1000) for i in range(2)]
        pods, moves = self.moved(kinds, {"full": {"memory_mib": 20000}, "half": {"memory_mib": 15000}}, rows, policy="first_fit")
        self.assertEqual((moves["planned"], moves["done"]), (0, 0))
        self.assertEqual([pods[f"half-{i}"]["node"] == pods["full-0"]["node"] for i in range(2)], [False, False])


class BadInputTest(WorkloadTest):
    def refused(self, *words, nodes=None, classes=None, table=None, **files):
        flags = self.model([KINDS["hami_core"]], [{"name": "c", "request": {"memory_mib": 1024}}])
        flags = (flags[:2] if nodes is None else []) + (flags[2:] if classes is None else [])
        for key, content in {"nodes": nodes, "classes": classes, **files}.items():
            if content is not None:
                flags += ["--" + key, self.write(key + ".txt", content)]
        table = self.write("table.csv", ARRIVALS + "p,c,0\n" if table is None else table)
        self.assert_refused(self.vgpusim("run", "--format", "kubernetes", *flags, "--pods", table, "--out", self.out), *words)

    def test_tables(self):
        for table, words in ((ARRIVALS + "p,d,0\n", ["table.csv:2: class: got 'd', expected one of c"]),
                             (ARRIVALS + "p,c,-1\n", ["table.csv:2: arrival: got '-1'"]),
                             (ARRIVALS + "p,c,NaN\n", ["table.csv:2: arrival: got 'NaN'"]),
                             (ARRIVALS + "p,c,0\np,c,1\n", ["table.csv:3: name: got 'p'"]),
                             (ARRIVALS + "p,c\n", ["table.csv:2", "3 fields"]),
                             (ARRIVALS, ["at least one arrival"]), ("", ["table.csv:1", "empty"]),
                             ("name,class,arrival,gang,queue\np,c,0,g,a\nq,c,0,g,b\n", ["table.csv:3: queue: got 'b'"])):
            with self.subTest(table=table):
                self.refused(*words, table=table)

    def test_other_files(self):
        self.refused("queues.txt:1", "devices", queues="[{name: default, limit: {devices: -1}}]")
        self.refused("table.csv:2: queue: missing; expected one of a", queues="[{name: a}]")
        self.refused("events.txt:2: node: got 'x'", events="time,what,node\n1,fails,x\n")
        self.refused("events.txt:2: device: got '2'", events="time,what,node,device\n1,fails,t-node-0000,2\n")
        self.refused("events.txt:2: what: got 'repaired'", events="time,what,node\n1,repaired,t-node-0000\n")
        self.refused("events.txt:2: pod: got 'q'", events="time,what,pod\n1,crashes,q\n")
        self.refused("events.txt:2: node: got 't-node-0000', expected nothing",
                     events="time,what,pod,node\n1,crashes,p,t-node-0000\n")
        self.refused("failures.txt", "mttr_s", failures="{nodes: {mtbf_s: 5}}")
        self.refused("nodes.txt", "Node", nodes="kind: Service\nmetadata: {name: s}\n")
        self.refused("nodes.txt:3", "kind: got 'Pod'", nodes="{kind: Node, metadata: {name: one}}\n---\n{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}\n")
        self.refused("classes.txt:1", "Pod", "amd.com/gpu", classes=json.dumps(pod("c", {"amd.com/gpu": 1})))
        self.refused("classes.txt: missing", classes="kind: Service\nmetadata: {name: s}\n")
        self.refused("config.txt", config="nvidia: {resourceCountNames: a}\n")

    def test_autoscalers(self):
        flags = self.model([KINDS["mps"]], [{"name": "c", "request": {"memory_mib": 1024}}])
        run = ["run", "--format", "kubernetes", *flags, "--pods", self.write("t.csv", ARRIVALS + "p,c,0\n"), "--out", self.out]
        for text, words in (("{delay_s: 1, nodes: [x]}", ["a.yaml: nodes: got 'x', expected a node of the node list"]),
                            ("{delay_s: soon, nodes: [t-node-0000]}", ["a.yaml:1: delay_s: got 'soon'"]),
                            ("{delay_s: 1, nodes: [t-node-0000], cluster_version: new}", ["a.yaml:1: cluster_version: got 'new'"]),
                            ("", ["a.yaml"])):
            file = self.write("a.yaml", text)
            self.assert_refused(self.vgpusim(*run, "--autoscaler", file, "--discipline", "fifo"), *words)
        file = self.write("a.yaml", "{delay_s: 1, nodes: [t-node-0000]}")
        self.assert_refused(self.vgpusim(*run, "--autoscaler", file), "autoscaler: got", "under try_once nobody waits")
        self.assert_refused(self.vgpusim(*run, "--autoscaler", file, "--discipline", "fifo", "--policy", "compat:volcano"),
                            "autoscaler: got", "compat:volcano")
        events = self.write("e.csv", "time,what,node\n1,fails,t-node-0000\n")
        self.assert_refused(self.vgpusim(*run, "--autoscaler", file, "--discipline", "fifo", "--events", events),
                            "a.yaml: nodes: got 't-node-0000', expected a node that no event names")
        self.assert_done(self.vgpusim(*run, "--autoscaler", file, "--discipline", "fifo"))
        self.assertEqual((self.pods()[0]["start_s"], self.pods()[0]["node"]), ("1", "t-node-0000"))

    def test_keys_that_do_not_go_together(self):
        flags = self.model([KINDS["mps"]], [{"name": "c"}])
        table = self.write("t.csv", ARRIVALS + "p,c,0\n")
        run = ["run", "--pods", table, "--out", self.out]
        self.assert_refused(self.vgpusim(*run, "--format", "kubernetes", *flags, "--tune", "1.5"), "tune: got '1.5")
        self.assert_refused(self.vgpusim(*run, "--format", "kubernetes", *flags[:2]), "classes: missing")
        self.assert_refused(self.vgpusim(*run, *flags), "classes: got", "format openb has no use for it")
        self.assert_refused(self.vgpusim(*run, "--format", "kubernetes", "--nodes", "-", "--classes", "-"), "standard input")


if __name__ == "__main__":
    unittest.main()
