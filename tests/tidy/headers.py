"""docs/headers.md lists every installed header, in the table of its layer, with what it is for."""
import re

from source import Finding

PAGE = "docs/headers.md"
USES = ("called", "extended", "read")
PUBLIC = re.compile(r"(?:(?:libvgpualloc|formats)/)?(\w+)/include/((?:vgpualloc|vgpuformats|vgpuops|vgpufacade)/.+)")
NOT_LISTED = ("solver", "formats")  # not installed; installed for the simulator alone
ROW = re.compile(r"\| `([^`]+)` \| (\w+) \| (.+) \|")
TITLE = re.compile(r"## `vgpualloc::(\w+)`")


def check(texts):
    if PAGE not in texts:
        return []
    findings, listed, layer = [], {}, ""
    for number, line in enumerate(texts[PAGE].splitlines(), 1):
        if title := TITLE.fullmatch(line):
            layer = "umbrella" if title[1] == "vgpualloc" else title[1]
        elif row := ROW.fullmatch(line):
            listed[(layer, row[1])] = number
            if row[2] not in USES:
                findings.append(Finding(PAGE, number, "headers", f"'{row[2]}', expected one of {', '.join(USES)}"))
    there = {match.groups(): path for path in texts if (match := PUBLIC.fullmatch(path)) and match[1] not in NOT_LISTED}
    findings += [Finding(there[header], 1, "headers", f"is installed, and not in {PAGE} under its layer")
                 for header in there.keys() - listed.keys()]
    return findings + [Finding(PAGE, listed[header], "headers", f"{header[1]} is no header of {header[0]}")
                       for header in listed.keys() - there.keys()]
