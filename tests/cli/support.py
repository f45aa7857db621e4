"""What the tests of the command line share. The binary is named by VGPUSIM, the checkout by VGA_SOURCE_DIR."""

import csv
import json
import os
import pty
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

VGPUSIM = os.environ.get("VGPUSIM", "vgpusim")
SOURCE = Path(os.environ.get("VGA_SOURCE_DIR", Path(__file__).resolve().parents[2]))
QUICKSTART = SOURCE / "traces" / "quickstart"
OUTPUTS = ["pods.csv", "report.html", "summary.json", "timeseries.csv"]
DEFAULT_OUTPUTS = sorted([*OUTPUTS, "prices.json"])  # under the default policy, which learns prices
SKIPPED = 77  # what ctest takes for a skipped test

NODES_HEADER = "sn,cpu_milli,memory_mib,gpu,model\n"
PODS_HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
TIMED_HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
NODES = NODES_HEADER + "node-a,64000,262144,2,A100\n"
PODS = PODS_HEADER + "pod-0,4000,8192,1,500\npod-1,4000,8192,2,1000\npod-2,2000,4096,0,0\n"


def skip_or_fail(what):
    """Ends the program: what these tests need is not there. Only under CI=true is that a failure."""
    failing = os.environ.get("CI") == "true"
    print(f"{'FAILED' if failing else 'SKIPPED'}: {what}")
    sys.exit(1 if failing else SKIPPED)


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def untimed(summary):
    """A summary (text, or object) without what was measured."""
    loaded = json.loads(summary) if isinstance(summary, (str, bytes)) else dict(summary)
    del loaded["timing"]
    return loaded


def clean_environment(**changes):
    """This process's environment without what steers where traces are looked for."""
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    for name in ("VGPUALLOC_TRACES", "XDG_CACHE_HOME"):
        kept.pop(name, None)
    return {**kept, **changes}


class CliTest(unittest.TestCase):
    """A folder of its own for every test, and the ways to call vgpusim in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.out = self.root / "out"
        self.environment = clean_environment(HOME=str(self.root / "home"))

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    @staticmethod
    def flat(text):
        """A text without its line breaks."""
        return " ".join(text.split())

    def has_solver(self):
        """Whether vgpusim was built with HiGHS, which is no package of Debian's."""
        return "built with HiGHS" not in self.vgpusim("bound").stderr

    def vgpusim(self, *arguments, binary=None, cwd=None, env=None, **how):
        """Runs it. Standard error that is no UTF-8 shows as backslashes, not as an error of the test."""
        return subprocess.run([binary or VGPUSIM, *map(str, arguments)], cwd=cwd or self.root,
                              env={**self.environment, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="backslashreplace", timeout=120, check=False, **how)

    def vgpusim_into_pipe(self, path, *arguments):
        """Runs it where `path` is a pipe that is read here. What it did, and what came out of the pipe."""
        os.mkfifo(path)
        received = self.root / "received"
        with open(received, "wb") as file, subprocess.Popen(["cat", path], stdout=file) as reader:
            try:
                done = self.vgpusim(*arguments)
                reader.wait(timeout=20)
            finally:
                reader.kill()  # it waits for ever where nothing opened the pipe
        return done, received.read_bytes()

    def inputs(self, nodes=NODES, pods=PODS):
        """The flags that name the two lists, written here."""
        return ["--nodes", self.write("nodes.csv", nodes), "--pods", self.write("pods.csv", pods)]

    def run_lists(self, *more, nodes=NODES, pods=PODS, **how):
        return self.vgpusim("run", *self.inputs(nodes, pods), "--out", self.out, *more, **how)

    def run_quickstart(self, *more, out=None, **how):
        return self.vgpusim("run", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--out",
                            out or self.out, *more, **how)

    def pods(self):
        return read_csv(self.out / "pods.csv")

    def series(self):
        return read_csv(self.out / "timeseries.csv")

    def summary(self):
        return json.loads((self.out / "summary.json").read_text())

    def present(self, folder=None):
        """Every file and folder below, sorted."""
        base = folder or self.root
        return sorted(str(p.relative_to(base)) for p in base.rglob("*"))

    def assert_done(self, result):
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)

    def assert_error_line(self, result, code, *words):
        self.assertEqual(result.returncode, code, result)
        self.assertTrue(result.stderr.startswith("vgpusim: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.endswith("\n"), result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def assert_refused(self, result, *words):
        """Bad input: one line that names what is wrong, and nothing written or printed."""
        self.assert_error_line(result, 2, *words)
        self.assertEqual(result.stdout, "")
        self.assertFalse(self.out.exists(), "something was written")


def on_a_terminal(command, env):
    """Runs the command with its standard error on a terminal; the exit code and what the terminal was sent."""
    main_end, terminal = pty.openpty()
    with subprocess.Popen([str(c) for c in command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        try:
            while chunk := os.read(main_end, 65536):
                shown += chunk
        except OSError:  # Linux reports the closed terminal as EIO
            pass
        os.close(main_end)
    return process.returncode, shown
