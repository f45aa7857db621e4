"""Which part of the project may include which: the dependency table of the design, read against every #include line."""
import re
from pathlib import PurePosixPath

from source import Finding, without_comments

# part -> the parts it sees directly; it also sees whatever those see. A layer (LAYERS) is a library of its own, made of parts.
# `verify` stays off mode, policy and alloc so that it shares no code with what it checks.
SEES = {
    "core": [],
    "document": ["core"],
    "text": ["document"],
    "formats": ["text"],
    "model": ["core"],
    "catalog": ["model", "document"],
    "mode": ["catalog"],
    "metrics": ["catalog"],
    "verify": ["catalog"],
    "packing": ["model"],                       # which parts go together on one device
    "policy": ["metrics", "packing"],           # modes through their interface, which is in model
    "alloc": ["policy"],
    "local": ["alloc", "mode"],                 # a cluster that a program owns
    "plan": ["alloc", "mode"],
    "solver": ["plan"],                         # HiGHS behind plan/lp.hpp, a library of its own
    "dialect": ["catalog", "text"],
    "kube": ["dialect", "mode"],
    "explain": ["kube", "alloc"],
    "live": ["explain", "metrics"],             # a cluster that a scheduler follows
    "operate": ["live", "plan"],                # layouts of GPUs step by step, room for a pod
    "compat": ["policy"],                       # compat/fgd is a set of policies
    "compat_volcano": ["dialect"],
    "compat_list": ["compat", "compat_volcano"],  # compat/all.hpp names both kinds
    "c_api": ["operate", "compat_list"],
    "umbrella": ["operate", "local", "verify"],
    "traces": ["kube", "formats"],
    "fetch": ["traces"],
    "report": ["core", "formats"],
    "conformance": ["explain", "compat_list", "formats"],
    "operations": ["live", "plan", "compat_list", "traces"],  # questions about a living cluster: no simulation, no thread, no file
    "workload": ["live", "plan", "verify", "compat_list", "traces"],  # from here on the simulator, folder by folder
    "engine": ["workload"],
    "discipline": ["engine"],
    "bound": ["discipline"],
    "outputs": ["bound", "operations", "report"],
    "study": ["outputs", "solver"],
    "facade": ["operations", "study"],           # simulations and questions as calls, without a file
    "cli": ["facade", "conformance", "fetch"],
    "python-bindings": ["facade", "solver"],
    "web": ["cli"],                             # the commands as WebAssembly
}
SIMULATOR = ["workload", "engine", "discipline", "bound", "outputs", "study"]
# layer of the library -> its parts; its folder is libvgpualloc/LAYER.
LAYERS = {
    "core": ["core", "document", "model", "catalog", "mode", "metrics", "policy", "packing", "alloc", "local", "verify"],
    "plan": ["plan"],
    "kubernetes": ["dialect", "kube", "explain", "live"],
    "operate": ["operate"],
    "compat": ["compat", "compat_volcano", "compat_list"],
    "c_api": ["c_api"],
    "umbrella": ["umbrella"],
}
LIBRARY = [part for parts in LAYERS.values() for part in parts]

SOURCES = "a .cpp file or a header beside it, never a public header"
ANYWHERE = "any file"

# prefix of a third-party include -> (parts that may, which of their files). Nothing else third-party is allowed.
THIRD_PARTY = {
    "tl/expected.hpp": (["core/expected.hpp"], ANYWHERE),
    "Eigen/": (["plan"], SOURCES),
    "boost/": (["plan"], SOURCES),
    "CLI/": (["cli"], ANYWHERE),
    "nlohmann/": (["text"], SOURCES),
    "fmt/": (["explain", "conformance", "traces", "report", "operations", *SIMULATOR, "facade", "cli"], SOURCES),
    "curl/": (["fetch"], SOURCES),
    "interfaces/highs_c_api.h": (["solver"], SOURCES),
    "dlfcn.h": (["solver"], SOURCES),
    "openssl/": (["formats", "fetch"], SOURCES),
    "yaml-cpp/": (["text"], SOURCES),
    "nanobind/": (["python-bindings"], ANYWHERE),
    "wasi/": (["web"], SOURCES),
}
# The operating system's headers: the core is a pure library and has no use for them.
C_HEADERS = ("stddef.h", "stdint.h")  # of the C standard, which a header for C needs
SYSTEM_PARTS = ["formats", "traces", "fetch", *SIMULATOR, "cli"]

LIBRARY_FILE = re.compile(r"libvgpualloc/(\w+)/(include/vgpualloc|src)/(.+)")
# The first folder that a path starts with says its part.
FOLDERS = (("libvgpualloc/solver/", "solver"), ("libvgpualloc/core/include/vgpuformats/", "document"), ("formats/text/", "text"), ("formats/", "formats"),
           ("traces/fetch/", "fetch"), ("traces/", "traces"), ("conformance/", "conformance"), ("operations/", "operations"),
           ("simulator/report/", "report"), ("simulator/cli/", "cli"), ("facade/", "facade"),
           *((f"simulator/{beside}/{part}/", part) for beside in ("src", "include/vgpusim") for part in SIMULATOR),
           ("python-bindings/", "python-bindings"), ("web/", "web"))
# How the public headers of a part are spelt in an #include. Those of vgpuformats/ are in three folders.
PREFIXES = (("vgputraces/", "traces"), ("vgpufetch/", "fetch"), ("vgpureport/", "report"),
            ("vgpuconformance/", "conformance"), ("vgpuops/", "operations"), ("vgpufacade/", "facade"), ("vgpucli/", "cli"), *((f"vgpusim/{part}/", part) for part in SIMULATOR))
