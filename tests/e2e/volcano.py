"""Which jobs a queue lets in: vgpusim against Volcano.

  volcano.py --etcd PROGRAM --kube-apiserver PROGRAM --scheduler PROGRAM --crds DIR --vgpusim PROGRAM --out DIR
             [-setups 120] [-seed 1] [-record DIR]
  volcano.py --replay DIR --vgpusim PROGRAM

Fills an API server with random setups (volcano_objects.py), one after the other, and runs Volcano's scheduler on each, with the
actions and plugins of its usual configuration. What is there when it has nothing more to do is a file for vgpusim. Then one more
PodGroup comes with its pods, as Volcano's controllers make them of a Job or a pod: `whatif --add-pods` has to let as many pods of it
in as Volcano binds, or to find room for so many, and none in if the PodGroup stays Pending. Where setups.json is kept, --replay compares again without Volcano.
"""

import tempfile
import time
from pathlib import Path

import volcano_answers
import volcano_objects
from rights import free_port
from rules import Plane, parser_of, picked, run, write_lines
from volcano_objects import NAMESPACE

PODS, GROUPS = f"/api/v1/namespaces/{NAMESPACE}/pods", f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{NAMESPACE}/podgroups"
QUEUES, NODES = "/apis/scheduling.volcano.sh/v1beta1/queues", "/api/v1/nodes"
OWN_QUEUES = ["default", "root"]  # which the scheduler makes
QUIET_S = 2.5  # so long nothing changes when Volcano is done

# volcano-scheduler.conf of Volcano's chart.
CONFIGURATION = """actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


def start_scheduler(plane, program):
    configuration = plane.root / "configuration" / "volcano-scheduler.conf"
    configuration.parent.mkdir(exist_ok=True)  # Volcano reads it again whenever something in its folder changes
    configuration.write_text(CONFIGURATION)
    scheduler = plane.start("scheduler", program, f"--kubeconfig={plane.kubeconfig()}", f"--scheduler-conf={configuration}", "--leader-elect=false",
                            "--schedule-period=200ms", f"--listen-address=127.0.0.1:{free_port()}", "--cache-dumper=false",
                            "--percentage-nodes-to-find=100", "--kube-api-qps=5000", "--kube-api-burst=5000")
    names = lambda: {thing["metadata"]["name"] for thing in plane.call("GET", QUEUES)["items"]}
    plane.until("the scheduler has made its queues", lambda: names() >= set(OWN_QUEUES), 60)
    for name in OWN_QUEUES:
        set_state(plane, name, "Open")
    return scheduler


def set_state(plane, queue, state):
    """What Volcano's controller of queues does."""
    plane.patch(f"{QUEUES}/{queue}/status", {"status": {"state": state}})


def make_pod(plane, pod):
    plane.make(PODS, pod)


def fill(plane, setup):
    for node in setup.nodes:
        plane.make(NODES, node)
        plane.patch(f"{NODES}/{node['metadata']['name']}/status", {"status": node["status"]})
    for queue in setup.queues:
        plane.make(QUEUES, queue)
        set_state(plane, queue["metadata"]["name"], setup.states[queue["metadata"]["name"]])
    for group in setup.groups:
        plane.make(GROUPS, group)
    for pod in setup.pods:
        make_pod(plane, pod)


