"""Bad input: one line that names the file, line, column and text and says what was expected; nothing written."""

import json
import os
import unittest

from support import NODES, NODES_HEADER, PODS, PODS_HEADER, SOURCE, CliTest

TOO_LONG = "99999999999999999999"  # above 2^63
ATLAS = SOURCE / "scenarios" / "clusters" / "atlas.json"
NO_NODES = "no nodes in empty.json: kubectl get nodes,pods -A -o json gives both"
PODS_WANTED = "a Pod, or an object with a template for pods that is read here"


class ListsTest(CliTest):
    def assert_nodes_refused(self, text, *words):
        with self.subTest(nodes=text[-80:]):
            self.assert_refused(self.run_lists(nodes=text), *words)

    def assert_pods_refused(self, text, *words):
        with self.subTest(pods=text[-80:]):
            self.assert_refused(self.run_lists(pods=text), *words)

    def test_missing_columns(self):
        for header, line, refused, required in (
                (NODES_HEADER, "n,1,1,1,G", self.assert_nodes_refused, range(5)),
                (PODS_HEADER, "p,1,1,1,1", self.assert_pods_refused, range(5))):
            names, fields = header.strip().split(","), line.split(",")
            for left_out in required:
                refused("\n".join(",".join(row[:left_out] + row[left_out + 1:]) for row in (names, fields)) + "\n",
                        ".csv:1", names[left_out], "column")

    def test_repeated_column(self):
        self.assert_nodes_refused("sn,cpu_milli,cpu_milli,memory_mib,gpu,model\nn,1,1,1,1,G\n", "nodes.csv:1",
                                  "cpu_milli")

    def test_missing_file(self):
        nodes = self.write("nodes.csv", NODES)
        self.assert_refused(self.vgpusim("run", "--nodes", nodes, "--pods", self.root / "absent.csv", "--out", self.out),
                            "absent.csv", "No such file")
        self.assert_refused(self.vgpusim("run", "--nodes", self.root, "--pods", nodes, "--out", self.out),
                            str(self.root), "directory")
        self.assert_refused(self.vgpusim("run", "--nodes", nodes, "--out", self.out), "pods")
        self.assert_refused(self.vgpusim("run", "--pods", nodes, "--out", self.out), "nodes")

    def test_empty_file(self):
        self.assert_nodes_refused("", "nodes.csv:1", "header")
        self.assert_pods_refused("", "pods.csv:1", "header")

    def test_header_only(self):
        for end in ("", "\n", "\r\n\r\n"):
            self.assert_nodes_refused(NODES_HEADER.strip() + end, "nodes.csv:", "node")
            self.assert_pods_refused(PODS_HEADER.strip() + end, "pods.csv:", "pod")

    def test_numbers(self):
        for bad in ("-1", TOO_LONG, "-" + TOO_LONG, "x", "1.5", "1e3", "", " 1", "0x10", "1_000", "٣", "NaN"):
            shown = f"got '{bad}'" if bad else ""
            for column, name in ((1, "cpu_milli"), (2, "memory_mib"), (3, "num_gpu"), (4, "gpu_milli")):
                fields = ["p", "1", "1", "1", "1"]
                fields[column] = bad
                self.assert_pods_refused(PODS + ",".join(fields) + "\n", f"pods.csv:5: {name}: {shown}",
                                         "a whole number from 0 to")
            for column, name in ((1, "cpu_milli"), (2, "memory_mib"), (3, "gpu")):
                fields = ["n", "1", "1", "1", "G"]
                fields[column] = bad
                self.assert_nodes_refused(NODES + ",".join(fields) + "\n", f"nodes.csv:3: {name}: {shown}",
                                          "a whole number from 0 to")

    def test_an_input_without_an_end(self):
        self.assert_refused(self.vgpusim("run", "--nodes", "/dev/zero", "--pods", self.write("pods.csv", PODS), "--out",
                                         self.out), "/dev/zero")

    def test_a_device_is_no_input(self):
        self.assert_refused(self.vgpusim("validate", "/dev/null"), "/dev/null: cannot read: it is a device; expected a file")

    def test_duplicates(self):
        self.assert_nodes_refused(NODES + "node-a,1,1,1,G\n", "nodes.csv:3: sn: got 'node-a'", "once")
        self.assert_pods_refused(PODS + "pod-1,1,1,1,1\n", "pods.csv:5: name: got 'pod-1'", "once")

    def test_names_are_given(self):
        self.assert_nodes_refused(NODES_HEADER + ",1,1,1,G\n", "nodes.csv:2: sn")
        self.assert_pods_refused(PODS_HEADER + ",1,1,1,1\n", "pods.csv:2: name")

    def test_a_gpu_node_without_a_model(self):
        self.assert_nodes_refused(NODES + "n,1,1,1,\n", "nodes.csv:3: model", "GPU")

    def test_truncated_last_line(self):
        for cut in ("node-c", "node-c,64000", "node-c,64000,262144,", "node-c,64000,262144,2"):
            self.assert_nodes_refused(NODES + cut, "nodes.csv:3", "expected 5 fields", "truncated")
        self.assert_nodes_refused(NODES + "node-c,64000,262144,2,", "nodes.csv:3: model")
        for cut in ("pod-9", "pod-9,4000,8192,", "pod-9,4000,8192,1"):
            self.assert_pods_refused(PODS + cut, "pods.csv:5", "expected 5 fields", "truncated")
        self.assert_pods_refused(PODS + "pod-9,4000,8192,1,", "pods.csv:5: gpu_milli")

    def test_too_many_fields(self):
        self.assert_nodes_refused(NODES + "n,1,1,1,G,extra\n", "nodes.csv:3", "expected 5 fields, found 6")

    def test_quotes(self):
        self.assert_nodes_refused(NODES + '"n",1,1,1,G\n', "nodes.csv:3", "quot")
        self.assert_pods_refused(PODS + '"a,b",1,1,1,1\n', "pods.csv:5", "quot")

    def test_binary_garbage(self):
        garbage = bytes(range(256)) * 16
        for text in (garbage, b"\0" * 1000, b"\x7fELF\x02\x01\x01\0\0\n\n", "ÿþ".encode("utf-16")):
            self.assert_nodes_refused(text, "nodes.csv:1")
            self.assert_pods_refused(text, "pods.csv:1")
        self.assert_nodes_refused(NODES.encode() + garbage, "nodes.csv:3")
        self.assert_pods_refused(PODS.encode() + b"\0\0\0\0\n", "pods.csv:5")
        self.assert_pods_refused(PODS.encode() + b"p\0,1,1,1,1\n", "pods.csv:5: name")
        self.assert_pods_refused(PODS.encode() + b"p,1\0,1,1,1\n", "pods.csv:5: cpu_milli")
        self.assert_nodes_refused(NODES.encode() + b"n\x1b[2J,1,1,1,G\n", "nodes.csv:3: sn")

    def test_a_line_end_within_a_name(self):
        """A lone CR is no line end here; in pods.csv it would be one to many readers."""
        self.assert_pods_refused(PODS + "p\rq,1,1,1,1\n", "pods.csv:5: name")

    def test_what_is_accepted(self):
        self.assert_done(self.run_lists())
        expected = self.pods()
        reordered = "\n".join(",".join(reversed(line.split(","))) for line in PODS.strip().split("\n"))
        for text in (PODS.replace("\n", "\r\n"), "\ufeff" + PODS, PODS.rstrip("\n"), PODS + "\n\n\r\n", reordered,
                     "\n".join(line + ",x,y" if i else line + ",u,v" for i, line in enumerate(PODS.split()))):
            with self.subTest(text=text):
                self.assert_done(self.run_lists(pods=text, nodes=NODES.replace("\n", "\r\n")))
                self.assertEqual(self.pods(), expected)


