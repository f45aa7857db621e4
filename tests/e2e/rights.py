"""The scheduler with the rights that the chart gives it, and no others, against a real API server.

  rights.py --etcd PROGRAM --kube-apiserver PROGRAM --scheduler PROGRAM

Starts both on loopback with RBAC, makes the objects that the chart renders (but those that run something), and runs the
scheduler as the chart's service account with the chart's configuration. Pods are placed, refused and preempted, a node and its
topology go, leadership is taken. It fails if a pod is not where it should be, or if the API server refused anything.
"""
import argparse
import json
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "delivery"))
import support

NAMESPACE, ACCOUNT = "volcano-system", "vgpualloc-scheduler"
GROUP_OF = {"Role": "/apis/rbac.authorization.k8s.io/v1", "RoleBinding": "/apis/rbac.authorization.k8s.io/v1",
            "ClusterRole": "/apis/rbac.authorization.k8s.io/v1", "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """etcd and kube-apiserver in a folder of their own."""

    def __init__(self, root):
        self.root, self.programs, self.port, self.token = root, [], free_port(), "admin"

    def begin(self, etcd, apiserver, *arguments):
        store, peers = free_port(), free_port()
        (self.root / "tokens.csv").write_text(
            'admin,admin,admin,"system:masters"\n'
            f'scheduler,system:serviceaccount:{NAMESPACE}:{ACCOUNT},scheduler,"system:serviceaccounts,system:authenticated"\n')
        subprocess.run(["openssl", "genrsa", "-out", self.root / "sa.key", "2048"], check=True, capture_output=True)
        self.start("etcd", etcd, f"--data-dir={self.root}/etcd", f"--listen-client-urls=http://127.0.0.1:{store}",
                   f"--advertise-client-urls=http://127.0.0.1:{store}", f"--listen-peer-urls=http://127.0.0.1:{peers}",
                   f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
                   f"--initial-cluster=default=http://127.0.0.1:{peers}", "--unsafe-no-fsync")
        self.start("apiserver", apiserver, f"--etcd-servers=http://127.0.0.1:{store}", "--bind-address=127.0.0.1",
                   "--advertise-address=127.0.0.1", f"--secure-port={self.port}", f"--cert-dir={self.root}/certificates",
                   "--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://kubernetes.default.svc",
                   f"--service-account-key-file={self.root}/sa.key", f"--service-account-signing-key-file={self.root}/sa.key",
                   f"--token-auth-file={self.root}/tokens.csv", "--authorization-mode=RBAC",
                   "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--endpoint-reconciler-type=none",
                   *arguments)
        self.until("the API server is ready", lambda: self.call("GET", "/readyz") == "ok", 90)

    def start(self, name, program, *arguments):
        with open(self.root / f"{name}.log", "wb") as log:
            self.programs.append(subprocess.Popen([program, *arguments], stdout=log, stderr=log))
        return self.programs[-1]

    def stop(self):
        for program in reversed(self.programs):
            program.terminate()
        for program in reversed(self.programs):
            program.wait(30)

    def until(self, what, holds, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if holds():
                    return
            except (urllib.error.URLError, OSError):
                pass
            if any(program.poll() is not None for program in self.programs):
                break
            time.sleep(0.2)
        logs = "\n".join(f"--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:])
                         for path in self.root.glob("*.log"))
        raise SystemExit(f"FAILED: not so after {seconds} s: {what}\n{logs}")

    def call(self, verb, path, body=None, kind="application/json"):
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", data, method=verb, headers={
            "Authorization": f"Bearer {self.token}", "Content-Type": kind})
        context = ssl._create_unverified_context()
        with urllib.request.urlopen(request, timeout=20, context=context) as answer:
            text = answer.read().decode()
        return json.loads(text) if text.startswith("{") else text

    def make(self, path, body, kind="application/json"):
        try:
            return self.call("POST", path, body, kind)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"FAILED: POST {path}: {error.read().decode()[:500]}") from error


def path_of(made):
    namespace = made["metadata"].get("namespace")
    base = GROUP_OF.get(made["kind"], "/api/v1")
    plural = {"ServiceAccount": "serviceaccounts", "ConfigMap": "configmaps"}.get(made["kind"], made["kind"].lower() + "s")
    return f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}"


def node(name):
    offered = {"cpu": "8", "memory": "16Gi", "pods": "110", "volcano.sh/vgpu-number": "10", "volcano.sh/vgpu-memory": "16384",
               "volcano.sh/vgpu-cores": "100"}
    return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "annotations": {
        "volcano.sh/node-vgpu-register": f"GPU-{name},10,16384,NVIDIA,true,hami-core:"}},
        "status": {"capacity": offered, "allocatable": offered, "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name, memory, priority, **spec):
    limits = {"cpu": "1", "memory": "1Gi", "volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": str(memory)}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "annotations": {"scheduling.k8s.io/group-name": name},
            "labels": {"volcano.sh/preemptable": "true"}},
            "spec": {"schedulerName": "volcano", "priorityClassName": priority, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "none", "resources": {"limits": limits}}], **spec}}


def run(server, scheduler):
    """What happens to the cluster, with what has to come of it; the metrics at the end."""
    volcano = support.module_folder("volcano.sh/volcano")
    for path in sorted((volcano / "config/crd/volcano/bases").glob("*.yaml")):
        server.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", path.read_bytes(), "application/yaml")
    server.make("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    # Priorities make the example more than allocation; preemption needs its action.
    conf = (support.CHART / "files/volcano-scheduler.conf").read_text(encoding="utf-8").replace(
        'actions: "enqueue, allocate, backfill"', 'actions: "enqueue, allocate, preempt, backfill"').replace(
        "# deviceshare.NodeLockEnable: true", "deviceshare.NodeLockEnable: true")
    values = {**support.LEAST, "deviceConfig": {"create": True}}
    values["scheduler"] = {**values["scheduler"], "configMap": {"text": conf}, "rbac": {"nodeLock": True}}
    objects, error = support.render(values, namespace=NAMESPACE)
    if objects is None:
        raise SystemExit(f"FAILED: the chart: {error}")
    for made in objects:
        if made["kind"] not in ("Deployment", "Service"):
            server.make(path_of(made), made)
    for name, value in (("low", 10), ("high", 1000)):
        server.make("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
    for name in ("a", "b"):
        server.make("/api/v1/nodes", node(name))
        server.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": node(name)["status"]}, "application/merge-patch+json")
    # In a folder of its own: Volcano reads the configuration again whenever something in its folder changes.
    (server.root / "config").mkdir()
    (server.root / "config/volcano-scheduler.conf").write_text(conf)
    (server.root / "kubeconfig").write_text(json.dumps({
        "kind": "Config", "apiVersion": "v1", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{server.port}", "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": "scheduler"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}))
    [deployment] = support.of_kind(objects, "Deployment")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    metrics = free_port()
    changed = {"--scheduler-conf": f"{server.root}/config/volcano-scheduler.conf", "--listen-address": f"127.0.0.1:{metrics}",
               "--healthz-address": f"127.0.0.1:{free_port()}"}
    arguments = [f"{name}={changed.get(name, value)}" if value else name
                 for name, _, value in (argument.partition("=") for argument in container["args"])]
    server.start("scheduler", scheduler, f"--kubeconfig={server.root}/kubeconfig", *arguments)
    queues = "/apis/scheduling.volcano.sh/v1beta1/queues"
    server.until("the scheduler has made its queues", lambda: {found["metadata"]["name"] for found in
                                                               server.call("GET", queues)["items"]} >= {"root", "default"})
    for name in ("root", "default"):  # what Volcano's controllers do
        server.call("PATCH", f"{queues}/{name}/status", {"status": {"state": "Open"}}, "application/merge-patch+json")

    pods = "/api/v1/namespaces/default/pods"

    def submit(made):
        group = {"kind": "PodGroup", "apiVersion": "scheduling.volcano.sh/v1beta1", "metadata": {"name": made["metadata"]["name"]},
                 "spec": {"minMember": 1, "queue": "default", "priorityClassName": made["spec"]["priorityClassName"]}}
        server.make("/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups", group)
        server.make(pods, made)

    def where(name):
        return server.call("GET", f"{pods}/{name}")["spec"].get("nodeName")

    def unlock():
        """What the device plugin does when it has served a pod."""
        for name in ("a", "b"):
            server.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"hamivgpu": None, "gpu": None,
                        "hami.io/mutex.lock": None}}}, "application/merge-patch+json")

    def as_metrics_say(line):
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=20) as answer:
            return line in answer.read().decode()

    example = re.search(r"```yaml\n(apiVersion: v1\nkind: Pod\n.*?)```", (support.SOURCE / "docs/deploy/install.md").read_text(encoding="utf-8"),
                        re.DOTALL)[1]
    server.make(pods, example.encode(), "application/yaml")
    # What Volcano's controllers do for a pod of their scheduler's name.
    server.make("/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups", {
        "kind": "PodGroup", "apiVersion": "scheduling.volcano.sh/v1beta1", "metadata": {"name": "podgroup-1"},
        "spec": {"minMember": 1, "queue": "default"}})
    server.call("PATCH", f"{pods}/half-a-gpu", {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "podgroup-1"}}},
                "application/merge-patch+json")
    server.until("the pod of docs/deploy/install.md is bound", lambda: where("half-a-gpu"))
    assert "volcano.sh/vgpu-ids-new" in server.call("GET", f"{pods}/half-a-gpu")["metadata"]["annotations"]
    server.call("DELETE", f"{pods}/half-a-gpu", {"gracePeriodSeconds": 0})
    unlock()

    submit(pod("large", 20000, "low"))
    server.until("the pod that fits nowhere is told why", lambda: any(
        found["involvedObject"]["name"] == "large" and "20000" in found["message"]
        for found in server.call("GET", "/api/v1/namespaces/default/events")["items"]))
    for path in (pods, "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"):
        server.call("DELETE", f"{path}/large")
    # An edit that leaves out the plugin does not hold, and what held before still does.
    refused = 'vgpualloc_configuration_refused{configuration="scheduler"}'
    (server.root / "config/volcano-scheduler.conf").write_text(conf.replace("- name: vgpualloc", "- name: deviceshare"))
    server.until("a configuration without the plugin is refused", lambda: as_metrics_say(f"{refused} 1"))
    for name in ("first", "second"):
        submit(pod(name, 12000, "low"))
        server.until(f"pod {name} is bound", lambda name=name: where(name))
        held = server.call("GET", f"{pods}/{name}")
        assert "volcano.sh/vgpu-ids-new" in held["metadata"]["annotations"], held["metadata"]
        server.call("PATCH", f"{pods}/{name}/status", {"status": {"phase": "Running"}}, "application/merge-patch+json")
        unlock()
    (server.root / "config/volcano-scheduler.conf").write_text(conf)
    server.until("it is mended", lambda: as_metrics_say(f"{refused} 0"))
    submit(pod("urgent", 12000, "high"))

    def evicted():
        unlock()
        return len([found for found in server.call("GET", pods)["items"]
                    if found["metadata"]["name"] in ("first", "second") and not found["metadata"].get("deletionTimestamp")]) == 1

    server.until("room is made for the urgent pod", evicted, 60)
    server.until("the urgent pod is bound", lambda: where("urgent"), 60)
    lease = server.call("GET", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/volcano")
    assert lease["spec"]["holderIdentity"]
    topologies = "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies"
    server.make(topologies, {"kind": "Numatopology", "apiVersion": "nodeinfo.volcano.sh/v1alpha1", "metadata": {"name": "b"}, "spec": {
        "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "none"}, "numares": {"cpu": {"allocatable": "0-7", "capacity": 8}}}})
    time.sleep(2)
    server.call("DELETE", "/api/v1/nodes/b")
    server.until("the topology of a node that is gone is deleted", lambda: not server.call("GET", topologies)["items"])
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=20) as answer:
        return answer.read().decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("etcd", "kube-apiserver", "scheduler"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            server.begin(arguments.etcd, arguments.kube_apiserver)
            metrics = run(server, arguments.scheduler)
            log = (server.root / "scheduler.log").read_text(errors="replace")
            words = r"[^\n]*(?:forbidden|cannot (?:list|get|watch|create|update|patch|delete))[^\n]*"
            refused = sorted(set(re.findall(words, log)))
            if refused:
                raise SystemExit("FAILED: the API server refused\n" + "\n".join(refused[:10]))
            if "vgpualloc_device_info" not in metrics:
                raise SystemExit("FAILED: no metrics of devices")
            print("the scheduler works with the chart's rights: placed, refused, preempted, a node gone; nothing was refused")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
