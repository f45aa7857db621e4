"""Which pods are made, with what, and which may be evicted: vgpusim against kube-apiserver.

  policies.py --etcd PROGRAM --kube-apiserver PROGRAM --controllers PROGRAM --vgpusim PROGRAM --out DIR
              [-clusters 6] [-namespaces 6] [-pods 9] [-seed 1] [-record DIR]
  policies.py --replay DIR --vgpusim PROGRAM

Fills an API server with random ResourceQuotas, LimitRanges, PriorityClasses and PodDisruptionBudgets (policies_objects.py). The
controllers of kube-controller-manager for quotas and budgets write their status. Then pods are made, one after the other and
without being kept (dryRun), by Jobs several that are kept, and every pod that runs is evicted without being gone. vgpusim has to say the same of the
export: which pods are made and why not, with which priority and which requests, and which pods a budget keeps. It is asked again without the
status of quotas and budgets, which it then has to compute. Where a cluster's two files are kept, cluster-NN.json and
decisions-NN.json, --replay compares them again without a server.
"""
import json
import tempfile
import time
import urllib.error
from collections import Counter
from pathlib import Path

import policies_answers
import policies_objects
from policies_objects import CONTROLLERS
from rules import Plane, parser_of, picked, run, write_pair

KINDS = {"nodes": "/api/v1/nodes", "pods": "/api/v1/pods", "resourcequotas": "/api/v1/resourcequotas", "limitranges": "/api/v1/limitranges",
         "deployments": "/apis/apps/v1/deployments", "replicasets": "/apis/apps/v1/replicasets", "statefulsets": "/apis/apps/v1/statefulsets",
         "daemonsets": "/apis/apps/v1/daemonsets", "replicationcontrollers": "/api/v1/replicationcontrollers", "jobs": "/apis/batch/v1/jobs",
         "poddisruptionbudgets": "/apis/policy/v1/poddisruptionbudgets", "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses"}
CLASSES = KINDS["priorityclasses"]


def posted(plane, path, body):
    """(status, answer) of a POST."""
    try:
        return 201, plane.call("POST", path, body)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read().decode())


def listed(plane, kind, namespaces):
    page = plane.call("GET", KINDS[kind])
    things = [{"apiVersion": page["apiVersion"], **thing, "kind": page["kind"].removesuffix("List")} for thing in page["items"]]
    return [thing for thing in things if thing["metadata"].get("namespace", namespaces[0]) in namespaces]


def fill(plane, cluster):
    for kind in cluster.classes:
        plane.make(CLASSES, kind)
    for node in cluster.nodes:
        plane.make("/api/v1/nodes", node)
    for namespace in cluster.namespaces:
        plane.make("/api/v1/namespaces", {"metadata": {"name": namespace}})
    uids = {}

    def with_owner(thing):
        """The object as the API server takes it, with the uid of its controller."""
        owner = thing["metadata"].pop("owner", None)
        if owner:
            thing["metadata"]["ownerReferences"] = [{"apiVersion": policies_objects.VERSIONS.get(owner[0], "apps/v1"), "kind": owner[0], "name": owner[1],
                                                     "controller": True, "uid": uids[thing["metadata"]["namespace"], *owner]}]
        return thing

    for thing in cluster.controllers:
        created = plane.make(CONTROLLERS[thing["kind"]].format(thing["metadata"]["namespace"]), with_owner(thing))
        uids[thing["metadata"]["namespace"], thing["kind"], thing["metadata"]["name"]] = created["metadata"]["uid"]
    for pod in cluster.pods:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        pods = f"/api/v1/namespaces/{namespace}/pods"
        plane.make(pods, with_owner(pod))
        plane.patch(f"{pods}/{name}/status", {"status": pod["status"]})
        if (namespace, name) in cluster.leaving:
            plane.call("DELETE", f"{pods}/{name}", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 3600})


def limit(plane, cluster):
    """Makes what limits pods; those that the API server refuses are left out."""
    refused = 0
    for folder, things in (("/api/v1/namespaces/{}/limitranges", cluster.limits), ("/api/v1/namespaces/{}/resourcequotas", cluster.quotas),
                           ("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", cluster.budgets)):
        for thing in things:
            status, answer = posted(plane, folder.format(thing["metadata"]["namespace"]), thing)
            if status not in (201, 422):
                raise SystemExit(f"FAILED: {status} {answer}")
            refused += status != 201
    return refused


