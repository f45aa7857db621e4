"""What the tests of adapters/delivery share: the folders, Go, and the chart as Helm's engine renders it."""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SOURCE = Path(os.environ.get("VGA_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("VGA_BUILD_DIR", tempfile.gettempdir()))
ADAPTERS = SOURCE / "adapters"
DELIVERY = ADAPTERS / "delivery"
CHART = DELIVERY / "chart"
SKIPPED = 77  # what ctest takes for a skipped test


def skip_or_fail(what):
    """Ends the program: what these tests need is not there. Only under CI=true is that a failure."""
    failing = os.environ.get("CI") == "true"
    print(f"{'FAILED' if failing else 'SKIPPED'}: {what}")
    sys.exit(1 if failing else SKIPPED)


def go_environment():
    """The settings of scripts/adapters.sh, so that what is compiled is shared with the other adapters."""
    return {**os.environ, "CGO_ENABLED": "1", "GOFLAGS": "-buildvcs=false -trimpath", "GOTOOLCHAIN": "local"}


@cache
def go():
    """The Go that scripts/lib.sh finds or installs; without any the program ends."""
    script = f'source "{SOURCE}/scripts/lib.sh"; find_go'
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    if found.returncode:
        skip_or_fail(f"no Go can be had: {found.stderr.strip()[-300:]}")
    return found.stdout.strip().splitlines()[-1]


@cache
def module_folder(module):
    """Where the source of a module lies that adapters/scheduler is built from."""
    folder = ADAPTERS / "scheduler"
    if not (folder / "go.mod").is_file():
        skip_or_fail("there is no adapters/scheduler whose modules could be read")
    subprocess.run([go(), "mod", "download", module], cwd=folder, env=go_environment(), check=False, capture_output=True)
    told = subprocess.run([go(), "list", "-m", "-f", "{{.Dir}}", module], cwd=folder, env=go_environment(),
                          capture_output=True, text=True, check=False)
    if told.returncode or not told.stdout.strip():
        skip_or_fail(f"module {module} cannot be had: {told.stderr.strip()[-300:]}")
    return Path(told.stdout.strip())


@cache
def renderer():
    """The program that renders charts, built from adapters/delivery/render."""
    program = BUILD / "delivery-render"
    built = subprocess.run([go(), "build", "-p", "2", "-o", program, "."], cwd=DELIVERY / "render", env=go_environment(),
                           capture_output=True, text=True, check=False)
    if built.returncode:
        words = built.stderr.strip()[-500:]
        if "dial tcp" in words or "proxy" in words or "lookup" in words:
            skip_or_fail(f"Helm's engine cannot be had: {words}")
        raise AssertionError(words)
    return program


def prepare():
    """Before the tests of a program that cannot do without: the program that renders, and the source of Volcano."""
    renderer()
    module_folder("volcano.sh/volcano")


def render(values=None, release="vgpualloc", namespace="volcano-system", chart=CHART):
    """(objects, error): what the chart makes with these values, or why it refuses them."""
    arguments = [renderer(), chart, release, namespace]
    with tempfile.TemporaryDirectory() as folder:
        if values is not None:
            path = Path(folder) / "values.yaml"
            path.write_text(json.dumps(values))  # JSON is YAML
            arguments.append(path)
        told = subprocess.run(arguments, capture_output=True, text=True, check=False)
    return (json.loads(told.stdout), "") if told.returncode == 0 else (None, told.stderr)


# The least that has to be said, and all that can be switched on.
LEAST = {"scheduler": {"image": {"repository": "example.com/scheduler"}}}
ALL = {"scheduler": {"image": {"repository": "example.com/scheduler", "tag": "7"}, "replicas": 2,
                     "schedulerNames": ["volcano", "second"], "decisionLog": {"enabled": True},
                     "rbac": {"dynamicResourceAllocation": True, "csiStorage": True, "nodeLock": True},
                     "tolerations": [{"operator": "Exists"}], "nodeSelector": {"role": "control"},
                     "imagePullSecrets": [{"name": "pull"}], "extraArgs": ["--csi-storage=true"]},
       "extender": {"enabled": True, "image": {"repository": "example.com/extender"}, "decisionLog": {"enabled": True},
                    "mindCluster": True},
       "deviceConfig": {"create": True, "namespaces": ["kube-system", "mindx-dl"]}}
# The node side alone, with all that can be switched on.
NODE = {"scheduler": {"enabled": False},
        "devicePlugin": {"enabled": True, "image": {"repository": "example.com/plugin", "tag": "7"}, "mig": True, "mps": {"enabled": True},
                         "createDeviceConfig": True, "schedulers": ["volcano", "hami"], "runtimeClassName": "nvidia",
                         "hamiCore": {"image": {"repository": "example.com/hami-core", "tag": "1"}},
                         "nodeConfig": {"nodes": [{"name": "gpu-1", "operatingmode": "mig", "filterdevices": {"index": [3]},
                                                   "devices": [{"index": 0, "operatingmode": "hami-core", "devicesplitcount": 4}]}]},
                         "extraArgs": ["--pass-device-specs"], "extraEnv": {"DP_DISABLE_HEALTHCHECKS": "79"},
                         "imagePullSecrets": [{"name": "pull"}], "nodeSelector": {"gpu": "on"}, "failOnInitError": False},
        "ascendDevicePlugin": {"enabled": True, "image": {"repository": "example.com/plugin"},
                               "vnpuCore": {"image": {"repository": "example.com/vnpu-core", "tag": "1"}},
                               "nodeConfig": {"nodes": [{"name": "npu-1", "vDeviceCount": 4}]}, "extraArgs": ["--report_time_offset=2"]}}
# Its least, for one of both plugins.
LEAST_NODE = {"scheduler": {"enabled": False}, "devicePlugin": {"enabled": True, "image": {"repository": "example.com/plugin"}}}
PLUGINS = {"device-plugin": "device-plugin", "ascend-plugin": "ascend-device-plugin"}  # component -> its templates


def of_kind(objects, kind, component=""):
    return [found for found in objects if found["kind"] == kind and component in found["metadata"]["name"]]
