"""vgpusim why: the pods that wait, one pod, and changes that make it fit when they are made."""

import json
import re
import shlex
import unittest

import clusters
from support import SOURCE, CliTest

ATLAS = "scenarios/clusters/atlas.json"
PAGE = (SOURCE / "docs" / "why.md").read_text(encoding="utf-8")
DATA = "tests/data/why"
WAITING = ("train/llm-3", "serve/ranker-4", "train/eval-7", "research/embed-0")

# What is printed of the pods that the page does not show.
PODS = {
    "serve/ranker-4": """\
serve/ranker-4 waits, all used: mig-3g.40gb: 4 of 4 used.
NODES  REASON        FREE/ASKED                        WHICH
    1  too few free  no mig-3g.40gb free               mig-1
    5  wrong kind    offers no nvidia.com/mig-3g.40gb  a100-[1-3], mig-2, t4-1
would fit if (each alone, each was tried)
  a pod with mig-3g.40gb ends           serve/ranker-[0-3] have one each
  mig-2 is cut all-balanced, 7 restart  vgpusim whatif scenarios/clusters/atlas.json --set-mode mig-2=mig:all-balanced
  1 node more like mig-1                vgpusim whatif scenarios/clusters/atlas.json --add-nodes mig-1=1
asks: nvidia.com/mig-3g.40gb 1, cpu 8, memory 32 GiB, any node; priority 0; since 2026-11-25 22:00Z
kube-scheduler: 0/6 nodes are available: 1 node(s) had untolerated taint {team: dev},
  1 node(s) were unschedulable, 4 Insufficient nvidia.com/mig-3g.40gb.
""",
    "train/eval-7": """\
train/eval-7 waits, gate: example.com/data-ready; fits without it.
NODES  REASON          FREE/ASKED                 WHICH
    1  fits                                       a100-2
    1  host full       cpu 8/12                   a100-1
    2  wrong kind      offers no nvidia.com/gpu   mig-[1-2]
    1  out of service  cordoned                   a100-3
    1  not allowed     taint team=dev:NoSchedule  t4-1
would fit if (each alone, each was tried)
  gate example.com/data-ready is removed by whoever set it  a100-2 takes it now
asks: nvidia.com/gpu 1, cpu 12, memory 48 GiB, any node; priority 0; since 2026-11-26 07:00Z
""",
    "research/embed-0": """\
research/embed-0 waits, never: wants pool=dev; does not tolerate team=dev.
NODES  REASON       FREE/ASKED                               WHICH
    1  not allowed  taint team=dev:NoSchedule                t4-1
    3  not allowed  wants pool=dev, the node has pool=train  a100-[1-3]
    2  wrong kind   offers no nvidia.com/gpu                 mig-[1-2]
would fit if (each alone, each was tried)
  it tolerates team=dev:NoSchedule  t4-1 takes it now
  it does not ask for pool=dev      a100-1 or a100-2 takes it now
asks: nvidia.com/gpu 1, cpu 2, memory 8 GiB, pool=dev; priority 0; since 2026-11-26 05:00Z
kube-scheduler: 0/6 nodes are available: 1 node(s) had untolerated taint {team: dev},
  1 node(s) were unschedulable, 4 node(s) didn't match Pod's node affinity/selector.
""",
}


