"""vgpusim whatif: nodes that come and go, pods that are added, modes that change, and the smallest number of nodes."""

import json
import unittest

from clusters import A100, cluster, gpu_node, node, on_card, pod, vgpu
from support import SOURCE, CliTest

MANIFESTS = SOURCE / "scenarios" / "manifests"
DATA = SOURCE / "tests" / "data" / "explain"
ATLAS = SOURCE / "scenarios" / "clusters" / "atlas.json"
HARBOR = SOURCE / "scenarios" / "clusters" / "harbor.json"
DRAINED = """\
1 pod starts, 1 moves, 1 stops; 2 still wait (2 scattered).
  ~ h3           takes no more pods
  + lab/nb-3     h1  4096 MiB, 10 cores
  ~ lab/nb-2     h3 -> h1
  - lab/tune-0   h3  scattered
  . lab/tune-1   scattered;  prod/rank-2: scattered

                     BEFORE  AFTER  CHANGE                          BEFORE  AFTER  CHANGE
GPUs                   14.0   14.0       0   A100-40GB largest MiB   36864      0  -36864
  used                  5.9    5.0    -0.9   L40S largest MiB        21492  21492       0
  free                  4.1    3.0    -1.1   kWh a day, at most       80.2   69.8   -10.4
  out of service        4.0    6.0    +2.0
pods run                 12     12       0
"""
BASE = (gpu_node("a"), gpu_node("b"), gpu_node("c", cards=1), on_card("r0", "a", 0, 20000),
        on_card("r1", "a", 1, 30000), on_card("r2", "b", 0, 40960), *(pod(f"p{i}", vgpu(30000)) for i in range(4)))
JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "train", "namespace": "team"},
       "spec": {"minAvailable": 3, "schedulerName": "volcano", "tasks": [
           {"name": "w", "replicas": 3, "template": {"spec": {"containers": [
               {"name": "m", "resources": {"limits": vgpu(40000)}}]}}}]}}


