"""What nodes say of their devices decides: chips of ten AI cores, cards that come in pairs, profiles that a driver result."""

import json
import unittest

from support import CliTest


def card(index, word, **more):
    return {"id": f"N{index}", "index": index, "count": 4, "devmem": 65536, "devcore": 20, "type": word, "health": True,
            "custominfo": {"NetworkID": 0}, **more}


def node(name, annotations, resources, labels=None):
    return {"kind": "Node", "metadata": {"name": name, "labels": labels or {}, "annotations": {
        key: json.dumps(value) for key, value in annotations.items()}}, "status": {
            "capacity": resources, "allocatable": {"cpu": "8", "memory": "64Gi", **resources}}}


def pod(name, limits, labels=None):
    return {"kind": "Pod", "metadata": {"name": name, "labels": labels or {}}, "spec": {
        "containers": [{"name": "c", "resources": {"limits": limits}}]}}


def chips(name, cores):
    """A MindCluster node of two chips, and the ConfigMap that lists them."""
    chip = [f"Ascend310P-{i}" for i in range(2)]
    info = {"DeviceInfo": {"DeviceList": {"huawei.com/Ascend310P": ",".join(chip)}}}
    labels = {"accelerator": "huawei-Ascend310P", "servertype": f"Ascend310P-{cores}",
              "node.kubernetes.io/npu.chip.name": "310P3"}
    return [node(name, {"baseDeviceInfos": {die: {} for die in chip}}, {"huawei.com/npu-core": str(2 * cores)}, labels),
            {"kind": "ConfigMap", "metadata": {"name": f"mindx-dl-deviceinfo-{name}"},
             "data": {"DeviceInfoCfg": json.dumps(info)}}]


