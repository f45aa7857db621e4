"""vgpusim catalog: what it shows, files that add or replace models, and what is wrong with such files."""

import json
import unittest

from support import CliTest

MODEL = {
    "key": "NEW-1-8GB", "memory_slices": 3, "compute_slices": 2, "card_types": ["NEW-1"],
    "profiles": [
        {"name": "1g.2gb", "kind": "core", "profile_id": 19, "compute_slices": 1, "size": 1, "starts": [0, 1],
         "max_instances": 2},
        {"name": "2g.8gb", "kind": "core", "profile_id": 0, "compute_slices": 2, "size": 3, "starts": [0],
         "max_instances": 1, "memory_mib": 8000},
    ],
}
CHIP = {
    "name": "AscendNew", "chip_name": "NewP", "resource": "huawei.com/New", "resource_memory": "huawei.com/New-memory",
    "resource_core": "huawei.com/New-core", "memory_allocatable_mib": 1000, "memory_capacity_mib": 1024, "ai_core": 8,
    "templates": [{"name": "t1", "memory_mib": 300, "ai_core": 2}],
}


def catalog(models=None, **more):
    document = {"schema": "vgpualloc-catalog/1", **more}
    if models is not None:
        document["mig"] = models
    return json.dumps(document)


def changed(**values):
    return {**MODEL, **values}


def changed_profile(**values):
    return changed(profiles=[{**MODEL["profiles"][0], **values}, MODEL["profiles"][1]])


