"""vgpusim plan: which pods move so that a pod fits, or so that devices become empty, as values and as words."""

import json
import unittest

from clusters import cluster, gpu_node, node, on_card, pod, vgpu
from start_test import gpus, whole_node
from support import SOURCE, CliTest

REPLICA_SET = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}]
DAEMON_SET = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}]


def owned(name, node, card, memory, owners=REPLICA_SET, **how):
    """A pod that runs on a card and that a controller makes again."""
    result = on_card(name, node, card, memory, **how)
    result["metadata"]["ownerReferences"] = owners or []
    return result


WAITS = pod("waits", vgpu(40960))
HALF = (gpu_node("a", cards=1), gpu_node("b", cards=1), owned("r0", "a", 0, 20000), owned("r1", "b", 0, 16000), WAITS)


class Plan(CliTest):
    def ask(self, objects, *arguments):
        file = self.write("cluster.json", json.dumps(cluster(*objects)))
        done = self.vgpusim("plan", file, *arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answer = json.loads(done.stdout)
        self.assertGreaterEqual(answer.pop("timing")["plan_s"], 0)
        return answer

    @staticmethod
    def moves_of(answer):
        return [(move["pod"], move["from"]["node"], move["to"]["node"]) for move in answer["moves"]]

    def test_room_by_one_move_and_what_it_costs(self):
        answer = self.ask(HALF, "--pod", "waits")
        self.assertEqual(self.moves_of(answer), [("team/r1", "b", "a")])
        self.assertEqual((answer["found"], answer["fewest_moves"], answer["where"]["node"]), (True, True, "b"))
        self.assertEqual(answer["moves"][0]["to"]["shares"][0]["uuid"], "GPU-a-0")
        self.assertAlmostEqual(answer["cost"]["copy_s"], 16000 * 0.0004)
        self.assertAlmostEqual(answer["cost"]["downtime_device_s"], 5 + 16000 * 0.0004)
        dear = self.ask(HALF, "--pod", "team/waits", "--move-s", "1", "--copy-s-per-gib", "1")
        self.assertAlmostEqual(dear["cost"]["copy_s"], 16000 / 1024, places=1)

    def test_rules_about_other_pods_hold_before_and_after_the_moves(self):
        """The pod that waits stays away from pods of web: none of these moves, and room is made where none is."""
        rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]}}
        nodes = [gpu_node("a", cards=1), gpu_node("b", cards=1)]
        waits = pod("waits", vgpu(40960), affinity=rule)

        def asked(web, *arguments, waiting=waits):
            running = [owned(name, node, 0, memory, labels={"app": "web"} if name in web else {})
                       for name, node, memory in (("r0", "a", 20000), ("r1", "b", 16000))]
            return self.ask([*nodes, *running, *waiting], *(arguments or ("--pod", "waits")))

        freely = asked((), waiting=[waits])
        self.assertEqual((self.moves_of(freely), freely["kept_by_rules"]), ([("team/r1", "b", "a")], []))
        around = asked(("r1",), waiting=[waits])
        self.assertEqual((self.moves_of(around), around["where"]["node"]), ([("team/r0", "a", "b")], "a"))
        self.assertEqual((around["kept_by_rules"], around["movable_pods"]), (["team/r1"], 1))
        self.assertFalse(asked(("r0", "r1"), waiting=[waits])["found"])
        added = asked(("r1",), "--add-pod", self.write("waits.json", json.dumps(waits)), waiting=[])
        self.assertEqual((self.moves_of(added), added["kept_by_rules"]), ([("team/r0", "a", "b")], ["team/r1"]))
        self.assertNotIn("affinity", str(around["not_considered"]) + str(added["not_considered"]))

    def test_what_a_budget_keeps_does_not_move(self):
        labelled = [dict(entry, metadata={**entry["metadata"], "labels": {"app": "web"}}) if entry["kind"] == "Pod" else entry for entry in HALF]
        def budget(name, most):
            return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "team"},
                    "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": most}}
        none = self.ask([*labelled, budget("keep", 0)], "--pod", "waits")
        self.assertEqual((none["found"], none["movable_pods"]), (False, 0))
        self.assertEqual([(pod["pod"], pod["why"]) for pod in none["not_evictable"]],
                         [(name, "PodDisruptionBudget keep allows no disruption") for name in ("team/r0", "team/r1")])
        self.assertNotIn("PodDisruptionBudget", str(none["not_considered"]))
        one = self.ask([*labelled, budget("keep", 1)], "--pod", "waits")
        self.assertEqual((self.moves_of(one), one["not_evictable"]), ([("team/r1", "b", "a")], []))
        two = self.ask([*labelled, budget("keep", 1), budget("too", 1)], "--pod", "waits")
        self.assertEqual((two["found"], two["not_evictable"][0]["why"]), (False, "several PodDisruptionBudgets: keep, too"))
        file = self.write("kept.json", json.dumps(cluster(*labelled, budget("keep", 0))))
        self.assertIn("\n  cannot be evicted: team/r0, team/r1 (PodDisruptionBudget keep allows no disruption)\n",
                      self.vgpusim("plan", file, "--pod", "waits").stdout)

    def test_what_would_not_be_made_again_does_not_move(self):
        """Quotas and limit ranges that are narrower than when the pods were made."""
        def quota(hard, used=None):
            return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"},
                    "spec": {"hard": {"pods": str(hard)}}, **({"status": {"hard": {"pods": str(hard)}, "used": {"pods": str(used)}}} if used else {})}
        limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "cpu", "namespace": "team"},
                  "spec": {"limits": [{"type": "Container", "max": {"cpu": "500m"}}]}}
        cpu = "maximum cpu usage per Container is 500m, but limit is 1; expected a pod that LimitRange cpu admits"
        whole = [dict(entry, spec={**entry["spec"], "containers": [{**container, "resources": {**container["resources"], "limits": {
            **container["resources"]["limits"], "cpu": "1"}}} for container in entry["spec"]["containers"]]})
                 if entry["kind"] == "Pod" else entry for entry in HALF]
        for policies, why in (([quota(3)], ""), ([quota(9, 3)], ""), ([quota(2)], "quota q: pods 2 of 2 used, 1 more needed"),
                              ([quota(2, 7)], "quota q: pods 6 of 2 used, 1 more needed"), ([limits], cpu)):
            answer = self.ask([*whole, *policies], "--pod", "waits")
            self.assertEqual([(pod["pod"], pod["why"]) for pod in answer["not_made_again"]],
                             [(f"team/{name}", why) for name in ("r0", "r1")] if why else [])
            self.assertEqual((answer["found"], answer["movable_pods"]), (not why, 0 if why else 2))
        file = self.write("lowered.json", json.dumps(cluster(*whole, quota(2, 7))))
        self.assertIn("\n  would not be made again: team/r0, team/r1 (quota q: pods 6 of 2 used, 1 more needed)\n",
                      self.vgpusim("plan", file, "--pod", "waits").stdout)

    def test_the_plan_is_what_explain_and_the_cluster_agree_with(self):
        """Carried out on the objects, the pod that waited fits, which it did not before."""
        before = self.write("before.json", json.dumps(cluster(*HALF)))
        self.assertIsNone(json.loads(self.vgpusim("explain", before, "--pod", "waits", "--json").stdout)["choice"]["node"])
        move = self.ask(HALF, "--pod", "waits")["moves"][0]
        card = move["to"]["shares"][0]["device"]
        after = [entry for entry in HALF if entry["metadata"]["name"] != move["pod"].split("/")[1]]
        after.append(owned("moved", move["to"]["node"], card, move["to"]["shares"][0]["memory_mib"]))
        file = self.write("after.json", json.dumps(cluster(*after)))
        choice = json.loads(self.vgpusim("explain", file, "--pod", "waits", "--json").stdout)["choice"]
        self.assertEqual(choice["node"], "b")

    def test_a_pod_that_fits_needs_no_move(self):
        answer = self.ask((*HALF, gpu_node("c")), "--pod", "waits")
        self.assertEqual((answer["found"], answer["moves"], answer["where"]["node"]), (True, [], "c"))

    def test_who_may_move(self):
        def with_pod(**how):
            return (gpu_node("a", cards=1), gpu_node("b", cards=1), owned("r0", "a", 0, 20000, owners=DAEMON_SET),
                    owned("r1", "b", 0, 16000, **how), WAITS)

        self.assertEqual(self.ask(with_pod(), "--pod", "waits")["movable_pods"], 1)
        for how, arguments in (({"owners": DAEMON_SET}, ()), ({"owners": None}, ()),
                               ({}, ("--keep-namespace", "team")), ({}, ("--movable-label", "moves=yes"))):
            answer = self.ask(with_pod(**how), "--pod", "waits", *arguments)
            self.assertEqual((answer["movable_pods"], answer["found"]), (0, False), (how, arguments))
            self.assertEqual((answer["reason"], answer["moves_ruled_out"]), ("none_within_moves", 3))
        self.assertTrue(self.ask(with_pod(owners=None), "--pod", "waits", "--move-bare-pods")["found"])
        labelled = with_pod(labels={"moves": "yes"})
        self.assertTrue(self.ask(labelled, "--pod", "waits", "--movable-label", "moves=yes")["found"])

    def test_limits(self):
        self.assertEqual(self.ask(HALF, "--pod", "waits", "--downtime-s", "1")["reason"], "over_downtime")
        none = self.ask(HALF, "--pod", "waits", "--moves", "0")
        self.assertEqual((none["found"], none["reason"], none["where"]), (False, "none_within_moves", None))
        self.assertEqual(self.ask(HALF, "--pod", "waits", "--steps", "1")["reason"], "step_limit")
        words = self.vgpusim("plan", self.write("half.json", json.dumps(cluster(*HALF))), "--pod", "waits", "--steps", "1").stdout
        self.assertIn("the search came to its limit of 1 step (--steps); there is none with 0 moves", self.flat(words))

    def test_replicas_of_other_nodes_do_not_hide_a_plan_of_one_move(self):
        """Where one GPU is offered as replicas, a pod of 8 GPUs is 8 units, which may be given in any order."""
        def held(name, where, count):
            return pod(name, gpus(count), on=where, ns="train")

        whole = [whole_node(f"w{i}", 8) for i in (1, 2, 3)]
        running = [held("big-0", "w1", 6), held("mid-0", "w2", 3), held("mid-1", "w3", 5)]
        labels = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.memory": "15360", "nvidia.com/gpu.count": "2",
                  "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}
        waits = pod("p8", {"cpu": "8", "nvidia.com/gpu": "8"}, ns="train")
        shared = {"small": node("t1", cpu="4", labels=labels, nvidia_com__gpu="8"),
                  "tainted": node("t1", labels=labels, nvidia_com__gpu="8",
                                  taints=[{"key": "team", "value": "dev", "effect": "NoSchedule"}])}
        alone = self.ask([*whole, *running, waits], "--pod", "p8", "--move-bare-pods")
        for name, replicas in shared.items():
            answer = self.ask([*whole, replicas, *running, waits], "--pod", "p8", "--move-bare-pods")
            self.assertEqual(self.moves_of(answer), [("train/mid-0", "w2", "w3")], name)
            self.assertEqual((answer["where"]["node"], answer["fewest_moves"]), ("w2", True))
            self.assertLess(answer["steps"], 5 * alone["steps"] + 1000, name)
            self.assertEqual(self.moves_of(alone), self.moves_of(answer))

    def test_pods_without_a_controller_are_counted_where_nothing_moves(self):
        bare = (gpu_node("a", cards=1), gpu_node("b", cards=1), owned("r0", "a", 0, 20000, owners=None),
                owned("r1", "b", 0, 16000, owners=None), owned("d", "b", 0, 100, owners=DAEMON_SET), WAITS)
        self.assertEqual(self.ask(bare, "--pod", "waits")["kept_bare"], 2)
        self.assertEqual(self.ask(bare, "--pod", "waits", "--move-bare-pods")["kept_bare"], 0)
        file = self.write("bare.json", json.dumps(cluster(*bare)))
        why = "2 pods have no controller, and --move-bare-pods lets them move too"
        for question, line in ((("--pod", "waits"), "team/waits: no plan of moves: there is none with 3 moves: "
                                f"all of them were looked at (0 pods may move; {why})"),
                               (("--consolidate", "nodes"), f"0 nodes can be emptied by 0 moves, of 0 pods that may move; {why}")):
            self.assertTrue(self.flat(self.vgpusim("plan", file, *question).stdout).startswith(line + " "))
        anew = self.vgpusim("whatif", file, "--anew").stdout
        self.assertTrue(self.flat(anew).startswith("Placed anew, 0 pods more run, 0 would stand elsewhere "
                                                   "(2 pods that have no controller stay where they are). "), anew)

    def test_a_pod_of_a_manifest(self):
        whole = self.write("whole.json", json.dumps(pod("whole", vgpu(40960))))
        answer = self.ask(HALF[:-1], "--add-pod", whole)
        self.assertEqual((answer["pod"], len(answer["moves"])), ("team/whole", 1))

    def test_consolidation(self):
        spread = (gpu_node("a"), gpu_node("b"), *(owned(f"r{i}", "ab"[i // 2], i % 2, 10000) for i in range(4)))
        devices = self.ask(spread, "--consolidate", "devices")
        self.assertEqual(devices["emptied"], {"unit": "device", "count": 3, "used": 4, "used_min": 1, "used_min_by": "amounts"})
        self.assertEqual(len(devices["moves"]), 3)
        nodes = self.ask(spread, "--consolidate", "nodes")
        self.assertEqual(nodes["emptied"], {"unit": "node", "count": 1, "used": 2, "used_min": 1, "used_min_by": "amounts"})
        self.assertEqual(len({move["to"]["node"] for move in nodes["moves"]}), 1)
        for plan in (devices, nodes):  # what is used of a device is rounded up
            self.assertAlmostEqual(sum(plan["idle_before"].values()), sum(plan["idle_after"].values()), delta=4)
        self.assertEqual(self.ask(spread, "--consolidate", "devices", "--moves", "1")["emptied"]["count"], 1)

    def test_the_bound_and_the_gap(self):
        """Three pods of 60 % of a GPU: 1.8 GPUs in sum, and no two on one."""
        large = tuple(entry for name in "abc" for entry in (gpu_node(name, cards=1), owned(f"on-{name}", name, 0, 24576)))
        least, by, words = ((3, "lp", "by a linear program of what fits at least 3 do: no plan leaves fewer") if self.has_solver()
                            else (2, "amounts", "by what pods ask for at least 2 do: a gap of 1"))
        for unit in ("node", "device"):
            emptied = self.ask(large, "--consolidate", unit + "s")["emptied"]
            self.assertEqual(emptied, {"unit": unit, "count": 0, "used": 3, "used_min": least, "used_min_by": by})
            lines = self.vgpusim("plan", self.write("cluster.json", json.dumps(cluster(*large))), "--consolidate", unit + "s").stdout
            self.assertEqual(lines.splitlines()[1], f"3 of 3 {unit}s in use stay so; {words}")

    def test_words(self):
        file = self.write("cluster.json", json.dumps(cluster(*HALF)))
        lines = self.vgpusim("plan", file, "--pod", "waits").stdout.splitlines()
        self.assertEqual(lines[0], "team/waits: fits after 1 move (2 pods may move); fewer are not enough")
        self.assertEqual(lines[1], "  1. team/r1: b: GPU-b-0 slice 16000 MiB, compute not limited")
        self.assertEqual(lines[2], "     -> a: GPU-a-0 slice 16000 MiB, compute not limited (11.4 device-seconds of downtime)")
        self.assertEqual(lines[3], "  then team/waits -> b: GPU-b-0 slice 40960 MiB, compute not limited")
        self.assertRegex(lines[5], r"^planned in [0-9.]+ ms, [0-9]+ steps$")
        self.assertEqual([line.split() for line in lines[6:9]],
                         [["before", "after"], ["idle", "GPUs", "1.1", "0.1"], ["of", "use", "to", "more", "pods", "0.6", "0.0"]])
        none = self.flat(self.vgpusim("plan", file, "--pod", "waits", "--moves", "0").stdout)
        self.assertTrue(none.startswith("team/waits: no plan of moves: there is none with 0 moves: all of them were looked at (2 pods may move) "))

    def test_bad_input_is_one_line_and_nothing_is_printed(self):
        file = self.write("cluster.json", json.dumps(cluster(*HALF)))
        two = self.write("two.json", json.dumps(cluster(WAITS, pod("more", vgpu(1)))))
        for arguments, word in (((), "one of --pod, --add-pod and --consolidate"),
                                (("--pod", "waits", "--consolidate", "nodes"), "one of --pod"),
                                (("--pod", "r0"), "this one is on node a already"),
                                (("--pod", "nobody"), "team/waits"),
                                (("--add-pod", two), "the file has 2"),
                                (("--consolidate", "racks"), "racks"),
                                (("--pod", "waits", "--moves", "-1"), "--moves"),
                                (("--pod", "waits", "--movable-label", "x"), "KEY=VALUE")):
            done = self.vgpusim("plan", file, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(word, done.stderr)

    def test_mig_npu_and_slices_in_one_cluster(self):
        """The cluster of the tests of explain: every plan that is found is carried out on the ledger by the command."""
        data = SOURCE / "tests" / "data" / "explain"
        config = ("--config", str(data / "device-config.yaml"))
        done = self.vgpusim("plan", str(data / "cluster.yaml"), *config, "--consolidate", "devices", "--move-bare-pods", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreaterEqual(json.loads(done.stdout)["movable_pods"], 1)


if __name__ == "__main__":
    unittest.main()
