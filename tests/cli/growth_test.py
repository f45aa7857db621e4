"""Time grows with the size of an input, not with its square."""

import json
import math
import resource
import time
import unittest

from support import CliTest

PER_NODE = 8
LIMITS = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "1000"}


A100 = "NVIDIA-NVIDIA A100-PCIE-40GB"  # has a geometry, which a pod of several containers may have to look ahead for


def node(name, devices, mode="hami-core"):
    registered = "".join(f"GPU-{name}-{i},10,40960,{A100},true,{mode}:" for i in range(devices))
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"volcano.sh/node-vgpu-register": registered}},
            "status": {"allocatable": {"cpu": "1000", "memory": "1000Gi", "pods": "1000",
                                       "volcano.sh/vgpu-number": str(10 * devices),
                                       "volcano.sh/vgpu-cores": str(100 * devices),
                                       "volcano.sh/vgpu-memory": str(40960 * devices)}}}


def pod(name, containers=1, limits=None, spec=None, kind="containers"):
    parts = [{"name": f"c{i}", "resources": {"limits": limits or LIMITS}} for i in range(containers)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ns"},
            "spec": {"schedulerName": "volcano", "containers": [{"name": "main"}], kind: parts, **(spec or {})}}


def containers(size):
    return [node("n", PER_NODE), pod("p", size)]


def broken_containers(size):
    return [node("n", PER_NODE), pod("p", size, {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "-1"})]


def init_containers(size):
    return [node("n", PER_NODE), pod("p", size, kind="initContainers")]


