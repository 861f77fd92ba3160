"""A run that reads strokes, a window on it, and a browser that draws."""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw

from learner_cases import adam, make_learner
from softground import Examples, Program, Task, grounding_stages
from softground.model import load
from softground.networks import PerSite, mlp
from softground.runs import RunFolder
from softground.spaces import Categorical
from softground.window.server import application, server

SIZE, TOKEN = 16, "not-a-secret"
LINES = {0: [(0.5, 0.2, 0.5, 0.8)], 1: [(0.2, 0.5, 0.8, 0.5)], 2: [(0.2, 0.2, 0.8, 0.8), (0.2, 0.8, 0.8, 0.2)]}


def picture(digit: int, size: int = SIZE, shift: float = 0.0) -> Image.Image:
    """0 stands, 1 lies, 2 is a cross: bright strokes on black."""
    made = Image.new("L", (size, size))
    for line in LINES[digit]:
        ends = [(v + shift) * size for v in line]
        ImageDraw.Draw(made).line(ends, fill=255, width=max(1, size // 12))
    return made


def png(image: Image.Image) -> str:
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def rule(a: int, b: int) -> int:
    """What two symbols give; not symmetric, so that each answer says which symbol is where."""
    return 2 * a + b


def train(out: Path, epochs: int = 12, observer: Any = None, **more: Any) -> Task:
    """A run folder of two symbols a, b with the answer 2a + b, of which 4 has two explanations."""
    space = Categorical([range(3)] * 2)
    task = Task(space, Program(rule, space))
    chance = torch.Generator().manual_seed(0)
    digits = torch.randint(3, (128, 2), generator=chance)
    shifts = (torch.rand(128, 2, generator=chance) - 0.5).mul(0.1).tolist()
    rows = [
        [picture(d, shift=s) for d, s in zip(*row, strict=True)] for row in zip(digits.tolist(), shifts, strict=True)
    ]
    x = torch.stack([torch.frombuffer(bytearray(p.tobytes()), dtype=torch.uint8) for row in rows for p in row])
    data = Examples(x.view(128, 2, 1, SIZE, SIZE), [rule(*row) for row in digits.tolist()], digits)
    torch.manual_seed(0)
    net = PerSite(torch.nn.Sequential(torch.nn.Flatten(), *mlp(SIZE**2, 3, 32, 0.0)), (1, SIZE, SIZE))
    learner = make_learner(task, grounding_stages(task, epochs=epochs, optimizer=adam), net)
    learner.fit(data, data, out=out, quiet=True, observer=observer, **more)
    return task


@contextmanager
def window(folder: Path) -> Iterator[int]:
    """The port of a window that is served by a thread."""
    app = application(RunFolder.open(folder), lambda: load(folder / "model", device="cpu"), TOKEN)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        running = server(app)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            running.should_exit = True
            thread.join(30)


def ask(port: int, path: str, body: Any = None, host: str | None = None) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and content of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Host": host or f"127.0.0.1:{port}"}
    content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    connection.request("GET" if body is None else "POST", path, content, headers)
    answer = connection.getresponse()
    found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return found


class Browser:
    """Chromium without a screen, told what to do through its pipe (the DevTools protocol, without a socket)."""

    def __init__(self, program: str, profile: Path, *options: str) -> None:
        down, ours = os.pipe()
        theirs, up = os.pipe()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [program, "--headless", *sandbox, "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        command += ["--remote-debugging-pipe", f"--user-data-dir={profile}", *options, "about:blank"]

        def place() -> None:  # Chromium reads from 3 and writes to 4
            high = os.dup(up)
            os.dup2(os.dup(down), 3)
            os.dup2(high, 4)

        self.process = subprocess.Popen(command, preexec_fn=place, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(down)
        os.close(up)
        self.down, self.up, self.rest, self.count, self.session = ours, theirs, b"", 0, ""
        page = next(t for t in self.tell("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.tell("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]

    def tell(self, method: str, **parameters: Any) -> Any:
        """Do something, and what came of it."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.down, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.up, 2**20)
                assert part, "the browser has ended"
                self.rest += part
            line, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == self.count:
                assert "error" not in answer, answer
                return answer["result"]

    def see(self, expression: str) -> Any:
        """The value of an expression in the page."""
        return self.tell("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait(self, expression: str, seconds: float = 60) -> Any:
        """The value of an expression, once it is true."""
        end = time.monotonic() + seconds
        while not (found := self.see(expression)):
            assert time.monotonic() < end, (
                f"never true: {expression}; the page says {self.see('document.body.innerText')}"
            )
            time.sleep(0.05)
        return found

    def stroke(self, selector: str, x0: float, y0: float, x1: float, y1: float) -> None:
        """Draw a line inside an element with the mouse, in shares of its width and height."""
        self.see(f"document.querySelector('{selector}').scrollIntoView({{behavior: 'instant', block: 'center'}})")
        box = self.see(
            f"(r => [r.x, r.y, r.width, r.height])(document.querySelector('{selector}').getBoundingClientRect())"
        )
        for kind, t in (("mousePressed", 0.0), *(("mouseMoved", k / 8) for k in range(1, 9)), ("mouseReleased", 1.0)):
            at = {"x": box[0] + box[2] * (x0 + t * (x1 - x0)), "y": box[1] + box[3] * (y0 + t * (y1 - y0))}
            self.tell("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, **at)

    def close(self) -> None:
        """End it."""
        self.tell("Browser.close")
        self.process.wait(30)
        os.close(self.down)
        os.close(self.up)