class SettingsTest(CliTest):
    def assert_setting_refused(self, *arguments, words):
        with self.subTest(arguments=arguments):
            self.assert_refused(self.run_lists(*arguments), *words)

    def test_unknown_names_list_the_known_ones(self):
        for arguments, words in (
                (["--policy", "fgdd"], ["policy", "'fgdd'", "best_fit", "compat:fgd"]),
                (["--policy", ""], ["policy", "best_fit"]),
                (["--policy", "compat:nothing"], ["policy", "compat:gpupacking"]),
                (["--device-policy", "bestfit"], ["device_policy", "'bestfit'", "best_fit"]),
                (["--mode", "hami"], ["mode", "'hami'", "hami_core", "exclusive"]),
                (["--format", "parquet"], ["format", "'parquet'", "openb"]),
                (["--set", "polisy=fgd"], ["'polisy'", "policy", "sample_interval_s"]),
                (["--set", "=1"], ["policy", "sample_interval_s"])):
            self.assert_setting_refused(*arguments, words=words)

    def test_weighted_policies(self):
        for spelling in ("weighted:", "weighted:fgd", "weighted:fgd=", "weighted:fgd=x", "weighted:fgd=0",
                         "weighted:fgd=nan", "weighted:fgd=inf", "weighted:fgd=1e999", "weighted:fgd=1,",
                         "weighted:nothing=1", "weighted:fgd=0.5;binpack=0.5", "weighted:random=1",
                         "weighted:fgd=1e305", "weighted:fgd=1000001", "weighted:fgd=-1000001"):
            self.assert_setting_refused("--policy", spelling, words=["policy: "])

    def test_numbers(self):
        for value in ("-1", "nan", "inf", "1e308", "text", "", "1.3.4", "1,3"):
            self.assert_setting_refused("--tune", value, words=["tune", value, "a number from 0"])
        for value in ("text", "1.5", "", TOO_LONG, "1e3"):
            for arguments in (["--seed", value], ["--set", "seed=" + value]):
                self.assert_setting_refused(*arguments, words=["seed", value, "a whole number from -2^63 to 2^64 - 1"])
        for value in ("-1", "1.5", "x", TOO_LONG):
            self.assert_setting_refused("--sample-interval-s", value, words=["sample_interval_s", value])
        self.assert_setting_refused("--set", "departures=maybe", words=["departures", "'maybe'", "true or false"])

    def test_a_tune_that_cannot_be_reached(self):
        result = self.run_lists("--tune", "1", pods=PODS_HEADER + "p,1,1,0,0\n")
        self.assert_refused(result, "tune", "GPU")

    def test_set_without_equals(self):
        self.assert_setting_refused("--set", "tune", words=["--set", "'tune'", "KEY=VALUE"])

    def test_a_value_with_line_ends_is_still_one_line(self):
        for value in ("a\nb", "a\r\nb", "\n"):
            self.assert_setting_refused("--policy", value, words=["policy"])
            self.assert_setting_refused("--set", value + "=1", words=["one of the keys"])
        self.assert_refused(self.vgpusim("run", "--nodes", "no\nsuch", "--pods", "x", "--out", self.out))
        self.assert_refused(self.vgpusim("run", "two\nlines.json", "--out", self.out))

    def test_compare_needs_policies_that_differ(self):
        lists = self.inputs()
        for policies in ([], ["fgd"], ["fgd", "fgd"], ["fgd", "nothing"]):
            with self.subTest(policies=policies):
                flags = [word for policy in policies for word in ("--policy", policy)]
                self.assert_refused(self.vgpusim("compare", *lists, "--out", self.out, *flags), "policy")


