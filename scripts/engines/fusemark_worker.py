"""Our own engines, through the program itself: each round is one `fusemark run` in a fresh process,
whose samples are read back from its database. Standard library only.

usage: fusemark_worker.py BINARY
"""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

import protocol


def decode_samples(blob):
    """results_db/samples.h: the first value and then differences, zigzag, LEB128."""
    values, value, number, shift = [], 0, 0, 0
    for byte in blob:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            value += (number >> 1) ^ -(number & 1)
            values.append(value)
            number, shift = 0, 0
    return values


def _timed_samples(database):
    connection = sqlite3.connect(database)
    try:
        rows = connection.execute("SELECT data FROM sample WHERE phase = 'timed'").fetchall()
    finally:
        connection.close()
    return [ns for (blob,) in rows for ns in decode_samples(blob)]


class Fusemark:
    def __init__(self, binary):
        self.binary = binary
        self.engine = self.threads = self.folder = self.residents = None

    def load(self, folder, threads, engine, residents=None, **_):
        self.folder, self.threads, self.engine = pathlib.Path(folder), threads, engine
        self.residents = residents
        # The results are kept for the numerics check: an engine may take minutes for one run.
        row, _ = self._run(["--iterations", "1", "--warmup", "1", "--save-outputs",
                            str(self._results())])
        return {"compile_s": row["compile_ns"] / 1e9, "temp_bytes": row["peak_arena_bytes"],
                "bind_s": row["bind_ns"] / 1e9, "kernels": row["kernels"],
                "version": row["version"]}

    def run(self, seconds):
        warmup = max(0.05, 0.2 * seconds)
        row, times = self._run(["--duration", f"{int(seconds * 1000)}ms",
                                "--warmup", f"{int(warmup * 1000)}ms"])
        return {"ns": times, "compile_s": row["compile_ns"] / 1e9}

    def outputs(self, path):
        self._results().rename(path)

    def _results(self):
        return self.folder / f"results_{os.getpid()}.npz"

    def _run(self, options):
        """The result row and the samples of one invocation."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            database = os.path.join(scratch, "samples.db")
            command = [self.binary, "run", str(self.folder / "model.hlo"), "--engine", self.engine,
                       "--inputs", str(self.folder / "inputs.npz"), "--threads", str(self.threads),
                       "--format", "json", "--db", database, *options]
            if self.residents:
                command += ["--resident", ",".join(map(str, self.residents))]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            sys.stderr.write(done.stderr)
            try:
                document = json.loads(done.stdout)
            except ValueError:
                reason = protocol.first_line(done.stderr) or f"exit {done.returncode}"
                raise protocol.Unsupported(reason) from None
            row = document["results"][0] if document["results"] else {}
            if done.returncode != 0 or row.get("status") != "ok":
                reasons = document.get("reasons") or [f"exit {done.returncode}"]
                raise protocol.Unsupported(protocol.first_line(reasons[0]))
            row["version"] = document["tool"]["git_sha"][:12]
            return row, _timed_samples(database)


if __name__ == "__main__":
    fusemark = Fusemark(sys.argv[1])
    protocol.serve({"load": fusemark.load, "run": fusemark.run, "outputs": fusemark.outputs})