def settled(plane, namespaces):
    """The status of quotas and budgets once all have one; else None."""
    quotas, budgets = listed(plane, "resourcequotas", namespaces), listed(plane, "poddisruptionbudgets", namespaces)
    for quota in quotas:
        if quota["spec"]["hard"].keys() - quota.get("status", {}).get("used", {}).keys():
            return None
    for budget in budgets:
        conditions = {condition["type"]: condition for condition in budget.get("status", {}).get("conditions", [])}
        allowed = conditions.get("DisruptionAllowed")
        if not allowed or allowed["reason"] != "SyncFailed" and budget["status"].get("observedGeneration") != budget["metadata"]["generation"]:
            return None
    return [thing["status"] for thing in quotas + budgets]


def settle(plane, namespaces):
    """Waits until the status of all is what it was a second ago, by when the API server has heard of all as well."""
    for _ in range(60):
        before = settled(plane, namespaces)
        time.sleep(1)
        if before is not None and before == settled(plane, namespaces):
            return
    raise SystemExit("FAILED: the controllers wrote no status, or do not stop writing it")


def made(plane, probe):
    """What the API server does with a pod, or with the pods of a Job."""
    pods = f"/api/v1/namespaces/{probe['metadata']['namespace']}/pods"
    if probe["kind"] == "Pod":
        status, answer = posted(plane, f"{pods}?dryRun=All", probe)
        if status == 201:
            return {"pods": 1, "stored": answer["spec"]}
        return {"pods": 0, "status": status, "message": answer["message"]}
    number = probe["spec"]["parallelism"]
    for index in range(number):
        status, answer = posted(plane, pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"many-{index}"}, "spec": probe["spec"]["template"]["spec"]})
        if status != 201:
            return {"pods": index, "status": status, "message": answer["message"]}
    return {"pods": number}


