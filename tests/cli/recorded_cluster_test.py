"""A cluster recorded from a kube-apiserver (tests/data/snapshot): the ledger is what the annotations say, differences are
listed, and an anonymised snapshot decides as the recording does."""

import json
import unittest

from support import SOURCE, CliTest

DATA = SOURCE / "tests" / "data" / "snapshot"
RECORDED = [DATA / f"{kind}.json" for kind in ("nodes", "pods", "configmaps")]
CONFIG = ["--config", SOURCE / "tests" / "data" / "explain" / "device-config.yaml"]
ITEMS = {kind: json.loads((DATA / f"{kind}.json").read_text())["items"] for kind in ("nodes", "pods", "configmaps")}
WAITING = [pod for pod in ITEMS["pods"] if "nodeName" not in pod["spec"]]
POLICIES = ["fgd", "binpack", "spread", "best_fit", "worst_fit", "random", "weighted:fgd=0.7,binpack=0.3"]


class RecordedCluster(CliTest):
    def snapshot(self, *flags):
        out = self.root / "snapshot.json"
        done = self.vgpusim("snapshot", *RECORDED, *CONFIG, "--out", out, "--json", *flags)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return out, json.loads(done.stdout)

    def test_the_ledger_is_what_the_annotations_say(self):
        """By dialect: amounts by hand from tests/e2e/cluster_objects.py."""
        _, report = self.snapshot()
        found = {entry["dialect"]: entry for entry in report["dialects"]}
        expected = {  # dialect: devices used, MiB, cores, shares, parts by name
            "volcano_vgpu": (3, 20480 + 4096 + 8192 + 40960 + 5120, 40 + 10 + 20 + 100 + 14, 5, {"1g.5gb": 1}),
            "hami": (2, 10240 + 2 * 8192, 30, 3, {}), "ascend_hami": (1, 6144, 0, 1, {"vir02": 1}),
            "cce": (1, 5120, 25, 1, {})}
        for dialect, (devices, memory, cores, shares, instances) in expected.items():
            use = {"devices": devices, "memory_mib": memory, "cores": cores, "containers": shares, "instances": instances}
            self.assertEqual(found[dialect]["ledger"], use, dialect)
        for dialect, entry in found.items():
            self.assertEqual(entry["annotations"], None if dialect == "nvidia" else entry["ledger"], dialect)
        self.assertEqual(found["mindcluster"]["ledger"]["cores"], 4 + 8)
        self.assertEqual(found["nvidia"]["ledger"]["devices"], 1)
        self.assertEqual(report["pods"], {"running": 13, "waiting": len(WAITING), "on_unknown_nodes": 1})
        # All but the pod of the kubelet, the one without an annotation and the one whose card is not there.
        self.assertEqual(report["written_back"], 10)

    def test_differences_are_listed(self):
        _, report = self.snapshot()
        found = [(entry["where"].split("json:")[-1].partition(" ")[2] or entry["where"], entry["field"])
                 for entry in report["differences"]]
        self.assertEqual(found, [
            ("pod research/whole-chip, annotation huawei.com/AscendReal", ""),
            ("pod research/astray: volcano.sh/vgpu-ids-new", "part 0"), ("pod research/lost", "node"),
            ("pod research/mute", "annotations"), ("volcano-core", "device"), ("volcano-core", "device GPU-77aa-1")])
        text = "\n".join(entry["message"] for entry in report["differences"])
        for words in ("GPU-77aa-9", "volcano-gone", "research/mute", "research/greedy (slice 40960 MiB, 100 % of compute), "
                      "research/two-containers (slice 8192 MiB, 20 % of compute)", "chip Ascend310P-1 waits"):
            self.assertIn(words, text)

    def test_the_file_answers_as_the_recording(self):
        out, _ = self.snapshot()
        for pod in WAITING:
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            self.assertEqual(self.choice(RECORDED, name, []), self.choice([out], name, []), name)
        objects = [json.loads(self.vgpusim("validate", *files, *CONFIG, "--json").stdout) for files in (RECORDED, [out])]
        reports = [{(entry["kind"], entry["namespace"], entry["name"]): (entry["dialects"], len(entry["errors"]))
                    for entry in found["objects"] if entry["kind"] in ("Node", "Pod")} for found in objects]
        self.assertEqual(*reports)
        answers = [json.loads(self.vgpusim("whatif", *files, *CONFIG, "--json").stdout) for files in (RECORDED, [out])]
        for answer in answers:
            del answer["warnings"]
        self.assertEqual(*answers)

    def choice(self, files, pod, flags):
        """The answer of explain by position: node and devices chosen, and every node's refusal."""
        done = self.vgpusim("explain", *files, *CONFIG, "--pod", pod, "--json", *flags)
        self.assertEqual((done.returncode, done.stderr), (0, ""), pod)
        answer = json.loads(done.stdout)
        names = [node["name"] for node in answer["nodes"]]
        chosen = answer["choice"]["node"]
        return {"node": chosen if chosen is None else names.index(chosen), "margin": answer["choice"]["margin"],
                "shares": [(share["container"], share["device"], share["part"]) for share in answer["choice"]["shares"]],
                "nodes": [(node["fits"], node.get("score"), (node["reason"] or {}).get("code"),
                           (node["reason"] or {}).get("available")) for node in answer["nodes"]],
                "policy": answer["policy"]}

    def test_an_anonymised_snapshot_decides_the_same(self):
        out, _ = self.snapshot("--anonymise")
        items = json.loads(out.read_text())["items"]
        waiting = [pod for pod in items if pod["kind"] == "Pod" and "nodeName" not in pod["spec"]]
        self.assertEqual(len(waiting), len(WAITING))
        for before, after in zip(WAITING, waiting):
            names = [f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in (before, after)]
            for flags in ([], *(["--policy", policy] for policy in POLICIES)):
                self.assertEqual(self.choice(RECORDED, names[0], flags), self.choice([out], names[1], flags),
                                 (names, flags))

    def test_an_anonymised_snapshot_answers_what_if_the_same(self):
        out, _ = self.snapshot("--anonymise")
        order = [node["metadata"]["name"] for node in json.loads(out.read_text())["items"] if node["kind"] == "Node"]
        renamed = dict(zip((node["metadata"]["name"] for node in ITEMS["nodes"]), order))
        for flags, kind in ((["--drain", "volcano-core"], "volcano-core"), (["--fail", "hami-0"], "hami-0")):
            answers = []
            for files, names in ((RECORDED, {name: name for name in renamed}), ([out], renamed)):
                given = [names.get(flag, flag) for flag in flags]
                done = self.vgpusim("whatif", *files, *CONFIG, *given, "--find-nodes", names[kind], "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                answer = json.loads(done.stdout)
                answers.append((answer["before"], answer["after"], answer["find_nodes"]["nodes"], answer["find_nodes"]["tries"],
                                [(pod["origin"], len(pod["placed"]), pod["refused"]) for pod in answer["pods"]]))
            self.assertEqual(*answers)

    def test_no_name_stays(self):
        out, _ = self.snapshot("--anonymise")
        text = out.read_text()
        names = {"example.com", "registry", "train", "urgent", "volcano-gone", "77aa", "b1b1", "8dc5", "GPU-cce", "5F1A",
                 "Python-urllib", "handshake"}
        for entry in ITEMS["nodes"] + ITEMS["pods"]:
            metadata = entry["metadata"]
            names |= {metadata["name"], metadata["uid"], metadata["creationTimestamp"], metadata.get("namespace", "research")}
            for key, value in metadata.get("labels", {}).items():
                if key == "kubernetes.io/hostname":  # a node that is added has its own
                    names.add(f'"{value}"')
                elif key.startswith(("example.com", "kubernetes.io")):
                    names |= {f'"{key}"', f'"{value}"'}
        for name in sorted(names):
            self.assertNotIn(name, text)
        for word in ("NVIDIA A100-SXM4-40GB", "Ascend310P", "volcano.sh/vgpu-memory", "group1", "0-vir04"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