ROOT_HEADERS = {"config.hpp": "core", "version.hpp": "core", "fwd.hpp": "core", "vgpualloc.hpp": "umbrella",
                "c_api.h": "c_api"}
# Where private headers are, which only their own library includes.
SOURCE_FOLDERS = (*(f"libvgpualloc/{layer}/src/" for layer in LAYERS), "formats/src/", "formats/text/src/", "traces/src/",
                  "traces/fetch/src/", "conformance/src/", "operations/src/", "simulator/src/", "simulator/report/src/", "facade/src/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def closure(part, table=None):
    table = SEES if table is None else table
    seen, todo = set(), [part]
    while todo:
        for lower in table[todo.pop()]:
            if lower not in seen:
                seen.add(lower)
                todo.append(lower)
    return seen


def library_part(inside):
    """The part of a path inside include/vgpualloc or src: mode/mig.hpp -> mode, compat/volcano/x.hpp -> compat_volcano."""
    first, *rest = PurePosixPath(inside).parts
    if not rest:
        return ROOT_HEADERS.get(first)
    if first == "compat":
        if rest[0].startswith("volcano"):
            return "compat_volcano"
        return "compat_list" if rest[0].startswith("all.") else "compat"
    return first if first in (*LIBRARY, "solver") else None


def part_of(path):
    """The part a file belongs to; None when nothing says so, or its folder is that of another layer."""
    match = LIBRARY_FILE.fullmatch(path)
    if match and match[1] != "solver":
        layer, _, inside = match.groups()
        part = "c_api" if layer == "c_api" else library_part(inside)
        return part if part in LAYERS.get(layer, ()) else None
    for folder, part in FOLDERS:
        if path.startswith(folder):
            return part
    return None


def is_public(path):
    """Whether a file of the library is a public header."""
    return path.startswith("libvgpualloc/") and "/include/vgpualloc/" in path


def private_header(path, target, files):
    """The path of the header in a source folder that a quoted include leads to; None when it leads to no such file."""
    beside = normalised(PurePosixPath(path).parent / target)
    return next((base for base in (beside, *(folder + target for folder in SOURCE_FOLDERS)) if base in files), None)


def library_of(path):
    """The folder of the library or program that a file belongs to."""
    return re.split(r"/(?:src|include)/", path)[0].removesuffix("/" + PurePosixPath(path).name)


def included_part(path, part, target, files):
    """The part that a quoted or own include leads to; None when it leads nowhere that is known."""
    if target.startswith("vgpualloc/"):
        return library_part(target.removeprefix("vgpualloc/"))
    if target.startswith("vgpuformats/"):
        for part, folder in (("document", "libvgpualloc/core"), ("text", "formats/text")):
            if f"{folder}/include/{target}" in files:
                return part
        return "formats"
    for prefix, other in PREFIXES:
        if target.startswith(prefix):
            return other
    if target.endswith("_embedded.hpp"):  # made by vga_embed for the target that includes it
        return part
    header = private_header(path, target, files)
    return part_of(header) if header else None


def normalised(path):
    parts = []
    for piece in path.parts:
        if piece == "..":
            parts = parts[:-1]
        elif piece != ".":
            parts.append(piece)
    return "/".join(parts)


def third_party_problem(path, part, target):
    for prefix, (owners, which) in THIRD_PARTY.items():
        if not target.startswith(prefix):
            continue
        if part not in owners and not any(path.endswith("/include/vgpualloc/" + owner) for owner in owners):
            return f"'{part}' may not include {prefix}, only {', '.join(owners)} may"
        if which == SOURCES and "/include/" in path:
            return f"{prefix} belongs into {which}"
        return None
    if part == "c_api" and target in C_HEADERS:
        return None
    if target.endswith(".h") or target.startswith("sys/"):
        return None if part in SYSTEM_PARTS else f"'{part}' may not include a system header: the core does no I/O"
    if "/" in target:
        return "a third-party header that the table THIRD_PARTY in tests/tidy/arrows.py does not know"
    return None  # a header of the C++ standard library


def include_problem(path, part, quote, target, files):
    own = target.startswith(("vgpualloc/", "vgpuformats/", *(prefix for prefix, _ in PREFIXES)))
    if quote == "<" and not own:
        return third_party_problem(path, part, target)
    other = included_part(path, part, target, files)
    if other is None:
        return "leads to no file of the project"
    header = None if own or target.endswith("_embedded.hpp") else private_header(path, target, files)
    if header and library_of(header) != library_of(path):
        return f"a private header of {library_of(header)}"
    if other != part and other not in closure(part):
        return f"forbidden arrow {part} -> {other} ({part} sees {', '.join(sorted(closure(part))) or 'nothing'})"
    return None


def includes_of(text):
    """(line number, quote, target) of every #include; only comments are blanked, since the target is a string."""
    for number, line in enumerate(without_comments(text, keep_strings=True).splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def check(texts):
    """texts: path -> content of every C++ file of the parts above."""
    files = {path: [target for _, _, target in includes_of(text)] for path, text in texts.items()}
    findings = []
    for path, text in texts.items():
        part = part_of(path)
        if part is None:
            findings.append(Finding(path, 1, "arrow", "belongs to no part of the design's dependency table"))
            continue
        for number, quote, target in includes_of(text):
            problem = include_problem(path, part, quote, target, files)
            if problem:
                findings.append(Finding(path, number, "arrow", f'#include "{target}": {problem}'))
    return findings

