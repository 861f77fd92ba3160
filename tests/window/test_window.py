"""A window on a run: who may look, what a drawing gives, and that the page follows the run."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="a window needs starlette and uvicorn, which are not installed")
pytest.importorskip("uvicorn", reason="a window needs starlette and uvicorn, which are not installed")

import torch

import softground as sg
from cli_cases import ENVIRONMENT, process
from softground.cli import main
from softground.runs.folder import METRICS
from softground.window.reading import read as read_pictures
from softground.window.server import WAITING
from window_cases import TOKEN, ask, picture, png, rule, train, window


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("window") / "run"
    train(folder)
    return folder


@pytest.fixture(scope="module")
def port(run: Path) -> Iterator[int]:
    with window(run) as found:
        yield found


def read(port: int, *digits: int, **more: Any) -> dict[str, Any]:
    status, _, content = ask(port, f"/{TOKEN}/read", {"pictures": [png(picture(d, 280)) for d in digits]} | more)
    assert status == 200, content
    found: dict[str, Any] = json.loads(content)
    return found


def test_the_page_is_whole_and_may_load_nothing_from_elsewhere(port: int) -> None:
    status, headers, content = ask(port, f"/{TOKEN}/")
    assert status == 200
    assert b'<canvas id="canvas"' in content
    assert b'src="window.js"' in content
    assert b"http" not in content.replace(b"http-equiv", b"")
    assert headers["content-security-policy"].startswith("default-src 'none';")
    assert "unsafe-eval" not in headers["content-security-policy"]
    status, headers, content = ask(port, f"/{TOKEN}/window.js")
    assert headers["content-type"].startswith("text/javascript")
    assert b"http" not in content
    assert b"eval(" not in content


@pytest.mark.parametrize(
    "path", ["/", "/live", "/read", "/window.js", "/wrong/", "/wrong/live", f"/x/{TOKEN}/", "//", "/%C3%A9"]
)
def test_without_the_token_there_is_nothing(port: int, path: str) -> None:
    status, headers, content = ask(port, path)
    assert status == 403
    assert b"token" in content
    assert TOKEN.encode() not in content
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "0.0.0.0"])
def test_another_name_of_this_machine_is_refused(port: int, host: str) -> None:
    for path in ("/", f"/{TOKEN}/", f"/{TOKEN}/live"):
        assert ask(port, path, host=host)[0] == 400
    assert ask(port, f"/{TOKEN}/", host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize(
    "path", ["config.json", "../config.json", "..%2fconfig.json", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd"]
)
def test_no_path_leads_to_a_file(port: int, path: str) -> None:
    assert ask(port, f"/{TOKEN}/{path}")[0] in (403, 404)


def test_a_drawing_is_read_site_by_site_with_its_value(port: int) -> None:
    found = read(port, 2, 1)
    assert found["symbols"] == ["2", "1"]
    assert found["value"] == str(rule(2, 1))
    assert [site[0][0] for site in found["sites"]] == ["2", "1"]
    assert all(0.5 < site[0][1] <= 1 and len(site) <= 3 for site in found["sites"])
    assert found["probability"] == pytest.approx(found["sites"][0][0][1] * found["sites"][1][0][1], abs=1e-3)
    assert "explanation" not in found


def test_an_answer_gives_the_most_probable_reading_that_explains_it(port: int) -> None:
    same = read(port, 2, 1, answer="5")["explanation"]
    assert (same["symbols"], same["differs"]) == (["2", "1"], [])
    found = read(port, 2, 1, answer=" 4 ")  # 2·1 + 2 or 2·2 + 0: the first symbol is surely a 2, or the second lies
    other = found["explanation"]
    assert rule(*map(int, other["symbols"])) == 4 == int(other["value"])
    assert other["differs"] == [k for k in (0, 1) if other["symbols"][k] != found["symbols"][k]] != []
    assert other["probability"] < found["probability"]


@pytest.mark.parametrize("answer", ["99", "seven", "[1, 2]", "1/2", "[[[[", "9" * 200])
def test_an_answer_that_nothing_explains_leaves_the_reading(port: int, answer: str) -> None:
    found = read(port, 2, 1, answer=answer)
    assert found["symbols"] == ["2", "1"]
    assert found["explanation"].keys() == {"error"}
    assert found["explanation"]["error"]


def test_a_word_where_a_vectorised_rule_gives_numbers_is_told_in_words_for_a_page() -> None:
    space = sg.Categorical([range(3)] * 2)
    network = sg.PerSite(sg.convnet((1, 8, 8), 3, width=4), image=(1, 8, 8))
    task = sg.Task(space, sg.Program(lambda a, b: a + b, space, vectorised=True))
    model = sg.Learner(task, network, device="cpu").model
    model.shape, model.dtype = (2, 1, 8, 8), torch.uint8
    pictures = [base64.b64decode(png(picture(0)))] * 2
    error = read_pictures(model, pictures, "foo")["explanation"]["error"]
    assert error == "'foo' is not an answer of this rule. Type one, such as 7, 7/2, True or [1, 2]."
    assert "No symbols" in read_pictures(model, pictures, "99")["explanation"]["error"]


def test_a_reading_without_a_value_has_the_most_probable_one_that_has_one_beside_it() -> None:
    space = sg.Categorical([range(3)] * 2)
    network = sg.PerSite(sg.convnet((1, 8, 8), 3, width=4), image=(1, 8, 8))
    task = sg.Task(space, sg.Program(lambda a, b: a - b if a > b else None, space))
    model = sg.Learner(task, network, device="cpu").model
    model.shape, model.dtype = (2, 1, 8, 8), torch.uint8
    found = read_pictures(model, [base64.b64decode(png(picture(0)))] * 2)  # two equal pictures have no value
    assert found["value"] is None
    a, b = map(int, found["allowed"]["symbols"])
    assert int(found["allowed"]["value"]) == a - b > 0
    assert found["allowed"]["probability"] <= found["probability"]


def test_an_answer_at_which_the_rule_fails_leaves_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def cue(answer: Any, site: int) -> Any:
        return answer // 10 ** (1 - site) % 10

    space = sg.Categorical([range(10)] * 2)
    rule = sg.Scan(lambda state, digit, site, due: 0 if digit == due else None, space, cue=cue)
    network = sg.PerSite(sg.convnet((1, 8, 8), 10, width=4), image=(1, 8, 8))
    model = sg.Learner(sg.Task(space, rule), network, device="cpu").model
    model.shape, model.dtype = (2, 1, 8, 8), torch.uint8
    found = read_pictures(model, [base64.b64decode(png(picture(0)))] * 2, "seven")
    assert len(found["symbols"]) == 2
    assert found["explanation"]["error"].startswith("'seven' is not an answer of this rule. Type one, such as 7")
    monkeypatch.setattr(rule, "encode", lambda answers: 1 / 0)
    found = read_pictures(model, [base64.b64decode(png(picture(0)))] * 2, "7")
    assert found["explanation"]["error"].startswith("the rule fails at it: ")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"pictures": []}, "0 pictures were given; this network reads 2"),
        ({"pictures": [png(picture(0))] * 3}, "3 pictures were given; this network reads 2"),
        ({"pictures": ["AAAA", "AAAA"]}, "picture 1 cannot be read as an image (it is none of PNG"),
        ({"pictures": ["?", "?"]}, "could not be read"),
        ({"pictures": 3}, "could not be read"),
        ({"pictures": [png(picture(0))] * 2, "answer": 4}, "could not be read"),
        ([], "could not be read"),
        (b"{", "could not be read"),
        (b"[" * 2**17, "could not be read"),
    ],
)
def test_what_cannot_be_read_is_said(port: int, body: Any, words: str) -> None:
    status, _, content = ask(port, f"/{TOKEN}/read", body)
    assert status == 422
    assert words in json.loads(content)["error"]


def test_the_page_follows_the_run(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(run, folder)
    metrics = (folder / METRICS).read_bytes().splitlines(keepends=True)
    for name in ("summary.json", "report.json"):  # as while a run goes on
        (folder / name).unlink()
    (folder / METRICS).write_bytes(b"".join(metrics[:-1]) + metrics[-1][:20])
    with window(folder) as port:
        first = json.loads(ask(port, f"/{TOKEN}/live")[2])
        assert f"{len(metrics) - 1} epochs" in first["html"]
        assert "no process is training" in first["html"]
        assert first["html"].count("<svg") >= 3
        assert "training example 1" in first["html"]  # its chain and its images, by the gallery alone
        assert first["html"].count('<img src="data:image/png;base64,') == 12
        assert ask(port, f"/{TOKEN}/live?seen={first['version']}")[0] == 204
        (folder / METRICS).write_bytes(b"".join(metrics))
        status, _, content = ask(port, f"/{TOKEN}/live?seen={first['version']}")
        assert status == 200
        assert f"{len(metrics)} epochs" in json.loads(content)["html"]
        (folder / METRICS).write_bytes(b"not a record\n")
        status, _, content = ask(port, f"/{TOKEN}/live?seen={first['version']}")
        assert status == 422
        assert "line 1 is damaged" in json.loads(content)["error"]


def test_a_run_that_goes_on_is_seen_and_read(tmp_path: Path) -> None:
    seen = []

    def look(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            with window(tmp_path / "run") as port:
                html = json.loads(ask(port, f"/{TOKEN}/live")[2])["html"]
            seen.append("training now" in html)

    train(tmp_path / "run", 2, look)
    assert seen == [True, True]


def test_the_command_prints_an_address_and_ends_when_interrupted(run: Path) -> None:
    child = process("open", str(run), "--no-browser", "--json")
    assert child.stdout is not None
    address = json.loads(child.stdout.readline())["address"]
    place, token = address.removeprefix("http://127.0.0.1:").rstrip("/").split("/")
    assert len(token) >= 20
    assert ask(int(place), f"/{token}/")[0] == 200
    pictures = [png(picture(digit, 100)) for digit in (0, 2)]
    assert json.loads(ask(int(place), f"/{token}/read", {"pictures": pictures})[2])["symbols"] == ["0", "2"]
    child.send_signal(signal.SIGINT)
    _, words = child.communicate(timeout=30)
    assert (child.returncode, words) == (0, "")


def test_no_process_has_the_address_among_its_arguments(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.new; mv {seen}.new {seen}\n')
    browser.chmod(0o700)
    monkeypatch.setitem(ENVIRONMENT, "BROWSER", f"{browser} %s")
    child = process("open", str(run), "--json")
    assert child.stdout is not None
    address = json.loads(child.stdout.readline())["address"]
    end = time.monotonic() + 30
    while not seen.exists() and time.monotonic() < end:
        time.sleep(0.05)
    given = seen.read_text().strip()
    page = Path(given.removeprefix("file://"))
    assert address.split("/")[3] not in given
    assert f"url={address}" in page.read_text()
    assert page.parent.stat().st_mode & 0o077 == 0
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert not page.parent.exists()


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["open", str(tmp_path), "--no-browser"]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_a_port_in_use_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["open", str(run), "--no-browser", "--port", str(port)]) == 2
    message = capsys.readouterr().err
    assert (
        f"Port {port} cannot be used ([Errno 98] Address already in use). Choose another, or 0 for any free one."
        in message
    )
    assert len(message.splitlines()) == 1


def test_a_port_that_there_is_not_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["open", str(run), "--no-browser", "--port", "70000"]) == 2
    assert "Port 70000 cannot be used (bind(): port must be 0-65535.)" in capsys.readouterr().err


def test_half_open_connections_are_limited_and_keep_nobody_out(port: int) -> None:
    half = []
    for _ in range(3 * WAITING):
        half.append(socket.create_connection(("127.0.0.1", port)))
        half[-1].sendall(b"GET / HTTP/1.1\r\n")
    assert ask(port, f"/{TOKEN}/")[0] == 200
    time.sleep(0.5)
    for each in half:
        each.setblocking(False)
    assert sum(not closed(each) for each in half) <= WAITING
    for each in half:
        each.close()
    assert ask(port, f"/{TOKEN}/")[0] == 200


def closed(connection: socket.socket) -> bool:
    """Whether the other end has closed it."""
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
