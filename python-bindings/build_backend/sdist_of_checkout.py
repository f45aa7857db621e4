"""scikit-build-core, with an sdist that holds the C++ sources, which in the checkout lie beside this package.

In the archive the package's folder is where it is in the checkout, and pyproject.toml is at the top, with paths from there.
"""

import io
import tarfile
import tempfile
from pathlib import Path

import scikit_build_core.build as backend
from scikit_build_core.build import (build_editable, build_wheel, get_requires_for_build_editable, get_requires_for_build_sdist,
                                     get_requires_for_build_wheel, prepare_metadata_for_build_editable,
                                     prepare_metadata_for_build_wheel)

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
           "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "python-bindings"
FOLDERS = ("cmake", "libvgpualloc", "formats", "traces", "operations", "facade", "simulator", PACKAGE)
FILES = ("LICENSE", "THIRD_PARTY_LICENSES", "tests/data/explain/cluster.yaml", "tests/data/explain/device-config.yaml")
MADE = {"build", "dist", "__pycache__", ".mypy_cache", ".pytest_cache"}
# In pyproject.toml, as it is in the package's folder and at the top.
MOVED = (('readme = "', f'readme = "{PACKAGE}/'), ('backend-path = ["', f'backend-path = ["{PACKAGE}/'),
         ('wheel.packages = ["', f'wheel.packages = ["{PACKAGE}/'), ('cmake.source-dir = "."', f'cmake.source-dir = "{PACKAGE}"'),
         ('input = "../', 'input = "'))


def _pyproject():
    text = (ROOT / PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
    for here, at_the_top in MOVED:
        if text.count(here) != 1:
            raise RuntimeError(f"pyproject.toml has {here} {text.count(here)} times")
        text = text.replace(here, at_the_top)
    return text.encode()


def _files():
    for name in FILES:
        yield ROOT / name
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and not MADE.intersection(path.relative_to(ROOT).parts):
                yield path


def build_sdist(sdist_directory, config_settings=None):
    """The archive's name, of a hook of PEP 517."""
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / backend.prepare_metadata_for_build_wheel(folder)
        metadata = (info / "METADATA").read_bytes()
    name = info.name.removesuffix(".dist-info")
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz", compresslevel=6, dereference=True) as archive:
        for path in _files():
            archive.add(path, f"{name}/{path.relative_to(ROOT)}", recursive=False)
        for file, content in (("pyproject.toml", _pyproject()), ("PKG-INFO", metadata)):
            entry = tarfile.TarInfo(f"{name}/{file}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return f"{name}.tar.gz"