class ShowTest(CliTest):
    def shown(self, *arguments):
        result = self.vgpusim("catalog", *arguments)
        self.assert_done(result)
        return result.stdout

    def test_lists(self):
        both = self.shown()
        for name in ("A100-40GB", "RTX-PRO-6000-96GB", "Ascend910B4", "Ascend310P"):
            self.assertIn(name, both)
        models, chips = self.shown("mig"), self.shown("ascend")
        self.assertEqual(len(models.splitlines()), 1 + 18)
        self.assertNotIn("Ascend", models)
        self.assertNotIn("A100", chips)
        self.assertIn("vir04_4c_dvpp", chips)
        power = self.shown("power")
        self.assertRegex(power, r"\nT4 +10 +70 ")
        self.assertNotIn("vir04", power)
        for part in (models, power):
            self.assertIn(part, both)

    def test_what_a_board_draws(self):
        text = self.shown("power", "NVIDIA A100-SXM4-80GB")
        self.assertRegex(text, r"board +A100-SXM4-80GB\n")
        self.assertRegex(text, r"\nbusy W +400\nfrom +S:")
        self.assertRegex(self.shown("power", "Ascend910A"), r"\nidle W +unknown\n")
        self.assert_refused(self.vgpusim("catalog", "power", "G2"), "board: got 'G2'", "one board of T4")

    def test_a_model_with_its_placements(self):
        text = self.shown("mig", "A100-40GB")
        lines = text.splitlines()
        self.assertRegex(text, r"\n3g\.20gb +9 +3 +4 +19\.50/19\.62 +19968 +42 +2 +3 +2 +0 +0 +0  core\n")
        self.assertRegex(self.shown("mig", "B200-180GB"), r"\n1g\.23gb +19 +1 +1\* +22\.00/20\.50 +20992 ")
        self.assertRegex(text, r"\nprofile +start +01234567\n")
        self.assertRegex(text, r"\n3g\.20gb +4 +\.\.\.\.####\n")
        self.assertRegex(text, r"\n1g\.10gb +2 +\.\.##\.\.\.\.\n")
        self.assertEqual(sum(1 for line in lines if line.endswith(("#", ".")) and set(line.split()[-1]) <= {"#", "."}),
                         7 + 7 + 4 + 3 + 2 + 1 + 1)
        self.assertRegex(text, r"\ncore profiles +298 +19\n")

    def test_the_grid_is_the_models_own(self):
        self.assertRegex(self.shown("mig", "A30"), r"\n2g\.12gb +2 +\.\.##\n")
        self.assertRegex(self.shown("mig", "RTX PRO 6000 Blackwell"), r"\n2g\.48gb +6 +\.{6}#{6}\n")

    def test_names_that_the_driver_prints(self):
        for text in ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB", "0x20B010DE"):
            self.assertEqual(self.shown("mig", text), self.shown("mig", "A100-40GB"))

    def test_unknown_values_say_so(self):
        self.assertRegex(self.shown("mig", "H20-96GB"), r"\n1g\.12gb +19\* +1 +1\* +unknown +unknown +unknown +7\* ")
        self.assertRegex(self.shown("ascend", "910A"), r"\nvir02 +2184 +2 +unknown +15\n")

    def test_sources_are_documents_that_anybody_can_follow(self):
        for arguments in (["--json"], ["mig", "--json"], ["ascend", "--json"], ["power", "--json"]):
            text = self.shown(*arguments)
            for word in ("find_string", "user seed", "corpus", "SPEC-", "SEED"):
                self.assertNotIn(word, text)
            self.assertNotRegex(text, r"\b\d{8,}\b", "numbers of an index that nobody else has")
            for name, said in json.loads(text).get("sources", {}).items():
                self.assertRegex(said, r"https://|`nvidia-smi |NVIDIA's playbook|^derived", name)

    def test_a_chip(self):
        text = self.shown("ascend", "910B4")
        self.assertEqual(text, self.shown("ascend", "Ascend910B4"))
        self.assertIn("huawei.com/Ascend910B4-memory", text)
        self.assertRegex(text, r"\nvir10_3c_16g +16384 +10 +3 +2\n")

    def test_json_is_a_catalog_file(self):
        """Reading what was printed gives the same again, wholly and for one entry."""
        for arguments in ([], ["mig"], ["ascend"], ["power"], ["mig", "B200-180GB"], ["ascend", "310P3"],
                          ["power", "T4"]):
            with self.subTest(arguments=arguments):
                printed = self.shown(*arguments, "--json")
                path = self.write("printed.json", printed)
                self.assertEqual(self.shown(*arguments, "--json", "--file", path), printed)
        whole = json.loads(self.shown("--json"))
        self.assertEqual(len(whole["mig"]), 18)
        self.assertEqual(whole["mig"][0]["profiles"][0]["memory_gib_shown"], 4.75)
        self.assertIsNone(whole["mig"][6]["profiles"][0]["sm"])
        one = json.loads(self.shown("mig", "A30", "--json"))
        self.assertEqual([model["key"] for model in one["mig"]], ["A30-24GB"])
        self.assertNotIn("ascend", one)

    def test_a_file_adds_a_model_and_a_chip(self):
        path = self.write("mine.json", catalog([MODEL], ascend={"chips": [CHIP]}))
        self.assertEqual(len(self.shown("mig", "--file", path).splitlines()), 1 + 19)
        text = self.shown("mig", "a NEW-1 card", "--file", path)
        self.assertRegex(text, r"\n2g\.8gb +0 +###\n")
        self.assertRegex(text, r"\n1g\.2gb +1 +\.#\.\n")
        self.assertRegex(text, r"\ncore profiles +5 +2\n")
        self.assertIn("AscendNew", self.shown("ascend", "NewP", "--file", path))
        self.assert_refused(self.vgpusim("catalog", "mig", "NEW-1-8GB"), "NEW-1-8GB")

    def test_the_last_of_several_files_wins(self):
        first = self.write("1.json", catalog([changed(description="first")]))
        second = self.write("2.json", catalog([changed(description="second")]))
        self.assertIn("second", self.shown("mig", "NEW-1", "--file", first, "--file", second))
        self.assertIn("first", self.shown("mig", "NEW-1", "--file", second, "--file", first))

    def test_a_file_replaces_a_model(self):
        path = self.write("mine.json", catalog([changed(key="A30-24GB")]))
        self.assertEqual(len(self.shown("mig", "--file", path).splitlines()), 1 + 18)
        self.assertRegex(self.shown("mig", "A30-24GB", "--file", path), r"grid +3 units, 2 compute slices\n")

    def test_a_grid_with_too_many_layouts_ends(self):
        many = {"name": "1g", "kind": "core", "profile_id": 1, "compute_slices": 1, "size": 1,
                "starts": list(range(40)), "max_instances": 40}
        path = self.write("wide.json", catalog([{"key": "W", "memory_slices": 40, "compute_slices": 40,
                                                 "profiles": [many]}]))
        self.assertRegex(self.shown("mig", "W", "--file", path), r"\ncore profiles +at least 100000 +at least 1\n")


