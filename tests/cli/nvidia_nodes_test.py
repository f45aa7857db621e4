"""The physical GPUs behind NVIDIA's own plugin: MIG instances, time-slicing and MPS."""

import json
import unittest
from pathlib import Path

from clusters import cluster, node, pod
from support import CliTest, read_csv

A100 = "NVIDIA-A100-SXM4-80GB"


def gpu_labels(product, count, memory, replicas=1, strategy=""):
    labels = {"product": product, "count": count, "memory": memory, "replicas": replicas}
    if strategy:
        labels["sharing-strategy"] = strategy
    return {f"nvidia.com/gpu.{word}": str(value) for word, value in labels.items()}


def mixed_node(name="m", gpus=8):
    """A100s that are each cut into seven instances."""
    labels = {**gpu_labels(A100, gpus, 81920, 0), "nvidia.com/mig.strategy": "mixed", "nvidia.com/mig-1g.10gb.memory": "9728",
              "nvidia.com/mig-1g.10gb.count": str(7 * gpus), "nvidia.com/mig-1g.10gb.product": A100 + "-MIG-1g.10gb"}
    result = node(name, cpu="256", labels=labels)
    for amounts in (result["status"]["allocatable"], result["status"]["capacity"]):
        amounts["nvidia.com/mig-1g.10gb"] = str(7 * gpus)
    return result


def single_node(name="s", gpus=8):
    labels = {**gpu_labels(A100 + "-MIG-1g.10gb", 7 * gpus, 9728), "nvidia.com/mig.strategy": "single"}
    return node(name, cpu="256", labels=labels, nvidia_com__gpu=str(7 * gpus))


def shared_node(strategy, name="t", gpus=4, replicas=4, product="Tesla-T4", memory=15360):
    labels = gpu_labels(product + "-SHARED", gpus, memory, replicas, strategy)
    return node(name, cpu="256", labels=labels, nvidia_com__gpu=str(gpus * replicas))


def hami_node(name):
    card = [{"id": "GPU-h", "count": 10, "devmem": 40960, "devcore": 100, "type": "NVIDIA-" + A100, "mode": "hami-core", "health": True}]
    return node(name, {"hami.io/node-nvidia-register": json.dumps(card)}, nvidia_com__gpu="10")


def asking(amount, resource="nvidia.com/gpu"):
    return {resource: str(amount), "cpu": "1"}