def evicted(plane, pod):
    """Why the API server does not evict a pod; None: it does."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    status, answer = posted(plane, f"/api/v1/namespaces/{namespace}/pods/{name}/eviction?dryRun=All", {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}, "deleteOptions": {"dryRun": ["All"]}})
    if status == 201 and answer.get("status", "Success") == "Success":
        return None
    causes = [cause.get("message", "") for cause in answer.get("details", {}).get("causes", [])]
    return "; ".join([answer["message"], *causes])


def decide(plane, cluster):
    """(export, decisions, objects refused) of the API server."""
    fill(plane, cluster)
    time.sleep(1)  # the controllers hear of the pods
    refused = limit(plane, cluster)
    settle(plane, cluster.namespaces)
    items = []
    for kind in KINDS:
        items += listed(plane, kind, cluster.namespaces)
    for item in items:
        item["metadata"].pop("managedFields", None)
    bound = [item for item in items if item["kind"] == "Pod" and item["spec"].get("nodeName")]
    decisions = [{"pod": f"{pod['metadata']['namespace']}/{pod['metadata']['name']}", "kept": evicted(plane, pod)} for pod in bound]
    decisions += [{"made": probe, **made(plane, probe)} for probe in cluster.probes]
    for kind in cluster.classes:
        plane.call("DELETE", f"{CLASSES}/{kind['metadata']['name']}")
    plane.call("DELETE", "/api/v1/nodes")
    return items, decisions, refused


def shortened(item):
    """An object of the export with what the decisions depend on, and no more."""
    if item["kind"] == "PriorityClass":
        return {**picked(item, "apiVersion", "kind", "value", "globalDefault"), "metadata": picked(item["metadata"], "name")}
    result = {**picked(item, "apiVersion", "kind"), "metadata": picked(item["metadata"], "name", "namespace", "labels", "deletionTimestamp")}
    owners = [picked(owner, "apiVersion", "kind", "name", "controller") for owner in item["metadata"].get("ownerReferences", [])]
    if owners:
        result["metadata"]["ownerReferences"] = owners
    if item["kind"] == "Pod":
        result["spec"] = picked(item["spec"], "nodeName", "priorityClassName", "priority", "activeDeadlineSeconds", "resources", "affinity")
        for key in ("initContainers", "containers"):
            if key in item["spec"]:
                result["spec"][key] = [picked(container, "name", "resources", "restartPolicy") for container in item["spec"][key]]
        result["status"] = {**picked(item["status"], "phase"),
                            "conditions": [picked(condition, "type", "status") for condition in item["status"].get("conditions", [])]}
    elif item["kind"] == "PodDisruptionBudget":
        result.update(spec=item["spec"], status=picked(item["status"], "currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"))
    elif item["kind"] in ("ResourceQuota", "LimitRange"):
        result.update(picked(item, "spec", "status"))
    elif item["kind"] == "Node":
        result["status"] = {**picked(item["status"], "capacity", "allocatable"),
                            "conditions": [picked(condition, "type", "status") for condition in item["status"]["conditions"]]}
    else:
        result["spec"] = picked(item["spec"], "replicas", "parallelism", "completions", "selector", "template")
        for container in result["spec"].get("template", {}).get("spec", {}).get("containers", []):
            for key in ("imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"):
                container.pop(key, None)
    return result


def without_times(decision):
    if "stored" in decision:
        decision = {**decision, "stored": picked(decision["stored"], "priorityClassName", "priority", "resources") | {
            key: [picked(container, "name", "resources", "restartPolicy") for container in decision["stored"][key]]
            for key in ("initContainers", "containers") if key in decision["stored"]}}
    return decision


def compare(vgpusim, folder):
    """Compares all pairs of files in the folder; whether all is equal."""
    rows, lines = {}, []
    paths = sorted(folder.glob("decisions-*.json"))
    if not paths:
        raise SystemExit(f"FAILED: {folder} has no decisions")
    for path in paths:
        items = json.loads(path.with_name(path.name.replace("decisions", "cluster")).read_text(encoding="utf-8"))["items"]
        decisions = json.loads(path.read_text(encoding="utf-8"))["pods"]
        with tempfile.TemporaryDirectory() as scratch:
            for what, differences in policies_answers.differences(vgpusim, Path(scratch), items, decisions):
                rows.setdefault(what, Counter()).update(cases=1, differ=bool(differences))
                lines += [f"{path.stem} {line}" for line in differences]
    for line in lines:
        print(line)
    print(f"{'DECISION':44}  {'CASES':>5}  {'DIFFER':>6}")
    for what, row in sorted(rows.items()):
        print(f"{what:44}  {row['cases']:5}  {row['differ']:6}")
    differing = sum(row["differ"] for row in rows.values())
    print(f"{sum(row['cases'] for row in rows.values())} decisions on {len(paths)} clusters: {differing} differ")
    return not differing


def record(arguments):
    """Makes the clusters and writes what the API server decides; the folder."""
    folder = arguments.out / "policies"
    for old in folder.glob("*.json"):
        old.unlink()
    refused = 0
    with tempfile.TemporaryDirectory() as root:
        plane = Plane(Path(root))
        try:
            plane.begin(arguments.etcd, arguments.kube_apiserver)
            plane.start("controllers", arguments.controllers, f"--kubeconfig={plane.kubeconfig()}")
            for number in range(arguments.clusters):
                generator = policies_objects.Generator(f"{arguments.seed}/{number}", f"r{number}")
                cluster = generator.cluster(arguments.namespaces, arguments.namespaces, arguments.pods)
                items, decisions, without = decide(plane, cluster)
                refused += without
                items, decisions = list(map(shortened, items)), list(map(without_times, decisions))
                write_pair(folder, number, items, decisions)
                if arguments.record:
                    write_pair(arguments.record, number, items, decisions)
        finally:
            plane.stop()
    print(f"the API server refused {refused} of the quotas, limit ranges and budgets that were drawn")
    return folder


def main():
    parser = parser_of(__doc__, "etcd", "kube-apiserver", "controllers")
    parser.add_argument("-clusters", type=int, default=6)
    parser.add_argument("-namespaces", type=int, default=6, help="namespaces with quotas, and as many with budgets, in a cluster")
    parser.add_argument("-pods", type=int, default=9, help="pods that are made in a namespace, beside those of a Job")
    parser.add_argument("-record", type=Path, help="a folder for copies of the files, as tests/data/kube_apiserver_policies has them")
    arguments = parser.parse_args()
    run(parser, arguments, record, compare, "clusters and decisions")


if __name__ == "__main__":
    main()
