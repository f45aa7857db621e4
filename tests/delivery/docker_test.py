"""The Dockerfiles, read and not run (no image can be built where these tests run): every stage and source that they name is
there, they build what they say they build, and what runs has the libraries that the program needs."""

import fnmatch
import re
import unittest

from support import ADAPTERS, DELIVERY, SOURCE

FOLDER = DELIVERY / "docker"
INSTRUCTIONS = {"FROM", "ARG", "RUN", "WORKDIR", "COPY", "ENV", "USER", "EXPOSE", "ENTRYPOINT"}


def read_dockerfile(path):
    """[(instruction, arguments)]: comments left out, continued lines joined."""
    joined, result = "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        joined += line.strip().removesuffix("\\") + " "
        if not line.rstrip().endswith("\\"):
            word, _, rest = joined.strip().partition(" ")
            result.append((word, rest.strip()))
            joined = ""
    if joined:
        raise AssertionError(f"{path.name}: the last line is continued")
    return result


def stages_of(instructions):
    """[(name, base, [(instruction, arguments)])]"""
    stages = []
    for word, rest in instructions:
        if word == "FROM":
            base, *alias = rest.split()
            stages.append((alias[1] if alias[:1] == ["AS"] else str(len(stages)), base, []))
        elif stages:
            stages[-1][2].append((word, rest))
    return stages


def ignores(path):
    """Whether the .dockerignore beside a Dockerfile keeps a source out of the build context: the last line that matches."""
    lines = [line.strip() for line in (path.parent / (path.name + ".dockerignore")).read_text().splitlines()]
    patterns = [line for line in lines if line and not line.startswith("#")]

    def ignored(source):
        result = False
        for pattern in patterns:
            plain = pattern.removeprefix("!")
            if plain == "**" or fnmatch.fnmatch(source, plain) or source.startswith(plain + "/"):
                result = not pattern.startswith("!")
        return result
    return ignored


class Folder(unittest.TestCase):
    def test_no_other_dockerfile_is_there(self):
        self.assertEqual(sorted(path.name for path in FOLDER.glob("*.Dockerfile")), ["device-plugin.Dockerfile", "extender.Dockerfile",
                                                                                      "scheduler.Dockerfile"])


