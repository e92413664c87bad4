"""The page server: it serves only files below the folder, to curl and to a real browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import need
from vez.errors import MissingFile
from vez.servers.serving import Refusal, Request
from vez.servers.serving.pages import Pages, content_type, parts
from vez.servers.serving.recording import Phase, Recorder

from .models import every_model
from .parts import ask, client, serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pages, and files that must not be served."""
    root = tmp_path / "pages"
    (root / "sub folder").mkdir(parents=True)
    (root / "index.html").write_text(
        "<title>home</title><link rel=stylesheet href=style.css><script src=a.js></script>"
    )
    (root / "style.css").write_text("body { color: green }")
    (root / "a.js").write_text("document.title += ' and more'")
    (root / "sub folder" / "é.txt").write_text("deep")
    (root / ".secret").write_text("secret")
    (root / "sub folder" / ".git").mkdir()
    (root / "sub folder" / ".git" / "config").write_text("secret")
    (tmp_path / "outside.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "inside.txt").symlink_to(root / "style.css")
    (root / "up").symlink_to(tmp_path)
    (root / "odd" / "index.html").mkdir(parents=True)
    os.mkfifo(root / "pipe")
    return root


def served(service: Pages, target: str, method: str = "GET") -> tuple[int, bytes]:
    """Status and body, without a server."""
    try:
        answer = service.answer(service.decide(service.decode(Request(method, target))))
    except Refusal as refusal:
        answer = refusal.answer
    return answer.status, answer.body


OUTSIDE = [
    "/../outside.txt", "/%2e%2e/outside.txt", "/%2e%2e%2foutside.txt", "/..%2foutside.txt", "/sub%20folder/../../outside.txt",
    "/sub%20folder/%2e%2e/%2e%2e/outside.txt", "//etc/passwd", "/./index.html", "/%00", "/index.html%00.png", "/.secret",
    "/%2esecret", "/sub%20folder/.git/config", "/link.txt", "/inside.txt", "/up/outside.txt", "/pipe", "/index.html/", "/nothing",
    "/sub%20folder/", "/odd/", "/" + "a" * 5000, "/..\\..\\outside.txt", "/%c0%ae%c0%ae/outside.txt",
]  # fmt: skip


@pytest.mark.parametrize("target", OUTSIDE)
def test_what_is_not_a_page_is_not_served(folder: Path, target: str) -> None:
    service = Pages(folder)
    status, body = served(service, target)
    assert status in (400, 404)
    assert b"secret" not in body
    service.close()


def test_pages_of_the_folder(folder: Path) -> None:
    service = Pages(folder)
    assert served(service, "/")[0] == 200
    assert served(service, "/?a=b") == served(service, "/index.html")
    assert served(service, "/sub%20folder/%C3%A9.txt") == (200, b"deep")
    moved = service.decide(service.decode(Request("GET", "/sub%20folder")))
    assert (moved.status, moved.headers) == (301, (("Location", "/sub%20folder/"),))
    assert served(service, "/index.html", "POST")[0] == 405
    assert served(service, "http://evil.example/")[0] == 400
    assert served(service, "*")[0] == 400
    service.close()
    with pytest.raises(MissingFile, match="cannot open the folder"):
        Pages(folder / "nowhere")


def test_pages_are_kept_for_a_while_within_their_room(folder: Path) -> None:
    service = Pages(folder, fresh_s=1000, cache_bytes=400, largest=500)
    question = service.decode(Request("GET", "/style.css"))
    assert service.at_once(question) is None, "not read yet"
    first = service.decide(question)
    (folder / "style.css").write_text("changed")
    assert service.at_once(question) is service.decide(question) is first
    for number in range(30):
        (folder / f"{number}.txt").write_text("x" * 40)
        served(service, f"/{number}.txt")
    assert service.at_once(question) is None, "others needed the room"
    assert served(service, "/style.css") == (200, b"changed")
    (folder / "large.txt").write_text("x" * 501)
    assert served(service, "/large.txt")[0] == 403
    service.close()
    stale = Pages(folder, fresh_s=0)
    assert served(stale, "/style.css") == (200, b"changed")
    (folder / "style.css").write_text("again")
    assert served(stale, "/style.css") == (200, b"again")
    stale.close()


def test_the_type_of_a_page_does_not_depend_on_the_machine() -> None:
    assert content_type("a.html") == "text/html; charset=utf-8"
    assert content_type("a.svg") == "image/svg+xml"
    assert content_type("a.unknown") == "application/octet-stream"


@given(
    st.lists(st.sampled_from(["/", ".", "..", "%2e", "%2F", "%00", "a", "%", "\\", "é", "?", "%ff"]), max_size=8).map(
        "".join
    )
)
def test_no_target_leads_out(target: str) -> None:
    try:
        names = parts(target)
    except (Refusal, UnicodeEncodeError):
        return
    assert all(name and not name.startswith(".") and "/" not in name and "\0" not in name for name in names[:-1])
    assert names[-1] not in (".", "..")
    assert "/" not in names[-1]


@every_model
def test_curl_gets_pages(model: str, folder: Path) -> None:
    if shutil.which("curl") is None:
        need("curl", "install your distribution's curl")
    large = folder.parent / "large"
    large.write_bytes(b"x" * 1_100_000)
    with serving(model, Pages(folder)) as server:

        def curl(*arguments: str) -> str:
            done = subprocess.run(
                ["curl", "-sS", "-m", "20", *arguments], capture_output=True, text=True, check=True, timeout=60
            )
            return done.stdout

        url = server.url
        assert curl(f"{url}style.css") == "body { color: green }"
        twice = curl("-w", "%{num_connects} ", "-o", os.devnull, "-o", os.devnull, f"{url}style.css", f"{url}a.js")
        assert twice.split() == ["1", "0"], "one connection for two files"
        assert curl("-I", f"{url}style.css").startswith("HTTP/1.1 200 OK")
        assert "404" in curl("-i", "--path-as-is", f"{url}../outside.txt")
        assert curl("-L", f"{url}sub%20folder") == "Not Found\n"  # the redirection is followed; there is no index
        assert "405" in curl("-i", "-d", "x=y", url)
        assert "HTTP/1.1 200" in curl("-i", "--http1.0", url)
        assert "413" in curl("-i", "-H", "Expect: 100-continue", "--data-binary", f"@{large}", url).split("\r\n")[0]
        assert curl("-Z", *(f"{url}style.css?{number}" for number in range(30))) == "body { color: green }" * 30


@pytest.mark.browser
@pytest.mark.parametrize("model", ["pool", "loop"])
def test_a_browser_shows_the_page(model: str, folder: Path, tmp_path: Path, chromium: str) -> None:
    """The style sheet and the script of the page are fetched too, from the same server."""
    with serving(model, Pages(folder)) as server:
        done = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
             "--virtual-time-budget=3000", "--dump-dom", server.url],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert "<title>home and more</title>" in done.stdout
        assert server.counts.requests >= 3
        assert server.counts.malformed == 0


@every_model
def test_a_slow_disk_blocks_a_thread_for_real(model: str, folder: Path) -> None:
    """The pause is a blocking call, which lasts in the thread that reads; a page that is kept needs none."""
    service, recorder = Pages(folder, disk_ms={"": 0, "sub folder": 30}, fresh_s=1000), Recorder()
    with serving(model, service, recorder=recorder) as server:
        one = client(server)
        assert ask(one, "/sub%20folder/%C3%A9.txt") == (200, b"deep")
        assert service.at_once(("sub folder", "é.txt")) is not None
        one.close()
    (decided,) = (span for span in recorder.spans if span.phase is Phase.DECIDE)
    assert decided.end - decided.begin >= 0.03
    assert decided.lane.split()[0] in ("acceptor", "thread", "worker", "decide")
