"""Plots on axes of one's own."""

import matplotlib.pyplot as plt
import vgpualloc as vg

s = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(5)}, **vg.example("quickstart"))
r = vg.simulate(**vg.example("quickstart"))
figure, (left, right) = plt.subplots(1, 2, sharex=True)
s.plot("allocation", by="policy", ax=left)
s.plot("fragmentation", ax=right)
alone, ax = plt.subplots()
r.plot("occupancy", ax=ax).set_title("every GPU at the peak")
alone.savefig("gpus.svg")
