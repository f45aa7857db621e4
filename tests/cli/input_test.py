"""Inputs from standard input, pipes and gzip files, for every command that reads one."""

import gzip
import hashlib
import json
import os
import subprocess
import threading
import unittest

from support import NODES, PODS, QUICKSTART, SOURCE, VGPUSIM, CliTest, untimed

NODE = {"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n", "annotations": {"hami.io/node-nvidia-register": json.dumps(
            [{"id": "GPU-1", "count": 10, "devmem": 40960, "devcore": 100, "type": "NVIDIA-A100", "mode": "hami-core",
              "health": True}])}},
        "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "10"}}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
       "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}
CLUSTER = json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, POD]}).encode()
VOLCANO = json.dumps({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Node",
     "metadata": {"name": "n", "annotations": {
         "volcano.sh/node-vgpu-register": "GPU-1,10,40960,NVIDIA-A100,true,hami-core:"}},
     "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", "volcano.sh/vgpu-number": "10"}}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"schedulerName": "volcano", "containers": [
        {"name": "c", "resources": {"limits": {"volcano.sh/vgpu-number": "1"}}}]}}]}).encode()
CONFIG = b"nvidia: {resourceCountName: nvidia.com/gpu}\n"
SCHEDULER = b"actions: allocate\ntiers: [{plugins: [{name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}]}]\n"
MODEL = SOURCE / "traces" / "models" / "quickstart.json"


