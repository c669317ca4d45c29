"""A small client of the Interlock engine (docs/protocol.md).

    from interlock_client import Client
    with Client.connect("/run/.../agent.sock", "agent", token) as engine:
        result = engine.propose("read_file", {"path": "README.md"})
        print(result["status"], result["content"])

One connection, one thread. Its only dependency is msgpack. Every call returns the body of the message that ends its
stream; what comes before the end (events, chunks) is given to `on_part`.
"""

import os
import socket
import stat
import struct

import msgpack

PROTOCOL = 1
FRAME_LIMIT = 1 << 20

# Messages that end a stream; every other one is a part of it.
ENDS = frozenset(
    "ok error result verdict tool_result tool_defs model_end status_info shield_info session_list session_info "
    "history_page approval_list why_info audit_page audit_state chronicle_page chronicle_changes chronicle_state "
    "command_list command_output token".split()
)


class Refused(Exception):
    """The engine answered `error`; `name` is one of the protocol's errors."""

    def __init__(self, body):
        super().__init__("%s: %s" % (body.get("name"), body.get("message")))
        self.name = body.get("name")
        self.unavailable = body.get("unavailable", False)


class Closed(Exception):
    """The engine has ended the connection."""


def _no_duplicates(pairs):
    body = dict(pairs)
    if len(body) != len(pairs):
        raise ValueError("a key stands twice")
    return body


def decode(payload):
    """[kind, stream, body] out of one frame's payload, strictly."""
    message = msgpack.unpackb(
        payload, raw=False, strict_map_key=True, object_pairs_hook=_no_duplicates, ext_hook=_refuse_ext
    )
    if not isinstance(message, list) or len(message) != 3:
        raise ValueError("a message is [kind, stream, body]")
    kind, stream, body = message
    if not isinstance(kind, str) or type(stream) is not int or not isinstance(body, dict):
        raise ValueError("a message is [kind, stream, body]")
    return kind, stream, body


def _refuse_ext(code, data):
    raise ValueError("extension types are not spoken here")


def encode(kind, stream, body):
    """One whole frame."""
    payload = msgpack.packb([kind, stream, body], use_bin_type=True)
    if len(payload) > FRAME_LIMIT:
        raise ValueError("the message is over %d bytes" % FRAME_LIMIT)
    return struct.pack(">I", len(payload)) + payload


def read_token(path):
    """A token file, which must be its owner's alone."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd) as f:
        st = os.fstat(fd)
        if not stat.S_ISREG(st.st_mode) or st.st_uid != os.geteuid() or st.st_mode & 0o077:
            raise PermissionError("%s is open to others" % path)
        return f.read(64).strip()


class Client:
    def __init__(self, sock):
        self._socket = sock
        self._next_stream = 1
        self.connection = None

    @classmethod
    def connect(cls, path, role, token, program="python"):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(path)
            client = cls(sock)
            client._hello(role, token, program)
        except BaseException:
            sock.close()
            raise
        return client

    def _hello(self, role, token, program):
        self.send("hello", 0, {"protocol": PROTOCOL, "role": role, "token": token, "program": program})
        kind, _, body = self.receive()
        if kind == "error":
            raise Refused(body)
        if kind != "welcome" or body.get("protocol") != PROTOCOL:
            raise ValueError("the engine does not speak protocol %d" % PROTOCOL)
        self.connection = body["connection"]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self._socket.close()

    def settimeout(self, seconds):
        self._socket.settimeout(seconds)

    def send(self, kind, stream, body):
        self._socket.sendall(encode(kind, stream, body))

    def _exactly(self, n):
        parts = []
        while n > 0:
            part = self._socket.recv(min(n, 65536))
            if not part:
                raise Closed("the engine has ended the connection")
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def receive(self):
        """The next message: (kind, stream, body)."""
        (size,) = struct.unpack(">I", self._exactly(4))
        if not 0 < size <= FRAME_LIMIT:
            raise ValueError("a frame of %d bytes" % size)
        return decode(self._exactly(size))

    def open(self, kind, body):
        """Asks something; returns the number of its stream."""
        stream = self._next_stream
        self._next_stream += 2
        self.send(kind, stream, body)
        return stream

    def call(self, kind, body=None, on_part=None):
        """Asks, waits for the end, returns its body. Raises Refused for `error`."""
        stream = self.open(kind, body or {})
        while True:
            got, where, answer = self.receive()
            if got == "error" and where in (0, stream):
                raise Refused(answer)
            if where != stream:
                continue
            if got in ENDS:
                return answer
            if got == "chunk":
                self.send("credit", stream, {"bytes": max(1, len(answer["data"]))})
            if on_part:
                on_part(got, answer)

    def propose(self, type, payload, on_part=None, **more):
        return self.call("propose", dict(more, type=type, payload=payload), on_part)

    def evaluate(self, type, payload, **more):
        return self.call("evaluate", dict(more, type=type, payload=payload))

    def cancel(self, stream):
        self.send("cancel", stream, {})
