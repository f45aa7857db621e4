#!/usr/bin/env python3
"""Reads the tree and fails on a forbidden arrow (an include, a declaration or a link line), a banned word, or a header that no test holds or that is not listed.
Usage: tidy.py ROOT"""
import sys

import arrows
import bans
import declarations
import headers
import links
import mirror
from source import CPP, read_texts

ARROW_FOLDERS = ("libvgpualloc/", "formats/", "traces/", "conformance/", "operations/", "simulator/", "python-bindings/")


def check(texts):
    sources = {path: text for path, text in texts.items() if path.startswith(ARROW_FOLDERS) and path.endswith(CPP)}
    return sorted(arrows.check(sources) + declarations.check(sources) + links.check(texts) + bans.check(texts), key=lambda finding: (finding.path, finding.line))


def main():
    texts = read_texts(sys.argv[1])
    if not any(arrows.is_public(path) for path in texts):
        print(f"no header of the library under {sys.argv[1]}: nothing was checked", file=sys.stderr)
        return 1
    findings = check(texts) + mirror.check(texts) + headers.check(texts)
    for finding in findings:
        print(finding)
    print(f"{len(texts)} files read, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
