"""Objects of clusters for tests of the command line: Kubernetes objects as kubectl prints them, as values."""

A100 = "NVIDIA A100-SXM4-40GB"


def node(name, annotations=None, cpu="16", memory="64Gi", labels=None, taints=None, **allocatable):
    """`allocatable`: resources with their '_' for '.' and '__' for '/'."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    amounts.update({key.replace("__", "/").replace("_", "."): value for key, value in allocatable.items()})
    result = {"apiVersion": "v1", "kind": "Node",
              "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})},
                           "annotations": annotations or {}},
              "status": {"allocatable": amounts, "capacity": amounts,
                         "conditions": [{"type": "Ready", "status": "True"}]}}
    if taints:
        result["spec"] = {"taints": taints}
    return result


def gpu_node(name, cards=2, mode="hami-core", **how):
    """Cards of 40 GiB in the words of dialect volcano_vgpu: GPU-<node>-0, …"""
    register = "".join(f"GPU-{name}-{i},10,40960,{A100},true,{mode}:" for i in range(cards))
    node_object = node(name, {"volcano.sh/node-vgpu-register": register}, **how)
    for amounts in (node_object["status"]["allocatable"], node_object["status"]["capacity"]):
        amounts.update({"volcano.sh/vgpu-number": str(10 * cards), "volcano.sh/vgpu-memory": str(40960 * cards),
                        "volcano.sh/vgpu-cores": str(100 * cards)})
    return node_object


def vgpu(memory, number=1, cores=0, cpu="1"):
    limits = {"volcano.sh/vgpu-number": str(number), "volcano.sh/vgpu-memory": str(memory), "cpu": cpu}
    if cores:
        limits["volcano.sh/vgpu-cores"] = str(cores)
    return limits


def pod(name, limits, on=None, annotations=None, ns="team", created=None, labels=None, **spec):
    result = {"apiVersion": "v1", "kind": "Pod",
              "metadata": {"name": name, "namespace": ns, "annotations": annotations or {}, "labels": labels or {}},
              "spec": {"containers": [{"name": "main", "image": "registry.internal/secret:1",
                                       "resources": {"limits": limits, "requests": dict(limits)}}], **spec}}
    if created:
        result["metadata"]["creationTimestamp"] = created
    if on:
        result["spec"]["nodeName"] = on
        result["status"] = {"phase": "Running"}
    return result


def controlled(pod_object):
    """The pod, which a ReplicaSet makes again once it is evicted."""
    pod_object["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "s", "controller": True}]
    return pod_object


def on_card(name, node_name, card, memory, cores=0, **how):
    """A pod that runs on one card of a gpu_node, and that a ReplicaSet makes again once it is evicted."""
    assigned = f"GPU-{node_name}-{card},NVIDIA,{memory},{cores}:"
    return controlled(pod(name, vgpu(memory, cores=cores), on=node_name, annotations={"volcano.sh/vgpu-ids-new": assigned}, **how))


def cluster(*objects):
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}
