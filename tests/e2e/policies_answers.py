"""What vgpusim says of pods that are made or evicted, compared with what kube-apiserver did (policies.py)."""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from policies_objects import amount

STATUS_KINDS = ("ResourceQuota", "PodDisruptionBudget")


def answer(vgpusim, *arguments):
    done = subprocess.run([vgpusim, *arguments, "--json"], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        return {"error": done.stderr.strip() or f"exit code {done.returncode}"}
    return json.loads(done.stdout)


def write(path, items):
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return path


def without_status(items):
    return [{key: value for key, value in item.items() if key != "status"} if item["kind"] in STATUS_KINDS else item for item in items]


# ------------------------------------------------------------------------------------------------- why a pod is not made


def amounts_of(text):
    """"cpu=2,pods=1" as amounts."""
    return {key: amount(value) for key, _, value in (part.partition("=") for part in text.split(","))}


def their_refusal(decision):
    """(kind, object that refuses, details) of the API server's message."""
    message = decision["message"]
    exceeded = re.search(r"exceeded quota: ([^,]+), requested: (\S+), used: (\S+), limited: (\S+)$", message)
    if exceeded:
        return "quota exceeded", exceeded[1], tuple(map(amounts_of, exceeded.groups()[1:]))
    silent = re.search(r"failed quota: ([^:]+): must specify (.*)$", message)
    if silent:
        parts = (part.partition(" for: ") for part in silent[2].split("; "))
        return "quota demands", silent[1], {resource: containers.split(",") for resource, _, containers in parts}
    if decision["status"] == 422:
        return "not valid", None, message
    if "PriorityClass" in message:
        return "priority", None, message
    return "limit range", None, " ".join(message.split())


def our_refusal(entry):
    """The same of vgpusim's; None: the pod is made."""
    quota = entry["quota"]
    if quota and quota["container"]:
        return "quota demands", quota["quota"], {quota["resource"]: [quota["container"]]}
    if quota:
        return "quota exceeded", quota["quota"], tuple({quota["resource"]: amount(quota[key])} for key in ("needed", "used", "hard"))
    refused = re.search(r"(?:got '(.*)',|: ([^:]*);) expected (a pod that LimitRange|a pod that the API server|a PriorityClass|the priority) ?(\S*)", entry["why"])
    if not refused:
        return None
    kind = {"a pod that LimitRange": "limit range", "a pod that the API server": "not valid"}.get(refused[3], "priority")
    return kind, refused[4], " ".join((refused[1] or refused[2]).split())


def is_of(ours, theirs):
    """Whether our reason, which is one, is among theirs."""
    if ours[0] != theirs[0]:
        return False
    if ours[0] == "limit range":
        return ours[2] in theirs[2]
    if ours[0] in ("priority", "not valid"):
        return True
    if ours[1] != theirs[1]:
        return False
    if ours[0] == "quota demands":
        return all(set(containers) <= set(theirs[2].get(resource, [])) for resource, containers in ours[2].items())
    return all(our.items() <= their.items() for our, their in zip(ours[2], theirs[2]))


class Cluster:
    """The objects of an export, to ask vgpusim about."""

    def __init__(self, vgpusim, scratch, items, label):
        self.vgpusim, self.scratch, self.items, self.label = vgpusim, scratch, items, label
        self.file = write(scratch / f"{label}.json", items)

    def added(self, probe):
        """What vgpusim says of a pod, or of the pods of a Job, if it is made."""
        name = f"{probe['metadata']['namespace']}-{probe['metadata']['name']}-{self.label}"
        file = write(self.scratch / f"{name}-pod.json", [probe])
        result = answer(self.vgpusim, "whatif", self.file, "--add-pods", file)
        if "error" in result:
            return {"quota": None, "why": result["error"], "error": result["error"]}
        [entry] = [pod for pod in result["pods"] if pod["origin"] == "added"]
        return entry

    def without(self, kind, namespace, name):
        rest = [item for item in self.items if (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) != (kind, namespace, name)]
        return Cluster(self.vgpusim, self.scratch, rest, f"{self.label}-{namespace}-without-{name}")

    def drained(self):
        """Why pods stay on their nodes, by pod."""
        nodes = ",".join(item["metadata"]["name"] for item in self.items if item["kind"] == "Node")
        return {pod["pod"]: pod["why"] for pod in answer(self.vgpusim, "whatif", self.file, "--drain", nodes)["not_evicted"]}

    def planned(self):
        """The same of the pods that a plan may move."""
        plan = answer(self.vgpusim, "plan", self.file, "--consolidate", "nodes", "--move-bare-pods", "--steps", "1")
        return {pod["pod"]: pod["why"] for pod in plan["not_evictable"]}


def refusal_differences(cluster, decision, entry):
    """Lines that say how the reasons differ for which a pod is not made, or no more pods of a Job are."""
    probe = decision["made"]
    namespace = probe["metadata"]["namespace"]
    theirs = their_refusal(decision) if "message" in decision else None
    ours = our_refusal(entry)
    if ours is None or theirs is None:
        if ours is theirs:
            return []
        return [f"made otherwise: kube-apiserver: {decision.get('message', 'takes it')}; vgpusim: {entry['why'] or 'takes it'}"]
    seen = 0
    while not is_of(ours, theirs) and ours[0] == theirs[0] and ours[1] and seen < 3:
        # Of several that refuse a pod, the API server names any first: the others have to be its as well.
        cluster = cluster.without("LimitRange" if ours[0] == "limit range" else "ResourceQuota", namespace, ours[1])
        ours = our_refusal(cluster.added(probe)) or ("none", None, None)
        seen += 1
    if is_of(ours, theirs):
        return []
    return [f"other reason: kube-apiserver: {decision['message']}; vgpusim: {our_refusal(entry)}, then {ours}"]


# ----------------------------------------------------------------------------------------------- what a pod is made with


def at_once(spec, resource):
    """What a pod as stored requests of CPU or memory."""
    def of(container):
        return amount(container.get("resources", {}).get("requests", {}).get(resource, 0))

    running = sum(map(of, spec["containers"]))
    sidecars = most = 0
    for container in spec.get("initContainers", []):
        if container.get("restartPolicy") == "Always":
            running += of(container)
            sidecars += of(container)
            most = max(most, sidecars)
        else:
            most = max(most, sidecars + of(container))
    own = spec.get("resources", {}).get("requests", {}).get(resource)
    return max(running, most) if own is None else amount(own)


def devices(spec):
    """What containers that stay have of devices, by resource."""
    result = {}
    for container in spec["containers"] + [one for one in spec.get("initContainers", []) if one.get("restartPolicy") == "Always"]:
        for resource, number in container.get("resources", {}).get("limits", {}).items():
            if "/" in resource and number != "0":
                result[resource] = result.get(resource, 0) + int(number)
    return result


def stored_differences(cluster, decision, entry):
    stored, probe = decision["stored"], decision["made"]
    lines = []
    if entry["priority"] != stored["priority"]:
        lines.append(f"priority {stored['priority']}, vgpusim: {entry['priority']}")
    name = f"{probe['metadata']['namespace']}-{probe['metadata']['name']}"
    explained = answer(cluster.vgpusim, "explain", cluster.file, "--pod", write(cluster.scratch / f"{name}-explained.json", [probe]))
    if "error" in explained:
        return [*lines, f"explain: {explained['error']}"]
    pod = explained["pod"]
    theirs = (at_once(stored, "cpu"), at_once(stored, "memory") // 1000 >> 20)
    if theirs != (pod["cpu_milli"], pod["memory_mib"]):
        lines.append(f"requests {theirs[0]}m CPU and {theirs[1]} MiB, vgpusim: {pod['cpu_milli']}m and {pod['memory_mib']} MiB")
    return lines


# ----------------------------------------------------------------------------------------------------------- evictions


def is_kept_alike(theirs, ours):
    if theirs is None or ours is None:
        return theirs is ours
    if "more than one PodDisruptionBudget" in theirs:
        return ours.startswith("several PodDisruptionBudgets")
    named = re.search(r"The disruption budget (\S+) ", theirs)
    return bool(named) and ours == f"PodDisruptionBudget {named[1]} allows no disruption"


def owner_of(pod):
    return next((owner["kind"] for owner in pod["metadata"].get("ownerReferences", [])), None)


def eviction_differences(cluster, decisions, suffix):
    pods = {f"{item['metadata']['namespace']}/{item['metadata']['name']}": item for item in cluster.items if item["kind"] == "Pod"}
    drained, planned = cluster.drained(), cluster.planned()
    for decision in decisions:
        name, theirs = decision["pod"], decision["kept"]
        pod = pods[name]
        if owner_of(pod) == "DaemonSet":
            continue  # a drain leaves them, and a plan does not move them
        lines = []
        if not is_kept_alike(theirs, drained.get(name)):
            lines.append(f"{name} {owner_of(pod)} whatif --drain{suffix}: kube-apiserver: {theirs}; vgpusim: {drained.get(name)}")
        moves = pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
        if not is_kept_alike(theirs if moves else None, planned.get(name)):
            lines.append(f"{name} {owner_of(pod)} plan{suffix}: kube-apiserver: {theirs}; vgpusim: {planned.get(name)}")
        yield ("pod kept by a budget" if theirs else "pod evicted") + suffix, lines


def made_differences(cluster, decision, suffix):
    probe = decision["made"]
    entry = cluster.added(probe)
    lines = refusal_differences(cluster, decision, entry)
    what = "pod made" if "message" not in decision else f"pod refused: {their_refusal(decision)[0]}"
    if probe["kind"] == "Job":
        what = f"pods of a Job, {'all' if 'message' not in decision else 'some' if decision['pods'] else 'none'} made"
        held = entry.get("held_back", 0)
        ours = 0 if our_refusal(entry) and not entry["quota"] else probe["spec"]["parallelism"] - held
        if not lines and ours != decision["pods"]:
            lines.append(f"{decision['pods']} of {probe['spec']['parallelism']} pods are made, vgpusim: {ours}")
    elif not lines and "stored" in decision:
        lines = stored_differences(cluster, decision, entry)
    name = f"{probe['metadata']['namespace']}/{probe['metadata']['name']}"
    return what + suffix, [f"{name}{suffix}: {line}" for line in lines]


def differences(vgpusim, scratch, items, decisions):
    """(what was decided, lines that say what differs) of each decision, with the status of quotas and budgets and without it."""
    for suffix, objects in (("", items), (", no status", without_status(items))):
        cluster = Cluster(vgpusim, scratch, objects, "cluster" if not suffix else "no-status")
        yield from eviction_differences(cluster, [decision for decision in decisions if "kept" in decision], suffix)
        with ThreadPoolExecutor(2) as pool:
            yield from pool.map(lambda decision: made_differences(cluster, decision, suffix),
                                [decision for decision in decisions if "made" in decision])
