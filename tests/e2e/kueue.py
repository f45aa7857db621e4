"""Which jobs a queue lets in: vgpusim against Kueue.

  kueue.py --etcd PROGRAM --kube-apiserver PROGRAM --kueue PROGRAM --crds DIR --vgpusim PROGRAM --out DIR
           [-setups 300] [-seed 1] [-record DIR]
  kueue.py --replay DIR --vgpusim PROGRAM

Fills an API server with random setups (kueue_objects.py) and runs Kueue's controllers and scheduler beside it, without webhooks. The
suspended jobs of a setup are made one after the other, each when Kueue is done with the one before. What is there before the last
is a file for vgpusim, to which `whatif --add-pods` and `why --pod` add the last job: they have to say that it starts if Kueue admits
it and that a queue holds it if Kueue does not. Where setups.json is kept, --replay compares again without Kueue.
"""
import base64
import tempfile
import time
from collections import Counter
from pathlib import Path

import kueue_answers
import kueue_objects
from kueue_objects import QUEUE_LABEL
from rights import free_port
from rules import Plane, parser_of, picked, run, write_lines

NAMESPACE = "kueue-system"
KUEUE, BATCH = "/apis/kueue.x-k8s.io/v1beta2", "/apis/batch/v1"
KINDS = [f"{KUEUE}/{kind}" for kind in ("resourceflavors", "cohorts", "clusterqueues", "localqueues", "workloads")] + [f"{BATCH}/jobs"]
CONVERTED = ["localqueues", "clusterqueues", "workloads", "cohorts", "multikueueclusters"]
QUIET_S = 4  # so long nothing changes when Kueue is done

CONFIGURATION = """apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: {namespace}
health: {{healthProbeBindAddress: "127.0.0.1:{health}"}}
metrics: {{bindAddress: "0"}}
webhook: {{port: {webhook}, host: 127.0.0.1, certDir: "{certificates}"}}
leaderElection: {{leaderElect: false}}
clientConnection: {{qps: 2000, burst: 2000}}
integrations: {{frameworks: ["batch/job"]}}
featureGates: {{VisibilityOnDemand: false}}
"""


# ----------------------------------------------------------------------------------------------------------- Kueue itself


