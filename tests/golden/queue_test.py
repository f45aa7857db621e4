"""Starts and ends of every job under the disciplines, against references from a straight implementation on one pool."""
import csv
import gzip
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

VGPUSIM = os.environ["VGPUSIM"]
EVIDENCE = os.environ.get("VGPUALLOC_EVIDENCE", "")
TRACES = os.environ.get("VGPUALLOC_TRACES", "")
# <log>-<units of the pool>-<discipline>.csv.gz
REFERENCE = re.compile(r"(?P<log>.+)-(?P<units>\d+)-(?P<discipline>[a-z_]+)\.csv\.gz")


def times(rows):
    return {row["name"]: (float(row["arrival_s"]), float(row["start_s"]), float(row["end_s"])) for row in rows}


class QueueTest(unittest.TestCase):
    def replay(self, log, units, discipline, folder):
        swf = Path(EVIDENCE, "golden", "queue", log + ".swf")
        pods, kind = (swf, "swf") if swf.exists() else (Path(TRACES, log + ".csv"), log)
        nodes = Path(folder, "nodes.csv")
        nodes.write_text(f"sn,cpu_milli,memory_mib,gpu,model\npool,0,0,{units},G\n")
        subprocess.run([VGPUSIM, "run", "--format", kind, "--nodes", str(nodes), "--pods", str(pods), "--policy", "binpack",
                        "--discipline", discipline, "--out", folder + "/out"], check=True, stdout=subprocess.DEVNULL)
        with open(folder + "/out/pods.csv", encoding="utf-8", newline="") as rows:
            return times(csv.DictReader(rows))

    def test_every_job_starts_and_ends_when_the_reference_says(self):
        references = sorted(Path(EVIDENCE, "golden", "queue").glob("*.csv.gz"))
        self.assertGreaterEqual(len(references), 5)
        for reference in references:
            with self.subTest(reference=reference.name), tempfile.TemporaryDirectory() as folder:
                name = REFERENCE.fullmatch(reference.name)
                with gzip.open(reference, "rt", encoding="utf-8", newline="") as rows:
                    expected = times(csv.DictReader(rows))
                found = self.replay(name["log"], name["units"], name["discipline"], folder)
                self.assertEqual(found.keys(), expected.keys())
                self.assertEqual([job for job in expected if found[job] != expected[job]], [])


if __name__ == "__main__":
    if not EVIDENCE or not TRACES:
        print("no evidence: VGPUALLOC_EVIDENCE and VGPUALLOC_TRACES are not set")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main()
