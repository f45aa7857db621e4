"""Where a pod may go: vgpusim against kube-scheduler, pod by pod and node by node.

  rules.py --etcd PROGRAM --kube-apiserver PROGRAM --kube-scheduler PROGRAM --vgpusim PROGRAM --out DIR
           [-pods 500] [-clusters 12] [-seed 1] [-rules host,affinity,spread] [-record DIR]
  rules.py --replay DIR --vgpusim PROGRAM

Fills an API server with random clusters (rules_objects.py), one after the other, and starts kube-scheduler on each. An extender
notes which nodes passed kube-scheduler's own filters for each pod that waits, and refuses them all, so that no pod changes the
cluster for the next one. `vgpusim explain` then has to find the same nodes in the export. Where a cluster's two files are kept,
cluster-NN.json and decisions-NN.json, --replay compares them again without a scheduler. It fails where nodes differ, or the
numbers of nodes by reason in kube-scheduler's message.
"""
import argparse
import http.client
import io
import json
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.error
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import rules_objects
from rights import Server, free_port

PASSED = "node(s) passed every filter"  # what the extender says of the nodes that it refuses
# kube-scheduler's filters in their order, each with its words and with our codes. It tells of a node what the first filter said.
FILTERS = [("cordoned", ["were unschedulable"], ["node_unschedulable"]),
           ("taint", ["had untolerated taint"], ["node_not_ready", "taint_not_tolerated"]),
           ("node affinity", ["didn't match Pod's node affinity/selector"], ["node_selector_differs", "node_affinity_differs"]),
           ("room", ["Insufficient ", "Too many pods"], None),  # every other code
           ("topology spread", ["didn't match pod topology spread constraints"], ["topology_spread"]),
           ("pod affinity", ["didn't match pod affinity rules"], ["pod_affinity_differs"]),
           ("pod anti-affinity", ["didn't match pod anti-affinity rules", "didn't satisfy existing pods anti-affinity rules"],
            ["pod_anti_affinity"])]
FILTER_OF_CODE = {code: name for name, _, codes in FILTERS for code in codes or []}
ORDER = {name: place for place, (name, _, _) in enumerate(FILTERS)}

SCHEDULER = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: "{kubeconfig}", qps: 5000, burst: 5000}}
leaderElection: {{leaderElect: false}}
percentageOfNodesToScore: 100 # so that it looks at every node
profiles:
- schedulerName: default-scheduler
  plugins: {{postFilter: {{disabled: [{{name: DefaultPreemption}}]}}}} # no pod is to go for another