class InputTest(CliTest):
    def given(self, content, *arguments):
        """Runs it with these bytes on standard input."""
        result = subprocess.run([VGPUSIM, *map(str, arguments)], cwd=self.root, env=self.environment, input=content,
                                capture_output=True, timeout=120, check=False)
        result.stdout, result.stderr = result.stdout.decode(), result.stderr.decode()
        return result

    def commands(self):
        """Bytes, and the command that reads them in place of {}."""
        cluster, nodes, pods = self.write("cluster", CLUSTER), self.write("n", NODES), self.write("p", PODS)
        catalog = self.vgpusim("catalog", "--json").stdout.encode()
        scenario = json.dumps({"nodes": nodes, "pods": pods, "policy": "best_fit"}).encode()
        recording = sorted((SOURCE / "tests" / "conformance" / "cases").glob("*.jsonl"))[0]
        out = ["--out", str(self.out)]
        return [
            (CLUSTER, ["validate", "{}"]),
            (CLUSTER, ["explain", "{}", "--pod", "p"]),
            (json.dumps(POD).encode(), ["explain", cluster, "--pod", "{}"]),
            (CONFIG, ["validate", cluster, "--config", "{}"]),
            (CONFIG, ["explain", cluster, "--pod", "p", "--config", "{}"]),
            (SCHEDULER, ["explain", self.write("volcano", VOLCANO), "--pod", "p", "--scheduler-config", "{}"]),
            (catalog, ["catalog", "--file", "{}"]),
            (catalog, ["validate", cluster, "--file", "{}"]),
            (NODES.encode(), ["run", "--nodes", "{}", "--pods", pods, *out]),
            (PODS.encode(), ["run", "--nodes", nodes, "--pods", "{}", *out]),
            (scenario, ["run", "{}", *out]),
            (PODS.encode(), ["compare", "--nodes", nodes, "--pods", "{}", "--policy", "fgd", "--policy", "random", *out]),
            (recording.read_bytes(), ["conformance", "--impl", "compat:volcano", "{}"]),
            (MODEL.read_bytes(), ["generate", "{}", "--nodes", "4", *out]),
        ]

    def test_every_input_may_be_standard_input_and_gzip(self):
        for content, command in self.commands():
            with self.subTest(command=command):
                path = self.write("input", content)
                packed = self.write("packed", gzip.compress(content))

                def words(name):
                    return [word.replace("{}", name) for word in command]

                def settled(result, name):
                    lines = [line for line in result.stdout.replace(name, "INPUT").splitlines()
                             if not line.startswith(("decisions", "fgd", "random"))]
                    return result.returncode, lines, result.stderr

                expected = settled(self.vgpusim(*words(path)), path)
                self.assertEqual((expected[0], expected[2]), (0, ""))
                self.assertEqual(settled(self.vgpusim(*words(packed)), packed), expected)
                for given in (content, gzip.compress(content)):
                    result = self.given(given, *words("-"))
                    self.assertEqual((result.returncode, result.stderr), (0, ""))
                    self.assertEqual(len(result.stdout.splitlines()),
                                     len(self.vgpusim(*words(path)).stdout.splitlines()))

    def test_one_dash_for_a_command(self):
        cluster, nodes = self.write("cluster", CLUSTER), self.write("n", NODES)
        scenario = self.write("s.json", json.dumps({"nodes": "-", "pods": "-"}))
        for command, option, other in (
                (["validate", "-", "-"], "FILE", "FILE"), (["validate", "-", "--config", "-"], "--config", "FILE"),
                (["explain", "-", "--pod", "-"], "--pod", "CLUSTER"),
                (["explain", cluster, "--pod", "-", "--scheduler-config", "-"], "--scheduler-config", "--pod"),
                (["catalog", "--file", "-", "--file", "-"], "--file", "--file"),
                (["run", "--nodes", "-", "--pods", "-", "--out", self.out], "pods", "nodes"),
                (["run", scenario, "--out", self.out], "pods", "nodes"),
                (["run", "-", "--nodes", nodes, "--pods", "-", "--out", self.out], "pods", "SCENARIO"),
                (["conformance", "--impl", "native", "-", "-"], "FILE", "FILE")):
            with self.subTest(command=command):
                content = json.dumps({"pods": "x"}).encode() if command[:2] == ["run", "-"] else b""
                self.assert_refused(self.given(content, *command),
                                    f"{option}: got '-', expected a file: standard input can be read once, and is by {other}")

    def test_errors_and_records_call_it_a_dash(self):
        self.assert_refused(self.given(b"a: [", "validate", "-"), "vgpusim: -:1: ")
        self.assert_refused(self.given(b"name\nx\n", "run", "--nodes", self.write("n", NODES), "--pods", "-", "--out",
                                       self.out), "vgpusim: -:1: cpu_milli: ")
        self.assertEqual(self.given(PODS.encode(), "run", "--nodes", self.write("n", NODES), "--pods", "-", "--out",
                                    self.out).returncode, 0)
        self.assertEqual(self.summary()["inputs"][1],
                         {"path": "-", "sha256": hashlib.sha256(PODS.encode()).hexdigest()})

    def test_a_file_called_dash_is_read_by_its_path(self):
        self.write("-", PODS)
        self.assert_done(self.vgpusim("run", "--nodes", self.write("n", NODES), "--pods", "./-", "--out", self.out))
        self.assert_refused_dash(self.given(b"", "run", "--nodes", "n", "--pods", "-", "--out", self.root / "other"))

    def assert_refused_dash(self, result):
        self.assert_error_line(result, 2, "-:1: empty; expected a header line")

    def test_checksums_are_of_the_bytes_that_were_read(self):
        """Checksums were of a second reading, which a pipe does not have."""
        nodes, packed = self.write("n", NODES), self.write("p.gz", gzip.compress(PODS.encode()))
        fifo = self.root / "fifo"
        os.mkfifo(fifo)
        for content in (PODS.encode(), gzip.compress(PODS.encode())):
            writer = threading.Thread(target=fifo.write_bytes, args=(content,))
            writer.start()
            self.assert_done(self.vgpusim("run", "--nodes", nodes, "--pods", fifo, "--out", self.out))
            writer.join()
            self.assertEqual(self.summary()["inputs"][1]["sha256"], hashlib.sha256(content).hexdigest())
        shell = f'"{VGPUSIM}" run --nodes "{nodes}" --pods <(gzip -dc "{packed}") --out "{self.out}"'
        subprocess.run(["bash", "-c", shell], check=True, env=self.environment, stdout=subprocess.DEVNULL)
        self.assertEqual(self.summary()["inputs"][1]["sha256"], hashlib.sha256(PODS.encode()).hexdigest())
        self.assertEqual(self.summary()["pods"]["arrived"], 3)

    def test_gzip_that_is_damaged_or_too_large(self):
        packed = gzip.compress(CLUSTER)
        self.assert_refused(self.vgpusim("validate", self.write("cut.json", packed[:-5])), "cut.json: gzip: expected a whole")
        self.assert_refused(self.vgpusim("validate", self.write("more.json", packed + b"{}")), "more.json: gzip: ")
        bomb = gzip.compress(b" " * (1 << 24)) * 20  # 320 MiB of spaces in 320 KiB
        self.assert_refused(self.given(bomb, "validate", "-"), "-: gzip: expected at most 256 MiB of text")

    def test_texts_as_other_programs_write_them(self):
        """Flow style and joined JSON values; CRLF and a byte order mark."""
        one, two = json.dumps(POD), json.dumps({**POD, "metadata": {"name": "q"}}, indent=2)
        flow = "{apiVersion: v1, kind: Pod, metadata: {name: f}, spec: {containers: [{name: c}]}}\n"
        block = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: b\nspec:\n  containers:\n  - name: c\n"
        for text, names in ((one + two, ["p", "q"]), (one + "\n" + two + "\n", ["p", "q"]), (flow, ["f"]),
                            (flow + "---\n" + block, ["f", "b"]), (block + "---\n" + flow, ["b", "f"]), (block, ["b"])):
            for version in (text, text.replace("\n", "\r\n"), "\ufeff" + text, "\ufeff" + text.replace("\n", "\r\n")):
                with self.subTest(version=version):
                    result = self.vgpusim("validate", "--json", self.write("m", version))
                    self.assert_done(result)
                    self.assertEqual([entry["name"] for entry in json.loads(result.stdout)["objects"]], names)

    def test_stray_commas_end(self):
        """One comma made a YAML parser produce documents for ever."""
        for text in (",", "---\n, b\n", ",\n" + CONFIG.decode(), "a: 1\n---\n,"):
            name = self.write("c.yaml", text)
            for command in (["validate", name], ["explain", name, "--pod", "p"],
                            ["validate", self.write("cluster", CLUSTER), "--config", name]):
                self.assert_refused(self.vgpusim(*command), "c.yaml:")

    def test_limits_hold_while_a_text_is_parsed(self):
        """Six megabytes of small values took eleven seconds before they were refused."""
        for name, text in (("a.yaml", "a: [" + "1," * 3_000_000 + "1]"), ("a.json", "[" + "1," * 11_000_000 + "1]"),
                           ("b.yaml", "a: " + "[" * 100 + "]" * 100), ("b.json", "[" * 300_000)):
            self.assert_refused(self.vgpusim("validate", self.write(name, text)), name + ":1: ", "at most")

    def test_the_quickstart_from_a_pipe_is_the_quickstart(self):
        content = gzip.compress((QUICKSTART / "pods.csv").read_bytes())
        result = self.given(content, "run", "--nodes", QUICKSTART / "nodes.csv", "--pods", "-", "--out", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_done(self.run_quickstart(out=self.root / "plain"))
        self.assertEqual((self.out / "pods.csv").read_bytes(), (self.root / "plain" / "pods.csv").read_bytes())
        mine, plain = self.summary(), json.loads((self.root / "plain" / "summary.json").read_text())
        for summary in (mine, plain):
            del summary["inputs"], summary["config"]
        self.assertEqual(untimed(mine), untimed(plain))


if __name__ == "__main__":
    unittest.main()
