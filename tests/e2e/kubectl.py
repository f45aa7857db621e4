"""kubectl's plugin against a real API server, as users who may only get and list.

  kubectl.py --etcd PROGRAM --kube-apiserver PROGRAM --kubectl-vgpu PROGRAM --vgpusim PROGRAM [--kubectl PROGRAM]

Fills an API server with the cluster of scenarios/clusters/atlas.json and 600 pods without devices, so that pods take two pages.
It fails if an answer has not the bytes of vgpusim's on the export of that moment, if the API server saw another verb than get and
list, or refused the user something, or if a user without the rights is told anything but which they lack. With a kubectl the
export is also compared with its own, and the plugin is called by it.
"""
import argparse
import json
import os
import pty
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
from pathlib import Path

from rights import Server, support

NAMESPACE = "tools"
VIEWER = f"system:serviceaccount:{NAMESPACE}:viewer"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
FOLDERS = {"Node": "/api/v1/nodes", "Pod": "/api/v1/namespaces/{}/pods", "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
           "Job": "/apis/batch/v1/namespaces/{}/jobs"}
# What the plugin lists, in its order, as one would name it to kubectl get.
LISTS = ("/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces", "/api/v1/resourcequotas", "/apis/batch/v1/jobs", "/api/v1/limitranges",
         "/apis/policy/v1/poddisruptionbudgets", "/apis/scheduling.k8s.io/v1/priorityclasses", "/apis/resource.k8s.io/v1/deviceclasses",
         "/apis/resource.k8s.io/v1/resourceslices")
QUESTIONS = ("show", "show -o wide --all", "show --json", "show -l zone=z", "show -n train --by owner", "why", "why --json",
             "why train/llm-3", "whatif --uncordon a100-3 --set-mode mig-2=mig:all-balanced", "whatif --drain a100-1 --json",
             "plan --pod train/llm-3", "plan --consolidate nodes")
POLICY = f"""apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {{level: Metadata, users: ["{VIEWER}"]}}
- {{level: None}}
"""


def expect(holds, *words):
    if not holds:
        raise SystemExit("FAILED: " + "\n".join(str(word) for word in words))


def fill(server):
    """The objects of atlas, as those who make them would: status apart, and the quota after the pods that it would refuse."""
    objects = json.loads((support.SOURCE / "scenarios/clusters/atlas.json").read_text(encoding="utf-8"))["items"]
    for namespace in sorted({thing["metadata"].get("namespace", NAMESPACE) for thing in objects} | {NAMESPACE, "team-a"}):
        server.make("/api/v1/namespaces", {"metadata": {"name": namespace}})
    for thing in objects:
        folder = FOLDERS[thing["kind"]].format(thing["metadata"].get("namespace"))
        server.make(folder, thing)
        if thing.get("status"):
            server.call("PATCH", f"{folder}/{thing['metadata']['name']}/status", {"status": thing["status"]},
                        "application/merge-patch+json")
    for number in range(600):
        server.make("/api/v1/namespaces/team-a/pods", {"metadata": {"name": f"web-{number:03}"}, "spec": {
            "nodeName": "a100-2", "containers": [{"name": "main", "image": "x"}]}})


def account(server, name, rules=None):
    """Makes a user who may do what rules of a role in team-a allow; the kubeconfig. Without rules: adapters/kubectl/rbac.yaml."""
    server.make(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": name}})
    who = [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}]

    def bind(folder, kind, role):
        server.make(f"{RBAC}/{folder}", {"metadata": {"name": name}, "subjects": who, "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}})

    if rules is None:
        texts = (support.SOURCE / "adapters/kubectl/rbac.yaml").read_text(encoding="utf-8").split("\n---\n")
        server.make(f"{RBAC}/clusterroles", texts[0].encode(), "application/yaml")
        server.make(f"{RBAC}/namespaces/kube-system/roles", texts[1].encode(), "application/yaml")
        bind("clusterrolebindings", "ClusterRole", "vgpu-view")
        bind("namespaces/kube-system/rolebindings", "Role", "vgpu-view")
    else:
        server.make(f"{RBAC}/namespaces/team-a/roles", {"metadata": {"name": name}, "rules": rules})
        bind("namespaces/team-a/rolebindings", "Role", name)
    token = server.make(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token",
                        {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}})["status"]["token"]
    path = server.root / f"{name}.kubeconfig"
    path.write_text(json.dumps({
        "kind": "Config", "apiVersion": "v1", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{server.port}", "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "team-a"}}]}))
    return path, token


