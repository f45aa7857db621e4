"""Prints the account and the roles that the chart gives the device plugin, one object a line, for scripts/e2e.sh on real nodes."""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "delivery"))
import support

values = {**support.LEAST_NODE, "devicePlugin": {**support.LEAST_NODE["devicePlugin"], "mig": True}}
objects, error = support.render(values)
if objects is None:
    raise SystemExit(f"FAILED: the chart: {error}")
for rendered in objects:
    if rendered["kind"] in ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"):
        print(json.dumps(rendered))
