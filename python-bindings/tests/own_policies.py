"""Policies and a discipline of the tests' own."""

import numpy as np
import vgpualloc as vg


class Packed(vg.Policy):
    """The fullest node."""

    def score(self, request, before, after):
        return after.used_milli * 1.0


class Binpack(vg.Policy):
    """binpack, by totals: the fullest node, then the fullest device."""

    def score(self, request, before, after):
        total = after.used_milli + after.free_milli
        return np.where(total == 0, 1.0, after.used_milli / np.maximum(total, 1))

    def device_score(self, request, before, after):
        return after.used_milli / 1000.0


class Gang(vg.Discipline):
    """gang: whatever fits, by arrival."""

    def schedule(self, queue):
        for job in queue.waiting:
            queue.start(job)
