"""Nothing that an input says can steer the terminal that vgpusim prints to."""

import json
import re
import unittest

from support import PODS, PODS_HEADER, NODES_HEADER, CliTest

NASTY = "x\x1b[31mred\x07\x7f\x9b2J\u202efdp\u2066\u200b\nfaked: line"
# Controls other than the end of a line, also as Latin-1 has them, marks of direction and width.
STEERS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def node():
    registered = [{"id": "GPU-" + NASTY, "count": 10, "devmem": 40960, "devcore": 100, "type": "NVIDIA-A100" + NASTY,
                   "mode": "hami-core", "health": True}]
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "node" + NASTY, "labels": {"zone": NASTY},
                         "annotations": {"hami.io/node-nvidia-register": json.dumps(registered)}},
            "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "10"}}}


def pod(name, selector=None, **limits):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name + NASTY, "namespace": "ns" + NASTY},
            "spec": {"nodeSelector": selector or {}, "schedulerName": NASTY,
                     "containers": [{"name": "c" + NASTY, "resources": {"limits": limits}}]}}


class TerminalTest(CliTest):
    def assert_harmless(self, result, *, lines_faked=True):
        for text in (result.stdout, result.stderr):
            self.assertEqual(STEERS.findall(text), [], result)
            if lines_faked:
                self.assertNotIn("\nfaked", text)

    def objects(self, *items):
        return self.write("objects.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def test_validate(self):
        gpu = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"}
        objects = self.objects(node(), pod("good", **gpu), pod("bad", **{"nvidia.com/gpu": NASTY}),
                               pod("foreign", **{"example.com/" + NASTY: "1"}), {**pod("kind"), "kind": NASTY})
        result = self.vgpusim("validate", objects)
        self.assertIn("\\x1b[31mred\\x07\\x7f\\u009b2J\\u202efdp\\u2066\\u200b\\x0afaked", result.stdout)
        self.assert_harmless(result)
        as_json = self.vgpusim("validate", "--json", objects)
        self.assertIn("good" + NASTY, [entry["name"] for entry in json.loads(as_json.stdout)["objects"]])
        self.assert_harmless(as_json)

    def test_explain(self):
        gpu = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"}
        plain, picky = pod("good", **gpu), pod("picky", {"zone": "other" + NASTY}, **gpu)
        for name, waiting in (("good", plain), ("picky", picky)):  # explain refuses a pod whose own names are bad
            waiting["metadata"] = {"name": name, "namespace": "ns"}
            waiting["spec"]["containers"][0]["name"] = "c"
        objects = self.objects(node(), plain, picky)
        for name in ("good", "picky"):
            full_name = f"ns/{name}"
            result = self.vgpusim("explain", objects, "--pod", full_name)
            self.assert_done(result)
            self.assertIn("node" + "x\\x1b[31mred", result.stdout)
            self.assert_harmless(result)
            as_json = self.vgpusim("explain", objects, "--pod", full_name, "--json")
            self.assertIn(NASTY, json.dumps(json.loads(as_json.stdout), ensure_ascii=False).replace("\\n", "\n")
                          .replace("\\u001b", "\x1b").replace("\\u0007", "\x07").replace("\\u007f", "\x7f"))
            self.assert_harmless(as_json)

    def test_errors(self):
        for arguments in (["validate", "absent" + NASTY], ["run", "--nodes", NASTY, "--pods", NASTY],
                          ["explain", self.objects(node()), "--pod", NASTY], ["--" + NASTY], [NASTY],
                          ["run", "--policy", NASTY], ["run", "--set", NASTY], ["catalog", "mig", NASTY],
                          ["conformance", "--impl", NASTY, "x"], ["validate", self.write("x.yaml", "a: [" + NASTY)],
                          ["validate", self.write("x.json", '{"' + NASTY)]):
            with self.subTest(arguments=arguments):
                result = self.vgpusim(*arguments)
                self.assertEqual(result.returncode, 2, result)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                self.assert_harmless(result)

    def test_a_run_and_its_folder(self):
        out = self.root / "out\x1b[31m\u202e"
        result = self.vgpusim("run", *self.inputs(), "--out", out)
        self.assert_done(result)
        self.assert_harmless(result)
        result = self.vgpusim("compare", *self.inputs(), "--out", out, "--policy", "fgd", "--policy", "binpack")
        self.assert_done(result)
        self.assert_harmless(result)

    def test_lists(self):
        for nodes in (NODES_HEADER + "a\x1b[31m,1,1,1,A100\n", NODES_HEADER + "a,1\u202e,1,1,A100\n",
                      NODES_HEADER.replace("sn", "sn\x9b") + "a,1,1,1,A100\n"):
            result = self.run_lists(nodes=nodes, pods=PODS)
            self.assert_refused(result, "nodes.csv:")
            self.assert_harmless(result)
        self.assert_harmless(self.run_lists(pods=PODS_HEADER + "p,\x1b[31m,1,1,1\n"))


if __name__ == "__main__":
    unittest.main()
