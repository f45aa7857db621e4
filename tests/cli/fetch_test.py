"""`vgpusim fetch` against a server on 127.0.0.1 that misbehaves on request. The binary is named by VGPUSIM."""

import fcntl
import hashlib
import http.server
import json
import os
import pty
import re
import socket
import subprocess
import threading
import unittest
from pathlib import Path

from support import VGPUSIM, CliTest, on_a_terminal

CONTENT = hashlib.shake_256(b"a trace").digest(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        byte_range = self.headers.get("Range")
        entry = {"path": self.path, "range": byte_range, "body_bytes": 0}
        server.seen.append(entry)

        status = server.statuses.pop(0) if server.statuses else 200
        if status in (301, 302):
            self.send_response(status)
            self.send_header("Location", server.redirect_to)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if status != 200:
            page = b"<html>an error page that must not end up in the file</html>"
            self.send_response(status)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)
            return

        body, start = server.content, 0
        if byte_range and server.ranges:
            start = int(re.fullmatch(r"bytes=(\d+)-", byte_range).group(1))
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            start -= server.range_shift
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        body = body[start:]
        if server.say_length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        cut = server.cut_after_bytes.pop(0) if server.cut_after_bytes else None
        sent = body if cut is None else body[:cut]
        entry["body_bytes"] = len(sent)  # before the client has it all and the test looks
        try:
            self.wfile.write(sent)
            self.wfile.flush()
        except OSError:  # the client may rightly hang up
            pass
        if cut is not None or not server.say_length:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that hangs up is part of what is tested


