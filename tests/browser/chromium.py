"""Headless Chromium, spoken to through its own pipe: no driver, no port, nothing but Python's standard library.

The protocol is the Chrome DevTools Protocol; messages are JSON and end with a zero byte."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def find():
    """The path of a Chromium on this machine, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One Chromium with one page. Console messages, exceptions and requests are collected."""

    def __init__(self, binary):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to_write = os.pipe()
        self.to_read, to_write = os.pipe()

        def as_three_and_four():
            # By way of numbers that are surely free, so that neither copy closes the other.
            read_copy, write_copy = os.dup(to_read), os.dup(to_write)
            os.dup2(read_copy, 3)
            os.dup2(write_copy, 4)

        # Root may not use the sandbox, and containers often have a small /dev/shm.
        self.process = subprocess.Popen(
            [binary, "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
             "--no-first-run", "--disable-extensions", "--disable-background-networking", "--force-device-scale-factor=1",
             f"--user-data-dir={self.profile.name}", "--remote-debugging-pipe", "about:blank"],
            close_fds=False, preexec_fn=as_three_and_four, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.unread = b""
        self.events = []
        self.number = 0
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to_write)
        os.close(self.to_read)
        self.profile.cleanup()

    def read(self, until):
        """The next message, or None when it is later than `until`."""
        while b"\0" not in self.unread:
            if not select.select([self.to_read], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            chunk = os.read(self.to_read, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium ended")
            self.unread += chunk
        text, self.unread = self.unread.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 60
        while (answer := self.read(until)) is not None:
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]
        raise TimeoutError(method)

    def open(self, path, width=1280, height=900, dark=False, scripts=True):
        """Opens a file in a window of that size and waits until it is drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        until = time.monotonic() + 60
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            event = self.read(until)
            if event is None:
                raise TimeoutError(f"{path} did not load")
            self.events.append(event)
        self.settle()

    def settle(self, seconds=0.3):
        """Lets timers and drawing happen."""
        until = time.monotonic() + seconds
        while (event := self.read(until)) is not None:
            self.events.append(event)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:600])
        return answer["result"].get("value")

    def press(self, key, code=0, text=""):
        """A key as a keyboard sends it, to whatever has the focus."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle(0.05)

    def screenshot(self, path):
        """The whole page, however long."""
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(picture["data"]))

    def complaints(self):
        """Console errors and warnings, uncaught exceptions, log entries of the browser."""
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"])[:400])
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(parameters["args"])[:400])
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def requests(self):
        """The addresses of everything that was asked for since open()."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
