"""Records tests/data/snapshot/*.json: starts etcd and kube-apiserver on loopback, posts the objects of cluster_objects.py
and keeps what the API server then says of them. tests/data/snapshot/README.md tells where the two programs are from.

  python3 tests/e2e/record_cluster.py --etcd BIN --kube-apiserver BIN --out tests/data/snapshot
"""

import argparse
import json
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import cluster_objects

TOKEN = "recorded"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ApiServer:
    """The two processes, ended at the end of the with block, and requests to them."""

    def __init__(self, etcd, apiserver):
        self.folder = tempfile.TemporaryDirectory()
        self.processes = []
        self.programs = etcd, apiserver
        self.port = free_port()

    def __enter__(self):
        folder = Path(self.folder.name)
        subprocess.run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"], check=True, capture_output=True)
        (folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.start("etcd", self.programs[0], "--data-dir", folder / "etcd", "--listen-client-urls", client,
                   "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                   "--initial-cluster", f"default={peer}")
        self.start("kube-apiserver", self.programs[1], f"--etcd-servers={client}", "--bind-address=127.0.0.1",
                   "--advertise-address=127.0.0.1", f"--secure-port={self.port}", f"--cert-dir={folder / 'certs'}",
                   "--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://kubernetes.default.svc",
                   f"--service-account-key-file={folder / 'sa.key'}",
                   f"--service-account-signing-key-file={folder / 'sa.key'}", f"--token-auth-file={folder / 'tokens.csv'}",
                   "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
                   "--endpoint-reconciler-type=none")
        self.wait_until_ready()
        return self

    def start(self, name, *command):
        log = open(Path(self.folder.name) / f"{name}.log", "wb")
        self.processes.append(subprocess.Popen([str(part) for part in command], stdout=log, stderr=log))
        log.close()

    def wait_until_ready(self):
        for _ in range(240):
            if any(process.poll() is not None for process in self.processes):
                break
            try:
                if self.request("GET", "/readyz", plain=True) == "ok":
                    return
            except OSError:
                pass
            time.sleep(0.5)
        logs = "\n".join(path.read_text()[-2000:] for path in Path(self.folder.name).glob("*.log"))
        self.__exit__()
        sys.exit(f"the API server did not start:\n{logs}")

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=60)
        self.folder.cleanup()

    def request(self, method, path, body=None, plain=False, kind="application/json"):
        trust_anyone = ssl.create_default_context()  # its certificate is its own, and it is on loopback
        trust_anyone.check_hostname = False
        trust_anyone.verify_mode = ssl.CERT_NONE
        call = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", method=method,
                                      data=None if body is None else json.dumps(body).encode(),
                                      headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": kind})
        try:
            with urllib.request.urlopen(call, context=trust_anyone, timeout=30) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as refusal:
            if plain:
                raise
            sys.exit(f"{method} {path}: {refusal.code} {refusal.read().decode()}")
        return text if plain else json.loads(text)

    def patch(self, path, body):
        return self.request("PATCH", path, body, kind="application/merge-patch+json")


def post_all(server):
    for ns in cluster_objects.NAMESPACES:
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
    for entry in cluster_objects.CLASSES:
        server.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", entry)
    for entry in cluster_objects.NODES:
        name = entry["metadata"]["name"]
        server.request("POST", "/api/v1/nodes", entry)
        server.patch(f"/api/v1/nodes/{name}/status", {"status": entry["status"]})
        # Admission taints every new node as not ready; the node controller, which does not run here, takes that away.
        server.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
    for entry in cluster_objects.CONFIG_MAPS:
        server.request("POST", f"/api/v1/namespaces/{entry['metadata']['namespace']}/configmaps", entry)
    for entry in cluster_objects.RUNNING + cluster_objects.WAITING:
        path = f"/api/v1/namespaces/{entry['metadata']['namespace']}/pods"
        server.request("POST", path, entry)
        if "nodeName" in entry["spec"]:
            server.patch(f"{path}/{entry['metadata']['name']}/status", {"status": {"phase": "Running"}})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--etcd", required=True)
    parser.add_argument("--kube-apiserver", required=True)
    parser.add_argument("--out", required=True, type=Path)
    chosen = parser.parse_args()
    with ApiServer(chosen.etcd, chosen.kube_apiserver) as server:
        version = server.request("GET", "/version")["gitVersion"]
        post_all(server)
        for kind in ("nodes", "pods", "configmaps"):
            listed = server.request("GET", f"/api/v1/{kind}")
            (chosen.out / f"{kind}.json").write_text(json.dumps(listed, indent=1) + "\n")
            print(f"{kind}: {len(listed['items'])} of kube-apiserver {version}")


if __name__ == "__main__":
    main()