def start_kueue(plane, program, crds):
    """Runs Kueue. It makes certificates for its webhooks and waits for them, though nobody calls a webhook here."""
    extensions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for path in sorted(crds.glob("kueue.x-k8s.io_*.yaml")):
        plane.make(extensions, path.read_bytes(), "application/yaml")
    nowhere = {"url": "https://127.0.0.1:1/convert"}
    for name in CONVERTED:
        plane.patch(f"{extensions}/{name}.kueue.x-k8s.io", {"spec": {"conversion": {
            "strategy": "Webhook", "webhook": {"clientConfig": nowhere, "conversionReviewVersions": ["v1"]}}}})
    for kind in ("mutating", "validating"):
        plane.make(f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations", {"metadata": {"name": f"kueue-{kind}-webhook-configuration"}})
    plane.make("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    secret = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    plane.make(secret, {"metadata": {"name": "kueue-webhook-server-cert"}})
    for path in KINDS:
        plane.until(f"{path} is served", lambda path=path: plane.call("GET", path)["items"] == [])
    certificates, configuration = plane.root / "kueue-certificates", plane.root / "kueue.yaml"
    certificates.mkdir()
    configuration.write_text(CONFIGURATION.format(namespace=NAMESPACE, certificates=certificates, health=free_port(), webhook=free_port()))
    plane.start("kueue", program, f"--config={configuration}", f"--kubeconfig={plane.kubeconfig()}")

    def has_certificates():
        data = plane.call("GET", f"{secret}/kueue-webhook-server-cert").get("data", {})
        for name in data:
            (certificates / name).write_bytes(base64.b64decode(data[name]))
        return "tls.key" in data

    plane.until("Kueue has made its certificates", has_certificates, 60)  # a kubelet would mount them


def listed(plane, path):
    page = plane.call("GET", path)
    return [{"apiVersion": page["apiVersion"], **thing, "kind": page["kind"].removesuffix("List")} for thing in page["items"]]


def make(plane, thing):
    base = {"v1": "/api/v1", "batch/v1": BATCH}.get(thing["apiVersion"], KUEUE)
    namespace = thing["metadata"].get("namespace")
    plane.make(f"{base}/{f'namespaces/{namespace}/' if namespace else ''}{thing['kind'].lower()}s", thing)


def is_decided(workloads, queues, local_queues):
    """Whether Kueue has looked at every workload, but for those that wait behind another, and its sums are those of what it admitted."""
    strict = {thing["metadata"]["name"] for thing in queues if thing["spec"].get("queueingStrategy") == "StrictFIFO"}
    behind = {(thing["metadata"]["namespace"], thing["metadata"]["name"]) for thing in local_queues if thing["spec"]["clusterQueue"] in strict}
    if any(not condition_of(thing, "QuotaReserved") and (thing["metadata"]["namespace"], thing["spec"]["queueName"]) not in behind for thing in workloads):
        return False
    reserving = Counter(thing["status"]["admission"]["clusterQueue"] for thing in workloads if thing.get("status", {}).get("admission"))
    return all(thing.get("status", {}).get("reservingWorkloads", 0) == reserving[thing["metadata"]["name"]] for thing in queues)


def wait_for_quiet(plane, jobs):
    """Until every job has a Workload and Kueue has decided nothing for a while. Its words for a workload change at every attempt."""
    seen, since, end = None, time.monotonic(), time.monotonic() + 300
    while time.monotonic() < end:
        workloads, queues, local_queues = (listed(plane, f"{KUEUE}/{kind}") for kind in ("workloads", "clusterqueues", "localqueues"))
        state = [[(entry["type"], entry["status"]) for entry in thing.get("status", {}).get("conditions", [])] for thing in [*workloads, *queues]]
        is_ready = len(workloads) == jobs and all(condition_of(thing, "Active") for thing in queues)
        if state != seen or not is_ready or not is_decided(workloads, queues, local_queues):
            seen, since = state, time.monotonic()
        if time.monotonic() - since > QUIET_S:
            return
        time.sleep(0.5)
    raise SystemExit(f"FAILED: Kueue is not quiet with {jobs} jobs")


def condition_of(thing, name):
    return next((entry for entry in thing.get("status", {}).get("conditions", []) if entry["type"] == name), {})


def answer_of(workload):
    """What Kueue says of the workload of the last job."""
    reserved = condition_of(workload, "QuotaReserved")
    answer = {"admitted": reserved.get("status") == "True", "message": reserved.get("message", "")}
    if answer["admitted"]:
        [pods] = workload["status"]["admission"]["podSetAssignments"]
        answer["flavors"] = {resource: name for resource, name in sorted(pods.get("flavors", {}).items())}
        answer["pods"] = pods["count"]
    return answer


def decide(plane, setups):
    """Of each setup what is recorded: the objects before its last job, this job, and Kueue's answer."""
    for setup in setups:
        for thing in [setup.namespace, *setup.flavors, *setup.cohorts, *setup.cluster_queues, *setup.local_queues]:
            make(plane, thing)
    wait_for_quiet(plane, 0)
    jobs = 0
    for turn in range(max(len(setup.jobs) for setup in setups) - 1):
        for setup in setups:
            if turn < len(setup.jobs) - 1:
                make(plane, setup.jobs[turn])
                jobs += 1
        wait_for_quiet(plane, jobs)
    before = {setup.name: [setup.namespace] for setup in setups}
    for path in KINDS:
        for thing in listed(plane, path):
            owner = thing["metadata"].get("namespace") or thing["metadata"]["name"].partition("-")[0]
            before[owner].append(shortened(thing))
    for setup in setups:
        make(plane, setup.jobs[-1])
    wait_for_quiet(plane, jobs + len(setups))
    names = {setup.name: setup.jobs[-1]["metadata"]["name"] for setup in setups}
    last = {thing["metadata"]["namespace"]: thing for thing in listed(plane, f"{KUEUE}/workloads")
            if thing["metadata"]["ownerReferences"][0]["name"] == names[thing["metadata"]["namespace"]]}
    return [{"setup": setup.name, "objects": before[setup.name], "job": setup.jobs[-1], "kueue": answer_of(last[setup.name])} for setup in setups]


def shortened(thing):
    """An object with what a queue's decision depends on, and no more."""
    metadata = picked(thing["metadata"], "name", "namespace")
    spec, status = dict(thing.get("spec", {})), {}
    if thing["kind"] == "Job":
        metadata["labels"] = picked(thing["metadata"].get("labels", {}), QUEUE_LABEL)
        spec = {**picked(spec, "parallelism", "completions", "suspend"), "template": pod_template(spec["template"])}
    if thing["kind"] == "Workload":
        metadata["creationTimestamp"] = thing["metadata"]["creationTimestamp"]
        metadata["ownerReferences"] = [picked(owner, "apiVersion", "kind", "name", "controller") for owner in thing["metadata"]["ownerReferences"]]
        spec["podSets"] = [{**picked(pods, "name", "count", "minCount"), "template": pod_template(pods["template"])} for pods in spec["podSets"]]
        status["conditions"] = [picked(entry, "type", "status", "message") for entry in thing.get("status", {}).get("conditions", [])]
    if thing["kind"] == "ClusterQueue":
        status["flavorsReservation"] = [
            {"name": flavor["name"], "resources": [picked(resource, "name", "total") for resource in flavor["resources"]]}
            for flavor in thing.get("status", {}).get("flavorsReservation", [])]
    return {**picked(thing, "apiVersion", "kind"), "metadata": metadata, "spec": spec, **({"status": status} if status else {})}


def pod_template(template):
    spec = picked(template["spec"], "nodeSelector", "affinity", "tolerations", "restartPolicy")
    for key in ("initContainers", "containers"):
        if key in template["spec"]:
            spec[key] = [picked(container, "name", "resources", "restartPolicy") for container in template["spec"][key]]
    return {"spec": spec}


def record(arguments):
    """Makes the setups and writes what Kueue says; the folder."""
    folder = arguments.out / "kueue"
    folder.mkdir(parents=True, exist_ok=True)
    setups = [kueue_objects.Generator(f"{arguments.seed}/{number}", f"s{number:03}").setup() for number in range(arguments.setups)]
    with tempfile.TemporaryDirectory() as root:
        plane = Plane(Path(root))
        try:
            plane.begin(arguments.etcd, arguments.kube_apiserver)
            start_kueue(plane, arguments.kueue, arguments.crds)
            recorded = decide(plane, setups)
        finally:
            plane.stop()
    for target in filter(None, (folder, arguments.record)):
        target.mkdir(parents=True, exist_ok=True)
        write_lines(target / "setups.json", {}, "setups", recorded)
    return folder


def main():
    parser = parser_of(__doc__, "etcd", "kube-apiserver", "kueue", "crds")
    parser.add_argument("-setups", type=int, default=300)
    parser.add_argument("-record", type=Path, help="a folder for a copy of setups.json, as tests/data/kueue_admissions has it")
    run(parser, parser.parse_args(), record, kueue_answers.compare, "the setups")


if __name__ == "__main__":
    main()