def export(server):
    """Writes what there is as kubectl prints it."""
    items = []
    for path in LISTS:
        page = server.call("GET", path)
        for thing in page["items"]:
            thing["metadata"].pop("managedFields", None)
            items.append({**thing, "kind": page["kind"].removesuffix("List"), "apiVersion": page["apiVersion"]})
    (server.root / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "items": items, "kind": "List",
                                                          "metadata": {"resourceVersion": ""}}, indent=4, sort_keys=True) + "\n")


def outcome(server, program, *arguments, kubeconfig="none"):
    finished = subprocess.run([program, *arguments], cwd=server.root, capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "KUBECONFIG": str(kubeconfig)})
    text = re.sub(r'(planned in |"plan_s": )[0-9.e-]+', "", finished.stdout)
    return finished.returncode, text, finished.stderr.replace("vgpusim: ", "kubectl-vgpu: ")


def compare(server, plugin, vgpusim, kubeconfig):
    export(server)
    for question in QUESTIONS:
        words = question.split()
        theirs = [words[0], "cluster.json", *(["--pod"] if words[0] == "why" and "/" in words[-1] else []), *words[1:]]
        ours = outcome(server, plugin, *words, kubeconfig=kubeconfig)
        expected = outcome(server, vgpusim, *theirs)
        expect(ours == expected, f"kubectl vgpu {question}", ours, "expected", expected)
        expect(ours[0] == (2 if "zone=z" in question else 0), question, ours)


def requests(server):
    """(verb, resource, decision) of what the viewer sent, when nothing more of it comes."""
    log, size = server.root / "audit.jsonl", -1
    while log.stat().st_size != size:
        size = log.stat().st_size
        time.sleep(0.5)
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    return [(entry["verb"], entry.get("objectRef", {}).get("resource", entry["requestURI"]),
             entry["annotations"]["authorization.k8s.io/decision"]) for entry in entries]