class WhatIf(CliTest):
    def setUp(self):
        super().setUp()
        self.base = self.write("cluster.json", json.dumps(cluster(*BASE)))

    def ask(self, *arguments, file=None):
        done = self.vgpusim("whatif", file or self.base, *arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    @staticmethod
    def nodes_of(answer):
        """Where each pod goes: node, or null."""
        return {pod["name"]: [entry["node"] for entry in pod["placed"]] for pod in answer["pods"]}

    def test_nothing_changed_places_what_waits_as_explain_does(self):
        answer = self.ask("--policy", "binpack")
        self.assertEqual((answer["placed"], answer["refused"]), (2, 2))
        self.assertEqual(answer["before"]["pods"], 3)
        self.assertEqual(answer["after"]["pods"], 5)
        done = self.vgpusim("explain", self.base, "--pod", "team/p0", "--policy", "binpack", "--json")
        self.assertEqual(self.nodes_of(answer)["p0"], [json.loads(done.stdout)["choice"]["node"]])
        refused = answer["pods"][3]
        self.assertEqual(sum(entry["nodes"] for entry in refused["refusals"]), 3)
        self.assertEqual(max(entry["available"] for entry in refused["refusals"]), 20960)
        self.assertIn("0/3 nodes are available: 3 insufficient_device_memory.", refused["why"])

    def test_a_scheduling_gate_is_the_answer(self):
        """No scheduler looks at a pod that has a gate, in a cluster and among those that are added."""
        gate = {"schedulingGates": [{"name": "example.com/data-ready"}]}
        file = self.write("gated.json", json.dumps(cluster(gpu_node("a"), pod("held", vgpu(1000), **gate))))
        done = self.vgpusim("explain", file, "--pod", "team/held", "--json")
        choice = json.loads(done.stdout)["choice"]
        self.assertEqual((choice["node"], choice["gates"], choice["node_without_gates"]), (None, ["example.com/data-ready"], "a"))
        words = self.vgpusim("explain", file, "--pod", "team/held").stdout
        self.assertIn("held back by scheduling gate example.com/data-ready: no scheduler looks at the pod; without it it fits\n", words)
        self.assertNotIn("\nchosen:", words)
        planned = self.vgpusim("plan", file, "--pod", "held")
        self.assertEqual((planned.returncode, planned.stdout), (2, ""))
        self.assertIn("spec.schedulingGates: got 'example.com/data-ready'", planned.stderr)
        added = self.write("added.json", json.dumps(cluster(pod("new", vgpu(1000), **gate))))
        answer = self.ask("--add-pods", added, file=file)
        self.assertEqual((answer["placed"], answer["refused"], answer["after"]["pods"]), (0, 2, 0))
        for entry in answer["pods"]:
            self.assertIn("spec.schedulingGates: got 'example.com/data-ready'", entry["why"])

    def test_nodes_are_added_in_the_words_of_the_cluster_or_refused(self):
        """Pods of NVIDIA's plugin cannot ask for what HAMi registers."""
        whole = node("n", nvidia_com__gpu="8", labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"})
        file = self.write("nvidia.json", json.dumps(cluster(whole, pod("p", {"nvidia.com/gpu": "8", "cpu": "1"}),
                                                            pod("q", {"nvidia.com/gpu": "8", "cpu": "1"}))))
        done = self.vgpusim("whatif", file, "--add-nodes", "A100-80GB:mig:8=1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("got 'A100-80GB:mig:8', expected a node as this cluster's device plugin registers it (dialect nvidia): of mode exclusive",
                      done.stderr)
        of_hami = json.dumps({"kind": "A100-80GB", "mode": "hami_core", "dialect": "hami", "devices": 8})
        self.assertEqual(self.vgpusim("whatif", file, "--add-nodes", of_hami + "=1").returncode, 2, "whoever names the dialect")
        answer = self.ask("--add-nodes", "A100-80GB:exclusive:8=1", file=file)
        self.assertEqual((answer["placed"], answer["refused"]), (2, 0))

    def test_gpus_are_added_in_the_dialect_of_the_clusters_gpus(self):
        file = self.write("hami.json", json.dumps(cluster(gpu_node("a", cards=1), pod("p", vgpu(1000)))))
        for kind in ("A100-80GB:cce:2", "A100-80GB:exclusive:4"):
            done = self.vgpusim("whatif", file, "--add-nodes", kind + "=1")
            self.assertEqual((done.returncode, done.stdout), (2, ""), kind)
            self.assertIn("expected a node as this cluster's device plugin registers it", done.stderr)
        for kind in ("A100-80GB:hami_core:2", "Ascend910B4:ascend_vir:8"):
            done = self.vgpusim("whatif", file, "--add-nodes", kind + "=1")
            self.assertEqual((done.returncode, done.stderr), (0, ""), kind)

    def test_reasons_are_those_of_the_pods_turn(self):
        """The first pod was refused for its memory, and the reason was told of the cluster that the later pod filled."""
        node_a = gpu_node("a", cards=1)
        file = self.write("turns.json", json.dumps(cluster(node_a, on_card("r", "a", 0, 10960), pod("big", vgpu(40000), created="2026-01-01T00:00:00Z"),
                                                           pod("small", vgpu(30000), created="2026-01-02T00:00:00Z"))))
        answer = self.ask(file=file)
        self.assertEqual(self.nodes_of(answer), {"big": [], "small": ["a"]})
        self.assertEqual(answer["pods"][0]["refusals"][0]["available"], 30000)

    def test_whatif_and_plan_end_with_what_they_did_not_look_at(self):
        """explain said it, and these did not."""
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus", "namespace": "team"}, "spec": {"hard": {"pods": "9"}}}
        other = json.loads(json.dumps(quota).replace("team", "elsewhere"))
        apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "zone"}]}}
        volume = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        runs = on_card("r", "a", 0, 30000, affinity=apart)
        runs["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "r", "controller": True}]
        waits = pod("w", vgpu(20000), volumes=volume)
        file = self.write("rules.json", json.dumps(cluster(gpu_node("a", cards=1), gpu_node("b", cards=1), quota, other, runs, waits)))
        added = self.write("added.json", json.dumps(pod("x", vgpu(20000))))
        whatif = self.ask("--add-pods", added, file=file)["not_considered"]
        self.assertFalse(any("ResourceQuota" in rule for rule in whatif), "it is looked at")
        self.assertTrue(any("volume" in rule and rule.endswith("(team/w)") for rule in whatif), whatif)
        self.assertFalse(any("affinity" in rule for rule in whatif), "it is looked at")
        last = self.vgpusim("whatif", file, "--add-pods", added).stdout.splitlines()[-1]
        self.assertTrue(last.startswith("not looked at: ") and "ResourceQuota" not in last, last)
        for arguments in (["--add-pod", self.write("big.json", json.dumps(pod("big", vgpu(40960))))], ["--consolidate", "nodes"]):
            planned = json.loads(self.vgpusim("plan", file, *arguments, "--json").stdout)
            moved = [move["pod"] for move in planned["moves"]]
            self.assertEqual(any("anti-affinity" in rule for rule in planned["not_considered"]), "team/r" in moved, planned)
            self.assertEqual("\nnot looked at: " in self.vgpusim("plan", file, *arguments).stdout, bool(planned["not_considered"]))
        plain = self.write("plain.json", json.dumps(cluster(gpu_node("a"), pod("w", vgpu(20000)))))
        self.assertNotIn("not looked at", self.vgpusim("whatif", plain).stdout)

    def test_a_quota_admits_as_many_as_are_left(self):
        hard = {"requests.volcano.sh/vgpu-number": "2", "requests.ephemeral-storage": "1Gi"}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus", "namespace": "team"},
                 "spec": {"hard": hard}, "status": {"hard": hard, "used": {"requests.volcano.sh/vgpu-number": "1"}}}
        file = self.write("quota.json", json.dumps(cluster(gpu_node("a", cards=4), quota, pod("waits", vgpu(20000)))))
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sweep", "namespace": "team"},
               "spec": {"parallelism": 3, "template": {"spec": pod("x", vgpu(20000))["spec"]}}}
        added = self.write("sweep.json", json.dumps(job))
        answer = self.ask("--add-pods", added, file=file)
        self.assertEqual((answer["placed"], answer["refused"], answer["held_back"]), (2, 0, 2), "what waits is not affected")
        self.assertEqual(answer["counts"]["waiting"]["quota"], 2)
        entry = answer["pods"][-1]
        self.assertEqual((entry["wanted"], len(entry["placed"]), entry["held_back"], entry["verdict"]), (3, 1, 2, "quota"))
        self.assertEqual(entry["quota"], {"quota": "gpus", "queue": None, "resource": "requests.volcano.sh/vgpu-number", "hard": "2", "used": "2", "needed": "1",
                                          "container": None, "text": "requests.volcano.sh/vgpu-number 2 of 2 used, 1 more needed"})
        self.assertEqual(answer["not_considered"], ["requests.ephemeral-storage of ResourceQuota gpus"])
        text = self.vgpusim("whatif", file, "--add-pods", added).stdout
        self.assertIn("; 2 still wait (2 quota).\n", text)
        self.assertIn("  . 2 of team/sweep  quota: requests.volcano.sh/vgpu-number 2 of 2 used, 1 more needed\n", text)
        explained = json.loads(self.vgpusim("explain", file, "--pod", added, "--json").stdout)
        self.assertEqual((explained["replicas"]["placed"], explained["replicas"]["held_back"]), (1, 2))
        self.assertIn("2 of 3 pods are held back by quota gpus: requests.volcano.sh/vgpu-number 2 of 2 used, 1 more needed\n",
                      self.vgpusim("explain", file, "--pod", added).stdout)
        two = self.write("two.json", json.dumps(pod("two", vgpu(20000, number=2))))
        self.assertIsNone(json.loads(self.vgpusim("explain", file, "--pod", two, "--json").stdout)["choice"]["node"])
        planned = self.vgpusim("plan", file, "--add-pod", two)
        self.assertEqual(planned.returncode, 2)
        self.assertIn("expected a pod that ResourceQuota gpus admits", planned.stderr)

    def test_a_limit_range_gives_defaults_and_refuses(self):
        limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "lr", "namespace": "team"}, "spec": {"limits": [
            {"type": "Container", "default": {"cpu": "12"}, "max": {"cpu": "12"}}]}}
        file = self.write("limits.json", json.dumps(cluster(gpu_node("a", cards=4), limits)))
        silent = pod("silent", {key: amount for key, amount in vgpu(100).items() if key != "cpu"})
        added = self.write("added.json", json.dumps(cluster(silent, dict(silent, metadata={**silent["metadata"], "name": "second"}), pod("big", vgpu(100, cpu="13")))))
        answer = self.ask("--add-pods", added, file=file)
        self.assertEqual((answer["placed"], answer["refused"], answer["after"]["cpu_used_milli"]), (1, 2, 12000), "12 of 16 CPUs by default")
        big = answer["pods"][2]
        self.assertEqual((big["verdict"], answer["not_considered"]), ("never", []))
        self.assertIn("maximum cpu usage per Container is 12, but limit is 13", big["why"])
        one = self.write("big.json", json.dumps(pod("big", vgpu(100, cpu="13"))))
        for arguments in (["explain", file, "--pod", one], ["plan", file, "--add-pod", one]):
            done = self.vgpusim(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn("expected a pod that LimitRange lr admits", done.stderr)

    def test_what_is_evicted_and_not_made_again_stops(self):
        """The quota was lowered to 2 pods, and there are 3."""
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": {"pods": "2"}}}
        limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "lr", "namespace": "team"},
                  "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}}
        nodes = [gpu_node("a", cards=2), gpu_node("b", cards=4)]
        pods = [on_card("r", "a", 0, 30000), on_card("s", "a", 1, 30000), on_card("t", "b", 0, 30000)]
        with_limits = [dict(entry, spec={**entry["spec"], "containers": [{**entry["spec"]["containers"][0], "resources": {"limits": {
            **entry["spec"]["containers"][0]["resources"]["limits"], "cpu": "2"}}}]}) for entry in pods]
        lowered = self.write("lowered.json", json.dumps(cluster(*nodes, *pods, quota)))
        for change in ("--drain", "--fail"):
            answer = self.ask(change, "a", file=lowered)
            self.assertEqual((answer["counts"]["stops"], answer["counts"]["moves"], answer["counts"]["waits"], answer["held_back"]), (1, 1, 0, 1))
            self.assertEqual({entry["name"]: (entry["verdict"], entry["fates"]) for entry in answer["pods"]},
                             {"r": (None, {"moves": 1}), "s": ("quota", {"stops": 1})})
            self.assertEqual(answer["after"]["pods"], 2)
        text = self.vgpusim("whatif", lowered, "--drain", "a").stdout
        self.assertIn("0 pods start, 1 moves, 1 stops; none waits.\n", text)
        self.assertIn("  - team/s  a  quota: pods 2 of 2 used, 1 more needed\n", text)
        enough = self.ask("--drain", "a", file=self.write("two.json", json.dumps(cluster(*nodes, *pods[:2], quota))))
        self.assertEqual((enough["counts"]["stops"], enough["counts"]["moves"]), (0, 2))
        limited = self.ask("--drain", "a", file=self.write("limited.json", json.dumps(cluster(*nodes, *with_limits, limits))))
        self.assertEqual((limited["counts"]["stops"], [entry["verdict"] for entry in limited["pods"]]), (2, ["never", "never"]))

    def test_a_drain_says_what_a_budget_keeps(self):
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep", "namespace": "team"},
                  "spec": {"selector": {}, "maxUnavailable": "0%"}}
        file = self.write("budget.json", json.dumps(cluster(gpu_node("a"), gpu_node("b"), on_card("r", "a", 0, 30000), budget)))
        answer = self.ask("--drain", "a", file=file)
        self.assertEqual(answer["not_evicted"], [{"pod": "team/r", "node": "a", "why": "PodDisruptionBudget keep allows no disruption"}])
        self.assertEqual((answer["pods"], answer["not_considered"]), ([], []))
        self.assertIn(" not evicted, so kubectl drain waits for ever: team/r (PodDisruptionBudget keep allows no disruption) ",
                      self.flat(self.vgpusim("whatif", file, "--drain", "a").stdout))
        failed = self.ask("--fail", "a", file=file)
        self.assertEqual((failed["not_evicted"], self.nodes_of(failed)), ([], {"r": ["b"]}))

    def test_idle_devices_are_split_by_cause(self):
        """An A100 node and a MIG node without a pod showed 50 % fragmentation, and what was added changed what was before."""
        label = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "1"}
        mig = node("m", labels={**label, "nvidia.com/mig.strategy": "mixed"})
        mig["status"]["allocatable"]["nvidia.com/mig-1g.10gb"] = mig["status"]["capacity"]["nvidia.com/mig-1g.10gb"] = "7"
        objects = [node("a", nvidia_com__gpu="1", labels=label), mig, pod("w", {"nvidia.com/gpu": "1", "cpu": "1"}),
                   pod("i", {"nvidia.com/mig-1g.10gb": "1", "cpu": "1"})]
        file = self.write("pair.json", json.dumps(cluster(*objects)))
        before = self.ask(file=file)["before"]
        self.assertEqual(before["idle"], {"of_use_milli": 1000, "host_full_milli": 0, "scattered_milli": 0, "wrong_kind_milli": 1000,
                                          "out_of_service_milli": 0})
        self.assertEqual(sum(before["idle"].values()), before["free_milli"])
        added = self.write("more.json", json.dumps(cluster(*(pod(f"x{i}", {"nvidia.com/gpu": "1", "cpu": "1"}) for i in range(5)))))
        answer = self.ask("--add-pods", added, file=file)
        self.assertEqual(answer["before"]["idle"], before["idle"])
        self.assertEqual(sum(answer["after"]["idle"].values()), answer["after"]["free_milli"])
        words = self.vgpusim("whatif", file, "--all").stdout
        self.assertRegex(words, r"idle GPUs +2\.0 +0\.9\n +of use to more pods +1\.0 ")

    def test_devices_of_nodes_that_take_nothing_are_out_of_service(self):
        """0 devices were, of a node that is not ready and one that is cordoned."""
        absent, cordoned = gpu_node("n", cards=3), gpu_node("u", cards=4)
        absent["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        cordoned["spec"] = {"unschedulable": True}
        file = self.write("closed.json", json.dumps(cluster(gpu_node("a"), absent, cordoned, pod("w", vgpu(20000)))))
        before = self.ask(file=file)["before"]
        self.assertEqual([before[f"devices{of}"] for of in ("", "_out_of_service", "_on_nodes_not_ready", "_on_cordoned_nodes")], [9, 7, 3, 4])
        self.assertEqual(before["idle"]["out_of_service_milli"], 7000)
        self.assertRegex(self.vgpusim("whatif", file).stdout, r"\n  out of service +7\.0 +7\.0 +0\n")
        cordoned["status"]["conditions"] = absent["status"]["conditions"]
        file = self.write("both.json", json.dumps(cluster(gpu_node("a"), cordoned)))
        self.assertEqual(self.ask(file=file)["before"]["devices_out_of_service"], 4, "each counts once")

    def test_drained_and_failed_nodes_move_their_pods(self):
        answer = self.ask("--drain", "a", "--fail", "c")
        self.assertEqual([pod["from"] for pod in answer["pods"][:2]], ["a", "a"])
        self.assertEqual({node for pod in answer["pods"] for node in self.nodes_of(answer)[pod["name"]]}, {"b"})
        self.assertEqual(answer["after"]["nodes"], 2)
        self.assertEqual([pod["from"] for pod in self.ask("--fail", "a")["pods"] if pod["origin"] == "evicted"], ["a", "a"])
        answer = self.ask("--fail", "a/GPU-a-1")
        self.assertEqual([pod["name"] for pod in answer["pods"] if pod["origin"] == "evicted"], ["r1"])
        self.assertEqual(answer["after"]["devices_out_of_service"], 1)

    def test_the_smallest_number_of_nodes(self):
        for kind, expected in (("b", 1), ("c", 2)):
            found = self.ask("--find-nodes", kind)
            self.assertEqual(found["find_nodes"]["nodes"], expected)
            self.assertEqual(found["refused"], 0)
            self.assertTrue(found["find_nodes"]["refused_with_one_less"])
            self.assertEqual(self.ask("--add-nodes", f"{kind}={expected}")["refused"], 0)
            self.assertGreater(self.ask("--add-nodes", f"{kind}={expected - 1}")["refused"], 0)

    def test_a_pod_that_never_fits_does_not_keep_it_from_the_number_for_the_others(self):
        huge = self.write("huge.json", json.dumps(pod("huge", vgpu(50000))))
        found = self.ask("--find-nodes", "b", "--add-pods", huge)["find_nodes"]
        self.assertEqual((found["nodes"], found["helped"]), (1, self.ask("--find-nodes", "b")["find_nodes"]["helped"]))
        self.assertEqual(found["never"], [{"pod": "team/huge", "why": "insufficient_device_memory: wanted 50000 MiB, "
                                                                      "available 40960 MiB"}])

    def test_one_that_only_others_keep_from_its_place_may_get_it(self):
        # Node old has room for one of the two; only the second may go there, and the first takes it, until there is a new one.
        old, new = gpu_node("old", cards=1), gpu_node("new", cards=1)
        old["metadata"]["labels"] = {"kind": "old"}
        bound = pod("second", vgpu(30000))
        bound["spec"]["nodeSelector"] = {"kind": "old"}
        first = pod("first", vgpu(30000))
        first["spec"]["priority"] = 10
        file = self.write("kept.json", json.dumps(cluster(old, new, first, bound, on_card("r0", "old", 0, 1000), on_card("r1", "new", 0, 40960))))
        answer = self.ask("--policy", "spread", "--find-nodes", "new", file=file)
        self.assertEqual(answer["find_nodes"]["nodes"], 1, answer["find_nodes"])
        self.assertEqual(self.nodes_of(answer), {"first": ["new-added-1"], "second": ["old"]})

    def test_gangs_start_together(self):
        job = self.write("job.json", json.dumps(JOB))
        answer = self.ask("--add-pods", job)
        self.assertEqual(answer["pods"][-1]["refused"], 3)
        self.assertIn("starts together", answer["pods"][-1]["why"])
        answer = self.ask("--add-pods", job, "--find-nodes", "c")
        self.assertEqual(len(answer["pods"][-1]["placed"]), 3)

    def test_modes_and_templates(self):
        answer = self.ask("--set-mode", "b=mig", "--fail", "c")
        self.assertIn("mig", json.dumps([entry["shares"] for pod in answer["pods"] for entry in pod["placed"]]))
        template = self.write("big.json", json.dumps(gpu_node("big", cards=8)))
        self.assertEqual(self.ask("--node-template", template, "--add-nodes", "big=2")["after"]["devices"], 21)

    def test_a_mode_needs_what_makes_it(self):
        """No geometry is known for a V100: the card would be there, and nothing could be given of it."""
        v100 = gpu_node("v")
        register = v100["metadata"]["annotations"]["volcano.sh/node-vgpu-register"]
        v100["metadata"]["annotations"]["volcano.sh/node-vgpu-register"] = register.replace(A100, "NVIDIA-Tesla V100")
        done = self.vgpusim("whatif", self.write("v.json", json.dumps(cluster(v100))), "--set-mode", "v=mig")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--set-mode: node v: volcano.sh/node-vgpu-register: card 0 geometry: got 'NVIDIA-Tesla V100'",
                      done.stderr)

    def test_a_node_is_added_as_the_one_that_it_is_like_will_be(self):
        big = self.write("big.json", json.dumps(pod("big", vgpu(20000), priority=5,
                                                    annotations={"volcano.sh/vgpu-mode": "mig"})))
        answer = self.ask("--set-mode", "b=mig", "--add-nodes", "b=1", "--fail", "b", "--add-pods", big)
        self.assertEqual(self.nodes_of(answer)["big"], ["b-added-1"])

    def test_pods_of_a_daemon_set_go_to_no_other_node(self):
        daemons = [on_card(f"d-{name}", name, 0, 2000) for name in ("a", "b")]
        for daemon in daemons:
            daemon["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d",
                                                      "uid": "u", "controller": True}]
        file = self.write("daemons.json", json.dumps(cluster(gpu_node("a"), gpu_node("b"), *daemons)))
        for arguments, goes in ((["--fail", "a/0"], ["a"]), (["--set-mode", "a=mig"], ["a"]),
                                (["--fail", "a/0", "--fail", "a/1"], [])):
            answer = self.ask(*arguments, file=file)
            self.assertEqual(self.nodes_of(answer), {"d-a": goes}, arguments)
        self.assertIn("metadata.name in (a)", json.dumps(answer["pods"]))
        self.assertEqual(self.nodes_of(self.ask("--set-mode", "a=mig", "--fail", "a", file=file)), {})

    def test_anonymised_a_cluster_needs_as_many_nodes(self):
        """Names of hosts and taints of state are what --find-nodes changes on a node that is added."""
        kind = gpu_node("kind", cards=1, taints=[{"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown",
                                                  "effect": "NoExecute"}])
        pods = [pod("p", vgpu(40960)), pod("pinned", vgpu(10), nodeSelector={"kubernetes.io/hostname": "kind"})]
        pods[0]["metadata"]["annotations"] = {"volcano.sh/vgpu-time": "1763890000"}
        tries = []
        for waiting in (pods[:1], pods):
            file = self.write("named.json", json.dumps(cluster(kind, *waiting)))
            nameless = self.root / "nameless.json"
            self.assertEqual(self.vgpusim("snapshot", file, "--anonymise", "--out", nameless).returncode, 0)
            self.assertNotIn("17638", nameless.read_text())
            found = [self.ask("--find-nodes", name, file=which)["find_nodes"]
                     for name, which in (("kind", file), ("node-0001", nameless))]
            self.assertEqual(found[0]["tries"], found[1]["tries"])
            self.assertEqual(len(found[0]["never"]), len(found[1]["never"]))
            tries.append((found[0]["nodes"], len(found[0]["never"])))
        self.assertEqual(tries, [(1, 0), (1, 1)])

    def test_kinds_of_the_catalog(self):
        for kind, expected in (("A100-40GB:hami_core:1", 2), ("A100-40GB:hami_core:8:16000:65536", 1),
                               ('{"kind": "A100-80GB", "mode": "hami_core", "devices": 1}', 1)):
            found = self.ask("--find-nodes", kind)
            self.assertEqual(found["find_nodes"]["nodes"], expected)
            self.assertTrue(found["find_nodes"]["refused_with_one_less"])
            self.assertEqual(self.ask("--add-nodes", f"{kind}={expected}")["refused"], 0)
            self.assertGreater(self.ask("--add-nodes", f"{kind}={expected - 1}")["refused"], 0)
        added = self.ask("--add-nodes", "A100-40GB:mig:8=1", "--add-nodes", "A100-40GB:mig:8=2")
        self.assertEqual(added["after"]["devices"], 5 + 24)

    def test_every_dialect(self):
        """The manifests of the scenarios on the mixed cluster: each goes where explain puts its first pod."""
        config = ["--config", DATA / "device-config.yaml"]
        for manifest in sorted(MANIFESTS.glob("*.yaml")):
            answer = self.ask("--add-pods", manifest, "--policy", "binpack", *config, file=DATA / "cluster.yaml")
            added = [pod for pod in answer["pods"] if pod["origin"] == "added"]
            self.assertTrue(added, manifest)
            self.assertTrue(all(pod["placed"] or pod["why"] for pod in added), manifest)

    def test_order_and_priority(self):
        urgent = self.write("urgent.json", json.dumps(pod("urgent", vgpu(40960), priority=5)))
        places = self.nodes_of(self.ask("--add-pods", urgent))
        self.assertEqual([len(places[name]) for name in ("urgent", "p0", "p1", "p2", "p3")], [1, 1, 0, 0, 0])

    def test_files_are_what_is_printed(self):
        done = self.vgpusim("whatif", self.base, "--out", self.out)
        self.assertEqual((self.out / "whatif.txt").read_text(), done.stdout)
        self.assertEqual(json.loads((self.out / "whatif.json").read_text()), self.ask())
        again = self.vgpusim("whatif", self.base, "--policy", "random", "--seed", "3", "--json").stdout
        self.assertEqual(self.vgpusim("whatif", self.base, "--policy", "random", "--seed", "3", "--json").stdout, again)

    def test_the_text_for_harbor(self):
        self.assertEqual(self.vgpusim("whatif", HARBOR, "--drain", "h3").stdout, DRAINED)
        wide = self.vgpusim("whatif", HARBOR, "--drain", "h3", "--all").stdout
        for words in ("\n  ~ lab/nb-2     h3 -> h1: GPU-", "\nwhy not, each at its turn:\n  lab/tune-[0-1]: 0/4 nodes", "\nplaced by bid_price\n", "\n  idle GPUs "):
            self.assertIn(words, wide)
        self.assertLessEqual(max(len(line) for line in self.vgpusim("whatif", HARBOR, "--add-nodes", "h1=90000").stdout.splitlines()), 100)
        comparison = self.ask("--drain", "h3", file=HARBOR)["comparison"]
        shown = json.loads(self.vgpusim("show", HARBOR, "--json").stdout)["totals"]
        self.assertEqual({key: comparison[key]["before"] for key in ("used", "free", "out", "pods_run")},
                         {key: shown[key] for key in ("used", "free", "out", "pods_run")})

    def test_words_are_those_of_show(self):
        """A name of a resource or of the scheduler's own words apart, nothing is allocated, available or unschedulable."""
        for file in (ATLAS, HARBOR, self.base):
            for arguments in ([], ["--anew"], ["--add-pods", self.write("x.json", json.dumps(pod("x", vgpu(1000))))]):
                words = self.vgpusim("whatif", file, *arguments).stdout
                self.assertNotRegex(words, r"(?i)allocat|available|unschedulable|devices", words)

    def test_atlas_is_cut_otherwise(self):
        """The answers of an operator's cluster: instances of NVIDIA's plugin by the layouts of the GPU operator."""
        answer = self.ask("--policy", "best_fit", "--uncordon", "a100-3", "--set-mode", "mig-2=mig:all-balanced", file=ATLAS)
        started = [pod["name"] for pod in answer["pods"] if pod["placed"] and pod["origin"] == "waits"]
        self.assertEqual(started, ["llm-3", "ranker-4"])
        moved = {pod["name"]: pod["placed"][0]["node"] for pod in answer["pods"] if pod["origin"] == "evicted"}
        self.assertEqual(moved, {f"tag-{i}": "mig-1" if i < 8 else "mig-2" for i in range(4, 11)})
        self.assertEqual(answer["layouts"], [{"node": "mig-2", "before": "28 x 1g.10gb", "cut_us": 18_000_000, "gpus": 4,
                                              "after": "4 x 3g.40gb, 4 x 2g.20gb, 8 x 1g.10gb"}])
        self.assertEqual([round(answer[when]["allocated_milli"], -2) for when in ("before", "after")], [20500, 24900])
        for named, lost in (("a100-1/a100-1/gpu/0", 1), ("a100-1/0", 1), ("a100-*/0", 3), ("a100-[2-3]/0", 2),
                            ("nvidia.com/gpu.product", 36), ("!nvidia.com/mig.config/0", 4)):
            after = self.ask("--policy", "best_fit", "--uncordon", "a100-3", "--fail", named, file=ATLAS)["after"]
            self.assertEqual(36 - after["devices"] + after["devices_out_of_service"], lost, named)
        anew = self.ask("--policy", "best_fit", "--anew", file=ATLAS)
        self.assertEqual(5, len({pod["name"] for pod in anew["pods"] if pod["origin"] == "evicted" and pod["placed"][0]["node"] != pod["from"]}))
        text = self.vgpusim("whatif", ATLAS, "--policy", "best_fit", "--anew").stdout
        self.assertTrue(text.startswith(
            "Placed anew, 1 pod more runs (train/llm-3), 5 would stand elsewhere: research/nb-0, serve/tag-[4-7].\n"
            "used 20.5 -> 24.4 of 36.0, free 7.6, out of service 4.0. Not a plan: see vgpusim plan.\n\n"
            "1 pod starts, 5 move, 0 stop; 3 still wait (1 all used, 1 gate, 1 never).\n"), text)
        text = self.vgpusim("whatif", ATLAS, "--policy", "best_fit", "--find-nodes", "a100-1").stdout
        self.assertIn("1 node like a100-1 is enough for the 1 pod that it can help, train/llm-3; 0 are not (proved)\n"
                      "  never, on this kind  serve/ranker-4: asks 1 mig-3g.40gb, the kind is A100-80GB whole\n"
                      "  never, as it is      research/embed-0: wants pool=dev; does not tolerate team=dev\n"
                      "  held back            train/eval-7: gate example.com/data-ready; fits without a node more\n", text)
        text = self.vgpusim("whatif", ATLAS, "--policy", "best_fit", "--find-nodes", "a100-1", "--anew").stdout
        self.assertIn("  never, on this kind  serve/ranker-4: asks 1 mig-3g.40gb, the kind is A100-80GB whole\n", text)
        self.assertNotIn("either", text)
        drained = [self.ask("--policy", "best_fit", "--drain", nodes, file=ATLAS) for nodes in ("a100-[1-2]", "a100-1,a100-2")]
        self.assertEqual(drained[0]["nodes"], drained[1]["nodes"])
        cut = self.ask("--policy", "best_fit", "--set-mode", "mig-[1-2]=mig:all-balanced", file=ATLAS)
        self.assertEqual([layout["node"] for layout in cut["layouts"]], ["mig-2"])
        found = self.ask("--policy", "best_fit", "--find-nodes", "a100-1", file=ATLAS)["find_nodes"]
        self.assertEqual([entry["why"].split(":")[0] for entry in found["never"]], ["family_not_offered", "node_selector_differs"])
        text = self.vgpusim("whatif", ATLAS, "--policy", "best_fit", "--find-layout", "mig-*").stdout.splitlines()
        self.assertEqual(text[:5], [
            "Cut mig-2 all-balanced: 18 of 18 pods of the mix run (now 17), 7 restart.",
            "mix: 11 x 1g.10gb, 2 x 2g.20gb, 5 x 3g.40gb (17 pods run, 1 waits)",
            "mig-1         mig-2         RUN  WAIT  RESTART  CUT S  SPARE 1g  2g  3g",
            "all-balanced  all-balanced   18     0        7   18.0         5   6   3",
            "all-balanced  all-1g.10gb    17     1        0    0.0        25   2   0  now"])
        self.assertIn("all 16 were tried", text[-1])
        for change in (["--drain", "a100-1"], ["--drain", "mig-1"], ["--drain", "t4-1"], ["--fail", "a100-2"], ["--fail", "a100-2/0"],
                       ["--fail", "mig-1"], ["--fail", "mig-2/0"], ["--uncordon", "a100-3"]):
            done = self.vgpusim("whatif", ATLAS, "--find-layout", "mig-*", *change, "--json")
            self.assertEqual((done.returncode, done.stderr), (0, ""), change)
            for row in json.loads(done.stdout)["rows"]:
                self.assertGreaterEqual(min(row["spare"].values()), 0, (change, row))
        layouts = json.loads(self.vgpusim("whatif", ATLAS, "--find-layout", "mig-*", "--json").stdout)
        self.assertEqual((layouts["possible"], len(layouts["rows"]), layouts["is_exhaustive"]), (16, 16, True))
        for arguments, words in (
                (["--set-mode", "mig-*=mig:nonsense"], "--set-mode: node mig-1: got 'nonsense', expected a layout of A100-80GB: all-disabled, all-1g.10gb"),
                (["--set-mode", "t4-1=mig:all-1g.10gb"], "expected a GPU that the catalog has MIG profiles of"),
                (["--find-nodes", ""], "--find-nodes"), (["--fail", "mig-*/9"], "got 'mig-1/9', expected a device of that node"),
                (["--fail", "zone=nowhere/0"], "--fail zone=nowhere"),
                (["--find-layout", "z*"], "--find-layout z*: no node"),
                (["--find-layout", "mig-*", "--add-nodes", "mig-1=2"], "--add-nodes: got 'mig-1=2', expected none beside --find-layout"),
                (["--find-layout", "t4-1"], "expected a GPU that the catalog has MIG profiles of"),
                (["--find-layout", "mig-*", "--find-nodes", "a100-1"], "--find-layout")):
            done = self.vgpusim("whatif", ATLAS, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(words, done.stderr)

    def test_bad_input(self):
        node = self.write("node.json", json.dumps(gpu_node("a")))
        broken = self.write("broken.yaml", "kind: Pod\nmetadata: {name: x}\nspec: {containers: []}\n")
        for arguments, words in (
                (["--drain", "zz"], "--drain: got 'zz', expected a node of the cluster: a, b, c"),
                (["--fail", "a/9"], "GPU-a-0, GPU-a-1"), (["--fail", "a/"], "NODES/DEVICE"),
                (["--add-nodes", "zz=1"], "a, b, c"), (["--add-nodes", "a=-1"], "KIND=N"),
                (["--add-nodes", "a=x"], "KIND=N"), (["--add-nodes", "a"], "KIND=N"),
                (["--add-nodes", "a=100001"], "at most 100000"), (["--find-nodes", "zz"], "--find-nodes"),
                (["--find-nodes", "A100-40GB:mig"], "MODEL:MODE:DEVICES"),
                (["--find-nodes", "X:mig:8"], "--find-nodes: kind: got 'X'"),
                (["--add-nodes", "A100-40GB:half:8=1"], "--add-nodes: mode: got 'half', expected one of hami_core"),
                (["--add-nodes", "A100-40GB:mig:8"], "KIND=N"), (["--add-nodes", "{=1"], "--add-nodes:1:"),
                (["--set-mode", "a=half"], "hami_core"), (["--set-mode", "a"], "NODES=MODE"),
                (["--policy", "zz"], "binpack"), (["--device-policy", "zz"], "binpack"),
                (["--add-pods", node], "--add-pods"), (["--add-pods", broken], "containers"),
                (["--node-template", node], "no node"), (["--add-pods", "none.yaml"], "none.yaml")):
            done = self.vgpusim("whatif", self.base, *arguments, "--out", self.out)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse(self.out.exists(), arguments)


if __name__ == "__main__":
    unittest.main()
