"""The nodes and pods that record_cluster.py posts: a cluster of every dialect that writes annotations, with a few mistakes.

Amounts and annotations are as the schedulers and device plugins write them: docs/dialects says where each is from.
"""

import json

A100 = "NVIDIA A100-SXM4-40GB"
NAMESPACES = ["research", "serving"]
CLASSES = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000}]


def node(name, annotations, resources, labels=None):
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "ephemeral-storage": "100Gi", **resources}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": annotations,
                         "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                                    "kubernetes.io/arch": "amd64", **(labels or {})}},
            "spec": {},
            "status": {"allocatable": amounts, "capacity": amounts,
                       "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                       "message": "kubelet is posting ready status",
                                       "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                                       "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}


def volcano_card(uuid, mode="hami-core", health="true"):
    return f"{uuid},10,40960,{A100},{health},{mode}:"


VGPU = {"volcano.sh/vgpu-number": "20", "volcano.sh/vgpu-memory": "81920", "volcano.sh/vgpu-cores": "200"}
ASCEND = [{"id": f"5F1A-{i}", "index": i, "count": 7, "devmem": 21527, "devcore": 8, "type": "Ascend310P", "health": True}
          for i in range(2)]
HAMI = [{"id": f"GPU-8dc5-{i}", "index": i, "count": 10, "devmem": 40960, "devcore": 100, "type": f"NVIDIA-{A100}",
         "mode": "hami-core", "health": True, "numa": i} for i in range(2)]
CCE = [{"id": f"GPU-cce-{i}", "model": "V100", "memory": 16160, "health": True} for i in range(2)]

NODES = [
    node("volcano-core", {"volcano.sh/node-vgpu-register": volcano_card("GPU-77aa-0") + volcano_card("GPU-77aa-1"),
                          "volcano.sh/node-vgpu-handshake": "Reported_2026-01-01 00:00:00"}, VGPU,
         {"example.com/rack": "r1", "example.com/generation": "3"}),
    node("volcano-mig", {"volcano.sh/node-vgpu-register": volcano_card("GPU-b1b1-0", "mig")}, VGPU,
         {"example.com/rack": "r2", "example.com/generation": "12"}),
    node("hami-0", {"hami.io/node-nvidia-register": json.dumps(HAMI),
                    "hami.io/node-handshake": "Reported 2026-01-01 00:00:00"}, {"nvidia.com/gpu": "20"}),
    node("npu-0", {"hami.io/node-register-Ascend310P": json.dumps(ASCEND)}, {"huawei.com/Ascend310P": "14"}),
    node("atlas-0", {"baseDeviceInfos": json.dumps({f"Ascend310P-{i}": {"IP": "", "SuperDeviceID": 0} for i in range(2)})},
         {"huawei.com/npu-core": "16"},
         {"accelerator": "huawei-Ascend310P", "servertype": "Ascend310P-8", "node.kubernetes.io/npu.chip.name": "310P3"}),
    node("cce-0", {"vgpualloc.io/cce-node-register": json.dumps(CCE)},
         {"volcano.sh/gpu-mem.128Mi": "252", "volcano.sh/gpu-core.percentage": "200"}, {"accelerator": "nvidia-v100"}),
    node("plain-0", {}, {"nvidia.com/gpu": "2"},
         {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/gpu.memory": "40960"}),
]

DEVICE_INFO = {"DeviceInfo": {"DeviceList": {"huawei.com/Ascend310P": "Ascend310P-0,Ascend310P-1",
                                             "huawei.com/Ascend310P-Unhealthy": ""}, "UpdateTime": 1767225600},
               "CheckCode": "0"}
CONFIG_MAPS = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mindx-dl-deviceinfo-atlas-0", "namespace": "kube-system"},
                "data": {"DeviceInfoCfg": json.dumps(DEVICE_INFO)}}]


def pod(name, limits, on=None, annotations=None, labels=None, ns="research", more=None, **spec):
    """`on`: the node that it is bound to; then it runs."""
    containers = [{"name": "main", "image": "registry.example.com/team/app:1.2", "resources": {"limits": limits}}]
    result = {"apiVersion": "v1", "kind": "Pod",
              "metadata": {"name": name, "namespace": ns, "annotations": annotations or {}, "labels": labels or {}},
              "spec": {"containers": containers + (more or []), "automountServiceAccountToken": False, **spec}}
    if on:
        result["spec"]["nodeName"] = on
    return result


def vgpu(memory, cores=0, number=1):
    limits = {"volcano.sh/vgpu-number": str(number), "volcano.sh/vgpu-memory": str(memory)}
    return {**limits, "volcano.sh/vgpu-cores": str(cores)} if cores else limits


def by_volcano(name, node_name, assigned, limits, **how):
    annotations = {"volcano.sh/vgpu-ids-new": assigned, "volcano.sh/devices-to-allocate": assigned,
                   "volcano.sh/vgpu-node": node_name, "volcano.sh/vgpu-time": "1767225600",
                   "volcano.sh/bind-phase": "success", "volcano.sh/bind-time": "1767225600"}
    annotations.update(how.pop("annotations", {}))
    return pod(name, limits, on=node_name, annotations=annotations, schedulerName="volcano", **how)


