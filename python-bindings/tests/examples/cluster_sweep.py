"""A sweep on Ray, which goes on where it was killed."""

import vgpualloc as vg

grid = {"policy": ["fgd", "best_fit", "compat:fgd"],
        "pods": {"default": "openb_pod_list_default.csv", "multi": "openb_pod_list_multigpu50.csv"},
        "tune": [1.0, 1.1, 1.3], "seed": range(42, 92)}
s = vg.sweep(grid, nodes="openb_node_list_gpu_node.csv", cache="out/cells", executor="ray")  # cells in out/cells are not run again
print(s.table.columns)
print(s.errors)
