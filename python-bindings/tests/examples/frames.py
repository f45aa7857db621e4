"""A DataFrame in, a DataFrame out."""

import polars as pl
import vgpualloc as vg

pods = pl.DataFrame({"name": [f"p{i}" for i in range(1000)], "cpu_milli": 4000, "memory_mib": 8192, "num_gpu": 1, "gpu_milli": 250})
nodes = {"sn": ["a", "b"], "cpu_milli": [96000, 96000], "memory_mib": [393216, 393216], "gpu": [8, 8], "model": ["A100", "A100"]}
r = vg.simulate(nodes, pods, policy="binpack")
print(r.pods.columns)
print(pl.DataFrame(r.pods).filter(~pl.col("placed")).group_by("reason").len())
print(r.timeseries["allocated_milli"].dtype, r.timeseries["allocated_milli"].shape)