class ScenarioTest(CliTest):
    def assert_scenario_refused(self, text, *words):
        with self.subTest(text=text):
            self.inputs()
            self.assert_refused(self.vgpusim("run", self.write("study.json", text), "--out", self.out), "study.json",
                                *words)

    def test_not_json(self):
        self.assert_scenario_refused("{", "the text ends inside a map")
        for text in ("", "nodes: a.csv", '{"seed": 1,}', "{} {}", b"\xff\xfe\0", b"\0"):
            self.assert_scenario_refused(text, "JSON")
        self.assert_scenario_refused("[" * 100_000, "deep")

    def test_not_an_object(self):
        for text in ("[]", "1", "null", '"text"'):
            self.assert_scenario_refused(text, "object")

    def test_keys_and_values(self):
        good = {"nodes": "nodes.csv", "pods": "pods.csv"}
        for key, value, words in (("polisy", "fgd", ["polisy", "policy", "tune"]),
                                  ("seed", [1], ["seed", "[1]"]),
                                  ("seed", None, ["seed"]),
                                  ("seed", "x", ["seed", "'x'", "whole number"]),
                                  ("seed", 1.5, ["seed", "1.5"]),
                                  ("seed", 2**64, ["seed"]),
                                  ("tune", -1, ["tune", "-1"]),
                                  ("tune", {"a": 1}, ["tune"]),
                                  ("tune", "1e400", ["tune", "1e400"]),
                                  ("departures", 1, ["departures", "true or false"]),
                                  ("sample_interval_s", -5, ["sample_interval_s"]),
                                  ("policy", 7, ["policy", "7", "best_fit"])):
            with self.subTest(key=key, value=value):
                self.inputs()
                path = self.write("study.json", json.dumps({**good, key: value}))
                self.assert_refused(self.vgpusim("run", path, "--out", self.out), *words)

    def test_a_number_beyond_all_ranges(self):
        self.assert_scenario_refused('{"tune": 1e400}', "1e400")

    def test_a_key_given_twice(self):
        self.assert_scenario_refused('{"nodes": "nodes.csv", "pods": "pods.csv", "seed": 1, "seed": 2}', "seed")

    def test_missing(self):
        self.assert_refused(self.vgpusim("run", self.root / "absent.json", "--out", self.out), "absent.json",
                            "No such file")
        self.assert_refused(self.vgpusim("run", self.root, "--out", self.out), "directory")