class FetchTest(CliTest):
    def setUp(self):
        super().setUp()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.seen = []
        self.server.statuses = []  # answers of the first requests; 200 after them
        self.server.cut_after_bytes = []  # likewise
        self.server.content = CONTENT
        self.server.ranges = True
        self.server.range_shift = 0
        self.server.say_length = True
        self.server.redirect_to = ""
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"

        self.out = self.root / "deep" / "out"  # made by fetch
        self.file = self.out / "small.csv"
        self.part = self.out / "small.csv.part"

    def entry(self, name="small.csv", **changes):
        return {"name": name, "url": f"{self.base}/{name}", "bytes": len(CONTENT), "sha256": SHA256, **changes}

    def list_file(self, *files, **changes):
        trace = {"name": "small", "description": "d", "licence": "l", "source": "s", "files": list(files)}
        path = self.root / "list.json"
        path.write_text(json.dumps({"traces": [{**trace, **changes}]}))
        return str(path)

    def run_vgpusim(self, *arguments):
        return self.vgpusim("fetch", *arguments)

    def fetch(self, *more, files=None):
        listed = self.list_file(*(files or [self.entry()]))
        return self.run_vgpusim("small", "--list", listed, "--out", str(self.out), *more)

    def left_over(self):
        """Every file and folder below the root, but for the list."""
        return sorted(str(p.relative_to(self.root)) for p in self.root.rglob("*") if p.name != "list.json")

    def assert_complete(self, result):
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.file.read_bytes(), CONTENT)
        self.assertFalse(self.part.exists())

    def test_plain_download(self):
        result = self.fetch("--json")
        self.assert_complete(result)
        self.assertEqual([r["range"] for r in self.server.seen], [None])
        self.assertEqual(json.loads(result.stdout)["files"], [
            {"name": "small.csv", "path": str(self.file), "bytes": len(CONTENT), "sha256": SHA256,
             "status": "downloaded"}])

    def test_text_output_names_the_path(self):
        self.assertEqual(self.fetch().stdout, f"{self.file}: downloaded\n")

    def test_a_link_is_followed_and_nothing_but_a_regular_file_is_replaced(self):
        """The new file was renamed over whatever had its name."""
        self.out.mkdir(parents=True)
        target = self.root / "elsewhere.csv"
        target.write_bytes(b"old")
        self.file.symlink_to(target)
        self.assertEqual(self.fetch().returncode, 0)
        self.assertTrue(self.file.is_symlink())
        self.assertEqual(target.read_bytes(), CONTENT)
        for make in (lambda: os.mkfifo(self.file), lambda: self.file.symlink_to(self.root / "nowhere"), self.file.mkdir):
            self.file.unlink()
            make()
            result = self.fetch()
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("a regular file, a link to one, or none", result.stderr)
            self.assertFalse(self.file.is_file())
            if self.file.is_dir():
                break
        self.assertEqual(len(self.server.seen), 1)

    def test_resumes_a_part(self):
        self.out.mkdir(parents=True)
        self.part.write_bytes(CONTENT[:100_000])
        result = self.fetch("--json")
        self.assert_complete(result)
        self.assertEqual(json.loads(result.stdout)["files"][0]["status"], "resumed")
        self.assertEqual(self.server.seen, [
            {"path": "/small.csv", "range": "bytes=100000-", "body_bytes": len(CONTENT) - 100_000}])

    def test_complete_part_needs_no_request(self):
        self.out.mkdir(parents=True)
        self.part.write_bytes(CONTENT)
        self.assert_complete(self.fetch())
        self.assertEqual(self.server.seen, [])

    def test_a_part_that_is_no_regular_file_stays(self):
        """A pipe of that name had been removed, as an empty download is."""
        self.out.mkdir(parents=True)
        os.mkfifo(self.part)
        self.assert_error_line(self.fetch(), 1, "small.csv.part", "no regular file")
        self.assertTrue(self.part.is_fifo())
        self.part.unlink()
        self.part.mkdir()
        self.assert_error_line(self.fetch(), 1, "small.csv.part", "no regular file")
        self.assertEqual(self.server.seen, [])

    def test_too_long_part_is_started_over(self):
        self.out.mkdir(parents=True)
        self.part.write_bytes(CONTENT + b"x")
        self.assert_complete(self.fetch())
        self.assertEqual([r["range"] for r in self.server.seen], [None])

    def test_server_that_ignores_the_range(self):
        self.server.ranges = False
        self.out.mkdir(parents=True)
        self.part.write_bytes(b"y" * 100_000)
        self.assert_complete(self.fetch())
        self.assertEqual([r["range"] for r in self.server.seen], ["bytes=100000-"])

    def test_server_that_sends_another_range(self):
        self.server.range_shift = 10
        self.out.mkdir(parents=True)
        self.part.write_bytes(CONTENT[:100_000])
        self.assert_complete(self.fetch())
        self.assertEqual([r["range"] for r in self.server.seen], ["bytes=100000-", None])

    def test_range_not_satisfiable_starts_over(self):
        self.server.statuses = [416]
        self.out.mkdir(parents=True)
        self.part.write_bytes(b"y" * 100_000)
        self.assert_complete(self.fetch())
        self.assertEqual([r["range"] for r in self.server.seen], ["bytes=100000-", None])

    def test_wrong_checksum(self):
        self.server.content = CONTENT[:-1] + b"?"
        self.assert_error_line(self.fetch(), 1, SHA256, "small.csv")
        self.assertEqual(self.left_over(), [])
        self.assertEqual(len(self.server.seen), 1)

    def test_resumed_on_a_spoilt_part_then_clean(self):
        self.out.mkdir(parents=True)
        self.part.write_bytes(b"y" * 100_000)
        self.assert_error_line(self.fetch(), 1, "run again")
        self.assertFalse(self.file.exists() or self.part.exists())
        self.assert_complete(self.fetch())

    def test_wrong_size(self):
        for length in (len(CONTENT) - 1, len(CONTENT) + 1):
            for say_length in (True, False):
                with self.subTest(length=length, say_length=say_length):
                    self.server.content = (CONTENT + b"x")[:length]
                    self.server.say_length = say_length
                    result = self.fetch()
                    self.assert_error_line(result, 1)
                    self.assertFalse(self.file.exists())
                    self.part.unlink(missing_ok=True)

    def test_cut_connection_is_resumed_by_the_next_try(self):
        self.server.cut_after_bytes = [120_000]
        self.assert_complete(self.fetch())
        self.assertEqual([r["range"] for r in self.server.seen], [None, "bytes=120000-"])
        self.assertEqual([r["body_bytes"] for r in self.server.seen], [120_000, len(CONTENT) - 120_000])

    def test_cut_connection_without_a_length(self):
        self.server.say_length = False
        self.server.cut_after_bytes = [120_000]
        self.assert_complete(self.fetch())
        self.assertEqual([r["range"] for r in self.server.seen], [None, "bytes=120000-"])

    def test_three_cuts_fail_and_the_next_run_resumes(self):
        self.server.cut_after_bytes = [50_000, 50_000, 50_000]
        self.assert_error_line(self.fetch(), 1, "after 3 tries", "150000 of 300000 bytes kept")
        self.assertFalse(self.file.exists())
        self.assertEqual(self.part.read_bytes(), CONTENT[:150_000])
        self.assert_complete(self.fetch())
        self.assertEqual(self.server.seen[-1]["range"], "bytes=150000-")

    def test_not_found(self):
        self.server.statuses = [404]
        self.assert_error_line(self.fetch(), 1, "404", "small.csv")
        self.assertEqual(self.left_over(), [])
        self.assertEqual(len(self.server.seen), 1)

    def test_one_file_missing_does_not_stop_the_others(self):
        self.server.statuses = [404]
        result = self.fetch("--json", files=[self.entry("gone.csv"), self.entry()])
        self.assert_error_line(result, 1, "gone.csv")
        self.assertEqual(self.file.read_bytes(), CONTENT)
        self.assertEqual([f["status"] for f in json.loads(result.stdout)["files"]], ["failed", "downloaded"])

    def test_unavailable_once(self):
        self.server.statuses = [503]
        self.assert_complete(self.fetch())
        self.assertEqual(len(self.server.seen), 2)

    def test_unavailable_always(self):
        self.server.statuses = [503, 502, 500, 503]
        result = self.fetch("--json", files=[self.entry(), self.entry("second.csv")])
        self.assert_error_line(result, 1, "500", "after 3 tries")
        self.assertEqual(self.left_over(), [])
        self.assertEqual([f["status"] for f in json.loads(result.stdout)["files"]], ["failed", "not_tried"])

    def test_nobody_listens(self):
        self.server.socket.close()
        self.assert_error_line(self.fetch(), 1, "after 3 tries")
        self.assertEqual(self.left_over(), [])

    def test_redirect_is_followed(self):
        self.server.statuses = [302]
        self.server.redirect_to = f"{self.base}/elsewhere.csv"
        self.assert_complete(self.fetch())
        self.assertEqual([r["path"] for r in self.server.seen], ["/small.csv", "/elsewhere.csv"])

    def test_redirect_to_a_file_is_refused(self):
        secret = self.root / "secret"
        secret.write_bytes(CONTENT)
        self.server.statuses = [302]
        self.server.redirect_to = f"file://{secret}"
        self.assert_error_line(self.fetch(), 1)
        self.assertEqual(self.left_over(), ["secret"])

    def test_already_there(self):
        self.out.mkdir(parents=True)
        self.file.write_bytes(CONTENT)
        result = self.fetch()
        self.assert_complete(result)
        self.assertEqual(self.server.seen, [])
        self.assertIn("already there", result.stdout)

    def test_another_file_of_the_name_is_replaced(self):
        self.out.mkdir(parents=True)
        self.file.write_bytes(b"an older version")
        result = self.fetch("--json")
        self.assert_complete(result)
        self.assertEqual(json.loads(result.stdout)["files"][0]["status"], "replaced")

    def test_another_file_of_the_name_stays_when_the_download_fails(self):
        self.out.mkdir(parents=True)
        self.file.write_bytes(b"an older version")
        self.server.content = CONTENT[:-1] + b"?"
        self.assert_error_line(self.fetch(), 1)
        self.assertEqual(self.file.read_bytes(), b"an older version")
        self.assertFalse(self.part.exists())

    def test_two_at_once_do_not_mix(self):
        self.out.mkdir(parents=True)
        self.part.write_bytes(CONTENT[:10])
        with open(self.part, "rb+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assert_error_line(self.fetch(), 1, "another process")
            self.assertEqual(self.part.read_bytes(), CONTENT[:10])
        self.assert_complete(self.fetch())

    def test_only_the_named_file(self):
        result = self.fetch("--file", "small.csv", files=[self.entry(), self.entry("second.csv")])
        self.assert_complete(result)
        self.assertFalse((self.out / "second.csv").exists())
        self.assert_error_line(self.fetch("--file", "third.csv"), 2, "third.csv", "one of: small.csv")

    def test_unknown_trace(self):
        self.assert_error_line(self.run_vgpusim("openc", "--out", str(self.out)), 2, "'openc'", "openb")
        self.assertEqual(self.left_over(), [])

    def test_built_in_list(self):
        result = self.run_vgpusim()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("openb", result.stdout)
        for arguments in (["--list"], ["openb", "--list"]):
            listed = self.run_vgpusim(*arguments)
            self.assertEqual((listed.returncode, listed.stdout, listed.stderr), (0, result.stdout, ""))
        [openb] = json.loads(self.run_vgpusim("--json").stdout)["traces"]
        self.assertEqual((openb["name"], len(openb["files"])), ("openb", 8))
        self.assertIn("could not be tried", openb["note"])
        for entry in openb["files"]:
            self.assertTrue(entry["url"].startswith("https://") and entry["url"].endswith("/" + entry["name"]))

    def test_malformed_lists(self):
        good = self.entry()
        cases = {
            "traces[0].files[0].sha256": [self.entry(sha256="abc"), self.entry(sha256=SHA256.upper()),
                                         self.entry(sha256=7), {k: v for k, v in good.items() if k != "sha256"}],
            "traces[0].files[0].name": [self.entry(name) for name in
                                       ("a/b", "..", "../x", "a..b", "", ".hidden", "a\nb", "x.part", "a\\b")],
            "traces[0].files[0].bytes": [self.entry(bytes=b) for b in (0, -1, 1.5, "9", None, 2**60, 2**70)],
            "traces[0].files[0].url": [self.entry(url=u) for u in ("file:///etc/passwd", "ftp://x/y", "", 3)],
            "traces[0].files[0].mirror": [self.entry(mirror="x")],
            "traces[0].files[0]": [7, [good]],
        }
        for path, entries in cases.items():
            for entry in entries:
                with self.subTest(path=path, entry=entry):
                    self.assert_error_line(self.fetch(files=[entry]), 2, "list.json:1: " + path + ":")
        with self.subTest("the same file twice"):
            self.assert_error_line(self.fetch(files=[good, good]), 2, "traces[0].files[1].name")
        path = self.root / "list.json"
        for text, words in {
            "": "JSON: syntax error",
            "{": "the text ends inside a map; was the download cut off?",
            "[]": "an object",
            "{}": "traces: missing; expected this key",
            '{"traces": []}': ": traces: ",
            '{"traces": [], "traces": []}': "traces: the key is given twice",
            '{"traces": {"openb": 1}}': ": traces: ",
            '{"traces": [{"name": "x"}]}': "traces[0].description: missing; expected this key",
            '{"traces": [{"name": "\udc80"}]}': "JSON: syntax error",
            '{"traces": ' + "[" * 100_000: "deep",
        }.items():
            with self.subTest(text=text[:40]):
                path.write_bytes(text.encode("utf-8", "surrogateescape"))
                self.assert_error_line(self.run_vgpusim("--list", str(path)), 2, words)
        self.assert_error_line(self.run_vgpusim("--list", str(self.root / "absent.json")), 2, "absent.json")
        self.assertEqual(self.server.seen, [])
        self.assertEqual(self.left_over(), [])

    def test_unwritable_out(self):
        taken = self.root / "taken"
        taken.write_text("a file")
        for out in (taken, taken / "below", Path("/proc/x/y"), Path("/dev/null/x")):
            with self.subTest(out=out):
                self.out = out
                self.assert_error_line(self.fetch(), 2, str(out)[:6])
        self.assertEqual(taken.read_text(), "a file")
        self.assertEqual(self.left_over(), ["taken"])
        self.assertEqual(self.server.seen, [])

    def test_full_disk(self):
        def limit():
            import resource
            import signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        listed = self.list_file(self.entry(), self.entry("second.csv"))
        result = subprocess.run([VGPUSIM, "fetch", "small", "--list", listed, "--out", str(self.out)],
                                env=self.environment, capture_output=True, text=True, timeout=60, check=False,
                                preexec_fn=limit, restore_signals=False)
        self.assert_error_line(result, 1, "small.csv.part", "cannot write")
        self.assertFalse(self.file.exists())
        self.assertEqual(len(self.server.seen), 1)
        self.assert_complete(self.fetch())  # what was written before the disk was full is continued

    def test_default_folders(self):
        listed = self.list_file(self.entry())
        home = self.root / "home" / ".cache" / "vgpualloc" / "traces"
        for name, value, folder in ((None, None, home),
                                    ("XDG_CACHE_HOME", self.root / "xdg", self.root / "xdg/vgpualloc/traces"),
                                    ("VGPUALLOC_TRACES", self.root / "named", self.root / "named")):
            if name:
                self.environment[name] = str(value)
            result = self.run_vgpusim("small", "--list", listed)
            self.assertEqual((result.returncode, result.stdout), (0, f"{folder}/small.csv: downloaded\n"))
        del self.environment["VGPUALLOC_TRACES"], self.environment["XDG_CACHE_HOME"], self.environment["HOME"]
        self.assert_error_line(self.run_vgpusim("small", "--list", listed), 2, "--out")

    def test_a_server_that_says_nothing_is_told_of(self):
        """How long has nothing come, and for how long is it waited for."""
        with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, as the system does, and never answers
            entry = {**self.entry(), "url": f"http://127.0.0.1:{silent.getsockname()[1]}/x"}
            main_end, terminal = pty.openpty()
            with subprocess.Popen([VGPUSIM, "fetch", "small", "--list", self.list_file(entry), "--out", str(self.out)],
                                  env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=terminal) as process:
                os.close(terminal)
                shown = b""
                while b"(try 1 of 3)" not in shown:  # ctest's limit ends this if it never comes
                    shown += os.read(main_end, 65536)
                process.terminate()
            os.close(main_end)
        self.assertRegex(shown, rb"\r[^\r]*: no byte for [2-9] s, given up after 92 s \(try 1 of 3\)")

    def test_progress_on_a_terminal_only(self):
        self.assertEqual(self.fetch().stderr, "")  # a pipe
        self.file.unlink()
        listed = self.list_file(self.entry())
        code, shown = on_a_terminal([VGPUSIM, "fetch", "small", "--list", listed, "--out", self.out], self.environment)
        self.assertEqual(code, 0)
        self.assertIn(b"100 %", shown)
        self.assertIn(b"/s  ETA", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])


if __name__ == "__main__":
    unittest.main()