class RefusedTest(CliTest):
    def assert_file_refused(self, text, *words):
        with self.subTest(words=words):
            path = self.write("f.json", text)
            self.assert_refused(self.vgpusim("catalog", "--file", path), "f.json", *words)

    def test_names(self):
        self.assert_refused(self.vgpusim("catalog", "mig", "A100"), "MIG model: got 'A100'", "A100-40GB, A100-80GB")
        self.assert_refused(self.vgpusim("catalog", "ascend", "910B"), "Ascend chip: got '910B'", "Ascend910B4")
        self.assert_refused(self.vgpusim("catalog", "gpus"), "gpus", "mig")
        self.assert_refused(self.vgpusim("catalog", "mig", "A30", "H20"))

    def test_files_that_are_no_catalog(self):
        self.assert_refused(self.vgpusim("catalog", "--file", "none.json"), "none.json")
        self.assert_refused(self.vgpusim("catalog", "--file", str(self.root)))
        self.assert_file_refused("", "JSON: syntax error")
        self.assert_file_refused('{"schema": "vgpualloc-catalog/1", "mig": [', "f.json:1:")
        self.assert_file_refused(b"\xff\xfe{}", "JSON: syntax error")
        self.assert_file_refused("[" * 100000, "deep")
        self.assert_file_refused("{}", "mig")
        self.assert_file_refused(json.dumps({"schema": "vgpualloc-catalog/2", "mig": [MODEL]}), "schema",
                                 "vgpualloc-catalog/2")
        self.assert_file_refused(catalog([]), "mig")
        self.assert_file_refused(catalog(power=[{"key": "X", "idle_w": 9, "busy_w": 8}]), "power 'X': busy_w: got '8'")
        self.assert_file_refused(catalog([MODEL], gpus=[]), "gpus", "unknown key")
        self.assert_file_refused('{"schema": "vgpualloc-catalog/1", "schema": "vgpualloc-catalog/1"}', "twice")

    def test_mistakes_in_models(self):
        model = "model 'NEW-1-8GB'"
        self.assert_file_refused(catalog([MODEL, MODEL]), model, "key", "every model once")
        self.assert_file_refused(catalog([MODEL, changed(key="OTHER")]), "model 'OTHER'", "card_types", "NEW-1-8GB")
        self.assert_file_refused(catalog([changed(card_types=["A30"])]), model, "'A30'", "A30-24GB")
        self.assert_file_refused(catalog([changed(memory_slices=65)]), model, "memory_slices", "65", "1 to 64")
        self.assert_file_refused(catalog([changed(colour="red")]), model, "colour", "unknown key")
        self.assert_file_refused(catalog([changed(key="a\x1b[2J")]), "control characters")

    def test_mistakes_in_profiles(self):
        profile = "model 'NEW-1-8GB': profile '1g.2gb'"
        self.assert_file_refused(catalog([changed_profile(starts=[0, 3])]), profile, "starts[1]", "'3'", "from 0 to 2")
        self.assert_file_refused(catalog([changed_profile(size=2, starts=[2])]), profile, "starts[0]", "'2'",
                                 "from 0 to 1")
        self.assert_file_refused(catalog([changed_profile(profile_id="19")]), profile, "profile_id", "19")
        self.assert_file_refused(catalog([changed_profile(profile_id=0)]), "profile '2g.8gb'", "profile_id", "1g.2gb")
        self.assert_file_refused(catalog([changed_profile(name="2g.8gb")]), "profiles[1].name", "every name once")
        self.assert_file_refused(catalog([changed_profile(sm=0)]), profile, "sm", "'0'")
        self.assert_file_refused(catalog([changed_profile(sm=1.5)]), profile, "sm", "'1.5'")

    def test_mistakes_in_chips(self):
        def chips(*list_of):
            return catalog(ascend={"chips": list(list_of)})
        self.assert_file_refused(chips(CHIP, CHIP), "chip 'AscendNew'", "every chip once")
        self.assert_file_refused(chips({**CHIP, "ai_core": -1}), "chip 'AscendNew'", "ai_core", "'-1'")
        self.assert_file_refused(chips({**CHIP, "chip_name": "910A"}), "chip_name", "'910A'", "Ascend910A")


if __name__ == "__main__":
    unittest.main()
