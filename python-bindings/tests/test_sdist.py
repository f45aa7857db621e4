"""The archive of sources: it holds all that a build needs."""

import shutil
import subprocess
import sys
import tarfile
import tomllib

import pytest
from conftest import ROOT

SOURCES = ROOT / "python-bindings"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    pytest.importorskip("scikit_build_core")
    folder = tmp_path_factory.mktemp("sdist")
    program = (f"import sys; sys.path.insert(0, {str(SOURCES / 'build_backend')!r}); import sdist_of_checkout\n"
               f"print(sdist_of_checkout.build_sdist({str(folder)!r}))")
    run = subprocess.run([sys.executable, "-c", program], cwd=SOURCES, capture_output=True, text=True, check=True)
    name = run.stdout.splitlines()[-1]
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder, filter="data")
    return folder / name.removesuffix(".tar.gz")


def test_the_paths_in_its_pyproject_are_there(unpacked):
    project = tomllib.loads((unpacked / "pyproject.toml").read_text(encoding="utf-8"))
    build = project["tool"]["scikit-build"]
    for path in (project["project"]["readme"], *project["project"]["license-files"], *project["build-system"]["backend-path"],
                 *build["wheel"]["packages"], build["cmake"]["source-dir"], build["metadata"]["version"]["input"]):
        assert (unpacked / path).exists(), path
    assert (unpacked / "PKG-INFO").read_text(encoding="utf-8").startswith("Metadata-Version: ")


def test_cmake_configures_it_without_openssl_highs_and_a_library_of_fmt(unpacked, tmp_path):
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        pytest.skip("cmake and ninja are not here")
    pytest.importorskip("nanobind")
    subprocess.run(["cmake", "-S", unpacked / "python-bindings", "-B", tmp_path, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"],
                   capture_output=True, text=True, check=True)
    commands = subprocess.run(["ninja", "-C", tmp_path, "-t", "commands"], capture_output=True, text=True, check=True).stdout
    for library in ("crypto", "highs"):
        assert f"lib{library}." not in commands
    link = next(line for line in commands.splitlines() if "-o package/vgpualloc/_core" in line)
    assert "--as-needed" in link and "FMT_HEADER_ONLY" in commands and "FMT_SHARED" not in commands