def by_hami(name, assigned, limits, **how):
    return pod(name, limits, on="hami-0", annotations={
        "hami.io/vgpu-devices-allocated": assigned, "hami.io/vgpu-devices-to-allocate": "", "hami.io/vgpu-node": "hami-0",
        "hami.io/vgpu-time": "1767225600", "hami.io/bind-phase": "success", "hami.io/bind-time": "1767225600"},
        schedulerName="hami-scheduler", **how)


ATLAS = {"ring-controller.atlas": "ascend-310P", "vnpu-dvpp": "null", "vnpu-level": "low"}
CCE_LIMITS = {"volcano.sh/gpu-mem.128Mi": "40", "volcano.sh/gpu-core.percentage": "25"}

RUNNING = [
    by_volcano("slice", "volcano-core", "GPU-77aa-0,NVIDIA,20480,40:", vgpu(20480, 40)),
    by_volcano("two-containers", "volcano-core", "GPU-77aa-0,NVIDIA,4096,10:;GPU-77aa-1,NVIDIA,8192,20:", vgpu(4096, 10),
               more=[{"name": "side", "image": "registry.example.com/team/side:1", "resources": {"limits": vgpu(8192, 20)}}]),
    by_volcano("instance", "volcano-mig", "GPU-b1b1-0[group1-0],NVIDIA,4096,0:", vgpu(4096),
               annotations={"volcano.sh/vgpu-mode": "mig"}, ns="serving"),
    by_hami("hami-slice", "GPU-8dc5-0,NVIDIA,10240,30:;",
            {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "10240", "nvidia.com/gpucores": "30"}),
    by_hami("hami-two", "GPU-8dc5-0,NVIDIA,8192,0:GPU-8dc5-1,NVIDIA,8192,0:;",
            {"nvidia.com/gpu": "2", "nvidia.com/gpumem": "8192"}, ns="serving"),
    pod("vir02", {"huawei.com/Ascend310P": "1", "huawei.com/Ascend310P-memory": "4096"}, on="npu-0", annotations={
        "hami.io/Ascend310P-devices-allocated": "5F1A-0,Ascend310P,6144,0:;", "hami.io/vgpu-node": "npu-0",
        "hami.io/bind-phase": "success"}, schedulerName="volcano"),
    pod("half-chip", {"huawei.com/npu-core": "4"}, on="atlas-0", labels=ATLAS,
        annotations={"huawei.com/npu-core": "0-vir04", "huawei.com/AscendReal": "Ascend310P-4c-100-0_1",
                     "predicate-time": "1767225600000000000"}, schedulerName="volcano"),
    pod("whole-chip", {"huawei.com/npu-core": "8"}, on="atlas-0", labels=ATLAS,
        annotations={"huawei.com/npu-core": "1", "predicate-time": "1767225600000000000"}, schedulerName="volcano"),
    pod("cce-slice", CCE_LIMITS, on="cce-0", annotations={"vgpualloc.io/cce-devices-allocated": "GPU-cce-0,5120,25:;"},
        schedulerName="volcano"),
    pod("by-kubelet", {"nvidia.com/gpu": "1"}, on="plain-0"),
    # What cannot be true: two that have more of a card than there is, a card and a node that are not there, and a pod
    # that Volcano bound without an annotation, as version 1.15.1 does just after its start. Of whole-chip above the
    # device plugin has not said yet what it really got.
    by_volcano("greedy", "volcano-core", "GPU-77aa-1,NVIDIA,40960,100:", vgpu(40960, 100)),
    by_volcano("astray", "volcano-core", "GPU-77aa-9,NVIDIA,1024,0:", vgpu(1024)),
    by_volcano("lost", "volcano-gone", "GPU-0000-0,NVIDIA,1024,0:", vgpu(1024)),
    pod("mute", vgpu(2048), on="volcano-core", schedulerName="volcano"),
]

NUMBERED = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "example.com/generation", "operator": "Gt", "values": ["9"]}]}]}}}
GANG = {"scheduling.k8s.io/group-name": "train"}

WAITING = [
    pod("waits-small", vgpu(4096), schedulerName="volcano"),
    pod("waits-big", vgpu(40000, 100), schedulerName="volcano", priorityClassName="urgent"),
    pod("waits-rack", vgpu(1024), schedulerName="volcano", nodeSelector={"example.com/rack": "r2"}, ns="serving"),
    pod("waits-new", vgpu(1024), schedulerName="volcano", affinity=NUMBERED),
    pod("waits-card", vgpu(1024), schedulerName="volcano", annotations={"volcano.sh/vgpu-use-gpuuuid": "GPU-77aa-0"}),
    pod("train-0", vgpu(8192), schedulerName="volcano", annotations=GANG),
    pod("train-1", vgpu(8192), schedulerName="volcano", annotations=GANG),
    pod("waits-hami", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "20480"}, schedulerName="hami-scheduler",
        annotations={"nvidia.com/use-gputype": "A100"}),
    pod("waits-npu", {"huawei.com/Ascend310P": "1", "huawei.com/Ascend310P-memory": "8192"}, schedulerName="volcano"),
    pod("waits-chip", {"huawei.com/npu-core": "2"}, labels=ATLAS, schedulerName="volcano"),
    pod("waits-cce", CCE_LIMITS, schedulerName="volcano", ns="serving"),
    pod("waits-gpu", {"nvidia.com/gpu": "1"}, tolerations=[{"operator": "Exists"}]),
]