def empty(plane):
    plane.call("DELETE", PODS, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
    for path in (GROUPS, QUEUES, NODES):
        plane.call("DELETE", path)
    for path in (PODS, GROUPS, QUEUES, NODES):
        plane.until(f"{path} are gone", lambda path=path: not plane.call("GET", path)["items"])


def wait_for_quiet(plane):
    """Until Volcano has looked at every PodGroup and neither a phase nor the place of a pod changes for a while."""
    seen, since, end = None, time.monotonic(), time.monotonic() + 120
    while time.monotonic() < end:
        groups, pods = plane.call("GET", GROUPS)["items"], plane.call("GET", PODS)["items"]
        state = [[(thing["metadata"]["name"], thing.get("status", {}).get("phase")) for thing in groups],
                 [(thing["metadata"]["name"], thing["spec"].get("nodeName")) for thing in pods]]
        is_looked_at = all(thing.get("status", {}).get("phase") for thing in groups)  # a session ends with that
        if state != seen or not is_looked_at:
            seen, since = state, time.monotonic()
        if time.monotonic() - since > QUIET_S:
            return groups, pods
        time.sleep(0.25)
    raise SystemExit("FAILED: Volcano is not quiet")


def decide(plane, program, setup):
    """What is recorded of a setup: the objects before its last job, this job, and what Volcano does with it."""
    fill(plane, setup)
    scheduler = start_scheduler(plane, program)
    groups, pods = wait_for_quiet(plane)
    queues = plane.call("GET", QUEUES)["items"]
    objects = [*setup.nodes, *(shortened(thing, kind) for things, kind in ((queues, "Queue"), (groups, "PodGroup"), (pods, "Pod")) for thing in things)]
    plane.make(GROUPS, setup.added_group)
    for pod in setup.added_pods:
        make_pod(plane, pod)
    groups, pods = wait_for_quiet(plane)
    plane.end(scheduler)
    name = setup.added_group["metadata"]["name"]
    [last] = [thing for thing in groups if thing["metadata"]["name"] == name]
    bound = sum("nodeName" in pod["spec"] for pod in pods if pod["metadata"]["annotations"][volcano_objects.GROUP] == name)
    empty(plane)
    return {"setup": setup.name, "objects": objects, "added": setup.added, "group": setup.added_group, "volcano": {"phase": last["status"]["phase"], "bound": bound}}


def shortened(thing, kind):
    """An object with what a queue's decision depends on, and no more."""
    metadata = picked(thing["metadata"], "name", "namespace", "annotations")
    spec, status = thing.get("spec", {}), thing.get("status", {})
    if kind == "Pod":
        metadata["annotations"] = picked(metadata.get("annotations", {}), volcano_objects.GROUP)
        spec = {**picked(spec, "nodeName", "nodeSelector", "schedulerName"), "containers": [picked(entry, "name", "resources") for entry in spec["containers"]]}
    else:
        metadata.pop("annotations", None)
    return {"apiVersion": "v1" if kind == "Pod" else volcano_objects.SCHEDULING, "kind": kind, "metadata": metadata, "spec": spec,
            "status": picked(status, "phase", "state", "allocated")}


def record(arguments):
    """Makes the setups and writes what Volcano does; the folder."""
    folder = arguments.out / "volcano"
    folder.mkdir(parents=True, exist_ok=True)
    recorded = []
    with tempfile.TemporaryDirectory() as root:
        plane = Plane(Path(root))
        try:
            plane.begin(arguments.etcd, arguments.kube_apiserver)
            for path in sorted(arguments.crds.glob("*.yaml")):
                plane.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", path.read_bytes(), "application/yaml")
            plane.make("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            for path in (QUEUES, GROUPS):
                plane.until(f"{path} is served", lambda path=path: plane.call("GET", path)["items"] == [])
            for number in range(arguments.setups):
                setup = volcano_objects.Generator(f"{arguments.seed}/{number}", f"s{number:03}").setup()
                recorded.append(decide(plane, arguments.scheduler, setup))
                for target in filter(None, (folder, arguments.record)):
                    target.mkdir(parents=True, exist_ok=True)
                    write_lines(target / "setups.json", {}, "setups", recorded)
        finally:
            plane.stop()
    return folder


def main():
    parser = parser_of(__doc__, "etcd", "kube-apiserver", "scheduler", "crds")
    parser.add_argument("-setups", type=int, default=120)
    parser.add_argument("-record", type=Path, help="a folder for a copy of setups.json, as tests/data/volcano_queues has it")
    run(parser, parser.parse_args(), record, volcano_answers.compare, "the setups")


if __name__ == "__main__":
    main()
