"""vgpusim validate on example manifests of HAMi, Volcano and their device plugins: every resource of every pod is told."""

import collections
import csv
import json
import os
import unittest
from pathlib import Path

from support import CliTest

EVIDENCE = os.environ.get("VGPUALLOC_EVIDENCE", "")
MANIFESTS = Path(EVIDENCE) / "manifests"


@unittest.skipUnless(EVIDENCE and (MANIFESTS / "expected.csv").exists(), "no evidence")
class ManifestsTest(CliTest):
    def expected(self):
        """File -> list of (kind, name, resource -> amounts by container), CLAIMS as None."""
        files = collections.defaultdict(list)
        with open(MANIFESTS / "expected.csv", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                asks = None
                if row["asks"] != "CLAIMS":
                    asks = {name: amounts.split(",") for name, amounts in (ask.split("=") for ask in row["asks"].split())}
                files[row["file"]].append((row["kind"], row["name"], asks))
        return files

    def told(self, entries):
        """Resource -> amounts, in the order of the containers."""
        amounts = collections.defaultdict(list)
        for entry in entries:
            for container in entry.get("asks", []):
                for resource, amount in container["resources"].items():
                    amounts[resource].append(amount)
        return dict(amounts)

    def test_every_resource_is_told(self):
        for name, rows in self.expected().items():
            path = MANIFESTS / name
            listed = json.loads(self.vgpusim("validate", path, "--json").stdout)["objects"]
            text = self.vgpusim("validate", path).stdout
            for kind, pod, asks in rows:
                with self.subTest(file=name, pod=pod):
                    entries = [entry for entry in listed
                               if entry["kind"] == kind and entry["name"].split("/")[0] == pod and entry.get("asks")]
                    self.assertTrue(entries)
                    for entry in entries:
                        self.assertNotIn("asks for no device", entry["notes"])
                    if asks is None:
                        self.assertTrue(any(container.get("claims") for entry in entries for container in entry["asks"]))
                        self.assertIn("asks for claim", text)
                        continue
                    self.assertEqual(self.told(entries), asks)
                    for resource, amounts in asks.items():
                        self.assertIn(f"{resource}: {amounts[0]}", text)
                        self.assert_read_or_named(resource, entries)

    def assert_read_or_named(self, resource, entries):
        unread = {ask["resource"] for entry in entries for ask in entry.get("not_read", [])}
        has_request = any(dialect.get("requests") or dialect.get("refused") for entry in entries for dialect in entry["dialects"])
        self.assertTrue(resource in unread or has_request, resource)
        if resource in unread:
            self.assertTrue(any(resource in note for entry in entries for note in entry["notes"]))


if __name__ == "__main__":
    unittest.main()
