"""Which library may link which: the link lines of every CMakeLists.txt, read against the table of parts. A library is linked as a
whole, so that who sees one of its parts may link it."""
import re

from arrows import LAYERS, SIMULATOR, closure
from source import Finding

FOLDERS = ("libvgpualloc/", "formats/", "traces/", "conformance/", "operations/", "simulator/", "facade/")
# target -> the parts of which one has to be seen
TARGETS = {
    **{name: parts for layer, parts in LAYERS.items() for name in (f"vgpualloc_{layer}", f"vgpualloc::{layer}")},
    "vgpualloc_text": ["text"], "vgpualloc::text": ["text"],
    **{name: ["solver"] for name in ("vgpualloc_solver", "vgpualloc::solver", "vgpualloc_solver_loader", "vgpualloc::solver_loader")},
    "vgpualloc::vgpualloc": ["umbrella"],
    "vgpualloc_c": ["c_api"], "vgpualloc::c": ["c_api"],
    "vgpuformats": ["formats"], "vgpualloc::formats": ["formats"], "vgputraces": ["traces"], "vgpufetch": ["fetch"],
    "vgpureport": ["report"], "vgpuconformance": ["conformance"], "vgpuops": ["operations"], "vgpualloc::operations": ["operations"],
    "vgpusim_solver": ["study"], "vgpusim_core": SIMULATOR, "vgpufacade": ["facade"],
    "vgpucli": ["cli"], "vgpusim": ["cli"], "vgpusim_without_extras": ["cli"],
}
NOT_PARTS = {"vgpualloc", "vgpualloc_internals", "vgpualloc_highs"}  # the umbrella itself, tests, a third party's library
LINK = re.compile(r"target_link_libraries\(\s*(\S+)([^)]*)\)")
KEYWORDS = {"PUBLIC", "PRIVATE", "INTERFACE"}


def is_ours(name):
    return name.startswith(("vgpu", "vgpualloc::"))


def check(texts):
    """texts: path -> content of every file of the tree."""
    findings = []
    for path, text in texts.items():
        if not path.startswith(FOLDERS) or not path.endswith("CMakeLists.txt"):
            continue
        text = re.sub(r"#[^\n]*", lambda comment: " " * len(comment.group()), text)
        for match in LINK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            target, linked = match[1], [name for name in match[2].split() if name not in KEYWORDS]
            if target in NOT_PARTS or "$" in target:
                continue
            if target not in TARGETS:
                findings.append(Finding(path, line, "link", f"{target} is not in the table TARGETS of tests/tidy/links.py"))
                continue
            seen = set(TARGETS[target]).union(*(closure(part) for part in TARGETS[target]))
            for name in linked:
                if not is_ours(name) or name in NOT_PARTS - {"vgpualloc_internals"}:
                    continue
                if name not in TARGETS:
                    findings.append(Finding(path, line, "link", f"{name} is not in the table TARGETS of tests/tidy/links.py"))
                elif not seen & set(TARGETS[name]):
                    findings.append(Finding(path, line, "link", f"{target} links {name} and sees nothing of it"))
    return findings
