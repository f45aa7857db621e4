"""vgpusim show: two clusters as they are printed, and what their JSON and their error states say."""

import json
import unittest

from clusters import cluster, node, pod
from support import SOURCE, CliTest

CLUSTERS = SOURCE / "scenarios" / "clusters"
TEXTS = {path.stem: path.with_suffix(".txt").read_text(encoding="utf-8") for path in CLUSTERS.glob("*.json")}


class Show(CliTest):
    def shown(self, *arguments):
        done = self.vgpusim("show", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def document(self, name, *arguments):
        return json.loads(self.shown(CLUSTERS / f"{name}.json", "--json", *arguments))

    def test_both_clusters_are_printed_as_they_are_written_down(self):
        self.assertEqual(sorted(TEXTS), ["atlas", "harbor"])
        for name, text in TEXTS.items():
            with self.subTest(cluster=name):
                self.assertEqual(self.shown(CLUSTERS / f"{name}.json"), text)
                self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_the_sums_of_the_document_hold_in_milli_gpu(self):
        for name, gpus in (("atlas", 36), ("harbor", 14)):
            with self.subTest(cluster=name):
                seen = self.document(name)
                totals = seen["totals"]
                self.assertEqual((seen["schema"], totals["gpus"], totals["milli"]), ("vgpualloc.show/1", gpus, 1000 * gpus))
                for row in [totals, *seen["rows"]]:
                    self.assertEqual(row["used"] + row["free"] + row["out"], row["milli"])
                for part in ("milli", "used", "free", "out"):
                    self.assertEqual(sum(row[part] for row in seen["rows"]), totals[part])
                self.assertEqual(sum(user["used"] for user in seen["users"]), totals["used"])
                self.assertEqual(sum(user["wait"] for user in seen["users"]), totals["pods_wait"])
                for shape in seen["shapes"]:
                    idle = shape["of_use"] + shape["scattered"] + shape["host_full"] + sum(shape["wrong_kind"].values()) + shape["out"]
                    self.assertEqual(idle, totals["free"] + totals["out"], shape["shape"])
                self.assertEqual(seen["rows"], sorted(seen["rows"], key=lambda row: (row["key"], row["kind"])))
                self.assertEqual(self.shown(CLUSTERS / f"{name}.json", "-o", "json"), self.shown(CLUSTERS / f"{name}.json", "--json"))

    def refusal(self, *arguments):
        """The one line of an error."""
        done = self.vgpusim("show", CLUSTERS / "atlas.json", *arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr.removeprefix("vgpusim: ").removesuffix("\n")

    def test_used_is_the_same_total_by_whatever_it_is_counted(self):
        for name in TEXTS:
            for by in ("pool", "kind", "node", "resource", "namespace", "queue", "owner", "hostname"):
                with self.subTest(cluster=name, by=by):
                    seen = self.document(name, "--by", by)
                    self.assertEqual(seen["by"], "kubernetes.io/hostname" if by == "hostname" else by)
                    self.assertEqual(sum(row["used"] for row in seen["rows"]), seen["totals"]["used"])
                    self.assertEqual(seen["rows"], sorted(seen["rows"], key=lambda row: (row["key"] or "", row.get("kind"))))

    def test_rows_are_pods_nodes_or_labels(self):
        rows = {by: [row["key"] for row in self.document("atlas", "--by", by)["rows"]] for by in ("node", "owner", "resource", "queue")}
        self.assertEqual(rows["node"], ["a100-1", "a100-2", "a100-3", "mig-1", "mig-2", "t4-1"])
        self.assertIn("train/llm Job", rows["owner"])
        self.assertEqual(rows["resource"], ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/mig-2g.20gb", "nvidia.com/mig-3g.40gb"])
        self.assertEqual(rows["queue"], [None])
        lines = self.shown(CLUSTERS / "atlas.json", "--by", "owner").splitlines()
        self.assertRegex(lines[3], r"^OWNER +RUN +USED +WAIT +ASKED$")
        self.assertEqual(sum(line.startswith("NAMESPACE ") for line in lines), 1)
        lines = self.shown(CLUSTERS / "atlas.json", "--by", "namespace").splitlines()
        self.assertEqual([line for line in lines if line.startswith("NAMESPACE ")], [lines[3]], "the table is not there twice")

    def test_a_set_of_nodes(self):
        whole = self.document("atlas")
        some = self.document("atlas", "-l", "pool in (train,dev)")
        self.assertEqual(some["totals"]["gpus"], 28)
        self.assertEqual(some["rows"], [row for row in whole["rows"] if row["key"] != "serve"])
        self.assertEqual(some["waiting"], whole["waiting"], "verdicts are those in the whole cluster")
        for shape in some["shapes"]:
            idle = shape["of_use"] + shape["scattered"] + shape["host_full"] + sum(shape["wrong_kind"].values()) + shape["out"]
            self.assertEqual(idle, some["totals"]["free"] + some["totals"]["out"], shape["shape"])
        self.assertEqual(sum(user["used"] for user in some["users"]), some["totals"]["used"])
        self.assertEqual(self.document("atlas", "-l", "a100-*")["totals"]["gpus"], 24)
        self.assertEqual(self.document("atlas", "-l", "a100-[1-3],mig-[2-2]")["totals"]["gpus"], 28, "as --by node prints them")
        self.assertEqual(self.document("atlas", "-l", "mig-1,mig-2", "--by", "kind")["totals"]["nodes"], 2)

    def test_words_that_mean_nothing(self):
        self.assertEqual(self.refusal("-l", "pool=z"), "-l pool=z: no node; pools are dev, serve, train")
        self.assertEqual(self.refusal("-l", "b100-*"), "-l b100-*: no node; nodes are a100-1, a100-2, a100-3, mig-1, mig-2, t4-1")
        self.assertEqual(self.refusal("--by", "pol"), "--by pol: no node has this label; near: pool")
        self.assertEqual(self.refusal("-n", "nobody"), "-n nobody: no pod; namespaces are dev, research, serve, train")

    def test_a_namespace_is_listed_alone_and_free_counts_with_all(self):
        whole = self.document("atlas")
        seen = self.document("atlas", "-n", "train")
        for part in ("gpus", "used", "free", "out"):
            self.assertEqual(seen["totals"][part], whole["totals"][part])
        self.assertEqual(seen["rows"], whole["rows"])
        self.assertEqual(seen["users"], [user for user in whole["users"] if user["namespace"] == "train"])
        self.assertEqual(seen["waiting"], [pod for pod in whole["waiting"] if pod["pod"].startswith("train/")])
        of_train = {shape["shape"]: shape["more"] for shape in seen["shapes"]}
        self.assertEqual(of_train, {shape["shape"]: shape["more"] for shape in whole["shapes"] if shape["shape"] in of_train})
        self.assertEqual(seen["makes_no_pods"], [])
        self.assertIn("2 pods wait", self.shown(CLUSTERS / "atlas.json", "-n", "train"))

    def test_all_prints_every_row(self):
        pattern = json.loads((CLUSTERS / "atlas.json").read_text(encoding="utf-8"))["items"][0]
        nodes = []
        for name in (f"{number:02}" for number in range(15)):
            labels = {**pattern["metadata"]["labels"], "kubernetes.io/hostname": f"g{name}", "pool": f"p{name}"}
            nodes.append({**pattern, "metadata": {"name": f"g{name}", "labels": labels}})
        file = self.write("many.json", json.dumps({"kind": "List", "apiVersion": "v1", "items": nodes}))
        self.assertRegex(self.shown(file), r"(?m)^5 more +1 kind +5 +40 ")
        self.assertNotIn(" more", self.shown(file, "--all"))
        self.assertRegex(self.shown(file, "--by", "node"), r"(?m)^g\[00-14\] +A100-80GB whole +15 +120 ")

    def test_quotas_that_only_hami_reads_are_named(self):
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus", "namespace": "lab"},
                 "spec": {"hard": {"limits.nvidia.com/gpumem": "10000", "limits.cpu": "64"}}}
        cluster = json.loads((CLUSTERS / "harbor.json").read_text(encoding="utf-8"))
        cluster["items"].append(quota)
        file = self.write("quota.json", json.dumps(cluster))
        for command in ("show", "why", "whatif"):
            seen = json.loads(self.vgpusim(command, file, "--json").stdout)
            words = "limits.nvidia.com/gpumem of ResourceQuota gpus, which HAMi's scheduler counts"
            self.assertIn(words, seen["not_looked_at" if command != "whatif" else "not_considered"], command)

    def test_gpus_that_are_asked_for_by_number_are_whole_where_one_is(self):
        """A replica of a shared GPU is called nvidia.com/gpu too."""
        def node(name, count, labels):
            return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
                    "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": count}}}

        whole = node("whole", "8", {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.memory": "81920"})
        shared = node("shared", "16", {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.count": "4", "nvidia.com/gpu.replicas": "4"})
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "d"},
               "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "4"}}}]}}
        only_shared = {**pod, "metadata": {"name": "q", "namespace": "e"}, "spec": {**pod["spec"], "nodeSelector": {"kubernetes.io/hostname": "shared"}}}
        seen = json.loads(self.vgpusim("show", self.write("mixed.json", "\n".join(map(json.dumps, (whole, shared, pod, only_shared)))), "--json").stdout)
        self.assertEqual({user["namespace"]: user["asked"] for user in seen["users"]}, {"d": 4000, "e": 1000})

    def test_wide_and_yaml(self):
        text = self.shown(CLUSTERS / "atlas.json", "-o", "wide")
        self.assertRegex(text, r"(?m)^POOL .* OUT +LARGEST THAT FITS$")
        self.assertRegex(text, r"(?m)^POOL +KIND +MEMORY GIB +CORES +CPU +HOST GIB +LABELS$")
        self.assertRegex(text, r"(?m)^serve +A100-80GB mig all-balanced +234/320 +280/400 +48/64 +192/1024 +-$")
        self.assertRegex(text, r"(?m)^SHAPE .* HOST FULL +MODEL +LAYOUT +RULES +OUT$")
        self.assertRegex(text, r"(?m)^4 gpu, 48 cpu +3 +1 +0 +0\.0 +5\.0 +0\.0 +0\.0 +4\.0 +2\.5 +4\.0$")
        yaml = self.shown(CLUSTERS / "atlas.json", "-o", "yaml")
        self.assertTrue(yaml.startswith('schema: "vgpualloc.show/1"\nby: "pool"\n'), yaml[:80])

    def test_a_job_that_a_quota_keeps_from_making_pods(self):
        self.assertEqual(self.document("atlas")["makes_no_pods"],
                         [{"job": "research/sweep", "kind": "Job", "verdict": "quota",
                           "because": "quota gpu: 2 of 2 used, 1 more needed", "since": None, "resource": "requests.nvidia.com/gpu", "used": 2, "hard": 2,
                           "needed": 1, "asked": 1000, "pods": 0, "lacks": 1}])
        cluster = json.loads((CLUSTERS / "atlas.json").read_text(encoding="utf-8"))
        job = next(item for item in cluster["items"] if item["kind"] == "Job")
        quota = next(item for item in cluster["items"] if item["kind"] == "ResourceQuota")
        changes = {"suspended": (job["spec"], {"suspend": True}),
                   "complete": (job["status"], {"conditions": [{"type": "Complete", "status": "True"}]}),
                   "another name": (job["metadata"], {"name": "embed"}),  # this one has a pod
                   "no GPU": (job["spec"]["template"]["spec"]["containers"][0], {"resources": {}}),
                   "quota with room": (quota["status"], {"used": {"requests.nvidia.com/gpu": "1"}})}
        for name, (place, change) in changes.items():
            with self.subTest(name):
                former = dict(place)
                place.update(change)
                file = self.write("changed.json", json.dumps(cluster))
                place.clear()
                place.update(former)
                self.assertEqual(json.loads(self.shown(file, "--json"))["makes_no_pods"], [])

    def test_verdicts_and_what_excludes_a_shape(self):
        seen = self.document("atlas")
        self.assertEqual({pod["pod"]: pod["verdict"] for pod in seen["waiting"]},
                         {"train/llm-3": "scattered", "serve/ranker-4": "all used", "research/embed-0": "never", "train/eval-7": "gate"})
        four = next(shape for shape in seen["shapes"] if shape["shape"] == "4 gpu, 48 cpu")
        self.assertEqual(four["asks"], {"nvidia.com/gpu": 4, "cpu_milli": 48000, "memory_mib": 196608})
        self.assertEqual((four["wrong_kind"]["model"], four["wrong_kind"]["rules"], four["out"]), (0, 2500, 4000))
        self.assertEqual([user["quota"] for user in seen["users"] if user["namespace"] == "research"],
                         [[{"resource": "nvidia.com/gpu", "used": 2, "hard": 2}]])

    def test_more_is_what_whatif_places(self):
        """With one pod more than that, for the shape of every pod of a cluster whose waiting pods are taken out."""
        template = {"kind": "Pod", "metadata": {"name": "w", "namespace": "n"}}
        objects = json.loads((CLUSTERS / "atlas.json").read_text(encoding="utf-8"))
        objects["items"] = [item for item in objects["items"] if item["kind"] != "Pod" or "nodeName" in item["spec"]]
        file = self.write("running.json", json.dumps(objects))
        seen = self.document("atlas")
        for pod in (item for item in json.loads((CLUSTERS / "atlas.json").read_text(encoding="utf-8"))["items"] if item["kind"] == "Pod"):
            amounts = pod["spec"]["containers"][0]["resources"]["limits"]
            cpu = 1000 * int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
            rules = sorted(pod["spec"].get("nodeSelector", {})) + sorted(t["key"] for t in pod["spec"].get("tolerations", []))
            shape = next(s for s in seen["shapes"] if s["asks"]["cpu_milli"] == cpu and len(s["rules"]) == len(rules)
                         and all(str(s["asks"].get(k)) == v for k, v in amounts.items()))
            spec = {key: value for key, value in pod["spec"].items() if key not in ("nodeName", "schedulingGates")}
            added = {"kind": "ReplicaSet", "apiVersion": "apps/v1", **{"metadata": template["metadata"]},
                     "spec": {"replicas": shape["more"] + 1, "template": {"spec": spec}}}
            done = self.vgpusim("whatif", file, "--policy", "best_fit", "--json", "--add-pods", self.write("a.json", json.dumps(added)))
            self.assertEqual(json.loads(done.stdout)["placed"], shape["more"], pod["metadata"]["name"])

    def test_prices_add_a_line_that_adds_up(self):
        prices = SOURCE / "scenarios" / "forecast" / "prices.json"
        text = self.shown(CLUSTERS / "atlas.json", "--prices", prices)
        line = "EUR A DAY  used 968.40 + free 471.60 + out 201.60 = 1641.60; energy at most 241.1 kWh, 60.28\n"
        self.assertEqual(text.replace("\n" + line, ""), TEXTS["atlas"])
        self.assertEqual(text.count(line), 1)
        cost = self.document("atlas", "--prices", prices)["cost_a_day"]
        self.assertEqual((cost["used_micro"], cost["free_micro"], cost["out_micro"]), (968400000, 471600000, 201600000))
        self.assertEqual(cost["used_micro"] + cost["free_micro"] + cost["out_micro"], cost["total_micro"])
        self.assertEqual(cost["total_micro"], 24 * sum(model["gpus"] * model["hour_micro"] for model in cost["models"]))
        self.assertEqual(cost["energy_at_most_wh"], 24 * sum(model["watts_at_most"] for model in cost["models"]))
        boards = {board["key"]: board for board in json.loads(self.vgpusim("catalog", "power", "--json").stdout)["power"]}
        for model, key in zip(cost["models"], ("A100-SXM4-80GB", "T4"), strict=True):
            idle, busy = boards[key]["idle_w"], boards[key]["busy_w"]
            watts = model["busy_at_most"] * busy + (model["gpus"] - model["busy_at_most"]) * idle
            self.assertEqual(model["watts_at_most"], watts)
        self.assertIsNone(self.document("atlas")["cost_a_day"])
        serve = self.document("atlas", "--prices", prices, "-l", "pool=serve", "--by", "owner")["cost_a_day"]
        self.assertEqual((serve["used_micro"], serve["free_micro"], serve["out_micro"]), (201600000, 201600000, 0))

    def test_a_model_without_a_price_is_an_error(self):
        prices = self.write("prices.json", json.dumps({"gpu_hour": {"A100-80GB": 2.1, "T44": 0.3}, "currency": "EUR"}))
        message = 'gpu_hour: no price for T4 (4 GPUs); expected a number for "T4", 0 if it costs nothing; near: T44'
        self.assertEqual(self.refusal("--prices", prices), f"{prices}: {message}")
        self.assertIn("EUR A DAY ", self.shown(CLUSTERS / "atlas.json", "--prices", prices, "-l", "a100-*"), "of what counts here")
        wrong = self.write("wrong.json", json.dumps({"gpu_hour": {"T4": "cheap"}, "currency": "EUR"}))
        self.assertIn("gpu_hour.T4: got ", self.refusal("--prices", wrong))
        self.assertEqual(self.refusal("--prices", "nowhere.json"), "nowhere.json: cannot open: No such file or directory")

    def test_states_without_nodes_gpus_or_pods(self):
        pods = self.write("pods.json", json.dumps({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "m"}]}}))
        done = self.vgpusim("show", pods)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"vgpusim: no nodes in {pods}: kubectl get nodes,pods -A -o json gives both\n")
        node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}}}
        lines = self.shown(self.write("node.json", json.dumps(node))).splitlines()
        self.assertRegex(self.flat(" ".join(lines)), r"^0 GPUs on 1 node\. Looked for: .*nvidia\.com/gpu.* \(vgpusim dialects\) no pods")
        self.assertIn("no pods in these files: everything counts as free", lines)
        whole = (SOURCE / "scenarios/clusters/atlas.json").read_text()
        cut = whole[:whole.index('"kind": "Pod"')].rsplit("{", 1)[0]
        place = f"{cut.count(chr(10)) + 1}:{len(cut) - cut.rfind(chr(10))}"
        done = self.vgpusim("show", self.write("cluster.json", cut))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, rf"cluster\.json:{place}: the text ends inside a list; was the download cut off\?\n$")
        done = self.vgpusim("show", self.write("cluster.json", whole[:whole.index('"kind"') + 3]))
        self.assertRegex(done.stderr, r"cluster\.json:\d+:\d+: the text ends inside a string; was the download cut off\?\n$")
        for wrong in (["-o", "xml"], []):
            done = self.vgpusim("show", *wrong)
            self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_what_is_free_of_a_card_of_cce_is_what_a_pod_can_ask_for(self):
        """Pods of CCE ask in units of 128 MiB, and of 16,160 MiB some of a unit is left whoever runs."""
        card = json.dumps([{"id": "c-0", "model": "Tesla V100", "memory": 16160, "health": True}])
        limits = {"volcano.sh/gpu-mem.128Mi": "20", "volcano.sh/gpu-core.percentage": "25"}
        offered = node("c", {"vgpualloc.io/cce-node-register": card})
        for amounts in (offered["status"]["allocatable"], offered["status"]["capacity"]):
            amounts.update({"volcano.sh/gpu-mem.128Mi": "126", "volcano.sh/gpu-core.percentage": "100"})
        runs = pod("r", limits, on="c", annotations={"vgpualloc.io/cce-devices-allocated": "c-0,2560,25:;"})
        done = self.vgpusim("show", self.write("cce.json", json.dumps(cluster(offered, runs))))
        self.assert_done(done)
        self.assertIn("13568 MiB, 75 cores (c)", done.stdout)


if __name__ == "__main__":
    unittest.main()