extenders:
- {{urlPrefix: "http://127.0.0.1:{port}", filterVerb: filter, weight: 1, nodeCacheCapable: true, ignorable: false, httpTimeout: 15s}}
"""


class Extender:
    """Notes the nodes that kube-scheduler hands over when it tries a pod for the first time, and refuses them."""

    def __init__(self):
        self.seen = {}
        extender = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # kube-scheduler keeps the connection

            def do_POST(self):
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                about, nodes = question["Pod"]["metadata"], question["NodeNames"]
                extender.seen.setdefault(f"{about['namespace']}/{about['name']}", sorted(nodes))
                answer = json.dumps({"NodeNames": [], "FailedNodes": {name: PASSED for name in nodes}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def handle(self):
                try:
                    super().handle()
                except ConnectionError:
                    pass  # kube-scheduler ended

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Plane(Server):
    """The API server, asked over one connection, as there are thousands of objects to make."""

    connection = None

    def call(self, verb, path, body=None, kind="application/json"):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=ssl._create_unverified_context())
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            self.connection.request(verb, path, data, {"Authorization": f"Bearer {self.token}", "Content-Type": kind})
            answer = self.connection.getresponse()
            text = answer.read().decode()
        except (http.client.HTTPException, OSError) as error:
            self.connection = None
            raise OSError(f"{verb} {path}: {error}") from error
        if answer.status >= 400:
            raise urllib.error.HTTPError(path, answer.status, text, answer.headers, io.BytesIO(text.encode()))
        return json.loads(text) if text.startswith("{") else text

    def patch(self, path, body):
        return self.call("PATCH", path, body, "application/merge-patch+json")

    def kubeconfig(self):
        path = self.root / "plane.kubeconfig"
        path.write_text(json.dumps({
            "kind": "Config", "apiVersion": "v1", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}}],
            "users": [{"name": "u", "user": {"token": self.token}}]}))
        return path

    def start_scheduler(self, program, extender):
        kubeconfig = self.kubeconfig()
        config = self.root / "scheduler.yaml"
        config.write_text(SCHEDULER.format(kubeconfig=kubeconfig, port=extender.port))
        return self.start("scheduler", program, f"--config={config}", "--bind-address=127.0.0.1", f"--secure-port={free_port()}",
                          f"--cert-dir={self.root}/scheduler-certificates")

    def end(self, program):
        program.terminate()
        program.wait(30)
        self.programs.remove(program)

    def empty(self):
        """Nodes and pods go; namespaces stay, as nobody here would end them."""
        for namespace in rules_objects.NAMESPACES:
            self.call("DELETE", f"/api/v1/namespaces/{namespace}/pods", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        self.call("DELETE", "/api/v1/nodes")
        for kind in ("pods", "nodes"):
            left = self.call("GET", f"/api/v1/{kind}")["items"]
            if left:
                raise SystemExit(f"FAILED: {len(left)} {kind} stay")

    def fill(self, cluster):
        for name, labels in cluster.namespaces.items():
            self.patch(f"/api/v1/namespaces/{name}", {"metadata": {"labels": {"env": None, "owner": None, **labels}}})
        for node in cluster.nodes:
            self.make("/api/v1/nodes", node)
        for pod in cluster.running:
            namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            pods = f"/api/v1/namespaces/{namespace}/pods"
            self.make(pods, pod)
            if pod["status"]["phase"] != "Pending":
                self.patch(f"{pods}/{name}/status", {"status": pod["status"]})
            if (namespace, name) in cluster.leaving:
                self.call("DELETE", f"{pods}/{name}", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 3600})
        for probe in cluster.probes:
            self.make(f"/api/v1/namespaces/{probe.pod['metadata']['namespace']}/pods", probe.pod)

    def export(self):
        """What kubectl get nodes,pods,namespaces -A -o json prints."""
        items = []
        for kind in ("nodes", "pods", "namespaces"):
            page = self.call("GET", f"/api/v1/{kind}")
            for thing in page["items"]:
                thing["metadata"].pop("managedFields", None)
                items.append({"apiVersion": "v1", **thing, "kind": page["kind"].removesuffix("List")})
        return items


def name_of(pod):
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def refusals(pods):
    """Of each pod that kube-scheduler has tried, what it says."""
    messages = {}
    for pod in pods:
        for condition in pod.get("status", {}).get("conditions", []):
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                if condition["reason"] != "Unschedulable":
                    raise SystemExit(f"FAILED: {name_of(pod)}: {condition['reason']}: {condition.get('message')}")
                messages[name_of(pod)] = condition["message"]
    return messages


def decide(plane, program, cluster):
    """(export, decisions): what kube-scheduler finds for each probe of the cluster."""
    plane.fill(cluster)
    extender = Extender()
    # It is started when all is there, because it reads all before it tries the first pod.
    scheduler = plane.start_scheduler(program, extender)
    names, messages = {name_of(probe.pod) for probe in cluster.probes}, {}

    def is_done():
        messages.update(refusals(plane.call("GET", "/api/v1/pods")["items"]))
        return names <= messages.keys()

    plane.until("kube-scheduler has tried every pod", is_done, 120)
    plane.end(scheduler)
    items = plane.export()
    extender.server.shutdown()
    extender.server.server_close()
    decisions = []
    for probe in cluster.probes:
        name = name_of(probe.pod)
        feasible, message = extender.seen.get(name, []), messages[name]
        counted = re.match(r"0/(\d+) nodes are available: ", message)
        passed = re.search(rf"(\d+) {re.escape(PASSED)}", message)
        if not counted or int(counted[1]) != len(cluster.nodes) or (int(passed[1]) if passed else 0) != len(feasible):
            raise SystemExit(f"FAILED: {name}: {len(feasible)} of {len(cluster.nodes)} nodes were handed over, but: {message}")
        decisions.append({"pod": name, "rules": probe.rules, "feasible": feasible, "message": message})
    return items, decisions


def write_lines(path, head, key, values):
    """JSON with each of the values in a line of its own, so that files are small and their differences can be read."""
    lines = ",\n".join(json.dumps(value, separators=(",", ":")) for value in values)
    path.write_text("{" + "".join(f'"{name}":{json.dumps(value)},' for name, value in head.items()) + f'"{key}":[\n{lines}\n]}}\n',
                    encoding="utf-8")


def write_pair(folder, number, items, decisions):
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / f"cluster-{number:02}.json", {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}}, "items", items)
    write_lines(folder / f"decisions-{number:02}.json", {}, "pods", decisions)


def picked(thing, *keys):
    return {key: thing[key] for key in keys if key in thing}


def shortened(item):
    """An object of the export with what where a pod may go depends on, and no more."""
    result = {**picked(item, "apiVersion", "kind"), "metadata": picked(item["metadata"], "name", "namespace", "labels", "deletionTimestamp")}
    if item["kind"] == "Node":
        result["spec"] = item["spec"]
        result["status"] = {**picked(item["status"], "capacity", "allocatable"),
                          "conditions": [picked(condition, "type", "status") for condition in item["status"]["conditions"]]}
    if item["kind"] == "Pod":
        result["spec"] = picked(item["spec"], "nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints")
        for key in ("initContainers", "containers"):
            if key in item["spec"]:
                result["spec"][key] = [picked(container, "name", "resources", "restartPolicy") for container in item["spec"][key]]
        result["status"] = picked(item["status"], "phase")
    return result


# ---------------------------------------------------------------------------------------------------------- comparison


def explained(vgpusim, file, pod):
    """(answers by node, error) of vgpusim explain."""
    done = subprocess.run([vgpusim, "explain", file, "--pod", pod, "--json"], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        return {}, done.stderr.strip() or f"exit code {done.returncode}"
    return {node["name"]: node for node in json.loads(done.stdout)["nodes"]}, None


def codes(node):
    return [reason["code"] for reason in [node["reason"], *node["also"]]]


def counts_of_message(message):
    """Nodes by filter, of kube-scheduler's message. None: it says no number of a filter."""
    if "didn't satisfy plugin" in message or not re.match(r"0/\d+ nodes are available: \d", message):
        return None  # rules that name nodes: of all others it says no more than that
    counts = Counter()
    for name, words, _ in FILTERS:
        for amount, what in re.findall(r"(\d+) ((?:Insufficient |Too many pods|node\(s\) )[^,]*)", message):
            if any(word in what for word in words):
                counts[name] += int(amount)
    # A node may lack several amounts and is told of under each.
    nodes, passed = (int(match[1]) if match else 0 for match in (re.match(r"0/(\d+)", message), re.search(rf"(\d+) {re.escape(PASSED)}", message)))
    counts["room"] = nodes - passed - sum(amount for name, amount in counts.items() if name != "room")
    return +counts


