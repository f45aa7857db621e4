"""What would MIG do to this cluster?"""

import pandas as pd
import vgpualloc as vg

c = vg.Cluster.read(**vg.example("cluster"))
after = {mode: c.whatif(set_mode={"core-0": mode, "core-1": mode})["after"] for mode in ("hami_core", "mig")}
print(pd.DataFrame(after).T[["pods", "allocated_milli", "memory_used_mib", "fragmentation_milli"]])
print(c.whatif(set_mode={"core-0": "mig"})["pods"])
