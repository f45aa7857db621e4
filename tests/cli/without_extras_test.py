"""The vgpusim of a build without libcurl, OpenSSL, zlib, dygraphs and HiGHS: it decides the same and says what it cannot do.

VGPUSIM_WITHOUT_EXTRAS names it, VGPUSIM the ordinary one."""

import gzip
import json
import os
import subprocess
import unittest

from clusters import cluster, gpu_node, on_card
from support import NODES, PODS, VGPUSIM, CliTest, untimed

BINARY = os.environ["VGPUSIM_WITHOUT_EXTRAS"]


class WithoutExtrasTest(CliTest):
    def test_it_needs_none_of_the_libraries(self):
        def libraries_of(binary):
            return subprocess.run(["readelf", "--dynamic", binary], capture_output=True, text=True, check=True).stdout

        for library in ("libcurl", "libcrypto", "libz", "libhighs"):
            if library != "libhighs" or self.has_solver():
                self.assertIn(library, libraries_of(VGPUSIM))
            self.assertNotIn(library, libraries_of(BINARY))

    def test_a_run_decides_the_same_and_records_the_same_checksums(self):
        plain, ordinary = self.root / "plain", self.root / "ordinary"
        self.assertEqual(self.run_quickstart(out=plain, binary=BINARY).returncode, 0)
        self.assertEqual(self.run_quickstart(out=ordinary).returncode, 0)
        for name in ("pods.csv", "timeseries.csv"):
            self.assertEqual((plain / name).read_bytes(), (ordinary / name).read_bytes())
        expected = untimed((ordinary / "summary.json").read_text())
        self.assertTrue(all(source["sha256"] for source in expected["inputs"]))
        self.assertEqual(untimed((plain / "summary.json").read_text()), expected)

    def test_the_report_says_why_it_has_no_curves(self):
        self.run_quickstart(binary=BINARY)
        page = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertIn("built without dygraphs", page)
        self.assertNotIn("Licence of dygraphs", page)

    def test_a_gzip_file_is_one_clear_error(self):
        packed = self.write("nodes.csv", gzip.compress(NODES.encode()))
        result = self.vgpusim("run", "--nodes", packed, "--pods", self.write("pods.csv", PODS), "--out", self.out,
                              binary=BINARY)
        self.assert_refused(result, "nodes.csv: got 'a gzip file', expected a vgpusim built with zlib")

    def test_fetch_says_what_is_missing(self):
        self.assert_error_line(self.vgpusim("fetch", "openb", binary=BINARY), 2, "fetch", "libcurl and OpenSSL")

    def test_prices_come_from_a_file_or_not_at_all(self):
        self.assert_refused(self.run_quickstart("--policy", "dual_price", binary=BINARY),
                            "a vgpusim built with HiGHS; this one was built without", "dual_price")
        by_size = self.write("prices.json", '{"cpu_milli_per_gpu": 10000, "devices": []}')
        self.assert_done(self.run_quickstart("--policy", "dual_price", "--prices", by_size, binary=BINARY))

    def test_bounds_say_what_is_missing(self):
        lists = ("--nodes", self.write("nodes.csv", NODES), "--pods", self.write("pods.csv", PODS))
        message = "a vgpusim built with HiGHS; this one was built without"
        for arguments in (("bound", *lists), ("run", *lists, "--bound", "--out", self.out)):
            self.assert_refused(self.vgpusim(*arguments, binary=BINARY), message)

    def test_a_plan_has_the_bound_by_amounts(self):
        objects = [entry for name in "abc" for entry in (gpu_node(name, 1), on_card(f"on-{name}", name, 0, 24576))]
        file = self.write("cluster.json", json.dumps(cluster(*objects)))
        result = self.vgpusim("plan", file, "--consolidate", "nodes", "--move-bare-pods", "--json", binary=BINARY)
        self.assert_done(result)
        emptied = json.loads(result.stdout)["emptied"]
        self.assertEqual((emptied["used_min"], emptied["used_min_by"]), (2, "amounts"))


if __name__ == "__main__":
    unittest.main()
