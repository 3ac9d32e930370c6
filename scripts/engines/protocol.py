"""JSON lines between compare_peers and the process of one engine.

A request is one line {"op": NAME, ...arguments}, its reply one line {"ok": true, ...} or
{"ok": false, "reason": TEXT}. One process holds one engine with one number of threads, so that a
crash or a hang costs one row and settings of a process (threads, affinity, flags) never mix.

Not here: what an engine does; those are the *_worker.py files. Needs the standard library only.
"""
import json
import os
import select
import subprocess
import sys
import time
import traceback

LOG_TAIL = 300


class EngineFailed(Exception):
    """The engine refused, crashed or took too long; the text says which."""


class Unsupported(Exception):
    """Raised by a worker for what its engine or this comparison cannot do."""


def serve(handlers):
    """Answers requests from stdin until it ends. `handlers`: op name -> function of the arguments.

    Libraries print to stdout whenever they like, so replies go to a private copy of it and
    descriptor 1 becomes stderr, which is the log.
    """
    replies = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        handler = handlers[request.pop("op")]
        try:
            reply = {"ok": True, **(handler(**request) or {})}
        except Unsupported as error:
            reply = {"ok": False, "reason": str(error)}
        except Exception as error:  # pylint: disable=broad-except; whatever it is, it is a row
            traceback.print_exc()
            reply = {"ok": False, "reason": f"{type(error).__name__}: {first_line(str(error))}"}
        replies.write(json.dumps(reply) + "\n")


def first_line(text, limit=200):
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= limit else line[:limit - 3] + "..."


class Engine:
    """The caller's side: one running worker."""

    def __init__(self, name, command, cpus=None, log=None, environment=None):
        self.name = name
        self.log_path = log
        self._pending = b""
        with open(log or os.devnull, "ab") as log_file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log_file,
                env={**os.environ, **(environment or {})}, start_new_session=True,
                preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)

    def request(self, op, timeout=60.0, **arguments):
        """The reply as a dictionary; raises EngineFailed for everything but {"ok": true}."""
        line = json.dumps({"op": op, **arguments}).encode() + b"\n"
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError:
            raise EngineFailed(self._death()) from None
        reply = json.loads(self._read_line(time.monotonic() + timeout, timeout, op))
        if not reply.pop("ok"):
            raise EngineFailed(reply["reason"])
        return reply

    def close(self):
        if self._process.poll() is None:
            self._process.stdin.close()
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._kill()
        self._process.stdout.close()
        try:
            self._process.stdin.close()
        except OSError:
            pass    # What was not flushed has no reader any more.

    def _kill(self):
        # The session was made for this: a worker's own children go with it.
        try:
            os.killpg(self._process.pid, 9)
        except ProcessLookupError:
            pass
        self._process.wait()

    def _read_line(self, deadline, timeout, op):
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([pipe], [], [], left)[0]
            if not ready:
                self._kill()
                raise EngineFailed(f"timeout: '{op}' took more than {timeout:g} s")
            part = os.read(pipe, 1 << 16)
            if not part:
                raise EngineFailed(self._death())
            self._pending += part
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def _death(self):
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._kill()
            code = "closed its output"
        said = ""
        if self.log_path and os.path.exists(self.log_path):
            with open(self.log_path, "rb") as log:
                log.seek(max(0, os.path.getsize(self.log_path) - LOG_TAIL))
                lines = log.read().decode("utf-8", "replace").strip().splitlines()
                said = ": " + lines[-1] if lines else ""
        how = f"signal {-code}" if isinstance(code, int) and code < 0 else f"exit {code}"
        return f"the process ended ({how}){said}"
