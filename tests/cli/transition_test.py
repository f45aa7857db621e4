"""vgpusim transition: what a change of a MIG GPU's layout takes, as text and as JSON, and what is wrong with a question."""

import json
import re
import unittest

from support import SOURCE, CliTest


class TransitionTest(CliTest):
    def shown(self, *arguments):
        result = self.vgpusim("transition", *arguments)
        self.assert_done(result)
        return result.stdout

    def plan(self, *arguments):
        return json.loads(self.shown(*arguments, "--json"))

    def steps(self, *arguments):
        return [(step["what"], step["profile_id"], step["start"]) for step in self.plan(*arguments)["steps"]]

    def test_idle_instances_in_the_way_are_destroyed(self):
        question = ("A100-40GB", "--state", "1g.5gb@0,2g.10gb@4,1g.5gb@6", "--busy", "1g.5gb@0", "--want", "3g.20gb")
        text = self.shown(*question)
        self.assertIn("A100-40GB: 3 steps, 2.000 s, 0 moves, 0.000 s of downtime: 3g.20gb@4 is free then\n", text)
        self.assertRegex(text, r"\n +before +#\.\.\.\+\+\+\.\n")
        self.assertRegex(text, r"\n +3  create +3g\.20gb +9 +4 +4 +1\.000  #\.\.\.\+\+\+\+\n")
        plan = self.plan(*question)
        self.assertEqual((plan["possible"], plan["seconds"], plan["moves"]), (True, 2.0, 0))
        self.assertEqual(plan["instance"], {"profile": "3g.20gb", "profile_id": 9, "start": 4, "size": 4})
        self.assertEqual(self.steps(*question), [("destroy", 19, 6), ("destroy", 14, 4), ("create", 9, 4)])
        self.assertEqual([(entry["profile"], entry["start"], entry["busy"]) for entry in plan["after"]],
                         [("1g.5gb", 0, True), ("3g.20gb", 4, False)])

    def test_pods_move_only_if_they_may(self):
        question = ("A100-40GB", "--state", "1g.5gb@0,1g.5gb@4", "--busy", "1g.5gb@0,1g.5gb@4", "--want", "3g.20gb")
        self.assertEqual(self.shown(*question), "A100-40GB: none: not without moving a pod\n")
        self.assertEqual(self.plan(*question), {"model": "A100-40GB", "possible": False})
        moved = self.plan(*question, "--moves", "1")
        self.assertEqual([step["what"] for step in moved["steps"]], ["create", "move", "destroy", "create"])
        self.assertEqual(moved["steps"][1]["from"], 4)
        self.assertEqual(moved["moves"], 1)
        self.assertGreater(moved["downtime_seconds"], 2)
        self.assertEqual(self.shown(*question, "--moves", "2", "--pinned", "1g.5gb@0,1g.5gb@4"),
                         "A100-40GB: none: not with 2 moves\n")

    def test_a_pod_waits_where_its_two_instances_cannot_exist_at_once(self):
        question = ("A100-40GB", "--state", "1g.5gb+me@0", "--busy", "1g.5gb+me@0", "--want", "4g.20gb", "--moves", "3")
        self.assertFalse(self.plan(*question)["possible"])
        self.assertEqual([step["what"] for step in self.plan(*question, "--may-wait")["steps"]],
                         ["save", "destroy", "create", "restore", "create"])

    def test_the_fewest_moves_instead_of_the_fewest_seconds(self):
        # Four idle instances at one start, a pod at the other: where destroying is slow, moving the pod is quicker.
        question = ("A100-40GB", "--state", "1g.5gb@0,1g.5gb@1,1g.5gb@2,1g.5gb@3,1g.5gb@4", "--busy", "1g.5gb@4",
                    "--want", "3g.20gb", "--moves", "1", "--destroy-seconds", "60")
        self.assertEqual([step["what"] for step in self.plan(*question)["steps"]], ["move", "destroy", "create"])
        fewest = self.plan(*question, "--fewest-moves")
        self.assertEqual((fewest["moves"], fewest["seconds"]), (0, 4 * 60 + 1))
        self.assertEqual([step["what"] for step in fewest["steps"]], ["destroy"] * 4 + ["create"])
        pods = ("A100-40GB", "--state", "1g.5gb@0,1g.5gb@4", "--busy", "1g.5gb@0,1g.5gb@4", "--want", "3g.20gb",
                "--fewest-moves")
        self.assertFalse(self.plan(*pods)["possible"])
        self.assertEqual(self.plan(*pods, "--moves", "3")["moves"], 1)

    def test_profiles_by_id_and_a_start_of_ones_own(self):
        self.assertEqual(self.steps("0x20B010DE", "--state", "19@0", "--want", "9@0"),
                         [("destroy", 19, 0), ("create", 9, 0)])
        self.assertEqual(self.steps("A30", "--want", "2g.12gb@0"), [("create", 5, 0)])
        self.assertEqual(self.plan("RTX PRO 6000 Blackwell", "--want", "2g.48gb@6")["instance"]["size"], 6)

    def test_geometry_groups(self):
        question = ("A100-40GB", "--state", "3g.20gb@0,3g.20gb@4", "--want-group", "1g.5gb=2,2g.10gb=1,3g.20gb=1")
        self.assertEqual(self.plan(*question)["seconds"], 3.5)
        self.assertEqual(self.plan(*question, "--anew")["seconds"], 5.0)
        self.assertEqual(self.shown(*question, "--busy", "3g.20gb@4"),
                         "A100-40GB: none: an instance has a pod, and a group changes as a whole\n")

    def test_costs_are_the_users(self):
        question = ("A100-40GB", "--state", "1g.5gb@0", "--busy", "1g.5gb@0", "--want", "4g.20gb", "--moves", "1",
                    "--create-seconds", "0.25", "--destroy-seconds", "0.125", "--restart-seconds", "1",
                    "--copy-mib-per-s", "4864")
        self.assertEqual(self.plan(*question)["seconds"], 0.25 + (1 + 2) + 0.125 + 0.25)

    def test_a_model_of_ones_own(self):
        whole = json.loads(self.vgpusim("catalog", "mig", "A30", "--json").stdout)
        whole["mig"][0].update(key="MINE", card_types=["MINE"], pci_device_ids=[])
        path = self.write("mine.json", json.dumps(whole))
        self.assertEqual(self.plan("MINE", "--file", path, "--want", "4g.24gb")["model"], "MINE")

    def test_what_is_wrong_is_said_in_one_line(self):
        for arguments, *words in (
                (["X", "--want", "3g"], "got 'X'", "A100-40GB, A100-80GB"),
                (["A100-40GB", "--want", "9g.1gb"], "--want: profile: got '9g.1gb'", "1g.5gb, 1g.5gb+me"),
                (["A100-40GB", "--want", "3g.20gb@1"], "--want: got '3g.20gb@1'", "a start of it: 0, 4"),
                (["A100-40GB", "--state", "3g.20gb", "--want", "1g.5gb"], "--state: got '3g.20gb'", "PROFILE@START"),
                (["A100-40GB", "--state", "3g.20gb@0,1g.5gb@2", "--want", "1g.5gb"],
                 "--state: got '1g.5gb@2'", "memory slices that 3g.20gb@0 does not have"),
                (["A100-40GB", "--state", "1g.5gb+me@0,1g.5gb+me@1", "--want", "1g.5gb"], "at most 1 of this profile"),
                (["RTX-PRO-6000-96GB", "--state", "1g.24gb+me.all@0,2g.48gb@6", "--want", "1g.24gb"],
                 "at most 4 decoder engines together"),
                (["A100-40GB", "--state", "1g.5gb@0,1g.5gb@0", "--want", "1g.5gb"], "every instance once"),
                (["A100-40GB", "--state", "1g.5gb@0", "--busy", "1g.5gb@1", "--want", "1g.5gb"],
                 "--busy: got '1g.5gb@1'", "an instance of --state"),
                (["A100-40GB", "--state", "1g.5gb@0", "--pinned", "1g.5gb@0", "--want", "1g.5gb"],
                 "--pinned: got '1g.5gb@0'", "an instance of --busy"),
                (["A100-40GB"], "--want: a profile, or --want-group"),
                (["A100-40GB", "--want", "1g.5gb", "--moves", "17"], "moves: got '17'", "0 to 16"),
                (["A100-40GB", "--want", "1g.5gb", "--create-seconds", "0"], "--create-seconds: got '0'"),
                (["A100-40GB", "--want", "1g.5gb", "--create-seconds", "nan"], "--create-seconds"),
                (["A100-40GB", "--want", "1g.5gb", "--copy-mib-per-s", "0"], "copy_mib_per_s: got '0'"),
                (["A100-40GB", "--want-group", "1g.5gb=9"], "--want-group: got '1g.5gb=9'", "can have at once"),
                (["A100-40GB", "--want-group", "1g.5gb"], "PROFILE=COUNT"),
                (["A100-40GB", "--want-group", "9g=1"], "--want-group", "got '9g'"),
                (["A100-40GB", "--want-group", "1g.5gb=-1"], "1g.5gb: got '-1'"),
                (["A100-40GB", "--want", "1g.5gb", "--want-group", "1g.5gb=1"], "excludes"),
                (["A100-40GB", "--want", "1g.5gb@0", "--fewest-moves"], "--want", "1g.5gb@0"),
                (["A100-40GB", "--want", "1g.5gb", "--anew"], "--want-group"),
                (["A100-40GB", "--want", ""], "--want")):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.vgpusim("transition", *arguments), *words)

    def test_the_commands_of_the_page_print_what_it_shows(self):
        page = (SOURCE / "docs" / "transitions.md").read_text(encoding="utf-8")
        examples = re.findall(r"```\n\$ vgpusim (transition [^\n]*)\n(.*?)```", page, re.DOTALL)
        self.assertGreaterEqual(len(examples), 3)
        for command, printed in examples:
            with self.subTest(command=command):
                self.assertEqual(self.shown(*command.split()[1:]), printed)


if __name__ == "__main__":
    unittest.main()