class UnwritableTest(CliTest):
    def test_out_is_a_file_or_lies_below_one(self):
        taken = self.root / "taken"
        taken.write_text("mine")
        for out in (taken, taken / "below"):
            with self.subTest(out=out):
                self.assert_refused(self.vgpusim("run", *self.inputs(), "--out", out), str(taken))
        self.assertEqual(taken.read_text(), "mine")

    def test_out_cannot_be_made(self):
        for out in ("/proc/xyz", "/proc/xyz/deep", "/dev/null/x", "/dev/null"):
            with self.subTest(out=out):
                self.assert_refused(self.vgpusim("run", *self.inputs(), "--out", out), out[:5])
                self.assert_refused(self.vgpusim("compare", *self.inputs(), "--out", out, "--policy", "fgd", "--policy",
                                                 "spread"), out[:5])

    def test_an_output_s_name_is_taken_by_a_folder(self):
        """The last of the files cannot be written: the earlier ones keep what was in them."""
        (self.out / "summary.json").mkdir(parents=True)
        (self.out / "pods.csv").write_text("before")
        result = self.vgpusim("run", *self.inputs(), "--out", self.out)
        self.assert_error_line(result, 2, "summary.json")
        self.assertEqual(self.present(self.out), ["pods.csv", "summary.json"])
        self.assertEqual((self.out / "pods.csv").read_text(), "before")

    def test_an_input_is_not_overwritten(self):
        nodes, pods = self.inputs()[1::2]
        contents = {"pods.csv": PODS, "timeseries.csv": NODES,
                    "summary.json": json.dumps({"nodes": nodes, "pods": pods})}
        for name, content in contents.items():
            self.write("out/" + name, content)
        for name, lists in (("pods.csv", ["--nodes", nodes, "--pods", self.out / "pods.csv"]),
                            ("timeseries.csv", ["--nodes", self.out / "timeseries.csv", "--pods", pods]),
                            ("summary.json", [self.out / "summary.json"])):
            with self.subTest(name=name):
                self.assert_error_line(self.vgpusim("run", *lists, "--out", self.out), 2, "out", name, "not an input")
                self.assertEqual({name: (self.out / name).read_text() for name in os.listdir(self.out)}, contents)

    def test_out_without_a_name(self):
        for command in (["run", *self.inputs()],
                        ["compare", *self.inputs(), "--policy", "fgd", "--policy", "spread"],
                        ["generate", SOURCE / "traces" / "models" / "openb-like.json"]):
            with self.subTest(command=command[0]):
                self.assert_error_line(self.vgpusim(*command, "--out", ""), 2, "out")
                self.assertEqual(self.present(self.root), ["nodes.csv", "pods.csv"])

    def test_what_was_there_stays_when_the_input_is_bad(self):
        self.assert_done(self.run_lists())
        before = {name: (self.out / name).read_bytes() for name in os.listdir(self.out)}
        self.assert_error_line(self.run_lists(pods=PODS + "pod-1,1,1,1,1\n"), 2, "pods.csv:5")
        self.assertEqual({name: (self.out / name).read_bytes() for name in os.listdir(self.out)}, before)


