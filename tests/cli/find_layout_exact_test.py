"""vgpusim whatif --find-layout on sets with too many ways to try them all: the best layouts are those of a search of its own."""

import itertools
import json
import operator
import random
import unittest

import clusters
from support import CliTest

PROFILES = ("1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb")
# Of one A100-80GB or H100-80GB, with profiles of the mix alone.
LAYOUTS = {"all-1g.10gb": (7, 0, 0, 0), "all-2g.20gb": (0, 3, 0, 0), "all-3g.40gb": (0, 0, 2, 0), "all-7g.80gb": (0, 0, 0, 1),
           "all-balanced": (2, 1, 1, 0)}


def cut_node(name, product, gpus, layout):
    instances = {f"nvidia.com/mig-{profile}": str(gpus * count) for profile, count in zip(PROFILES, LAYOUTS[layout]) if count}
    labels = {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": "81920",
              "nvidia.com/gpu.count": str(gpus), "nvidia.com/mig.config": layout, "nvidia.com/mig.strategy": "mixed"}
    amounts = {"cpu": "128", "memory": "1Ti", "pods": "250", **instances}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


def sums_of(nodes, gpus):
    """All that so many equal nodes can be cut into, by profile."""
    parts = [tuple(gpus * count for count in layout) for layout in LAYOUTS.values()]
    return {tuple(map(sum, zip(*ways))) for ways in itertools.combinations_with_replacement(parts, nodes)}