def counts_of_answers(nodes):
    counts = Counter()
    for node in nodes.values():
        if not node["fits"]:
            counts[min((FILTER_OF_CODE.get(code, "room") for code in codes(node)), key=ORDER.get)] += 1
    return counts


def differences(vgpusim, cluster, decision):
    """Lines that say what differs about a pod: (of nodes, of numbers)."""
    nodes, error = explained(vgpusim, cluster, decision["pod"])
    label = f"{cluster.stem} {decision['pod']}"
    if error:
        return [f"{label}: vgpusim: {error}"], []
    theirs, lines = set(decision["feasible"]), []
    for name in sorted(theirs | nodes.keys()):
        if name not in nodes:
            lines.append(f"{label} node {name}: kube-scheduler takes it, vgpusim does not know it")
        elif (name in theirs) != nodes[name]["fits"]:
            lines.append(f"{label} node {name}: kube-scheduler takes it, vgpusim: {', '.join(codes(nodes[name]))}" if name in theirs
                         else f"{label} node {name}: kube-scheduler refuses it, vgpusim: fits")
    if lines:
        return [*lines, f"  rules {', '.join(decision['rules'])}; kube-scheduler: {decision['message']}"], []
    expected, ours = counts_of_message(decision["message"]), counts_of_answers(nodes)
    if expected is not None and expected != ours:
        return [], [f"{label}: nodes by reason, kube-scheduler: {dict(expected)}, vgpusim: {dict(ours)}", f"  {decision['message']}"]
    return [], []


