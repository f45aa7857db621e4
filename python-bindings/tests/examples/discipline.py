"""A discipline."""

import vgpualloc as vg
from vgpualloc.typing import Queue


class ShortestFirst(vg.Discipline):
    def schedule(self, queue: Queue) -> None:
        for job in sorted(queue.waiting, key=lambda job: (job.estimate_s, job.id)):
            queue.start(job)  # False: it does not fit now, or its queue has no quota


r = vg.simulate("nodes.csv", "philly.csv", format="philly", policy="binpack", discipline=ShortestFirst())
print(r.summary["wait_s"])
