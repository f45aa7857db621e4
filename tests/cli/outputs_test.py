"""Where a command's files go: standard output, what a killed run left, and folders that are not named."""

import json
import os
import signal
import subprocess
import time
import unittest

from clusters import cluster, gpu_node
from support import SOURCE, VGPUSIM, CliTest


class OutputsTest(CliTest):
    def cluster_file(self):
        return self.write("cluster.json", json.dumps(cluster(gpu_node("a"))))

    def test_a_file_that_is_standard_output_comes_before_what_is_printed(self):
        """What was printed overwrote the file. Into a new file, behind what others wrote, at its end, a pipe."""
        file = self.cluster_file()
        out = self.root / "s.json"
        answer = self.vgpusim("snapshot", file, "--out", out)
        self.assert_done(answer)
        both = out.read_text() + answer.stdout
        for target in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            for how, before, after in (("{} > f", "", ""), ("(echo HEAD; {}; echo TAIL) > f", "HEAD\n", "TAIL\n"),
                                       ("{} >> f", "OLD\n", ""), ("{} | cat > f", "", "")):
                with self.subTest(target=target, how=how):
                    self.write("f", "OLD\n")
                    command = how.format(f'"$VGPUSIM" snapshot "{file}" --out {target}')
                    done = subprocess.run(["bash", "-c", command], cwd=self.root, capture_output=True, text=True,
                                          timeout=60, check=False, env={**self.environment, "VGPUSIM": VGPUSIM})
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual((self.root / "f").read_text(), before + both + after)

    def test_an_output_without_a_name_is_refused(self):
        """snapshot and whatif had written nothing and exited with 0; fetch had written into its cache."""
        file = self.cluster_file()
        lists = self.inputs()
        two = ["--policy", "fgd", "--policy", "best_fit"]
        before = self.present()
        for command in (["snapshot", file], ["whatif", file], ["run", *lists], ["compare", *lists, *two],
                        ["generate", SOURCE / "traces" / "models" / "quickstart.json"], ["fetch", "openb"], ["fetch"],
                        ["study", *lists[:2], "--pods", lists[3], *two], ["replay", "--decisions", file]):
            with self.subTest(command=command[0]):
                self.assert_refused(self.vgpusim(*command, "--out", ""), "out")
                self.assertEqual(self.present(), before)

    def test_an_output_that_takes_nothing_keeps_the_old_ones(self):
        """pods.csv leads to a device that is full: the other files had been replaced by then."""
        self.assert_done(self.run_lists())
        (self.out / "pods.csv").unlink()
        (self.out / "pods.csv").symlink_to("/dev/full")
        kept = {name: (self.out / name).read_bytes() for name in self.present(self.out) if name != "pods.csv"}
        self.assert_error_line(self.run_lists("--policy", "fgd"), 1, "/dev/full: cannot write: No space left on device")
        self.assertEqual({name: (self.out / name).read_bytes() for name in self.present(self.out) if name != "pods.csv"}, kept)
        self.assertEqual(os.readlink(self.out / "pods.csv"), "/dev/full")

    def test_an_interrupt_while_a_pipe_is_waited_for_leaves_nothing(self):
        self.out.mkdir()
        os.mkfifo(self.out / "pods.csv")
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([VGPUSIM, "run", *self.inputs(), "--out", self.out], cwd=self.root,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment) as program:
                deadline = time.monotonic() + 20
                while len(self.present(self.out)) == 1 and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.assertGreater(len(self.present(self.out)), 1, "it writes beside the pipe")
                program.send_signal(number)
                self.assertEqual(program.wait(timeout=20), -number)
            self.assertEqual(self.present(self.out), ["pods.csv"])


if __name__ == "__main__":
    unittest.main()