class ClusterTest(CliTest):
    """Commands on the objects of a cluster: the whole line that is said."""

    def setUp(self):
        super().setUp()
        self.write("empty.json", "")
        self.write("object.json", "{}")
        self.write("service.json", '{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s"}}')
        self.write("atlas.json", ATLAS.read_text(encoding="utf-8"))

    def assert_line(self, arguments, line):
        with self.subTest(arguments=arguments):
            result = self.vgpusim(*arguments)
            self.assert_refused(result)
            self.assertEqual(result.stderr, f"vgpusim: {line}\n")

    def assert_usage(self, arguments, line):
        self.assert_line(arguments, line + " (see vgpusim --help)")

    def test_files_without_what_is_looked_for(self):
        for command in (["show"], ["why"], ["whatif"], ["snapshot"], ["plan", "--consolidate", "nodes"], ["explain", "--pod", "p"]):
            self.assert_line([command[0], "empty.json", *command[1:]], NO_NODES)
            self.assert_line([command[0], "object.json", *command[1:]],
                             "object.json:1: kind: missing; expected at least one object of kind Node in the cluster")
        self.assert_line(["run", "--format", "kubernetes", "--start", "empty.json", "--discipline", "gang", "--pods", "p.csv", "--classes", "c",
                          "--out", self.out], NO_NODES)
        for option, wanted in (("--node-template", "an object of kind Node"), ("--add-pods", PODS_WANTED)):
            self.assert_line(["whatif", "atlas.json", option, "empty.json"], f"{option}: empty.json: no object; expected {wanted}")
            self.assert_line(["whatif", "atlas.json", option, "service.json"], f"{option}: service.json: got 'Service', expected {wanted}")
        self.assert_line(["whatif", "atlas.json", "--node-template", "object.json"],
                         "--node-template: object.json: got 'an object without a kind', expected an object of kind Node")
        for source, file, said in (
                ("prometheus", "empty.json", "kube_pod_container_resource_requests: missing; expected series of this metric with GPUs, cpu or memory"),
                ("audit", "empty.json", "missing; expected at least one pod that was bound, created at level RequestResponse"),
                ("kueue", "atlas.json", "missing; expected at least one Workload that was admitted")):
            self.assert_line(["import", source, file, "--out", self.out], f"{file}: {said}")

    def test_an_output_that_is_an_input(self):
        self.assert_line(["snapshot", "atlas.json", "--out", "atlas.json"], "--out: got 'atlas.json', expected a file that is not an input")
        self.assert_line(["show", "atlas.json", "-o", "html=atlas.json"], "-o: got 'html=atlas.json', expected a file that is not an input")
        self.assertEqual((self.root / "atlas.json").read_bytes(), ATLAS.read_bytes())

    def test_values_that_are_empty(self):
        for option in ("--uncordon", "--drain", "--fail", "--set-mode", "--add-nodes", "--add-pods", "--node-template", "--config"):
            self.assert_usage(["whatif", "atlas.json", option, ""], f"{option}: got '\"\"', expected a value")
        for command in ("show", "why", "whatif", "snapshot"):
            self.assert_usage([command, ""], "CLUSTER: got '\"\"', expected a value")
        self.assert_line(["import", "audit", "", "--out", self.out], "'': cannot open: No such file or directory")

    def test_usage(self):
        for arguments, line in (
                (["plan", "atlas.json", "--moves", "x"], "--moves: got 'x', expected a whole number from 0 to 100000"),
                (["plan", "atlas.json", "--moves", "a: b"], "--moves: got 'a: b', expected a whole number from 0 to 100000"),
                (["plan", "atlas.json", "--move-s", "-1"], "--move-s: got '-1', expected a number from 0 to 1000000000"),
                (["plan", "atlas.json", "--move-s", "nan"], "--move-s: got 'nan', expected a number"),
                (["plan", "atlas.json", "--consolidate", ""], "--consolidate: got '', expected one of devices, nodes"),
                (["plan", "atlas.json", "--consolidate", "racks"], "--consolidate: got 'racks', expected one of devices, nodes"),
                (["import", "x"], "SOURCE: got 'x', expected one of sacct, prometheus, audit, kueue"),
                (["forecast", "atlas.json", "--most", "0"], "--most: got '0', expected a whole number from 1 to 1000"),
                (["show", "atlas.json", "-l", "a", "-l", "b"], "-l: given twice; expected once"),
                (["show", "atlas.json", "-n", "a", "-n", "b", "-n", "c"], "-n: given 3 times; expected once"),
                (["show", "atlas.json", "-l"], "-l: missing; expected SET")):
            self.assert_usage(arguments, line)

    def test_questions_that_contradict_themselves(self):
        one = "one of --pod, --add-pod and --consolidate"
        self.assert_line(["plan", "atlas.json"], f"plan: missing; expected {one}")
        self.assert_line(["plan", "atlas.json", "--pod", "x", "--consolidate", "nodes"], f"plan: got '--pod and --consolidate', expected {one}")
        self.assert_line(["show", "atlas.json", "-o", "yaml", "--json"], "-o: got 'yaml', expected either this format or --json")
        self.assert_line(["show", "atlas.json", "-o", "table", "--json"], "-o: got 'table', expected either this format or --json")
        self.assertEqual(self.vgpusim("show", "atlas.json", "-o", "json", "--json").returncode, 0)
        self.assert_line(["plan", "atlas.json", "--consolidate", "nodes", "--keep-namespace", "nope"],
                         "--keep-namespace: got 'nope', expected a namespace of the cluster: dev, research, serve, train")

    def test_changes(self):
        layouts = ("all-disabled, all-1g.10gb, all-1g.10gb.me, all-1g.20gb, all-2g.20gb, all-3g.40gb, all-4g.40gb, all-7g.80gb, "
                   "all-balanced")
        for option, value, said in (
                ("--set-mode", "mig-2=mig:", "got 'mig-2=mig:', expected NODES=MODE or NODES=mig:LAYOUT, with a name of a layout"),
                ("--set-mode", "mig-2=mig", f"node mig-2: got 'mig', expected mig:LAYOUT with a layout of A100-80GB: {layouts}"),
                ("--set-mode", "mig-2=hami_core", "node mig-2: got 'hami_core', expected a mode in which dialect nvidia registers such "
                                                  "devices: exclusive, mig:LAYOUT"),
                ("--uncordon", "a100-1", "got 'a100-1', expected a node that is cordoned: a100-3"),
                ("--add-nodes", '{"kind":"T4"}=1', "kind: got 'T4', expected a number of \"devices\" beside it, as the node has none"),
                ("--add-nodes", "A100-80GB:hami_core:-3=1", "devices: got '-3', expected a whole number from 0 to 1024")):
            self.assert_line(["whatif", "atlas.json", option, value], f"{option}: {said}")
        result = self.vgpusim("whatif", "atlas.json", "--add-nodes", "T4:mig:all-balanced=1")
        self.assert_refused(result, "--add-nodes: kind: got 'T4', expected a GPU with MIG, which layouts cut: ", "A100-80GB")