def compare(vgpusim, folder):
    """Compares all pairs of files in the folder; whether all is equal."""
    work = []
    for path in sorted(folder.glob("decisions-*.json")):
        cluster = path.with_name(path.name.replace("decisions", "cluster"))
        items = json.loads(cluster.read_text(encoding="utf-8"))["items"]
        nodes = sum(item["kind"] == "Node" for item in items)
        pods = {name_of(item): item for item in items if item["kind"] == "Pod"}
        work += [(cluster, decision, nodes, pods[decision["pod"]]) for decision in json.loads(path.read_text(encoding="utf-8"))["pods"]]
    if not work:
        raise SystemExit(f"FAILED: {folder} has no decisions")
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda entry: differences(vgpusim, entry[0], entry[1]), work))
    by_rule, sizes, differing, counts_differing = {}, Counter(), 0, 0
    for (cluster, decision, nodes, pod), (of_nodes, of_counts) in zip(work, answers):
        for line in of_nodes + of_counts:
            print(line)
        differing += bool(of_nodes)
        counts_differing += bool(of_counts)
        if of_nodes:
            (folder / f"{cluster.stem}-{pod['metadata']['name']}.json").write_text(json.dumps(pod, indent=1) + "\n", encoding="utf-8")
        for rule in decision["rules"] or ["none"]:
            row = by_rule.setdefault(rule, Counter())
            row.update(probes=1, differ=bool(of_nodes), counts=bool(of_counts))
        feasible = len(decision["feasible"])
        sizes["no node" if not feasible else "all nodes" if feasible == nodes else "some nodes"] += 1
    print(f"{'RULE':18}  {'PODS':>5}  {'DIFFER':>6}  {'NUMBERS':>7}")
    for rule, row in sorted(by_rule.items()):
        print(f"{rule:18}  {row['probes']:5}  {row['differ']:6}  {row['counts']:7}")
    print(f"{len(work)} pods on {len({entry[0] for entry in work})} clusters ({', '.join(f'{number} fit on {what}' for what, number in sorted(sizes.items()))}): "
          f"{len(work) - differing} sets of nodes are kube-scheduler's, {differing} differ; numbers by reason differ for {counts_differing}")
    return not differing and not counts_differing


def record(arguments):
    """Makes the clusters and writes what kube-scheduler decides; the folder."""
    folder = arguments.out / "rules"
    for old in folder.glob("*.json"):
        old.unlink()
    rules = arguments.rules.split(",")
    with tempfile.TemporaryDirectory() as root:
        plane = Plane(Path(root))
        try:
            plane.begin(arguments.etcd, arguments.kube_apiserver)
            for namespace in rules_objects.NAMESPACES:
                plane.make("/api/v1/namespaces", {"metadata": {"name": namespace}})
            for number in range(arguments.clusters):
                share = (arguments.pods * (number + 1)) // arguments.clusters - (arguments.pods * number) // arguments.clusters
                cluster = rules_objects.Generator(f"{arguments.seed}/{number}", rules).cluster(share)
                items, decisions = decide(plane, arguments.kube_scheduler, cluster)
                write_pair(folder, number, items, decisions)
                if arguments.record:
                    write_pair(arguments.record, number, map(shortened, items), decisions)
                plane.empty()
        finally:
            plane.stop()
    return folder


def parser_of(description, *programs):
    """The command line of a comparison with these programs, whose files may be compared again without them."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    for name in (*programs, "out", "replay"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--vgpusim", type=Path, required=True)
    parser.add_argument("-seed", type=int, default=1)
    parser.set_defaults(needed=[*programs, "out"])
    return parser


def run(parser, arguments, record, compare, files):
    """Records, or takes what was recorded, and compares. `files` are what is kept of it."""
    if not arguments.replay and not all(getattr(arguments, name.replace("-", "_")) for name in arguments.needed):
        names = [f"--{name}" for name in arguments.needed]
        parser.error(f"{', '.join(names[:-1])} and {names[-1]}, or --replay")
    folder = arguments.replay or record(arguments)
    if not compare(arguments.vgpusim, folder):
        print(f"FAILED: {files} are in {folder}")
        sys.exit(1)


def main():
    parser = parser_of(__doc__, "etcd", "kube-apiserver", "kube-scheduler")
    parser.add_argument("-pods", type=int, default=500, help="pods that wait, in all clusters together")
    parser.add_argument("-clusters", type=int, default=12)
    parser.add_argument("-rules", default="host,affinity,spread", help="which rules are drawn, of host, affinity and spread")
    parser.add_argument("-record", type=Path, help="a folder for shortened copies of the files, as tests/data/kube_scheduler_rules has them")
    arguments = parser.parse_args()
    unknown = set(arguments.rules.split(",")) - rules_objects.KINDS.keys()
    if unknown:
        parser.error(f"-rules: {', '.join(sorted(unknown))}, expected some of {', '.join(rules_objects.KINDS)}")
    run(parser, arguments, record, compare, "the clusters, decisions and pods that differ")


if __name__ == "__main__":
    main()