class Dockerfile:
    """What holds for each of them; the classes at the end name which."""

    program = ""
    user = r"^[1-9]\d+:[1-9]\d+$"

    def folder(self):
        """The folder of the program below adapters/."""
        return self.program

    def setUp(self):
        self.path = FOLDER / f"{self.program}.Dockerfile"
        self.stages = stages_of(read_dockerfile(self.path))

    def test_instructions_and_stages_are_known(self):
        words = {word for word, _ in read_dockerfile(self.path)}
        self.assertLessEqual(words, INSTRUCTIONS)
        self.assertEqual(read_dockerfile(self.path)[0][0], "FROM")
        names = [name for name, _, _ in self.stages]
        self.assertEqual(len(set(names)), len(names))
        for position, (name, base, body) in enumerate(self.stages):
            if base not in names[:position]:
                self.assertRegex(base, r"^[a-z][\w./-]*:[\w.-]+$", f"{name}: a base image has a tag")
                self.assertFalse(base.endswith(":latest"), "another image tomorrow")
            for word, rest in body:
                if word == "COPY" and (source := re.match(r"--from=(\S+)", rest)):
                    self.assertIn(source[1], names[:position])

    def test_sources_are_in_the_checkout_and_reach_the_build(self):
        ignored = ignores(self.path)
        self.assertTrue(ignored("build") and ignored("traces") and ignored(".git"))
        copied = [source for _, _, body in self.stages for word, rest in body
                  if word == "COPY" and not rest.startswith("--") for source in rest.split()[:-1]]
        self.assertGreater(len(copied), 5)
        for source in copied:
            if source.startswith(f"adapters/{self.folder()}") and not (ADAPTERS / self.folder()).is_dir():
                print(f"SKIPPED: {self.path.name}: {source}: there is no adapters/{self.folder()} yet")
                continue
            self.assertTrue((SOURCE / source).exists(), source)
            self.assertFalse(ignored(source), f"{source} is in .dockerignore")

    def test_what_cmake_reads_is_copied_before_it_runs(self):
        """Folders that the top CMakeLists.txt adds without simulator and tests, and that of its modules."""
        text = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
        always = [match[1] for match in re.finditer(r"^add_subdirectory\((\w+)\)", text, re.MULTILINE)]
        self.assertEqual(always, ["libvgpualloc"])
        self.assertIn("set(folder formats/text)", (SOURCE / "cmake/VgaLayer.cmake").read_text(encoding="utf-8"))
        always.append("formats")  # a layer of the library is there
        [body] = [body for name, _, body in self.stages if name == "library"]
        run = next(i for i, (word, rest) in enumerate(body) if word == "RUN" and "cmake -S" in rest)
        before = {rest.split()[0] for word, rest in body[:run] if word == "COPY"}
        self.assertEqual(before, {"CMakeLists.txt", "cmake", *always})
        options = set(re.findall(r"-D(VGA_\w+)=", body[run][1]))
        self.assertLessEqual(options, set(re.findall(r"option\((VGA_\w+)", text)))
        self.assertLessEqual({"VGA_BUILD_SIMULATOR", "VGA_BUILD_TESTS"}, options)

    def test_packages_are_those_of_the_project(self):
        listed = {name for line in (SOURCE / "scripts/packages.txt").read_text().splitlines()
                  if line and not line.startswith("#") for name in line.split()[0].split("|")}
        [body] = [body for name, _, body in self.stages if name == "library"]
        [install] = [rest for word, rest in body if word == "RUN" and "apt-get install" in rest]
        packages = re.search(r"--no-install-recommends (.*?) &&", install)[1].split()
        self.assertLessEqual(set(packages), listed)
        layers = [path for folder in ("formats", "libvgpualloc") for path in (SOURCE / folder).glob("*/CMakeLists.txt")]
        required = re.findall(r"^find_package\(([\w-]+) [^)]*REQUIRED", "\n".join(path.read_text() for path in layers),
                              re.MULTILINE)
        package_of = {"tl-expected": "libexpected-dev", "fmt": "libfmt-dev", "nlohmann_json": "nlohmann-json3-dev",
                      "yaml-cpp": "libyaml-cpp-dev", "Boost": "libboost-graph-dev", "Eigen3": "libeigen3-dev"}
        self.assertTrue(required)
        for library in required:
            self.assertIn(package_of[library], packages)

    def test_what_runs_has_its_libraries_and_no_rights(self):
        """Libraries that cgo links (adapters/vga) and that are ours are static; every other one is installed."""
        self.assertIn("#cgo pkg-config: --static vgpualloc\n", (ADAPTERS / "vga/vga.go").read_text())
        package = (SOURCE / "cmake/vgpualloc.pc.in").read_text()
        flags = re.search(r"^Libs.private: (.*)", package, re.MULTILINE)[1].split()
        shared = [flag.removeprefix("-l") for flag in flags if not flag.startswith("-lvgpu") and flag != "-lm"]
        self.assertEqual(shared, ["yaml-cpp", "stdc++"])
        name, base, body = self.stages[-1]
        self.assertEqual(name, "runtime")
        installed = " ".join(rest for word, rest in body if word == "RUN")
        for library in shared:
            self.assertRegex(installed, rf"\blib{re.escape(library)}[\d.]*(?=\s)")
        [user] = [rest for word, rest in body if word == "USER"]
        self.assertRegex(user, self.user)
        program = f"vgpualloc-{self.program}"
        self.assertIn(("ENTRYPOINT", f'["/usr/local/bin/{program}"]'), body)
        self.assertIn(("COPY", f"--from=build /out/{program} /usr/local/bin/{program}"), body)
        # Library and runtime are of one Debian, or the shared libraries have other names.
        self.assertEqual(base, next(base for name, base, _ in self.stages if name == "library") + "-slim")

    def test_go_is_new_enough_and_builds_with_the_settings_of_the_scripts(self):
        scripts = (SOURCE / "scripts/lib.sh").read_text()
        wanted = re.search(r"^go_wanted=([\d.]+)", (SOURCE / "scripts/lib.sh").read_text(), re.MULTILINE)[1]
        version = re.fullmatch(r"golang:([\d.]+)-\w+", self.stages[0][1])[1]
        modules = [ADAPTERS / "go.mod", *ADAPTERS.glob(f"{self.folder()}/go.mod")]
        for needed in [wanted, *(re.search(r"^go ([\d.]+)", module.read_text(), re.MULTILINE)[1] for module in modules)]:
            self.assertGreaterEqual([int(n) for n in version.split(".")][:2], [int(n) for n in needed.split(".")][:2])
        [body] = [body for name, _, body in self.stages if name == "build"]
        [environment] = [rest for word, rest in body if word == "ENV"]
        settings = re.search(r'GOFLAGS="([^"]*)"', scripts)[1]
        self.assertIn(f'GOFLAGS="{settings}"', environment)
        self.assertIn("CGO_ENABLED=1", environment)
        folder = re.search(r"PKG_CONFIG_PATH=\$1/(\S+)", scripts)[1]
        self.assertIn(f"PKG_CONFIG_PATH=/src/build/{folder}", environment)
        folder = f"adapters/{self.folder()}"
        self.assertIn(f"cd {folder} && go build", body[-1][1])
        if (SOURCE / folder).is_dir():
            self.assertTrue(any("package main" in file.read_text() for file in (SOURCE / folder).glob("*.go")), folder)
        else:
            print(f"SKIPPED: {self.path.name}: there is no {folder} yet")


class SchedulerTest(Dockerfile, unittest.TestCase):
    program = "scheduler"


class ExtenderTest(Dockerfile, unittest.TestCase):
    program = "extender"


class DevicePluginTest(Dockerfile, unittest.TestCase):
    program = "device-plugin"
    user = "^0:0$"  # the kubelet's socket and the driver's files are root's; the chart takes the capabilities away

    def folder(self):
        return "deviceplugin"

    def test_nothing_of_others_is_in_the_image(self):
        """HAMi-core's library and the drivers' are not ours: the file says where they come from, and copies none."""
        text = self.path.read_text(encoding="utf-8")
        for name in "libvgpu.so", "ld.so.preload", "libnvidia-ml.so.1", "npu-smi":
            self.assertRegex(text, rf"(?m)^#.*{re.escape(name)}")
            self.assertFalse([rest for _, _, body in self.stages for _, rest in body if name in rest])
        self.assertRegex(text, r"(?m)^#.*https://github\.com/Project-HAMi/HAMi-core")

    def test_its_port_is_that_of_the_metrics(self):
        flags = (ADAPTERS / "deviceplugin/config/flags.go").read_text(encoding="utf-8")
        [port] = re.findall(r'"metrics-listen", ":(\d+)"', flags)
        self.assertIn(("EXPOSE", port), self.stages[-1][2])


if __name__ == "__main__":
    unittest.main()