class RegistrationsTest(CliTest):
    def cluster(self, objects):
        return self.write("cluster.json", json.dumps({"kind": "List", "items": objects}))

    def shares(self, objects, name, *flags):
        """The uuids that a pod gets."""
        result = self.vgpusim("explain", self.cluster(objects), "--pod", name, "--json", *flags)
        self.assert_done(result)
        return [(share["uuid"], share["part"]["words"]) for share in json.loads(result.stdout)["choice"]["shares"]]

    def test_whole_chips_of_ten_cores(self):
        def asking(cores):
            return pod("p", {"huawei.com/npu-core": cores}, {"ring-controller.atlas": "ascend-310P"})

        self.assertEqual(len(self.shares([*chips("n", 10), asking(10)], "p")), 1)
        self.assertEqual(len(self.shares([*chips("n", 10), asking(20)], "p")), 2)
        self.assertEqual(len(self.shares([*chips("n8", 8), *chips("n10", 10), asking(16)], "p")), 2)
        self.assert_done(self.vgpusim("validate", self.cluster([*chips("n", 10), asking(10)])))
        self.assert_done(self.vgpusim("validate", self.cluster([asking(10)])))
        self.assertEqual(self.vgpusim("validate", self.cluster([*chips("n", 10), asking(8)])).returncode, 2)
        self.assert_refused(self.vgpusim("explain", self.cluster([*chips("n8", 8), *chips("n10", 10), asking(40)]),
                                         "--pod", "p"), "5 of 8 AI cores, or 4 of 10 AI cores")
        # A pod of another file is read for the nodes of the cluster, too.
        other = self.write("pod.json", json.dumps(asking(40)))
        result = self.vgpusim("explain", self.cluster(chips("n", 10)), "--pod", other, "--json")
        self.assertEqual(json.loads(result.stdout)["pod"]["requests"][0]["count"], 4)

    def test_cards_that_come_in_pairs(self):
        word = "Ascend910C"
        cards = [card(i, word) for i in (0, 1, 2, 4, 5)]
        objects = [node("n", {f"hami.io/node-register-{word}": cards}, {f"huawei.com/{word}": "20"})]

        def asking(count):
            return pod("p", {f"huawei.com/{word}": count})

        pairs = [["N0", "N1"], ["N4", "N5"]]
        self.assertIn(sorted(uuid for uuid, _ in self.shares([*objects, asking(1)], "p")), pairs)
        self.assertEqual(sorted(uuid for uuid, _ in self.shares([*objects, asking(4)], "p")), sum(pairs, []))
        self.assertEqual(self.shares([*objects, asking(6)], "p"), [], "N2 has no partner")
        self.assert_refused(self.vgpusim("explain", self.cluster([*objects, asking(3)]), "--pod", "p"), word, "'3'", "even")
        # Volcano's configurations do not say superPod.
        config = self.write("config.yaml", json.dumps({"vnpus": [{
            "commonWord": word, "chipName": "Ascend910", "resourceName": f"huawei.com/{word}", "memoryAllocatable": 65536,
            "memoryCapacity": 65536, "aiCore": 20}]}))
        self.assertEqual(len(self.shares([*objects, asking(3)], "p", "--config", config)), 3)

    def test_profiles_that_the_driver_told(self):
        offers = [{"name": "2g.9gb", "memoryMB": 9000, "core": 29, "sliceCount": 2,
                   "placements": [{"start": 0, "size": 2}, {"start": 2, "size": 2}]}]
        for model in "NVIDIA Z1-40GB", "NVIDIA A100-SXM4-40GB":
            gpu = {"id": "GPU-a", "count": 7, "devmem": 40960, "devcore": 100, "type": model, "mode": "mig",
                   "health": True, "migProfiles": offers}
            objects = [node("n", {"hami.io/node-nvidia-register": [gpu]}, {"nvidia.com/gpu": "7"})]
            limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000}
            [(uuid, part)] = self.shares([*objects, pod("p", limits)], "p")
            self.assertEqual(uuid, "GPU-a")
            self.assertIn("2g.9gb", part)
            self.assertEqual(self.shares([*objects, pod("p", {**limits, "nvidia.com/gpumem": 9001})], "p"), [])
            gpu["migProfiles"] = [{**offers[0], "placements": []}]
            wrong = node("n", {"hami.io/node-nvidia-register": [gpu]}, {"nvidia.com/gpu": "7"})
            result = self.vgpusim("validate", self.cluster([wrong]))
            self.assertEqual(result.returncode, 2)
            self.assertIn("migProfiles[0].placements", result.stdout)

    def test_from_hami_2_10_on_the_node_decides_on_software_slices(self):
        """Eight pods of 8192 MiB share a 910B2 of 64 GiB where templates serve six, and AI cores are denied."""
        word = "huawei.com/Ascend910B2"
        npu = {"commonWord": "Ascend910B2", "chipName": "910B2", "resourceName": word, "resourceMemoryName": word + "-memory",
               "resourceCoreName": word + "-core", "memoryAllocatable": 65536, "memoryCapacity": 65536, "aiCore": 24, "aiCPU": 6,
               "templates": [{"name": "vir03_1c_8g", "memory": 8192, "aiCore": 3, "aiCPU": 1}]}
        there = self.write("node.json", json.dumps(node("n", {
            "hami.io/node-register-Ascend910B2": [card(0, "Ascend910B2", count=10, devcore=24)], "hami-vnpu-core": True}, {word: "10"})))
        many = self.write("many.json", json.dumps({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "w"}, "spec": {
            "replicas": 9, "template": pod("w", {word: 1, word + "-memory": 8192})}}))
        cores = self.write("cores.json", json.dumps(pod("q", {word: 1, word + "-memory": 8192, word + "-core": 3})))
        for version, placed, denied in (None, 6, False), ("2.9", 6, False), ("2.10", 8, True):
            with self.subTest(version=version):
                vnpus = {"configs": [npu], **({"hamiVersion": version} if version else {})}
                config = self.write("config.json", json.dumps({"vnpus": vnpus}))
                told = self.vgpusim("explain", there, "--config", config, "--pod", many, "--json")
                self.assert_done(told)
                self.assertEqual(json.loads(told.stdout)["replicas"]["placed"], placed)
                self.assertEqual(self.vgpusim("validate", cores, "--config", config).returncode, 2 if denied else 0)
                words = self.vgpusim("explain", there, "--config", config, "--pod", cores).stdout
                self.assertEqual("HAMi's webhook denies the pod without, from 2.10 on" in words, denied)


if __name__ == "__main__":
    unittest.main()