class Why(CliTest):
    def why(self, *arguments):
        done = self.vgpusim("why", *arguments, cwd=SOURCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def document(self, *arguments):
        return json.loads(self.why(*arguments, "--json"))

    def test_the_page_shows_what_is_printed(self):
        examples = re.findall(r"```console\n\$ vgpusim (why [^\n]*)\n(.*?)```", PAGE, re.DOTALL)
        self.assertEqual(len(examples), 5)
        for command, output in examples:
            with self.subTest(command=command):
                self.assertEqual(self.why(*shlex.split(command)[1:]), output)

    def test_the_other_pods_of_atlas_are_printed_as_written_down(self):
        self.assertEqual(sorted(PODS), sorted(set(WAITING) - {"train/llm-3"}))
        for pod, text in PODS.items():
            with self.subTest(pod=pod):
                self.assertEqual(self.why(ATLAS, "--pod", pod), text)

    def test_groups_are_the_pods_that_show_has_and_each_pod_has_the_same_verdict(self):
        for cluster in (ATLAS, "scenarios/clusters/harbor.json"):
            seen = json.loads(self.vgpusim("show", cluster, "--json", cwd=SOURCE).stdout)
            verdicts = {pod["pod"]: pod["verdict"] for pod in seen["waiting"]}
            answer = self.document(cluster)
            self.assertEqual({pod: group["verdict"] for group in answer["groups"] for pod in group["pods"]}, verdicts)
            self.assertEqual(answer["pods_wait"], len(verdicts))
            self.assertEqual(sum(group["asked"] for group in answer["groups"]), sum(user["asked"] for user in seen["users"]))
            self.assertLessEqual(max(map(len, self.why(cluster).splitlines())), 100)
            for pod, verdict in verdicts.items():
                self.assertEqual(self.document(cluster, "--pod", pod)["verdict"], verdict, pod)

    def test_commands_start_the_pod_when_they_are_run_as_printed(self):
        options = set()
        cluster = json.loads((SOURCE / ATLAS).read_text(encoding="utf-8"))
        large = next(item for item in cluster["items"] if item["metadata"]["name"] == "llm-3")
        large["metadata"]["name"] = "llm-4"
        for named in (*WAITING, f"{DATA}/trainer.yaml", f"{DATA}/mig.yaml", self.write("large.json", json.dumps(large))):
            explained = self.document(ATLAS, "--pod", named)
            for change in explained["changes"]:
                self.assertIs(change["tried"], True)
                self.assertNotEqual(change["command"] is None, change["then"] is None, change)
                if change["command"] is None:
                    continue
                words = shlex.split(change["command"])
                options.add(words[-2])
                answer = json.loads(self.vgpusim(*words[1:], "--json", cwd=SOURCE).stdout)
                if "moves" in answer:
                    self.assertTrue(answer["found"] and answer["moves"], change)
                    continue
                entry = next(e for e in answer["pods"] if f"{e['namespace']}/{e['name']}" == explained["pod"])
                self.assertEqual((entry["refused"], len(entry["placed"])), (0, explained["pods"]), change)
                self.assertEqual(entry["origin"], "added" if explained["file"] else "waits")
        self.assertEqual(options, {"--pod", "--add-pod", "--uncordon", "--add-nodes", "--set-mode"})

    def test_a_layout_says_how_many_pods_restart(self):
        changes = [change for change in self.document(ATLAS, "--pod", "serve/ranker-4")["changes"]
                   if change["command"] and "--set-mode" in change["command"]]
        self.assertEqual([change["what"] for change in changes], ["mig-2 is cut all-balanced, 7 restart"])
        counts = json.loads(self.vgpusim(*shlex.split(changes[0]["command"])[1:], "--json", cwd=SOURCE).stdout)["counts"]
        self.assertEqual((counts["restarts"], counts["stops"]), (7, 0))

    def test_what_frees_a_quota_lets_the_owner_make_its_pods_when_it_is_done(self):
        explained = self.document(ATLAS, "--pod", "research/sweep")
        self.assertEqual((explained["kind"], explained["verdict"]), ("Job", "quota"))
        self.assertEqual([(pod["pod"], pod["amount"], pod["state"]) for pod in explained["counted"]],
                         [("research/nb-0", "1", "runs"), ("research/embed-0", "1", "waits: never")])
        for change in explained["changes"]:
            cluster = json.loads((SOURCE / ATLAS).read_text(encoding="utf-8"))
            quota = next(item for item in cluster["items"] if item["kind"] == "ResourceQuota")
            if change["what"].startswith("quota "):
                for part in ("spec", "status"):
                    quota[part]["hard"]["requests.nvidia.com/gpu"] = change["what"].rsplit(" ", 1)[1]
            else:
                gone = change["what"].removesuffix(" is deleted").split("/")[1]
                cluster["items"] = [item for item in cluster["items"]
                                    if (item["metadata"].get("namespace"), item["metadata"]["name"]) != ("research", gone)]
                quota["status"]["used"]["requests.nvidia.com/gpu"] = "1"
            changed = self.write("changed.json", json.dumps(cluster))
            self.assertEqual(self.document(changed)["makes_no_pods"], [], change)
            job = next(item for item in cluster["items"] if item["kind"] == "Job")
            self.assertEqual(self.document(changed, "--pod", self.write("job.json", json.dumps(job)))["verdict"], "fits now")
        self.assertEqual({change["what"] for change in explained["changes"]},
                         {"quota gpu is 3", "research/embed-0 is deleted", "research/nb-0 is deleted"})

    def test_a_file_may_be_held_by_a_quota_and_by_a_gate(self):
        held = self.document(ATLAS, "--pod", f"{DATA}/more-sweep.yaml")
        self.assertEqual((held["verdict"], held["pods"], held["pods_fit_now"]), ("quota", 2, 0))
        self.assertIn("quota gpu is 3", [change["what"] for change in held["changes"]])
        cluster = json.loads((SOURCE / ATLAS).read_text(encoding="utf-8"))
        gated = next(item for item in cluster["items"] if item["metadata"]["name"] == "eval-7")
        gated["metadata"]["name"] = "eval-8"
        explained = self.document(ATLAS, "--pod", self.write("gated.json", json.dumps(gated)))
        self.assertEqual((explained["pod"], explained["verdict"]), ("train/eval-8", "gate"))

    def test_a_file_is_answered_as_whatif_places_it(self):
        for name, pods in (("trainer", 2), ("mig", 1)):
            path = f"{DATA}/{name}.yaml"
            explained = self.document(ATLAS, "--pod", path)
            waiting = json.loads((SOURCE / ATLAS).read_text(encoding="utf-8"))
            waiting["items"] = [item for item in waiting["items"] if item["kind"] != "Pod" or item["spec"].get("nodeName")]
            cluster = self.write("nobody-waits.json", json.dumps(waiting))
            done = self.vgpusim("whatif", cluster, "--add-pods", path, "--policy", "best_fit", "--json", cwd=SOURCE)
            entry = next(e for e in json.loads(done.stdout)["pods"] if e["origin"] == "added")
            self.assertEqual((explained["pods"], explained["pods_fit_now"]), (pods, len(entry["placed"])), name)

    def test_owners_of_pods_are_answered_with_all_of_them(self):
        explained = self.document(ATLAS, "--pod", "serve/ranker")
        self.assertEqual((explained["owner"], explained["kind"]), ("serve/ranker", "ReplicaSet"))
        self.assertEqual(explained["running"]["pods"], [f"serve/ranker-{number}" for number in range(4)])
        self.assertEqual([(group["verdict"], group["pods"]) for group in explained["groups"]], [("all used", ["serve/ranker-4"])])
        self.assertEqual(self.why(ATLAS, "--pod", "asr").splitlines()[0], "serve/asr (ReplicaSet): 2 pods run, none waits.")
        done = self.vgpusim("why", SOURCE / ATLAS, "--pod", "nb", cwd=SOURCE)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("expected one owner of that name, with its namespace: dev/nb, research/nb", done.stderr)

    def test_changes_of_the_pod_make_it_fit_in_its_object(self):
        cluster = json.loads((SOURCE / ATLAS).read_text(encoding="utf-8"))
        pod = next(item for item in cluster["items"] if item["metadata"]["name"] == "embed-0")
        del pod["spec"]["nodeSelector"]
        selectorless = self.document(self.write("selector.json", json.dumps(cluster)), "--pod", "research/embed-0")
        pod["spec"].update(nodeSelector={"pool": "dev"}, tolerations=[{"key": "team", "value": "dev", "effect": "NoSchedule"}])
        tolerating = self.document(self.write("toleration.json", json.dumps(cluster)), "--pod", "research/embed-0")
        self.assertEqual((selectorless["verdict"], tolerating["verdict"]), ("fits now", "fits now"))

    def test_all_reasons_of_a_node_have_numbers(self):
        nodes = {node["node"]: node for node in self.document(ATLAS, "--pod", "train/llm-3")["reasons"]}
        self.assertEqual(sorted(nodes), ["a100-1", "a100-2", "a100-3", "mig-1", "mig-2", "t4-1"])
        amounts = {(check["has"], check["asked"], check["unit"]) for check in nodes["a100-1"]["checks"]}
        self.assertEqual(amounts, {(2, 4, "units"), (8000, 48000, "mCPU")})

    def test_states_in_which_there_is_no_answer(self):
        for arguments, words in (([ATLAS, "--pod", "train/lm-3"], ["--pod: got 'train/lm-3'", "near: train/llm-3"]),
                                 ([ATLAS, "--pod", "nowhere/nothing-like-it"], ["expected a pod of the cluster"]),
                                 ([], ["CLUSTER"]), ([self.write("pods.json", '{"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "m"}]}}')], ["no nodes in"])):
            with self.subTest(arguments=arguments):
                done = self.vgpusim("why", *arguments, cwd=SOURCE)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                for word in words:
                    self.assertIn(word, done.stderr)

    def test_a_pod_that_runs_says_where(self):
        self.assertEqual(self.why(ATLAS, "--pod", "research/nb-0"), "research/nb-0 runs on a100-2.\n")
        self.assertEqual(self.document(ATLAS, "--pod", "research/nb-0")["verdict"], None)

    def test_amounts_that_no_node_has_are_errors_and_break_nothing(self):
        """A number of GPUs or of pods for which there would be no memory."""
        atlas = SOURCE / "scenarios/clusters/atlas.json"

        def template(kind, spec):
            return json.dumps({"apiVersion": "batch/v1" if kind == "Job" else "v1", "kind": kind, "metadata": {"name": "g"}, "spec": spec})

        def gpus(count):
            return {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": str(count)}}}]}

        many = template("Pod", gpus(2147483647))
        for file, words in ((many, "nvidia.com/gpu: got '2147483647', expected a whole number from 0 to 1024"),
                            (template("Job", {"parallelism": 0, "template": {"spec": gpus(1)}}), "pods: got '0', expected an object that makes 1 to 100000 pods"),
                            (template("Job", {"parallelism": 10**9, "template": {"spec": gpus(1)}}), "pods: got '1000000000', expected")):
            done = self.vgpusim("why", atlas, "--pod", self.write("g.json", file))
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(words, done.stderr)
        objects = json.loads(atlas.read_text())
        objects["items"].append(json.loads(many))
        for command in ("show", "why"):
            done = self.vgpusim(command, self.write("cluster.json", json.dumps(objects)))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_units_of_gpus_that_are_out_are_not_free(self):
        """kube-scheduler takes what runs from what is allocatable, whichever GPU it is on."""
        labels = {"kubernetes.io/hostname": "t", "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.memory": "15360",
                  "nvidia.com/gpu.count": "4", "nvidia.com/gpu.replicas": "4"}
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "t", "labels": labels},
                "status": {"allocatable": {**amounts, "nvidia.com/gpu": "8"}, "capacity": {**amounts, "nvidia.com/gpu": "16"},
                           "conditions": [{"type": "Ready", "status": "True"}]}}

        def pod(name, node_name=None):
            spec = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
                    **({"nodeName": node_name} if node_name else {})}
            return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "d"}, "spec": spec,
                    "status": {"phase": "Running" if node_name else "Pending"}}

        for running, words in ((8, "all used"), (7, "fits now")):
            items = [node, pod("w"), *(pod(f"p{i}", "t") for i in range(running))]
            file = self.write("c.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
            self.assertIn(f"d/w waits, {words}", self.vgpusim("why", file, "--pod", "w").stdout)

    def test_units_of_other_gpus_are_not_enough_in_sum(self):
        """Two of ten replicas are a fifth of a GPU, two whole GPUs are two: both are two units."""
        def node(name, product, replicas):
            labels = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": "40960", "nvidia.com/gpu.count": "1",
                      "nvidia.com/gpu.replicas": str(replicas)}
            return clusters.node(name, labels=labels, nvidia_com__gpu=str(replicas))

        def gpu_pod(name, units, on=None):
            return clusters.pod(name, {"nvidia.com/gpu": str(units)}, on=on)

        for used_replicas, words in ((10, "all used"), (9, "scattered")):
            objects = [node("whole", "NVIDIA-A100-SXM4-40GB", 1), node("shared", "Tesla-T4-SHARED", 10), gpu_pod("w", 2),
                       *(gpu_pod(f"p{i}", 1, on="shared") for i in range(used_replicas))]
            file = self.write("c.json", json.dumps(clusters.cluster(*objects)))
            self.assertIn(f"team/w waits, {words}", self.vgpusim("why", file, "--pod", "w").stdout)

    def test_what_is_being_deleted_waits_no_more(self):
        cluster = json.loads((SOURCE / ATLAS).read_text())
        [leaving] = [entry for entry in cluster["items"] if entry["metadata"]["name"] == "llm-3"]
        leaving["metadata"]["deletionTimestamp"] = "2026-11-26T08:00:00Z"
        file = self.write("c.json", json.dumps(cluster))
        done = self.vgpusim("why", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 pods wait", done.stdout)
        self.assertNotIn("llm-3", done.stdout)
        self.assertIn("1 pod without a node", done.stdout)

    def test_one_namespace_all_rows_and_other_forms(self):
        whole = self.document(ATLAS)
        of_train = json.loads(self.vgpusim("why", SOURCE / ATLAS, "-n", "train", "-o", "json").stdout)
        self.assertEqual(of_train["groups"], [group for group in whole["groups"] if group["pods"][0].startswith("train/")])
        self.assertEqual((of_train["pods_wait"], of_train["makes_no_pods"]), (2, []))
        done = self.vgpusim("why", SOURCE / ATLAS, "-n", "nobody")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("-n nobody: no pod; namespaces are dev, research, serve, train", done.stderr)
        self.assertEqual(self.vgpusim("why", SOURCE / ATLAS, "-n", "train", "--pod", "train/llm-3").returncode, 2)
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": "empty"},
                 "spec": {"hard": {"requests.nvidia.com/gpu": "0"}}, "status": {"hard": {"requests.nvidia.com/gpu": "0"}, "used": {"requests.nvidia.com/gpu": "0"}}}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "empty"},
               "spec": {"parallelism": 1, "template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}}
        cluster = json.loads((SOURCE / ATLAS).read_text())
        cluster["items"] += [quota, job]
        self.assertIn("1 Job makes no pods", self.vgpusim("why", self.write("quota.json", json.dumps(cluster)), "-n", "empty").stdout)
        pods = [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": f"w-{number}", "namespace": "many"},
                 "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(9 + number)}}}]}} for number in range(12)]
        cluster = json.loads((SOURCE / ATLAS).read_text())
        cluster["items"] += pods
        file = self.write("many.json", json.dumps(cluster))
        self.assertRegex(self.vgpusim("why", file).stdout, r"(?m)^\d+ more ")
        every = self.vgpusim("why", file, "--all").stdout
        self.assertNotRegex(every, r"(?m)^\d+ more ")
        self.assertTrue(all(f"many/w-{number} " in every for number in range(12)))
        atlas = SOURCE / ATLAS
        for arguments in (("why", atlas), ("why", atlas, "--pod", "train/llm-3"), ("plan", atlas, "--consolidate", "nodes"),
                          ("whatif", atlas, "--uncordon", "a100-3")):
            yaml, plain = (self.vgpusim(*arguments, "-o", form).stdout for form in ("yaml", "json"))
            self.assertEqual([line.split(":")[0] for line in yaml.splitlines() if re.match(r"\w+:", line)], list(json.loads(plain)))
            refused = self.vgpusim(*arguments, "-o", "yaml", "--json")
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn("-o: got 'yaml', expected either this format or --json", refused.stderr)

    def test_storage_and_huge_pages_are_named(self):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w", "namespace": "d"}, "spec": {"containers": [
            {"name": "c", "resources": {"requests": {"ephemeral-storage": "20Gi"}, "limits": {"hugepages-2Mi": "1Gi", "memory": "1Gi",
                                                                                             "nvidia.com/gpu": "1"}}}]}}
        cluster = json.loads((SOURCE / ATLAS).read_text())
        cluster["items"].append(pod)
        file = self.write("c.json", json.dumps(cluster))
        text = self.flat(self.vgpusim("why", file, "--pod", "d/w").stdout)
        for words in ("ephemeral storage (spec.containers[].resources)", "huge pages (spec.containers[].resources)"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
