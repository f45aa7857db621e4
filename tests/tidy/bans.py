"""Words that must not appear, each with the reason, plus tabs, long files and paths outside the checkout."""
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from source import CPP, Finding, without_comments

CORE = ("libvgpualloc/",)
PRODUCT = ("libvgpualloc/", "formats/", "traces/", "conformance/", "operations/", "facade/", "simulator/", "python-bindings/", "web/")
EVERYWHERE = ("",)


@dataclass(frozen=True)
class Ban:
    name: str
    pattern: str
    folders: tuple
    why: str
    code: bool = True          # read C++ without its comments and strings; otherwise every text file as it is
    allowed: tuple = field(default=())  # paths or folders that may


BALANCED = r"(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*?"

BANS = [
    Ban("random", r"#\s*include\s*<random>", PRODUCT, "std distributions differ between libraries: core/rng.hpp"),
    Ban("std-random", r"\bstd::(?:\w+_distribution|shuffle|sample|mt19937(?:_64)?|default_random_engine)\b", PRODUCT,
        "not the same on every platform: core/rng.hpp"),
    Ban("random_device", r"\brandom_device\b", PRODUCT, "every draw comes from the seed"),
    Ban("rand", r"(?<![\w.>:])(?:std::)?s?rand\s*\(", PRODUCT, "every draw comes from the seed"),
    Ban("std-hash", r"\bstd::hash\b", PRODUCT, "not the same on every platform: core/hash.hpp"),
    Ban("time", r"(?<![\w.>])(?:std::)?time\s*\(\s*(?:nullptr|NULL|0\s*\)|&)", PRODUCT, "results know no wall clock"),
    Ban("system_clock", r"\bsystem_clock\b", PRODUCT, "results know no wall clock"),
    Ban("clock", r"\b(?:steady_clock|high_resolution_clock|clock_gettime|gettimeofday|getrusage)\b", CORE,
        "the core has no clock; the simulator measures"),
    Ban("pure", r"#\s*include\s*<(?:fstream|iostream|thread|future|filesystem|chrono|condition_variable)>", CORE,
        "the core does no I/O and has no clocks and no threads"),
    Ban("lock", r"#\s*include\s*<(?:mutex|shared_mutex|atomic)>", CORE, "who shares the core among threads locks",
        allowed=("libvgpualloc/c_api/src/",)),
    Ban("getenv", r"\bgetenv\s*\(", CORE, "the core has no surroundings"),
    Ban("long-double", r"\blong\s+double\b", PRODUCT, "its width differs between platforms"),
    Ban("reduce", r"\bstd::(?:transform_)?reduce\b", PRODUCT, "its order is unspecified, so a sum may differ"),
    Ban("flags", r"-march=native|-ff" r"ast-math|-Ofast", EVERYWHERE, "moves floating-point results", code=False,
        allowed=("tests/tidy/", "docs/", "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md")),
    Ban("both-sides", rf"\bRC_(?:ASSERT|PRE)(?:_FALSE)?\({BALANCED}(?:\|\||&&)", EVERYWHERE,
        "rapidcheck takes an expression apart and then evaluates both sides of || and &&: put it in parentheses"),
    Ban("unfinished", r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b", EVERYWHERE, "finish it or file an issue", code=False,
        allowed=("tests/tidy/selftest.py",)),
    Ban("outside", r"\.\./" r"shared\b|/work/" r"shared\b|/work/" r"main\b", EVERYWHERE,
        "evidence is reached through VGPUALLOC_EVIDENCE and VGPUALLOC_TRACES only", code=False,
        allowed=("scripts/test.sh", ".ci/run", "tests/tidy/selftest.py")),
]

NO_TABS = CPP + (".py", ".sh", ".cmake", ".json", ".md", ".txt", ".csv", ".html", ".js")
LENGTH_LIMITED = CPP + (".py", ".sh", ".cmake")
LENGTH_LIMIT = 500
# path -> why it may be longer. An entry that is no longer needed is an error too.
LONGER = {}


def applies(ban, path):
    if any(path == allowed or (allowed.endswith("/") and path.startswith(allowed)) for allowed in ban.allowed):
        return False
    if ban.code and not path.endswith(CPP):
        return False
    return any(path.startswith(folder) for folder in ban.folders)


def check_words(path, text):
    code = without_comments(text) if path.endswith(CPP) else ""
    findings = []
    for ban in BANS:
        if not applies(ban, path):
            continue
        # Line by line is fast enough only because most files match nothing at all.
        searched = code if ban.code else text
        for match in re.finditer(ban.pattern, searched):
            line = searched.count("\n", 0, match.start()) + 1
            findings.append(Finding(path, line, ban.name, f"'{match.group().strip()}' is banned: {ban.why}"))
    return findings


UNORDERED = re.compile(r"\bunordered_(?:multi)?(?:map|set)\s*<")
RANGE_FOR = re.compile(r"\bfor\s*\([^;()]*?:\s*\*?\s*(?:\w+(?:\.|->))*(\w+)\s*\)")
BEGIN = re.compile(r"\b(\w+)\s*(?:\.|->)\s*c?begin\s*\(")


def unordered_names(code):
    """Names declared with an unordered container; the template's closing bracket is found by counting."""
    names = set()
    for match in UNORDERED.finditer(code):
        depth, position = 1, match.end()
        while position < len(code) and depth:
            depth += {"<": 1, ">": -1}.get(code[position], 0)
            position += 1
        name = re.match(r"\s*[&*]?\s*(\w+)", code[position:])
        if name:
            names.add(name.group(1))
    return names


def check_unordered(texts):
    """An unordered container may be asked, never walked: its order differs between standard libraries. A member's name
    is looked for in every file of the same stem, since it is declared in the header and walked in the source."""
    declared = {}
    code = {path: without_comments(text) for path, text in texts.items()
            if path.endswith(CPP) and path.startswith(PRODUCT)}
    for path, text in code.items():
        declared.setdefault(PurePosixPath(path).stem, set()).update(unordered_names(text))
    findings = []
    for path, text in code.items():
        names = declared[PurePosixPath(path).stem]
        for match in list(RANGE_FOR.finditer(text)) + list(BEGIN.finditer(text)):
            if match.group(1) in names:
                line = text.count("\n", 0, match.start()) + 1
                findings.append(Finding(path, line, "unordered", f"walks the unordered container '{match.group(1)}'"))
    return findings


def check_shape(path, text):
    findings = []
    if path.endswith(NO_TABS) and "\t" in text:
        findings.append(Finding(path, text[:text.index("\t")].count("\n") + 1, "tab", "a tab; indent with spaces"))
    lines = text.count("\n")
    if path.endswith(LENGTH_LIMITED) and lines > LENGTH_LIMIT and path not in LONGER:
        findings.append(Finding(path, lines, "length", f"{lines} lines, more than {LENGTH_LIMIT}: split it, or give a "
                                                       "reason in LONGER of tests/tidy/bans.py"))
    return findings


def check_longer(texts):
    return [Finding("tests/tidy/bans.py", 1, "length", f"LONGER names {path}, which is gone or short enough")
            for path in LONGER if texts.get(path, "").count("\n") <= LENGTH_LIMIT]


def check(texts):
    findings = check_unordered(texts) + check_longer(texts)
    for path, text in texts.items():
        findings += check_words(path, text) + check_shape(path, text)
    return findings
