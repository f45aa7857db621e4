"""What a notebook shows of its last value."""

import vgpualloc as vg

r = vg.simulate(**vg.example("quickstart"), progress=True)  # a tqdm bar
r.report()  # the whole report.html inside the cell
