"""A policy in ten lines, checked, then compiled."""

import numpy as np
import vgpualloc as vg
from vgpualloc.typing import NodeState, Request


class Balanced(vg.Policy):
    key = "balanced-1"

    def score(self, request: Request, before: NodeState, after: NodeState) -> object:
        cpu = 1 - after.cpu_free_milli / np.maximum(after.cpu_milli, 1)
        gpu = after.used_milli / np.maximum(after.used_milli + after.free_milli, 1)
        return -np.abs(cpu - gpu)


class BalancedJit(vg.Policy):
    form, key = "numba", "balanced-jit-1"

    @staticmethod
    def score(request: Request, before: NodeState, after: NodeState) -> object:
        return -abs(1 - after.cpu_free_milli / max(after.cpu_milli, 1) - after.used_milli / max(after.used_milli + after.free_milli, 1))


vg.check_policy(Balanced())
s = vg.sweep({"policy": [Balanced(), BalancedJit(), "fgd"], "seed": range(5)}, **vg.example("quickstart"))
print(s.mean())
