"""From a snapshot: why, what if, plan."""

from pathlib import Path

import vgpualloc as vg

c = vg.Cluster.read("cluster.json", config="device-config.yaml")
why = c.explain("team/waits")
print(why.ok, why["choice"]["message"])
print(why["nodes"].to_pandas())
print(c.whatif(find_nodes="A100-40GB:hami_core:8")["find_nodes"])
plan = c.plan("team/waits", moves=3)
print(plan["moves"] if plan.ok else plan)
Path("nameless.json").write_bytes(c.snapshot(anonymise=True))
