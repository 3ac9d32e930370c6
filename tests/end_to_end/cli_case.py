"""What the tests share that drive the fusemark binary as a user does.

usage of each *_test.py here: NAME_test.py BINARY [unittest arguments]; needs nothing but Python 3.
"""
import json
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

TINY = """HloModule tiny

ENTRY main {
  x = f32[16,16] parameter(0)
  y = f32[16,16] parameter(1)
  d = f32[16,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT s = f32[16,16] add(d, x)
}
"""

# Fast enough for a test, long enough for one block of warm-up.
QUICK = ["--iterations", "5", "--warmup", "2", "--threads", "1"]

# Own code is several times as fast as the library's for a product without depth, so that adoption
# depends on no fine timing.
OUTER = """HloModule outer

ENTRY main {
  x = f32[1024,1] parameter(0)
  y = f32[1,1024] parameter(1)
  ROOT d = f32[1024,1024] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""

NEVER_ENDS = """HloModule endless
condition { s = (s32[]) parameter(0) ROOT more = pred[] constant(true) }
body {
  s = (s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  n = s32[] add(i, one)
  ROOT r = (s32[]) tuple(n)
}
ENTRY main {
  x = s32[] parameter(0)
  t = (s32[]) tuple(x)
  ROOT w = (s32[]) while(t), condition=condition, body=body
}
"""

LARGE = """HloModule large
ENTRY main {
  x = f32[64,1024,1024] parameter(0)
  ROOT n = f32[64,1024,1024] negate(x)
}
"""


def npy(descr, shape, data):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, tuple(shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def op_case(values, expected, **more):
    """One instruction's inputs and results, as `check --golden` reads them."""
    tensor = {"dtype": "f32", "shape": [len(values)], "values": [str(v) for v in values]}
    result = {"dtype": "f32", "shape": [len(expected)], "values": [str(v) for v in expected],
              "tolerance": {"class": "exact"}}
    return json.dumps({"name": "case", "hlo_ops": ["negate"], "inputs": [tensor],
                       "expected": [result], **more})


class CliTest(unittest.TestCase):
    """Runs the binary with a home, a database and a workload of its own in a temporary folder."""
    binary = None

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="fusemark_cli_")
        self.dir = self.temporary.name
        self.addCleanup(self.temporary.cleanup)
        self.db = self.path("results.db")
        self.tiny = self.write("tiny.hlo", TINY)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def environment(self):
        env = dict(os.environ, FUSEMARK_DB=self.db, HOME=self.dir)
        env.pop("XDG_DATA_HOME", None)
        # A sanitizer's handler would make an exit code of the signal.
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":handle_segv=0"
        return env

    def run_tool(self, *arguments, **options):
        return subprocess.run([self.binary, *arguments], capture_output=True, text=True,
                              timeout=300, env=options.pop("env", self.environment()),
                              cwd=self.dir, **options)

    def start(self, *arguments):
        """For a test that does something to the process while it runs."""
        return subprocess.Popen([self.binary, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment())

    def expect(self, code, message, *arguments, **options):
        """Runs and checks the exit code and that the message for people names the problem."""
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertIn(message.lower(), done.stderr.lower())
        return done

    def document(self, *arguments, code=0):
        done = self.run_tool(*arguments, "--format", "json")
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        document = json.loads(done.stdout)
        self.assertEqual(document["exit_code"], code)
        return document

    def need_adopted(self, result):
        """On a processor where the default happens to be as fast there is nothing to adopt; the
        rule itself is tested with invented costs (tuner_test.cpp)."""
        if not result["adopted"]:
            self.assertGreaterEqual(result["confirmed"].get("ratio_ci95", [0, 1])[1], 1)
            self.skipTest("no config is surely faster here: " + result["why"])

    def stored(self, sql):
        connection = sqlite3.connect(self.db)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def decide(self, key, config, machine_class):
        """Puts a config into force for one thread, as if a search had found it."""
        connection = sqlite3.connect(self.db)
        with connection:
            connection.execute("DELETE FROM decision")
            connection.execute(
                "INSERT INTO decision (scope, key, machine_class, threads, config_hash, "
                "config_text, baseline_ns, tuned_ns, speedup, speedup_low, speedup_high, state, "
                "reason, build_id, session_id, created_utc, updated_utc) VALUES ('plan', ?, ?, 1, "
                "'h', ?, 2, 1, 2.0, 1.9, 2.1, 'confirmed', '', 1, 1, 'then', 'then')",
                (key, machine_class, config))
        connection.close()


def main():
    CliTest.binary = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
