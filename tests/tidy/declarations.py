"""Which part may forward-declare a class of which: what an #include may not reach, a declaration may not name either."""
import re

from arrows import closure, part_of
from source import Finding, without_comments

TOKEN = re.compile(
    r"namespace\s+(?P<namespace>[\w:]+)\s*\{"
    r"|\b(?P<open>namespace)\s*\{"
    r"|\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(?P<type>\w+)\s*(?:final\s*)?(?P<end>[;{:])"
    r"|\w<\s*(?:const\s+)?(?:class|struct)\s+(?P<argument>\w+)\s*>"
    r"|(?P<brace>[{}])")


def types_of(text):
    """(line number, name, whether it is defined here) of every class that a namespace declares. The name has its namespace."""
    text = without_comments(text)
    scopes = []  # of every open brace the namespace, or None for what is no namespace

    def spelt(name):
        return "::".join([scope for scope in scopes if scope] + [name])

    for match in TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["namespace"] or match["open"]:
            scopes.append(match["namespace"] or "")
        elif match["argument"]:
            yield line, spelt(match["argument"]), False
        elif match["type"]:
            if None not in scopes:
                yield line, spelt(match["type"]), match["end"] != ";"
            if match["end"] == "{":
                scopes.append(None)
        elif match["brace"] == "{":
            scopes.append(None)
        elif scopes:
            scopes.pop()


def check(texts):
    """texts: path -> content of every C++ file of the parts."""
    owners, declared = {}, []  # name -> parts that define it
    for path, text in texts.items():
        part = part_of(path)
        if part is None:
            continue
        for line, name, defined in types_of(text):
            if defined:
                owners.setdefault(name, set()).add(part)
            else:
                declared.append((path, line, part, name))
    findings = []
    for path, line, part, name in declared:
        seen = {part, *closure(part)}
        if name in owners and not owners[name] & seen:
            findings.append(Finding(path, line, "arrow", f"declares {name} of {', '.join(sorted(owners[name]))}, "
                                    f"which {part} does not see"))
    return findings
