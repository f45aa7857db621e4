"""A policy and a discipline of the tests' own."""

import vgpualloc as vg


class Packed(vg.Policy):
    """The fullest node."""

    def score(self, request, before, after):
        return after.used_milli * 1.0


class Gang(vg.Discipline):
    """gang: whatever fits, by arrival."""

    def schedule(self, queue):
        for job in queue.waiting:
            queue.start(job)
