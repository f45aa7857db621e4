"""Policies are replayed and compared, with intervals."""

import vgpualloc as vg

s = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(1, 6)}, **vg.example("quickstart"))
print(s.differences(of="policy", against="fgd"))