def pods_that_fit(instances, demand):
    """Most pods: `demand` has by profile how many pods ask for 1, 2, … instances."""
    total = 0
    for left, pods in zip(instances, demand):
        for size, count in enumerate(pods, 1):
            placed = min(count, left // size)
            total += placed
            left -= placed * size
    return total


def layouts_of_use(demand):
    """Those with something that pods ask for, of which no other one has as much of all."""
    asked = [position for position, pods in enumerate(demand) if any(pods)]
    counts = {layout: tuple(parts[position] for position in asked) for layout, parts in LAYOUTS.items()}

    def is_replaced(own):
        return any(other != own and all(map(operator.ge, other, own)) for other in counts.values())

    return [layout for layout, own in counts.items() if any(own) and not is_replaced(own)]


class FindLayout(CliTest):
    def draw(self, random_, sizes_max):
        """A cluster, its groups of equal nodes (how many, GPUs of one), and by profile the pods by size."""
        objects, groups, demand = [], [], [[0] * sizes_max for _ in PROFILES]
        capacity = 0
        for group, product in enumerate(("NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3")[:random_.randint(1, 2)]):
            count, gpus = random_.randint(4, 6), random_.choice((1, 2, 4))
            groups.append((count, gpus))
            capacity += count * gpus
            layout = random_.choice(sorted(LAYOUTS))
            for number in range(count):
                name = f"mig-{group}{number}"
                objects.append(cut_node(name, product, gpus, layout))
                for position, per_gpu in enumerate(LAYOUTS[layout]):
                    for i in range(random_.randint(0, per_gpu * gpus) // 2):
                        resources = {f"nvidia.com/mig-{PROFILES[position]}": "1", "cpu": "1"}
                        objects.append(clusters.controlled(clusters.pod(f"r-{name}-{position}-{i}", resources, on=name)))
                        demand[position][0] += 1
        for position, per_gpu in enumerate((4, 2, 1, 0.5)):
            # A mix without some of the profiles may be served best by layouts that have them too.
            for i in range(0 if random_.random() < 0.3 else 1 + random_.randint(0, int(capacity * per_gpu))):
                size = random_.randint(1, sizes_max)
                resources = {f"nvidia.com/mig-{PROFILES[position]}": str(size), "cpu": "1"}
                objects.append(clusters.pod(f"w-{position}-{i}", resources))
                demand[position][size - 1] += 1
        # Neither takes an instance: one waits for its gate, one is cut, and takes nobody.
        held = clusters.pod("held", {"nvidia.com/mig-1g.10gb": "1"})
        held["spec"]["schedulingGates"] = [{"name": "example.com/later"}]
        cordoned = cut_node("out", "NVIDIA-A100-SXM4-80GB", 4, "all-1g.10gb")
        cordoned["spec"] = {"unschedulable": True}
        return [*objects, held, cordoned], groups, demand

    def answer_of(self, objects):
        path = self.write("cluster.json", json.dumps(clusters.cluster(*objects)))
        done = self.vgpusim("whatif", path, "--find-layout", "mig-*", "--policy", "best_fit", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return path, json.loads(done.stdout)

    def optimum_of(self, groups, demand):
        ways = [sums_of(count, gpus) for count, gpus in groups]
        return max(pods_that_fit(map(sum, zip(*sums)), demand) for sums in itertools.product(*ways))

    def drawn_answers(self, cases, seed, sizes_max):
        """By case: the file, the answer, by profile the pods by size, and the most pods that can run."""
        if not self.has_solver():
            self.skipTest("vgpusim is built without HiGHS")
        random_ = random.Random(seed)
        for case in range(cases):
            objects, groups, demand = self.draw(random_, sizes_max)
            path, answer = self.answer_of(objects)
            optimum = self.optimum_of(groups, demand)
            if not answer["is_exhaustive"]:
                self.assertEqual(answer["run_most"], optimum, f"case {case}: {groups}, {demand}")
            yield case, path, answer, demand, optimum

    def test_best_rows_are_the_optimum(self):
        exhaustive = 0
        for case, path, answer, demand, optimum in self.drawn_answers(20, 5, 1):
            exhaustive += answer["is_exhaustive"]
            self.assertEqual(answer["rows"][0]["run"], optimum, f"case {case}: {demand}")
            if not answer["is_exhaustive"] and case % 5 == 0:
                text = self.vgpusim("whatif", path, "--find-layout", "mig-*", "--policy", "best_fit").stdout
                self.assertIn("were tried, and no layouts have instances for more pods (exact)", text)
        self.assertLess(exhaustive, 10)

    def test_a_layout_with_a_profile_that_nobody_asks_for(self):
        nodes = [cut_node(f"mig-{i}", "NVIDIA-A100-SXM4-80GB", 1, "all-1g.10gb") for i in range(9)]
        pods = [clusters.pod(f"w1-{i}", {"nvidia.com/mig-1g.10gb": "1"}) for i in range(2)]
        pods += [clusters.pod(f"w2-{i}", {"nvidia.com/mig-2g.20gb": "1"}) for i in range(25)]
        _, answer = self.answer_of([*nodes, *pods])
        self.assertEqual(answer["rows"][0]["run"], 27)
        self.assertIn("all-balanced", answer["rows"][0]["layouts"])

    def test_pods_beyond_what_their_node_offers_go_on_running(self):
        """A GPU of node bad has failed: its pods are counted as they run, and take no instance of the others."""
        bad = cut_node("bad", "NVIDIA-A100-SXM4-80GB", 1, "all-1g.10gb")
        bad["status"]["allocatable"] = {**bad["status"]["allocatable"], "nvidia.com/mig-1g.10gb": "1"}
        nodes = [cut_node(f"mig-{i}", "NVIDIA-A100-SXM4-80GB", 1, "all-1g.10gb") for i in range(9)]
        pods = [clusters.controlled(clusters.pod(f"r-{i}", {"nvidia.com/mig-1g.10gb": "1"}, on="bad")) for i in range(7)]
        pods += [clusters.pod(f"w-{i}", {"nvidia.com/mig-3g.40gb": "1"}) for i in range(18)]
        _, answer = self.answer_of([bad, *nodes, *pods])
        self.assertEqual(answer["rows"][0]["run"], 25)
        self.assertTrue(all(count >= 0 for row in answer["rows"] for count in row["spare"].values()))

    def test_of_equal_layouts_the_one_with_the_fewest_restarts(self):
        """Two nodes of four GPUs are busy, six of two are not; either would do."""
        busy = [cut_node(f"mig-a{i}", "NVIDIA-A100-SXM4-80GB", 4, "all-1g.10gb") for i in range(6)]
        idle = [cut_node(f"mig-b{i}", "NVIDIA-A100-SXM4-80GB", 2, "all-1g.10gb") for i in range(6)]
        pods = [clusters.controlled(clusters.pod(f"r-{i}", {"nvidia.com/mig-1g.10gb": "1"}, on=f"mig-a{i % 6}")) for i in range(12)]
        pods += [clusters.pod(f"w-{i}", {"nvidia.com/mig-3g.40gb": "1"}) for i in range(8)]
        _, answer = self.answer_of([*busy, *idle, *pods])
        self.assertEqual((answer["rows"][0]["run"], answer["rows"][0]["restart"]), (20, 0))

    def test_the_bound_holds_and_every_uniform_layout_was_tried(self):
        """Pods of two instances may come before those of one, and then fewer run than there are instances for."""
        exact = 0
        for _, _, answer, demand, optimum in self.drawn_answers(6, 8, 2):
            best = answer["rows"][0]["run"]
            self.assertLessEqual(best, optimum)
            exact += best == optimum
            for layout in layouts_of_use(demand):
                row = next(row for row in answer["rows"] if set(row["layouts"]) == {layout})
                self.assertLessEqual(row["run"], best)
        self.assertGreater(exact, 0)


if __name__ == "__main__":
    unittest.main()