def check_kubectl(server, kubectl, plugin, kubeconfig):
    """The export is kubectl's, and kubectl finds the plugin."""
    kinds = ",".join(path.rsplit("/", 1)[1] for path in LISTS)
    folder = server.root / "bin"
    folder.mkdir()
    (folder / "kubectl-vgpu").symlink_to(plugin.resolve())
    settings = {**os.environ, "KUBECONFIG": str(kubeconfig), "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(server.root)}

    def output(*arguments):
        return subprocess.run([kubectl, *arguments], env=settings, capture_output=True, text=True, timeout=120, check=True).stdout

    expect(output("get", kinds, "-A", "-o", "json") == (server.root / "cluster.json").read_text(),
           "kubectl exports another cluster")
    expect(output("vgpu", "show") == outcome(server, plugin, "show", kubeconfig=kubeconfig)[1], "kubectl vgpu show differs")


def text_of(screen, parts):
    """Reads a terminal until its programs have ended."""
    while True:
        try:
            parts.append(os.read(screen, 65536))
        except OSError:
            return


def check_watch(server, plugin, kubeconfig):
    """Pods come and go: an answer at most every 2 s, on a terminal in place of the one before; Ctrl-C is exit code 0."""
    pods = "/api/v1/namespaces/team-a/pods"
    settings = {**os.environ, "KUBECONFIG": str(kubeconfig), "TERM": "xterm"}
    screen, terminal = pty.openpty()
    lines = subprocess.Popen([plugin, "show", "-w"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings)
    drawn = subprocess.Popen([plugin, "show", "-w"], stdout=terminal, stderr=subprocess.PIPE, text=True, env=settings)
    os.close(terminal)
    parts = []
    reader = threading.Thread(target=text_of, args=(screen, parts))
    reader.start()
    begin = time.monotonic()
    for number in range(40):
        server.make(pods, {"metadata": {"name": f"busy-{number}"}, "spec": {"containers": [
            {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(1 + number % 7)}}}]}})
        if number:
            server.call("DELETE", f"{pods}/busy-{number - 1}", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        time.sleep(0.25)
    seconds = time.monotonic() - begin
    for program in (lines, drawn):
        program.send_signal(signal.SIGINT)
    out, complaints = lines.communicate(timeout=30)
    ends = (lines.returncode, complaints, drawn.wait(30), drawn.stderr.read())
    expect(ends == (0, "", 0, ""), "kubectl vgpu show -w", ends)
    reader.join()
    os.close(screen)
    text = b"".join(parts).decode()
    expect(not re.search(r"(?m)^\d{4}-", text), "a time on a terminal", text)
    headings = re.findall(r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n36 GPUs on 6 nodes", out)
    for answers in (headings, re.findall("\x1b\\[H\x1b\\[J36 GPUs on 6 nodes", text)):
        expect(2 <= len(answers) <= 1 + seconds / 2, f"{len(answers)} answers in {seconds:.1f} s", out, text)
    return len(headings)


def check_requests(server, token):
    """Only get and list came, none was refused; and the log would have another verb, which the rights refuse."""
    seen = requests(server)
    expect({verb for verb, _, _ in seen} == {"get", "list"}, "verbs of the viewer", set(seen))
    expect({decision for _, _, decision in seen} == {"allow"}, "refused to the viewer", {entry for entry in seen if entry[2] != "allow"})
    pods = sum(resource == "pods" for _, resource, _ in seen)
    expect(pods >= 2 * len(QUESTIONS), f"{pods} lists of pods, expected two pages for each of {len(QUESTIONS)} questions")
    admin, server.token = server.token, token
    for verb, path in (("DELETE", "/api/v1/namespaces/train/pods/llm-0"), ("POST", "/api/v1/namespaces/train/pods")):
        try:
            server.call(verb, path, {} if verb == "POST" else None)
        except urllib.error.HTTPError as error:
            expect(error.code == 403, f"{verb} {path}: {error.code}, expected 403")
        else:
            expect(False, f"{verb} {path} is allowed to the viewer")
    server.token = admin
    expect({"delete", "create"} <= {verb for verb, _, _ in requests(server)}, "the audit log has not all verbs")
    return len(seen)


def check_refusals(server, plugin):
    """What users are told who lack rights."""
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
    some, _ = account(server, "some", [pods])
    end = "; the role vgpu-view (get, list) allows it\n"
    answer = outcome(server, plugin, "show", kubeconfig=some)
    expect(answer == (2, "", "kubectl-vgpu: free cannot be known: you may not list nodes" + end), answer)
    server.make(f"{RBAC}/clusterroles", {"metadata": {"name": "nodes"}, "rules": [{**pods, "resources": ["nodes"]}]})
    server.make(f"{RBAC}/clusterrolebindings", {"metadata": {"name": "nodes"}, "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "nodes"},
        "subjects": [{"kind": "ServiceAccount", "name": "some", "namespace": NAMESPACE}]})
    words = "kubectl-vgpu: free cannot be known: you may list pods in team-a, not in all namespaces" + end
    server.until("the rights hold", lambda: outcome(server, plugin, "show", kubeconfig=some) == (2, "", words), 10)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("etcd", "kube-apiserver", "kubectl-vgpu", "vgpusim"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    parser.add_argument("--kubectl", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            (server.root / "audit.yaml").write_text(POLICY)
            server.begin(arguments.etcd, arguments.kube_apiserver, f"--audit-policy-file={folder}/audit.yaml",
                         f"--audit-log-path={folder}/audit.jsonl")
            fill(server)
            viewer, token = account(server, "viewer")
            server.until("the rights hold", lambda: outcome(server, arguments.kubectl_vgpu, "show", kubeconfig=viewer)[0] == 0, 10)
            (server.root / "audit.jsonl").write_text("")
            compare(server, arguments.kubectl_vgpu, arguments.vgpusim, viewer)
            if arguments.kubectl:
                check_kubectl(server, arguments.kubectl, arguments.kubectl_vgpu, viewer)
            answers = check_watch(server, arguments.kubectl_vgpu, viewer)
            number = check_requests(server, token)
            check_refusals(server, arguments.kubectl_vgpu)
            print(f"kubectl vgpu: {len(QUESTIONS)} answers as vgpusim's on the export; {answers} with -w; {number} requests, each get or list, none refused")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
