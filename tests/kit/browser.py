"""A page in a real browser over the DevTools protocol: its requests, its errors, and a picture."""

import base64
import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from testbed.browser import browser

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--no-first-run",
)


@dataclass
class Visit:
    """What a page did."""

    requests: list[str] = field(default_factory=list)
    """Every address that was requested, the page's own first."""
    errors: list[str] = field(default_factory=list)
    """Console errors, exceptions and violations of the content security policy."""
    png: bytes = b""
    results: dict[str, object] = field(default_factory=dict)
    """The value of each expression, by its name."""


class Browser:
    """A browser that is controlled through a pipe."""

    def __init__(self, send, receive):
        self.send, self.receive, self.number, self.session = send, receive, 0, None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Call a method and return its result; events that arrive before are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.send, json.dumps(message).encode() + b"\0")
        while (answer := self.next()).get("id") != self.number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def next(self):
        text = b""
        while not text.endswith(b"\0"):
            part = self.receive.read(1)
            assert part, "the browser has ended"
            text += part
        return json.loads(text[:-1])

    def wait(self, method):
        while not any(each.get("method") == method for each in self.events):
            self.events.append(self.next())

    def pdf(self, page: Path) -> bytes:
        """The file as it is printed on A4."""
        self.events = []
        self.call("Emulation.setEmulatedMedia", media="")
        self.call("Page.navigate", url=page.as_uri())
        self.wait("Page.loadEventFired")
        printed = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(printed["data"])

    def visit(
        self,
        page: Path,
        width: int,
        scheme: str,
        media: str = "",
        height: int = 0,
        **expressions: str,
    ) -> Visit:
        """Open a file with this width, colour scheme and medium, and evaluate expressions in it.

        The picture is of the whole page, or of its upper part with this height.
        """
        self.events = []
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.call("Page.navigate", url=page.as_uri())
        self.wait("Page.loadEventFired")
        seen = Visit()
        for name, expression in expressions.items():
            answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
            assert "exceptionDetails" not in answer, answer
            seen.results[name] = answer["result"].get("value")
        clip = (
            {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}
            if height
            else {}
        )
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, **clip)
        seen.png = base64.b64decode(picture["data"])
        for each in self.events:
            _note(seen, each.get("method"), each.get("params", {}))
        return seen


def _note(seen, method, given):
    if method == "Network.requestWillBeSent":
        seen.requests.append(given["request"]["url"])
    elif method == "Log.entryAdded" and given["entry"]["level"] in {"error", "warning"}:
        seen.errors.append(given["entry"]["text"])
    elif method == "Runtime.exceptionThrown":
        seen.errors.append(str(given["exceptionDetails"]))
    elif method == "Runtime.consoleAPICalled" and given["type"] in {"error", "warning", "assert"}:
        seen.errors.append(str(given["args"]))


@contextmanager
def opened(folder: Path):
    """A browser of its own, with its files in a folder."""
    command, environment = browser()
    here, send = os.pipe()
    receive, there = os.pipe()
    # The browser reads commands from descriptor 3 and writes to 4.
    script = f'exec "$@" 3<&{here} 4>&{there}'
    flags = (*FLAGS, f"--user-data-dir={folder}", "--remote-debugging-pipe")
    process = subprocess.Popen(
        ["bash", "-c", script, "browser", *command, *flags],
        pass_fds=(here, there), env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(here)
    os.close(there)
    with os.fdopen(receive, "rb") as answers:
        try:
            yield Browser(send, answers)
        finally:
            os.close(send)
            process.terminate()
            process.wait(30)