class NvidiaNodesTest(CliTest):
    def replayed(self, nodes, limits, rows, *more, events=""):
        """Pods of one class; `rows`: arrivals and durations."""
        entry = pod("c", limits)
        del entry["metadata"]["namespace"]
        table = "name,class,arrival,duration\n" + "".join(f"p{i},c,{arrival},{duration}\n" for i, (arrival, duration) in enumerate(rows))
        flags = ["--format", "kubernetes", "--nodes", self.write("nodes.json", json.dumps(cluster(*nodes))),
                 "--classes", self.write("classes.json", json.dumps(entry)), "--pods", self.write("pods.csv", table)]
        if events:
            flags += ["--events", self.write("events.csv", "time,what,node,device,pod\n" + events)]
        self.assert_done(self.vgpusim("run", *flags, *more, "--out", self.out))
        return {row["name"]: row for row in read_csv(self.out / "pods.csv")}

    def snapshot(self, *objects):
        return self.write("cluster.json", json.dumps(cluster(*objects)))

    def whatif(self, *objects, more=()):
        done = self.vgpusim("whatif", self.snapshot(*objects), *more, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_instances_are_counted_and_powered_as_their_gpus(self):
        """56 instances of 8 A100 drew 3528 W idle and 22,400 W busy."""
        for strategy, resource, where in (("mixed", "nvidia.com/mig-1g.10gb", mixed_node()), ("single", "nvidia.com/gpu", single_node())):
            with self.subTest(strategy=strategy):
                rows = self.replayed([where], asking(1, resource), [(i, 100) for i in range(56)])
                summary = self.summary()
                self.assertEqual({row["placed"] for row in rows.values()}, {"1"})
                self.assertEqual((summary["gpu"]["count"], summary["power"]["idle_w"], summary["power"]["busy_w"]), (8, 504, 3200))
                self.assertEqual(max(float(row["served_milli"]) for row in self.series()), 8000, "seven sevenths of each")
                self.assertEqual(max(float(row["allocated_milli"]) for row in self.series()), 8000)

    def test_a_gpu_is_lost_with_all_instances_and_a_crash_takes_one(self):
        rows = self.replayed([mixed_node(gpus=2)], asking(1, "nvidia.com/mig-1g.10gb"), [(0, 1000)] * 14, "--set", "after_failure=lose",
                             events="500,fails,m,m/mig/1,\n600,crashes,,,p0\n")
        lost = {name for name, row in rows.items() if row["end_s"] == ""}
        self.assertEqual(lost, {f"p{i}" for i in range(1, 14, 2)} | {"p0"}, "the seven of the GPU, and the one that crashed")

    def test_mps_gives_every_client_the_same_part_and_one_fault_takes_all(self):
        """Two A30 with four replicas were eight GPUs of 24 GiB."""
        where = shared_node("mps", gpus=2, product="NVIDIA-A30", memory=24576)
        rows = self.replayed([where], asking(1), [(0, 1000)] * 6, "--set", "after_failure=lose", events="500,crashes,,,p0\n")
        summary = self.summary()
        self.assertEqual((summary["gpu"]["count"], summary["power"]["busy_w"]), (2, 330))
        self.assertEqual({name for name, row in rows.items() if row["end_s"] == ""}, {"p0", "p2", "p4"}, "all on its GPU")
        self.assertEqual(max(float(row["served_milli"]) for row in self.series()), 1500, "six of eight quarters")
        answer = self.whatif(where, *(pod(f"r{i}", asking(1), on="t") for i in range(3)), pod("two", asking(2)))
        self.assertEqual((answer["before"]["devices"], answer["before"]["device_memory_mib"] if "device_memory_mib" in answer["before"] else 49152),
                         (2, 49152))
        self.assertIn("request_not_valid", answer["pods"][0]["why"])

    def test_replicas_are_spread_or_packed_as_the_plugin_does(self):
        """Four pods of one replica were all on the first GPU, and a pod of four was refused beside them."""
        running = [pod(f"r{i}", asking(1), on="t") for i in range(4)]
        answer = self.whatif(shared_node("time-slicing"), *running, pod("four", asking(4)), pod("eight", asking(8)), pod("none", asking(1)))
        self.assertEqual(answer["before"]["devices_used"], 4)
        self.assertEqual((answer["placed"], answer["refused"]), (2, 1), "16 units are what there is")
        devices = [share["device"] for share in answer["pods"][0]["placed"][0]["shares"]]
        self.assertEqual(sorted(devices), [0, 1, 2, 3])
        packed = self.write("plugin.yaml", "version: v1\nflags:\n  plugin:\n    sharedDevicesAllocationPolicy: packed\n")
        answer = self.whatif(shared_node("time-slicing"), *running, pod("four", asking(4)), more=("--config", packed))
        self.assertEqual(answer["before"]["devices_used"], 1)
        self.assertEqual({share["device"] for share in answer["pods"][0]["placed"][0]["shares"]}, {1})
        refusing = self.write("refusing.yaml", "version: v1\nsharing:\n  timeSlicing:\n    failRequestsGreaterThanOne: true\n")
        answer = self.whatif(shared_node("time-slicing"), pod("four", asking(4)), more=("--config", refusing))
        self.assertEqual((answer["placed"], answer["refused"]), (0, 1))

    def test_replicas_of_an_instance_share_its_faults(self):
        """Four pods on the four replicas of one instance, and one on another instance of the GPU."""
        labels = {**gpu_labels(A100, 1, 81920, 0), "nvidia.com/mig.strategy": "mixed", "nvidia.com/mig-3g.40gb.replicas": "2"}
        where = node("m", cpu="256", labels=labels)
        for amounts in (where["status"]["allocatable"], where["status"]["capacity"]):
            amounts["nvidia.com/mig-3g.40gb"] = "4"
        rows = self.replayed([where], asking(1, "nvidia.com/mig-3g.40gb"), [(0, 1000)] * 3, "--set", "after_failure=lose",
                             "--set", "layout_change_s=60", events="500,crashes,,,p0\n")
        self.assertEqual({name for name, row in rows.items() if row["end_s"] == ""}, {"p0", "p2"}, "spread over two instances")
        summary = self.summary()
        self.assertEqual(summary["fault_domains"], {"shared": 1, "containers_max": 2})
        self.assertEqual({row["start_s"] for row in rows.values()}, {"0"}, "the instances are there")
        self.assertEqual(summary["disturbances"]["layout_changes"], 0)

    def test_the_plugin_refuses_several_units_where_hami_reads_the_pod_too(self):
        where = shared_node("mps", gpus=2, product="NVIDIA-A30", memory=24576)
        two = pod("two", asking(2), nodeSelector={"kubernetes.io/hostname": "t"})
        for others in ((), (hami_node("h"),)):
            answer = self.whatif(where, *others, two)
            self.assertEqual((answer["placed"], answer["refused"]), (0, 1), others)

    def test_too_few_units_are_told_in_units(self):
        """Where one unit was free and three were wanted, it said that one slot was wanted and none was there."""
        small, large, gpu = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb", "nvidia.com/gpu"
        of_two_profiles = mixed_node(gpus=1)
        of_two_profiles["metadata"]["labels"][large + ".memory"] = "40192"
        for amounts in (of_two_profiles["status"]["allocatable"], of_two_profiles["status"]["capacity"]):
            amounts.update({small: "3", large: "1"})
        whole = node("a", cpu="256", labels=gpu_labels(A100, 8, 81920), nvidia_com__gpu="8")
        replicas = shared_node("time-slicing")
        for where, others, resource, running, wanted, code, free in (
                (mixed_node(gpus=1), [], small, 6, 2, "insufficient_device_slots", 1),
                (mixed_node(gpus=1), [], small, 7, 2, "insufficient_device_slots", 0),
                (of_two_profiles, [], small, 2, 2, "no_free_instance", 1),
                (of_two_profiles, [], large, 1, 2, "no_free_instance", 0),
                (replicas, [], gpu, 14, 3, "insufficient_device_slots", 2),
                (replicas, [], gpu, 15, 3, "insufficient_device_slots", 1),
                (replicas, [], gpu, 16, 3, "insufficient_device_slots", 0),
                (whole, [replicas], gpu, 6, 3, "device_taken_whole", 2)):
            with self.subTest(resource=resource, running=running):
                name = where["metadata"]["name"]
                running_pods = [pod(f"r{i}", asking(1, resource), on=name) for i in range(running)]
                file = self.snapshot(where, *others, *running_pods, pod("w", asking(wanted, resource)))
                reason = json.loads(self.vgpusim("explain", file, "--pod", "team/w", "--json").stdout)["nodes"][0]["reason"]
                self.assertEqual(reason["text"], f"{code}: wanted {wanted} units, available {free} {'unit' if free == 1 else 'units'}")
                self.assertEqual((reason["wanted"], reason["available"], reason["unit"], reason["container"]), (wanted, free, "units", 0))
        two = pod("w", asking(2))
        two["spec"]["containers"].append({**two["spec"]["containers"][0], "name": "second"})
        running_pods = [pod(f"r{i}", asking(1), on="t") for i in range(13)]
        words = self.vgpusim("explain", self.snapshot(replicas, *running_pods, two), "--pod", "team/w").stdout
        self.assertIn(": insufficient_device_slots: wanted 2 units, available 1 unit, container second, those before it placed\n", words)

    def test_the_limit_of_pods_hides_no_cpu_and_memory(self):
        small = node("small", cpu="1", memory="1Gi", labels=gpu_labels(A100, 8, 81920), nvidia_com__gpu="8", pods="1")
        running = [pod(f"r{i}", {"nvidia.com/gpu": "1"}, on="small") for i in range(2)]
        file = self.snapshot(small, *running, pod("w", {"nvidia.com/gpu": "9", "cpu": "4", "memory": "4Gi"}))
        [entry] = json.loads(self.vgpusim("explain", file, "--pod", "team/w", "--json").stdout)["nodes"]
        self.assertEqual((entry["reason"]["text"], [reason["text"] for reason in entry["also"]]),
                         ("too_many_pods: wanted 1 pod, available 0 pods",
                          ["insufficient_cpu: wanted 4000 mCPU, available 1000 mCPU",
                           "too_few_devices: wanted 9 devices, available 6 devices",
                           "insufficient_memory: wanted 4096 MiB, available 1024 MiB"]))

    def test_labels_that_contradict_are_named(self):
        for labels, words in (({"replicas": "four"}, "nvidia.com/gpu.replicas: got 'four', expected a whole number"),
                              ({"count": "5"}, "nvidia.com/gpu.count: got '5', expected 4, as many as the units and replicas make"),
                              ({"sharing-strategy": "foo"}, "nvidia.com/gpu.sharing-strategy: got 'foo', expected mps, time-slicing or none")):
            where = shared_node("time-slicing")
            where["metadata"]["labels"].update({f"nvidia.com/gpu.{word}": value for word, value in labels.items()})
            done = self.vgpusim("whatif", self.snapshot(where, pod("w", asking(1))), "--json")
            self.assertIn(words, "\n".join(json.loads(done.stdout)["warnings"]))
            self.assertEqual(json.loads(done.stdout)["before"]["devices"], 4)

    def test_a_plan_leaves_whole_gpus_to_those_that_have_them(self):
        """A pod of one whole GPU went to a replica of a time-sliced one, which emptied its node."""
        whole = node("a", cpu="256", labels=gpu_labels("Tesla-T4", 4, 15360), nvidia_com__gpu="4")
        runs = pod("r", asking(1), on="a")
        turns = pod("t", asking(1), on="t")
        for entry in (runs, turns):
            entry["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}]
        done = self.vgpusim("plan", self.snapshot(whole, shared_node("time-slicing"), runs, turns), "--consolidate", "nodes", "--json")
        answer = json.loads(done.stdout)
        self.assertEqual((answer["emptied"]["count"], answer["movable_pods"]), (0, 2))

    def test_idle_devices_before_and_after_moves_are_those_of_the_same_pods(self):
        nodes = [node(name, cpu="256", labels=gpu_labels("Tesla-T4", 4, 15360), nvidia_com__gpu="4") for name in "ab"]
        pods = [pod("r", asking(1), on="a"), pod("s", asking(1), on="b"), pod("t", asking(1), on="t")]
        for entry in pods:
            entry["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}]
        done = self.vgpusim("plan", self.snapshot(*nodes, shared_node("time-slicing"), *pods), "--consolidate", "nodes", "--json")
        answer = json.loads(done.stdout)
        self.assertEqual(len(answer["moves"]), 1)
        self.assertEqual(answer["idle_before"], answer["idle_after"])

    def test_every_policy_leaves_the_choice_of_a_replica_to_the_plugin(self):
        for policy in ("binpack", "fgd", "spread", "first_fit"):
            rows = self.replayed([shared_node("time-slicing", gpus=2)], asking(1), [(i, 100) for i in range(4)], "--policy", policy)
            self.assertEqual([row["gpus"] for row in rows.values()], ["0", "1", "0", "1"], policy)

    def test_whole_gpus_beside_shared_ones_are_asked_for_as_before(self):
        whole = node("a", cpu="256", labels=gpu_labels(A100, 8, 81920), nvidia_com__gpu="8")
        answer = self.whatif(whole, shared_node("time-slicing"), pod("p", asking(8), nodeSelector={"kubernetes.io/hostname": "a"}),
                             pod("q", asking(9)))
        self.assertEqual([entry["placed"][0]["node"] for entry in answer["pods"]], ["a", "t"])
        words = self.vgpusim("explain", self.snapshot(shared_node("time-slicing"), pod("q", asking(9))), "--pod", "team/q").stdout
        self.assertIn("container main: 9 units, of one device or several, any mode, family NVIDIA", words)
        self.assertIn("main gets of device 0 (t/gpu/0): 3 x neither memory nor compute limited", words)
        self.assertEqual(words.count("\nt  "), 5, "one row of the node, and one of each device")

    def test_a_gpu_of_mps_has_as_many_clients_as_its_driver_takes(self):
        shared = shared_node("mps", gpus=1, replicas=64)
        out = self.root / "nameless.json"
        for labels, clients in (({}, 48), ({"gpu.compute.major": "7", "cuda.runtime-version.major": "13",
                                            "cuda.runtime-version.minor": "1"}, 60),
                                ({"gpu.compute.major": "6"}, 16)):
            with self.subTest(labels=labels):
                shared["metadata"]["labels"].update({f"nvidia.com/{word}": value for word, value in labels.items()})
                file = self.snapshot(shared, pod("w", asking(1)))
                self.assert_done(self.vgpusim("snapshot", file, "--anonymise", "--out", out))
                for cluster_file in file, out:
                    items = json.loads(Path(cluster_file).read_text())["items"]
                    waiting = next(item["metadata"] for item in items if item["kind"] == "Pod")
                    done = self.vgpusim("explain", cluster_file, "--pod", f"{waiting['namespace']}/{waiting['name']}")
                    self.assert_done(done)
                    self.assertIn(f" 0 of {clients} slots", done.stdout)


if __name__ == "__main__":
    unittest.main()