class DoubtsTest(CliTest):
    """What is read on with a warning, as its figures may be others than was meant."""

    def warnings_of(self, change, command="show", *more):
        """The warnings about the cluster after `change` of its objects by kind and name."""
        cluster = json.loads(ATLAS.read_text(encoding="utf-8"))
        change({(item["kind"], item["metadata"]["name"]): item for item in cluster["items"]})
        result = self.vgpusim(command, self.write("cluster.json", json.dumps(cluster)), *more)
        self.assert_done(result)
        return [line for line in result.stdout.splitlines() if line.startswith("warning: ")]

    def test_labels_and_amounts_of_gpus(self):
        self.assertEqual(self.warnings_of(lambda objects: None), [])
        for part, key, value, said in (
                ("label", "nvidia.com/gpu.count", "4", "nvidia.com/gpu.count: got '4', expected 8, as many as the node has units; counted so"),
                ("label", "nvidia.com/gpu.count", "eight", "nvidia.com/gpu.count: got 'eight', expected a whole number up to 1024; not read"),
                ("label", "nvidia.com/gpu.memory", "-5", "nvidia.com/gpu.memory: got '-5', expected a whole number up to "),
                ("amount", "nvidia.com/gpu", "7.5", "allocatable nvidia.com/gpu: got '7.5', expected a whole number; counted as 8, rounded up "
                                                    "as Kubernetes does")):
            def change(objects, part=part, key=key, value=value):
                node = objects["Node", "a100-1"]
                (node["metadata"]["labels"] if part == "label" else node["status"]["allocatable"])[key] = value
            with self.subTest(key=key, value=value):
                for command in ("show", "whatif"):
                    warnings = self.warnings_of(change, command)
                    self.assertEqual(len(warnings), 1)
                    self.assertIn("node a100-1: " + said, warnings[0])

    def test_an_object_without_a_kind(self):
        warnings = self.warnings_of(lambda objects: objects["Node", "a100-1"].pop("kind"))
        self.assertEqual(sum("kind: missing; expected the object's kind; an object without one is not counted" in line for line in warnings), 1,
                         warnings)

    def test_a_mode_of_a_node_that_fails(self):
        lost = "--set-mode: got 'mig-2=mig:all-balanced', expected a node that stays: this one fails, and no node is added like it"
        change = ["--set-mode", "mig-2=mig:all-balanced"]
        self.assertIn(lost, "".join(self.warnings_of(lambda objects: None, "whatif", *change, "--fail", "mig-2")))
        self.assertEqual(self.warnings_of(lambda objects: None, "whatif", *change, "--fail", "mig-2", "--add-nodes", "mig-2=1"), [])
        self.assertEqual(self.warnings_of(lambda objects: None, "whatif", *change, "--fail", "mig-1"), [])

    def test_pods_that_are_there_already(self):
        warnings = self.warnings_of(lambda objects: None, "whatif", "--add-pods", ATLAS)
        self.assertEqual(len([line for line in warnings if "--add-pods: got '" in line and "these are counted twice" in line]), 1, warnings)


if __name__ == "__main__":
    unittest.main()