def raised_containers(size):
    """Every container is raised to what its init container asks for, so that none is recognized by its own words."""
    objects = pod("p", size, {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "7"})
    objects["spec"]["initContainers"] = [
        {"name": f"i{i}", "resources": {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": str(5000 + i)}}}
        for i in range(size)]
    return [devices_of_hami(PER_NODE)[0], objects]


def devices(size):
    return [node("n", size), pod("p")]


def devices_of_hami(size):
    register = [{"id": f"GPU-{i}", "count": 10, "devmem": 40960, "devcore": 100, "type": "NVIDIA-A100", "numa": 0,
                 "mode": "hami-core", "health": True} for i in range(size)]
    hami_node = {"apiVersion": "v1", "kind": "Node",
                 "metadata": {"name": "n", "annotations": {"hami.io/node-nvidia-register": json.dumps(register)}},
                 "status": {"allocatable": {"cpu": "1000", "memory": "1000Gi", "pods": "1000",
                                            "nvidia.com/gpu": str(10 * size)}}}
    return [hami_node, pod("p", 30, {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"})]


def many_devices_of_many(size):
    return [node("n", size), pod("p", 4, {"volcano.sh/vgpu-number": str(size // 8), "volcano.sh/vgpu-memory": "1000"})]


def instances_to_look_ahead_for(size):
    asks = pod("p", 2 * size)
    for i, container in enumerate(asks["spec"]["containers"][1:]):
        container["resources"]["limits"] = {**LIMITS, "volcano.sh/vgpu-memory": str((3000, 20000)[i % 2])}
    return [node("n", size, "mig"), asks]


def pods(size):
    return [node(f"n{i}", PER_NODE) for i in range(size // 50)] + [pod(f"q{i}") for i in range(size)] + [pod("p")]


def bound_pods(size):
    nodes = size // 50
    return [node(f"n{i}", PER_NODE) for i in range(nodes)] + [
        pod(f"q{i}", spec={"nodeName": f"n{i % nodes}"}) for i in range(size)] + [pod("p")]


def manifest_of_pods(size):
    return [node(f"n{i}", PER_NODE) for i in range(200)], [pod(f"p{i}") for i in range(size)]


class GrowthTest(CliTest):
    @classmethod
    def setUpClass(cls):
        """The most CPU time of one command: eight times what Python takes to parse 50,000 pods beside it (2 s where that is 0.25 s)."""
        super().setUpClass()
        text = json.dumps(pods(50_000))
        times_s = []
        for _ in range(3):
            before_s = time.process_time()
            json.loads(text)
            times_s.append(time.process_time() - before_s)
        cls.most_s = 8 * min(times_s)

    def cpu_s(self, code, *arguments):
        """The least of two runs, or of three where they are above the limit: what else runs only adds."""
        least_s = math.inf
        for attempt in range(3):
            before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            result = self.vgpusim(*arguments)
            self.assertEqual(result.returncode, code, result.stderr)  # what is refused at once would always be quick
            least_s = min(least_s, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before_s)
            if attempt > 0 and least_s < self.most_s:
                break
        return least_s

    def start_s(self):
        """What a command takes that reads next to nothing."""
        return self.cpu_s(0, "validate", self.items("start.json", [node("n", 1)]))

    def assert_linear(self, what, size, small_s, large_s, start_s=None):
        """Four times as much takes less than ten times as long, without what starting the program takes; what grows with the
        square takes sixteen times."""
        start_s = self.start_s() if start_s is None else start_s
        print(f"{what} of {size}: {small_s:.3f} s, of {4 * size}: {large_s:.3f} s, start {start_s:.3f} s")
        clock_s = 0.0075 * self.most_s  # what else runs adds as much: 15 ms where that is 2 s
        self.assertLess(large_s - start_s, 10 * max(small_s - start_s, clock_s), what)
        self.assertLess(large_s, self.most_s, what)

    def test_a_square_is_seen_in_a_command_of_hundredths_of_a_second(self):
        self.most_s = 2.0
        self.assert_linear("a line", 1, 0.03, 0.09, start_s=0.01)
        with self.assertRaises(AssertionError):
            self.assert_linear("a square", 1, 0.03, 0.33, start_s=0.01)

    def items(self, name, objects):
        return self.write(name, json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def assert_linear_with(self, make, size, code=0, policy=()):
        times = []
        for scale in (1, 4):
            objects = self.items(f"{scale}.json", make(scale * size))
            times.append((self.cpu_s(code, "validate", objects),
                          self.cpu_s(code, "explain", objects, "--pod", "ns/p", *policy)))
        for command, small_s, large_s in zip(("validate", "explain"), *times):
            self.assert_linear(f"{make.__name__}: {command}", size, small_s, large_s)

    def test_containers_of_one_pod(self):
        for make, code in ((containers, 0), (broken_containers, 2), (init_containers, 0)):
            with self.subTest(of=make.__name__):
                self.assert_linear_with(make, 5000, code)
        self.assert_linear_with(raised_containers, 2500)

    def test_devices_of_one_node(self):
        for policy in ((), ("--policy", "fgd"), ("--policy", "binpack")):
            for make in (devices, devices_of_hami, many_devices_of_many):
                with self.subTest(of=make.__name__, policy=policy):
                    self.assert_linear_with(make, 256, 0, policy)

    def test_containers_that_are_looked_ahead_for(self):
        self.assert_linear_with(instances_to_look_ahead_for, 8)

    def test_pods(self):
        for make in (pods, bound_pods):
            with self.subTest(of=make.__name__):
                self.assert_linear_with(make, 12_500)

    def test_lists_of_one_pod(self):
        times = []
        for size in (5000, 20_000):
            lists = [json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod(f"q{i}")]}) for i in range(size)]
            times.append(self.cpu_s(0, "validate", self.write(f"{size}.json", "\n".join(lists))))
        self.assert_linear("validate of lists", 5000, *times)

    def test_pods_of_a_manifest(self):
        times = []
        for size in (50, 200):
            cluster, asking = manifest_of_pods(size)
            times.append(self.cpu_s(0, "explain", self.items("c.json", cluster), "--pod", self.items("p.json", asking)))
        self.assert_linear("explain of a manifest's pods", 50, *times)


if __name__ == "__main__":
    unittest.main()
