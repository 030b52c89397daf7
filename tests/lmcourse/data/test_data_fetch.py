import hashlib
import io
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError

import pytest

from lmcourse.data import fetch as module
from lmcourse.data.fetch import get
from lmcourse.data.sources import SOURCES, Source
from lmcourse.errors import CourseError

CONTENT = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT; `faults` says what goes wrong with each request in turn, `seen` what was asked for."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.tag, self.faults, self.seen = CONTENT, '"one"', [], []


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.seen.append(asked)
        fault = server.faults.pop(0) if server.faults else None
        if isinstance(fault, int):
            self.send_error(fault)
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if self.headers.get("If-Range") != server.tag or fault == "no ranges":
            start = 0
        if asked and start >= len(server.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(server.content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        if start:
            first = start + 1 if fault == "wrong part" else start
            self.send_header(
                "Content-Range", f"bytes {first}-{len(server.content) - 1}/{len(server.content)}"
            )
        self.send_header("ETag", server.tag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(module, "WAIT", 0.001)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def said():
    return []


@pytest.fixture
def fetch_it(server, tmp_path, said):
    def fetch_it(sha256=SHA256, name="text.txt", host="127.0.0.1"):
        source = Source(f"http://{host}:{server.server_port}/{name}", sha256, "free")
        return get(source, tmp_path / "out", io.StringIO(), said.append)

    return fetch_it


def names(tmp_path):
    return sorted(path.name for path in (tmp_path / "out").iterdir())


def test_a_file_arrives_once(server, fetch_it, tmp_path, said):
    assert fetch_it().read_bytes() == CONTENT and names(tmp_path) == ["text.txt"]
    fetch_it()
    assert server.seen == [None] and "is there already, and right" in said[-1]


def test_a_cut_download_goes_on_where_it_was(server, fetch_it, tmp_path, said):
    server.faults = ["cut", "cut"]
    assert fetch_it().read_bytes() == CONTENT
    half, more = len(CONTENT) // 2, len(CONTENT) * 3 // 4
    assert server.seen == [None, f"bytes={half}-", f"bytes={more}-"] and names(tmp_path) == ["text.txt"]
    assert f"broke off after {half:,} of {len(CONTENT):,} bytes; trying again" in said[0]


def test_a_later_command_goes_on_too(server, fetch_it, tmp_path):
    server.faults = ["cut"] * module.ATTEMPTS
    with pytest.raises(CourseError, match=r"broke off .* 5 times; what has arrived is kept"):
        fetch_it()
    assert names(tmp_path) == ["text.txt.part", "text.txt.part.json"]
    have = (tmp_path / "out" / "text.txt.part").stat().st_size
    assert fetch_it().read_bytes() == CONTENT and server.seen[-1] == f"bytes={have}-"


@pytest.mark.parametrize("fault", ["no ranges", "wrong part"])
def test_a_server_that_cannot_resume_gives_the_whole_again(server, fetch_it, fault):
    server.faults = ["cut", fault]
    assert fetch_it().read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_not_glued_together(server, fetch_it):
    server.faults = ["cut"] * module.ATTEMPTS
    with pytest.raises(CourseError):
        fetch_it(None)
    server.content, server.tag = CONTENT[::-1], '"two"'
    assert fetch_it(None).read_bytes() == CONTENT[::-1]


def test_a_part_without_its_origin_is_not_trusted(server, fetch_it, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "text.txt.part").write_bytes(b"of something else")
    assert fetch_it().read_bytes() == CONTENT and server.seen == [None]


def test_a_part_that_is_the_whole_is_taken(server, fetch_it, tmp_path):
    server.faults = ["cut"] * module.ATTEMPTS
    with pytest.raises(CourseError):
        fetch_it()
    (tmp_path / "out" / "text.txt.part").write_bytes(CONTENT)
    assert fetch_it().read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server, fetch_it, tmp_path):
    server.content = CONTENT[:-1] + b"\0"
    with pytest.raises(CourseError, match=f"expected {SHA256}; it was removed"):
        fetch_it()
    assert names(tmp_path) == []


def test_a_changed_file_on_the_disk_is_named(server, fetch_it):
    fetch_it().write_bytes(b"short")
    with pytest.raises(CourseError, match="changed or cut short, so remove it"):
        fetch_it()


def test_an_unknown_checksum_is_written_down_and_compared_later(server, fetch_it, tmp_path, said):
    path = fetch_it(None)
    assert SHA256 in said[-1] and "knows none of the publisher's" in said[-1]
    path.unlink()
    server.content = CONTENT[1:]
    with pytest.raises(CourseError, match=f"expected {SHA256}"):
        fetch_it(None)


def test_errors_that_pass_are_tried_again(server, fetch_it, said):
    server.faults = [503, 429, 500]
    assert fetch_it().read_bytes() == CONTENT and len(server.seen) == 4
    assert "503 Service Unavailable; trying again" in said[0]


def test_errors_that_stay_are_not(server, fetch_it, tmp_path):
    server.faults = [404]
    with pytest.raises(CourseError, match="404 Not Found; the file may have moved") as caught:
        fetch_it()
    assert len(server.seen) == 1 and "\n" not in str(caught.value)


def test_without_a_connection_it_says_what_to_do(server, fetch_it, monkeypatch):
    port = server.server_port
    server.shutdown()
    server.server_close()
    with pytest.raises(CourseError, match=rf"127.0.0.1:{port}.*no connection .*refused.*, 5 times"):
        fetch_it()

    def offline(request, timeout):
        raise URLError(socket.gaierror(-2, "Name or service not known"))

    monkeypatch.setattr(module.urllib.request, "urlopen", offline)
    with pytest.raises(CourseError, match=r"127.0.0.1 cannot be found; without .* put it at .*text.txt$"):
        fetch_it()


def test_a_full_disk_is_one_line(server, fetch_it, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(CourseError, match=r"cannot be written .No space left on device"):
        fetch_it()


def test_the_table_names_files_and_terms():
    assert set(SOURCES) == {"shakespeare", "tinystories"}
    for source in (source for sources in SOURCES.values() for source in sources):
        assert source.url.startswith("https://") and source.file.endswith(".txt") and source.terms
        assert source.sha256 is None or len(source.sha256) == 64
