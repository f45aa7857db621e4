"""FINDINGS 22: time grows with the size of an input, not with its square."""

import json
import resource
import unittest

from support import CliTest

PER_NODE = 8
LIMITS = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "1000"}


def node(name, devices):
    registered = "".join(f"GPU-{name}-{i},10,40960,NVIDIA-A100,true,hami-core:" for i in range(devices))
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


def devices(size):
    return [node("n", size), pod("p")]


def pods(size):
    return [node(f"n{i}", PER_NODE) for i in range(size // 50)] + [pod(f"q{i}") for i in range(size)] + [pod("p")]


def bound_pods(size):
    nodes = size // 50
    return [node(f"n{i}", PER_NODE) for i in range(nodes)] + [
        pod(f"q{i}", spec={"nodeName": f"n{i % nodes}"}) for i in range(size)] + [pod("p")]


class GrowthTest(CliTest):
    def cpu_s(self, code, *arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        result = self.vgpusim(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)  # what is refused at once would always be quick
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def assert_linear(self, make, size, code=0):
        """Four times as much takes less than ten times as long; what grows with the square takes sixteen times."""
        times = []
        for scale in (1, 4):
            objects = self.write(f"{scale}.json", json.dumps(
                {"apiVersion": "v1", "kind": "List", "items": make(scale * size)}))
            times.append((self.cpu_s(code, "validate", objects), self.cpu_s(code, "explain", objects, "--pod", "ns/p")))
        slack_s = 0.2  # starting the program, and a clock that counts in hundredths of a second
        for command, small_s, large_s in zip(("validate", "explain"), *times):
            print(f"{make.__name__}: {command} of {size}: {small_s:.2f} s, of {4 * size}: {large_s:.2f} s")
            self.assertLess(large_s, 10 * small_s + slack_s, (command, make.__name__))

    def test_containers_of_one_pod(self):
        for make, code in ((containers, 0), (broken_containers, 2), (init_containers, 0)):
            with self.subTest(of=make.__name__):
                self.assert_linear(make, 5000, code)

    def test_devices_of_one_node(self):
        self.assert_linear(devices, 256)

    def test_pods(self):
        for make in (pods, bound_pods):
            with self.subTest(of=make.__name__):
                self.assert_linear(make, 2500)


if __name__ == "__main__":
    unittest.main()
