"""Where a command's files go: standard output, what a killed run left, and folders that are not named."""

import json
import subprocess
import unittest

from clusters import cluster, gpu_node
from support import VGPUSIM, CliTest


class OutputsTest(CliTest):
    def cluster_file(self):
        return self.write("cluster.json", json.dumps(cluster(gpu_node("a"))))

    def test_a_file_that_is_standard_output_comes_before_what_is_printed(self):
        """F23: what was printed overwrote the file. Into a new file, behind what others wrote, at its end, a pipe."""
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


if __name__ == "__main__":
    unittest.main()
