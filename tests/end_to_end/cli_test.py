"""Drives the fusemark binary as a user does: exit codes, messages, files, database, signals.

usage: cli_test.py BINARY [unittest arguments]; needs nothing but Python 3.
"""
import json
import os
import resource
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
import zipfile

BINARY = None

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


def npy(descr, shape, data):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, tuple(shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


class CliTest(unittest.TestCase):
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
        return env

    def run_tool(self, *arguments, **options):
        return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=300,
                              env=options.pop("env", self.environment()), cwd=self.dir, **options)

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


class Usage(CliTest):
    def test_help_is_an_answer(self):
        for arguments in (["--help"], ["run", "--help"], ["check", "-h"], ["db", "--help"]):
            done = self.run_tool(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("fusemark", done.stdout.lower())

    def test_wrong_arguments(self):
        cases = [
            ([], "subcommand"),
            (["frobnicate"], "frobnicate"),
            (["run", "--frobnicate"], "--frobnicate"),
            (["run", "--engine", "xla"], "unknown engine 'xla'"),
            (["run", "--engine", "on,on"], "twice"),
            (["run", "--duration", "3"], "with a unit"),
            (["run", "--duration", "-3s"], "duration"),
            (["run", "--iterations", "0"], "--iterations"),
            (["run", "--iterations", "5", "--duration", "1s"], "--duration"),
            (["run", "--warmup", "cold"], "warm-up"),
            (["run", "--threads", "0"], "--threads"),
            (["run", "--threads", "many"], "--threads"),
            (["run", "--format", "xml"], "--format"),
            (["run", "--seed", "-1"], "--seed"),
            (["check"], "workload"),
            (["check", self.tiny, "--engine", "reference"], "--golden"),
            (["check", self.tiny, "--golden", "/nonexistent"], "does not exist"),
            (["db"], "subcommand"),
            (["db", "runs", "--limit", "0"], "--limit"),
            (["version", "--format", "yaml"], "--format"),
        ]
        for arguments, message in cases:
            with self.subTest(arguments=arguments):
                done = self.expect(2, message, *arguments)
                self.assertEqual(done.stdout, "")

    def test_resident_parameter_that_does_not_exist(self):
        self.expect(2, "has 2 parameters", "run", self.tiny, "--resident", "0-5", *QUICK)
        self.expect(2, "resident", "run", self.tiny, "--resident", "some", *QUICK)

    def test_nothing_is_stored_on_a_usage_error(self):
        self.run_tool("run", self.tiny, "--engine", "xla")
        self.assertFalse(os.path.exists(self.db))

    def test_version(self):
        done = self.run_tool("version", "--format", "json")
        self.assertEqual(done.returncode, 0)
        version = json.loads(done.stdout)
        for field in ("name", "version", "git_sha", "build_type", "compiler", "llvm", "libraries"):
            self.assertTrue(version[field], field)
        self.assertIn(version["git_sha"], self.run_tool("version").stdout)

    def test_list(self):
        done = self.run_tool("list", "--format", "json")
        names = [workload["name"] for workload in json.loads(done.stdout)["workloads"]]
        self.assertIn("transformer_layer", names)
        self.assertIn("transformer_layer", self.run_tool("list").stdout)


class BadWorkloads(CliTest):
    def test_names_that_are_no_workload(self):
        os.mkdir(self.path("folder"))
        for name, message in (("missing.hlo", "missing.hlo"),
                              ("transformer_laier", "transformer_layer"),
                              (self.path("folder"), "directory")):
            with self.subTest(name=name):
                self.expect(2, message, "run", name, *QUICK)
                self.expect(2, message, "check", name)

    def test_files_that_do_not_parse(self):
        cases = {
            "empty.hlo": b"",
            "binary.hlo": bytes(range(256)) * 64,
            "truncated.hlo": TINY[:TINY.index("lhs_contracting")].encode(),
            "undefined.hlo": TINY.replace("add(d, x)", "add(d, z)").encode(),
            "opcode.hlo": TINY.replace("add(d, x)", "frobnicate(d, x)").encode(),
            "shape.hlo": TINY.replace("ROOT s = f32[16,16]", "ROOT s = f32[16,17]").encode(),
        }
        for name, content in cases.items():
            with self.subTest(name=name):
                path = self.write(name, content)
                self.expect(4, name.split(".")[0], "run", path, *QUICK)
                self.expect(4, name.split(".")[0], "check", path)

    def test_one_bad_workload_does_not_stop_the_others(self):
        bad = self.write("bad.hlo", "HloModule bad\nENTRY main {\n")
        document = self.document("run", bad, self.tiny, *QUICK, code=4)
        status = [(row["workload"], row["engine"], row["status"]) for row in document["results"]]
        self.assertEqual(status, [("bad", "off", "failed"), ("bad", "on", "failed"),
                                  ("tiny", "off", "ok"), ("tiny", "on", "ok")])
        self.assertTrue(any("bad" in reason for reason in document["reasons"]))
        self.assertTrue(document["results"][0]["error"]["message"])


class Inputs(CliTest):
    def archive(self, name, arrays):
        with zipfile.ZipFile(self.path(name), "w") as archive:
            for member, data in arrays.items():
                archive.writestr(member + ".npy", data)
        return self.path(name)

    def floats(self, shape, value=1.0):
        count = 1
        for dim in shape:
            count *= dim
        return npy("<f4", shape, struct.pack("<f", value) * count)

    def test_from_an_archive_to_an_archive(self):
        inputs = self.archive("in.npz", {"0": self.floats([16, 16]),
                                         "1": self.floats([16, 16], 2.0)})
        for engine in ("off", "on", "reference"):
            out = self.path(engine + ".npz")
            done = self.run_tool("run", self.tiny, "--engine", engine, "--inputs", inputs,
                                 "--save-outputs", out, *QUICK)
            self.assertEqual(done.returncode, 0, done.stderr)
            with zipfile.ZipFile(out) as archive:
                self.assertEqual(archive.namelist(), ["0.npy"])
                data = archive.read("0.npy")
            self.assertEqual(data[-16 * 16 * 4:], struct.pack("<f", 16 * 2 + 1) * 256)

    def test_archives_that_do_not_fit(self):
        good = self.floats([16, 16])
        cases = {
            "shape.npz": {"0": self.floats([16, 17]), "1": good},
            "dtype.npz": {"0": npy("<f8", [16, 16], b"\0" * 2048), "1": good},
            "missing.npz": {"0": good},
            "surplus.npz": {"0": good, "1": good, "2": good},
            "short.npz": {"0": good[:-8], "1": good},
        }
        for name, arrays in cases.items():
            with self.subTest(name=name):
                self.expect(2, "", "run", self.tiny, "--inputs", self.archive(name, arrays), *QUICK)
        self.expect(2, "nowhere.npz", "run", self.tiny, "--inputs", "nowhere.npz", *QUICK)
        self.expect(2, "text.npz", "run", self.tiny, "--inputs", self.write("text.npz", "no zip"),
                    *QUICK)

    def test_inputs_belong_to_one_workload(self):
        inputs = self.archive("in.npz", {"0": self.floats([16, 16]), "1": self.floats([16, 16])})
        self.expect(2, "exactly one", "run", self.tiny, self.tiny, "--inputs", inputs, *QUICK)
        self.expect(2, "--input", "run", self.tiny, "--inputs", inputs, "--input-spec", "x", *QUICK)

    def test_input_specs(self):
        spec = self.write("inputs.json",
                          '{"tiny": {"params": {"0": {"kind": "const", "value": 0}}}, '
                          '"other": {"nonsense": 1}}')
        done = self.run_tool("run", self.tiny, "--input-spec", spec, "--engine", "on",
                             "--save-outputs", self.path("out.npz"), *QUICK)
        self.assertEqual(done.returncode, 0, done.stderr)
        bad = self.write("bad.json", '{"tiny": {"nonsense": 1}}')
        self.expect(2, "nonsense", "run", self.tiny, "--input-spec", bad, *QUICK)
        self.expect(2, "nowhere.json", "run", self.tiny, "--input-spec", "nowhere.json", *QUICK)
        self.expect(2, "text.json", "run", self.tiny, "--input-spec", self.write("text.json", "{"),
                    *QUICK)

    def test_the_seed_changes_the_inputs(self):
        outputs = []
        for seed in ("0", "0", "7"):
            out = self.path("seed.npz")
            done = self.run_tool("run", self.tiny, "--engine", "on", "--seed", seed,
                                 "--save-outputs", out, *QUICK)
            self.assertEqual(done.returncode, 0, done.stderr)
            with zipfile.ZipFile(out) as archive:
                outputs.append(archive.read("0.npy"))
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[0], outputs[2])


class Results(CliTest):
    def check_row(self, row):
        for field in ("workload", "engine"):
            self.assertIsInstance(row[field], str)
        for field in ("threads", "first_call_ns", "compile_ns", "peak_arena_bytes", "kernels"):
            self.assertIsInstance(row[field], int)
        latency = row["latency"]
        for field in ("n", "p50_ns", "p90_ns", "mean_ns", "min_ns"):
            self.assertIsInstance(latency[field], int, field)
        self.assertLessEqual(latency["min_ns"], latency["p50_ns"])
        self.assertLessEqual(latency["p50_ns"], latency["p90_ns"])
        if latency["n"] < 368:
            self.assertIsNone(latency["p99_ns"])
            self.assertTrue(latency["why_not"])
        else:
            self.assertIsInstance(latency["p99_ns"], int)
            self.assertGreaterEqual(latency["p99_ns"], latency["p90_ns"])
        self.assertGreater(row["throughput"]["value"], 0)
        self.assertIsInstance(row["throughput"]["unit"], str)
        self.assertIn(row["numerics"]["status"], ("pass", "fail", "unchecked"))
        self.assertIn("max_rel_err", row["numerics"])
        self.assertIn("reference", row["numerics"])

    def test_the_document(self):
        document = self.document("run", self.tiny, "--check", *QUICK)
        self.assertEqual(document["schema_version"], 1)
        self.assertEqual(document["reasons"], [])
        rows = document["results"]
        self.assertEqual([(row["workload"], row["engine"]) for row in rows],
                         [("tiny", "off"), ("tiny", "on")])
        for row in rows:
            self.check_row(row)
            self.assertEqual(row["numerics"]["status"], "pass")
            self.assertEqual(row["numerics"]["reference"], "reference")
            self.assertEqual(row["throughput"]["unit"], "runs/s")

    def test_p99_with_enough_samples(self):
        document = self.document("run", self.tiny, "--engine", "on", "--iterations", "400",
                                 "--warmup", "2")
        self.check_row(document["results"][0])
        self.assertEqual(document["results"][0]["latency"]["n"], 400)

    def test_a_builtin_counts_items(self):
        document = self.document("run", "mlp_gelu", "--engine", "on", "--check", *QUICK)
        self.assertEqual(document["results"][0]["throughput"]["unit"], "rows/s")
        self.assertEqual(document["results"][0]["numerics"]["status"], "pass")

    def test_unchecked_without_check(self):
        row = self.document("run", self.tiny, "--engine", "on", *QUICK)["results"][0]
        self.assertEqual(row["numerics"],
                         {"status": "unchecked", "max_rel_err": None, "reference": None})

    def test_tuned_without_a_config_says_so(self):
        row = self.document("run", self.tiny, "--engine", "on", "--tuned", *QUICK)["results"][0]
        self.assertEqual(row["engine"], "on")
        self.assertEqual(row["config"]["source"], "default")
        self.assertTrue(any("no tuned config" in notice for notice in row["notices"]))

    def test_an_unknown_knob_in_a_stored_config_is_stale(self):
        first = self.document("run", self.tiny, "--engine", "on", *QUICK)
        key = self.stored("SELECT module_hash FROM workload")[0][0]
        config = self.stored("SELECT config_text FROM run")[0][0]
        connection = sqlite3.connect(self.db)
        with connection:
            connection.execute(
                "INSERT INTO decision (scope, key, machine_class, threads, config_hash, "
                "config_text, baseline_ns, tuned_ns, speedup, speedup_low, speedup_high, state, "
                "reason, build_id, session_id, created_utc, updated_utc) "
                "VALUES ('plan', ?, ?, 1, 'h', ?, 2, 1, 2.0, "
                "1.9, 2.1, 'confirmed', '', 1, 1, 'then', 'then')",
                (key, first["machine"]["class"], config + "\nwarp_drive=9\n"))
        connection.close()
        row = self.document("run", self.tiny, "--engine", "on", "--tuned", "--check",
                            *QUICK)["results"][0]
        self.assertEqual(row["status"], "ok")
        self.assertEqual(row["config"]["source"], "stale")
        self.assertIn("not used", row["config"]["note"])
        self.assertEqual(row["numerics"]["status"], "pass")
        self.assertEqual(self.stored("SELECT config_source FROM run ORDER BY id"),
                         [("default",), ("stale",)])

    def test_more_threads_than_cpus_warns(self):
        done = self.run_tool("run", self.tiny, "--engine", "on", "--iterations", "3", "--warmup",
                             "1", "--threads", str(2 * (os.cpu_count() or 1)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning", done.stderr)

    def test_output_file(self):
        out = self.path("out.json")
        done = self.run_tool("run", self.tiny, *QUICK, "--format", "json", "-o", out)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        with open(out) as file:
            self.assertEqual(len(json.load(file)["results"]), 2)

    def test_the_table(self):
        done = self.run_tool("run", self.tiny, *QUICK, "--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("workload", "p50", "p99", "throughput", "numerics", "tiny", "pass"):
            self.assertIn(word, done.stdout)
        self.assertIn("tiny / on", done.stderr)


class Check(CliTest):
    def golden(self, value):
        """What tiny gives for all-ones inputs: 16 * 1 + 1."""
        return json.dumps({
            "module": "tiny", "truth": "f64", "xla_f32_max_err_over_rms": 1e-6,
            "xla_f32_nrmse": 1e-6, "xla_f32_max_rel_err": 1e-6,
            "outputs": [{"dtype": "f32", "shape": [16, 16], "count": 256, "nan": 0, "inf": 0,
                         "min": "17", "max": "17", "mean": "17", "l2": str(17 * 16),
                         "values": [str(value)] * 256}]})

    def setUp(self):
        super().setUp()
        self.spec = ('{"tiny": {"params": {"0": {"kind": "const", "value": 1}, '
                     '"1": {"kind": "const", "value": 1}}}}')

    def test_against_the_reference(self):
        done = self.run_tool("check", self.tiny)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("pass", done.stdout)

    def test_against_goldens_with_their_inputs(self):
        os.mkdir(self.path("golden"))
        self.write("golden/tiny.json", self.golden(17))
        self.write("inputs.json", self.spec)
        for golden in (self.path("golden"), self.path("golden/tiny.json")):
            document = self.document("check", self.tiny, "--engine", "off,on,reference", "--golden",
                                     golden)
            self.assertEqual([row["numerics"]["status"] for row in document["results"]],
                             ["pass"] * 3)

    def test_a_mismatch_exits_3(self):
        self.write("inputs.json", self.spec)
        golden = self.write("wrong.json", self.golden(18))
        document = self.document("check", self.tiny, "--golden", golden, code=3)
        for row in document["results"]:
            self.assertEqual(row["numerics"]["status"], "fail")
            self.assertTrue(row["numerics"]["failures"])
        done = self.run_tool("check", self.tiny, "--golden", golden)
        self.assertIn("f32[16,16]", done.stdout)

    def test_goldens_that_do_not_fit(self):
        self.expect(4, "broken.json", "check", self.tiny, "--golden",
                    self.write("broken.json", "{"))
        os.mkdir(self.path("none"))
        self.expect(4, "tiny.json", "check", self.tiny, "--golden", self.path("none"))
        self.expect(2, "one workload", "check", self.tiny, self.tiny, "--golden",
                    self.write("one.json", self.golden(17)))


class Database(CliTest):
    def test_every_row_is_stored(self):
        self.document("run", self.tiny, "--check", *QUICK)
        self.assertEqual(
            self.stored("SELECT w.name, r.engine, r.status, r.numerics FROM run r JOIN workload w "
                        "ON w.id = r.workload_id ORDER BY r.id"),
            [("tiny", "off", "ok", "pass"), ("tiny", "on", "ok", "pass")])
        self.assertEqual(self.stored("SELECT exit_code FROM session"), [(0,)])
        self.assertEqual(self.stored("SELECT count(*) FROM sample WHERE phase = 'timed'"), [(2,)])
        self.assertTrue(self.stored("SELECT git_sha FROM build")[0][0])
        self.assertEqual(self.stored("PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(self.stored("PRAGMA foreign_key_check"), [])

    def test_queries(self):
        self.document("run", self.tiny, *QUICK)
        info = json.loads(self.run_tool("db", "info", "--format", "json").stdout)
        self.assertEqual(info["rows"]["run"], 2)
        runs = json.loads(self.run_tool("db", "runs", "--format", "json").stdout)["runs"]
        self.assertEqual([run["engine"] for run in runs], ["on", "off"])
        best = json.loads(self.run_tool("db", "best", "--format", "json").stdout)["best"]
        self.assertEqual(best, [])
        for query in ("info", "runs", "best"):
            done = self.run_tool("db", query)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout)

    def test_a_missing_database(self):
        for query in ("info", "runs", "best"):
            self.expect(4, "does not exist", "db", query)
        self.assertFalse(os.path.exists(self.db))

    def expect_refused(self, message):
        self.expect(4, message, "run", self.tiny, *QUICK)
        self.expect(4, message, "db", "info")

    def test_a_directory(self):
        os.mkdir(self.db)
        self.expect_refused("is a directory")

    def test_other_content(self):
        self.write("results.db", "this is not a database, whatever its name says\n" * 50)
        self.expect_refused("not a database")

    def test_another_programs_database(self):
        connection = sqlite3.connect(self.db)
        connection.execute("CREATE TABLE theirs (x)")
        connection.close()
        self.expect_refused("another program")

    def test_a_newer_schema(self):
        self.document("run", self.tiny, *QUICK)
        connection = sqlite3.connect(self.db)
        connection.execute("PRAGMA user_version = 1000")
        connection.close()
        self.expect_refused("schema version 1000")
        self.assertEqual(self.stored("SELECT count(*) FROM run"), [(2,)])

    def test_a_corrupt_file(self):
        self.document("run", self.tiny, *QUICK)
        size = os.path.getsize(self.db)
        with open(self.db, "r+b") as file:
            file.seek(4096)
            file.write(b"\xa5" * (size - 4096))
        self.expect_refused("corrupt")

    def test_locked_by_another_process(self):
        self.document("run", self.tiny, *QUICK)
        connection = sqlite3.connect(self.db, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        try:
            self.expect(4, "locked", "run", self.tiny, *QUICK)
        finally:
            connection.close()
        self.document("run", self.tiny, *QUICK)

    def test_read_only(self):
        self.document("run", self.tiny, *QUICK)
        if os.geteuid() == 0:  # root may write whatever the mode says: make the file immutable
            if subprocess.run(["chattr", "+i", self.db], capture_output=True).returncode != 0:
                self.skipTest("as root this needs a file system with chattr +i")
            self.addCleanup(subprocess.run, ["chattr", "-i", self.db])
        else:
            os.chmod(self.db, stat.S_IRUSR)
        self.expect(4, "read-only", "run", self.tiny, *QUICK)


class DiskFull(CliTest):
    def limit(self, size):
        def apply():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return apply

    def test_results_to_a_full_device(self):
        self.expect(4, "no space left", "run", self.tiny, *QUICK, "-o", "/dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "run", self.tiny, *QUICK], stdout=full,
                                  stderr=subprocess.PIPE, text=True, env=self.environment())
        self.assertEqual(done.returncode, 4)
        self.assertIn("standard output", done.stderr)

    def test_outputs_larger_than_the_limit(self):
        out = self.path("out.npz")
        big = self.write("big.hlo", "HloModule big\nENTRY main {\n  x = f32[] parameter(0)\n"
                                    "  ROOT b = f32[1000000] broadcast(x), dimensions={}\n}\n")
        done = self.run_tool("run", big, "--engine", "on", *QUICK, "--save-outputs", out,
                             preexec_fn=self.limit(1 << 20))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("out.npz", done.stderr)
        self.assertFalse(os.path.exists(out))

    def test_database_cannot_be_created(self):
        done = self.run_tool("run", self.tiny, *QUICK, preexec_fn=self.limit(8192))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("full", done.stderr)
        self.document("run", self.tiny, *QUICK)

    def test_database_fills_up_in_the_middle(self):
        self.document("run", self.tiny, *QUICK)
        before = self.stored("SELECT count(*) FROM run")
        # Room for the session, not for thousands of samples.
        done = self.run_tool("run", self.tiny, "--iterations", "300000", "--warmup", "1",
                             "--engine", "on", "--threads", "1", "--format", "json",
                             preexec_fn=self.limit(os.path.getsize(self.db) + 100_000))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("full", done.stderr)
        document = json.loads(done.stdout)  # the measurement itself is not lost
        self.assertEqual(document["results"][0]["latency"]["n"], 300000)
        self.assertEqual(self.stored("SELECT count(*) FROM run"), before)
        self.assertEqual(self.stored("PRAGMA integrity_check"), [("ok",)])

    def test_a_full_file_system(self):
        mount = self.path("small")
        os.mkdir(mount)
        mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount], capture_output=True)
        if not mounted or mounted.returncode != 0:
            self.skipTest("mounting a small tmpfs needs root")
        self.addCleanup(subprocess.run, ["umount", mount])
        self.db = os.path.join(mount, "results.db")
        done = self.run_tool("run", self.tiny, "--iterations", "300000", "--warmup", "1",
                             "--threads", "1", "--engine", "on")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("full", done.stderr)
        done = self.run_tool("db", "info")
        self.assertTrue(done.returncode == 0 or "full" in done.stderr, done.stderr)


# Own code is several times as fast as the library's for a product without depth, so that adoption
# depends on no fine timing.
OUTER = """HloModule outer

ENTRY main {
  x = f32[1024,1] parameter(0)
  y = f32[1,1024] parameter(1)
  ROOT d = f32[1024,1024] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


class Tune(CliTest):
    def setUp(self):
        super().setUp()
        self.tiny = self.write("outer.hlo", OUTER)

    SMALL = ["--threads", "1", "--budget", "6s", "--trials", "25"]

    def test_a_faster_config_is_stored_and_used(self):
        result = self.document("tune", self.tiny, *self.SMALL)["results"][0]
        self.need_adopted(result)
        self.assertLess(result["confirmed"]["ratio_ci95"][1], 1)
        self.assertEqual(result["trials"]["total"], result["trials"]["ok"])
        self.assertEqual(result["numerics"]["reference"], "the reference interpreter")
        self.assertEqual(self.stored("SELECT count(*) FROM trial"), [(result["trials"]["total"],)])
        self.assertEqual(self.stored("SELECT state, config_hash FROM decision"),
                         [("confirmed", result["config"]["hash"])])
        self.assertEqual(self.stored("SELECT command, exit_code FROM session"), [("tune", 0)])

        row = self.document("run", self.tiny, "--tuned", "--check", *QUICK)["results"][1]
        self.assertEqual((row["engine"], row["config"]["source"]), ("on", "tuned"))
        self.assertEqual(row["config"]["hash"], result["config"]["hash"])
        self.assertEqual(row["numerics"]["status"], "pass")

        best = json.loads(self.run_tool("db", "best", "--format", "json").stdout)["best"]
        self.assertEqual([one["workload"] for one in best], ["outer"])

        other = self.document("run", self.tiny, "--tuned", "--engine", "on", "--iterations", "5",
                              "--warmup", "2", "--threads", "2")["results"][0]
        self.assertEqual(other["config"]["source"], "default")  # of another thread count

    def test_the_table(self):
        done = self.run_tool("tune", self.tiny, *self.SMALL, "--strategy", "random")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("speedup", "adopted", "open choices", "reference interpreter"):
            self.assertIn(word, done.stdout)

    def test_the_seed_decides_what_is_tried(self):
        tried = []
        for seed in ("1", "1", "2"):
            self.db = self.path(f"{len(tried)}.db")  # a stored config would be tried first
            self.document("tune", self.tiny, "--threads", "1", "--trials", "5", "--seed", seed,
                          "--strategy", "random")
            tried.append(self.stored("SELECT config_hash FROM trial ORDER BY id"))
        self.assertEqual(len(tried[0]), 6)
        self.assertEqual(tried[0], tried[1])
        self.assertNotEqual(tried[0], tried[2])

    def test_nothing_to_decide(self):
        identity = self.write("identity.hlo", "HloModule i\nENTRY main {\n"
                              "  ROOT p = f32[4] parameter(0)\n}\n")
        result = self.document("tune", identity, "--budget", "2s")["results"][0]
        self.assertFalse(result["adopted"])
        self.assertEqual(result["trials"]["total"], 1)

    def test_bad_options(self):
        cases = [
            (["tune"], "workload"),
            (["tune", "nothing_here"], "nothing_here"),
            (["tune", self.dir], "directory"),
            (["tune", self.tiny, "--budget", "0s"], "budget"),
            (["tune", self.tiny, "--budget", "soon"], "budget"),
            (["tune", self.tiny, "--trials", "0"], "--trials"),
            (["tune", self.tiny, "--seed", "-1"], "--seed"),
            (["tune", self.tiny, "--strategy", "magic"], "--strategy"),
            (["tune", self.tiny, "--resident", "7"], "resident"),
            (["tune", self.tiny, self.tiny], ""),
        ]
        for arguments, message in cases:
            with self.subTest(arguments=arguments):
                self.expect(2, message, *arguments)

    def test_what_cannot_run_cannot_be_tuned(self):
        broken = self.write("broken.hlo", TINY[:100])
        self.assertEqual(self.document("tune", broken, code=4)["results"], [])
        blocked = self.write("blocked.db", "not a database")
        done = self.run_tool("tune", self.tiny, "--db", blocked)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("blocked.db", done.stderr)

    def test_ctrl_c_keeps_the_trials(self):
        process = subprocess.Popen([BINARY, "tune", self.tiny, "--threads", "1", "--budget", "60s",
                                    "--format", "json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment())
        trials = 0
        for _ in range(200):
            time.sleep(0.1)
            if os.path.exists(self.db):
                try:
                    trials = self.stored("SELECT count(*) FROM trial")[0][0]
                except sqlite3.OperationalError:
                    continue  # the schema is being made
            if trials >= 3:
                break
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stderr)
        document = json.loads(stdout)
        self.assertEqual(document["exit_code"], 130)
        self.assertFalse(document["results"][0]["adopted"])
        self.assertGreaterEqual(self.stored("SELECT count(*) FROM trial")[0][0], 3)
        self.assertEqual(self.stored("SELECT exit_code FROM session"), [(130,)])


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


def op_case(values, expected, **more):
    """One instruction's inputs and results, as `check --golden` reads them."""
    tensor = {"dtype": "f32", "shape": [len(values)], "values": [str(v) for v in values]}
    result = {"dtype": "f32", "shape": [len(expected)], "values": [str(v) for v in expected],
              "tolerance": {"class": "exact"}}
    return json.dumps({"name": "case", "hlo_ops": ["negate"], "inputs": [tensor],
                       "expected": [result], **more})


class Limits(CliTest):
    def test_a_loop_that_never_ends(self):
        endless = self.write("endless.hlo", NEVER_ENDS)
        for engine in ("off", "on"):
            for command in (["check", endless, "--golden", self.write("g.json", "{}")],
                            ["run", endless, *QUICK]):
                begin = time.monotonic()
                done = self.run_tool(*command, "--engine", engine, "--timeout", "1s")
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("did not end within its time limit of 1 s", done.stderr)

    def test_memory_is_refused_before_it_is_taken(self):
        large = self.write("large.hlo", LARGE)
        for command in ("check", "run"):
            done = self.expect(4, "parameters 256.00 MiB, results 256.00 MiB", command, large,
                               "--max-memory", "300MiB")
            self.assertIn("--max-memory 300.00 MiB", done.stderr)

    def test_sizes_and_times_that_are_none(self):
        for value in ("4", "-1GiB", "GiB", "4 apples", "0B", "1e99GiB", ""):
            self.expect(2, "is not a size", "check", self.tiny, "--max-memory", value)
        self.expect(2, "is not a duration", "check", self.tiny, "--timeout", "soon")


class Folder(CliTest):
    NEGATE = "HloModule m\nENTRY main { x = f32[2] parameter(0)\n ROOT n = f32[2] negate(x) }\n"
    FOREIGN = ("HloModule m\nENTRY main { x = f32[2] parameter(0)\n ROOT n = f32[2] "
               "custom-call(x), custom_call_target=\"nobody_knows\" }\n")

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("modules"))
        os.mkdir(self.path("golden"))
        self.add("right", self.NEGATE, op_case([1, -2], [-1, 2]))

    def add(self, stem, module, golden=None):
        self.write(os.path.join("modules", stem + ".hlo"), module)
        if golden is not None:
            self.write(os.path.join("golden", stem + ".json"), golden)

    def check(self, *more):
        return self.run_tool("check", self.path("modules"), "--golden", self.path("golden"),
                             "--engine", "on", *more)

    def statuses(self, *more):
        document = json.loads(self.check("--format", "json", *more).stdout)
        self.assertEqual(sum(document["counts"].values()), len(document["cases"]))
        return {case["module"]: (case["status"], case["message"]) for case in document["cases"]}

    def test_everything_right(self):
        self.add("name with spaces", self.NEGATE, op_case([0, 3], ["-0", -3]))
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn("2 pass, 0 fail, 0 unsupported (2 modules x 1 engine", done.stdout)

    def test_every_kind_of_trouble_is_a_row(self):
        self.add("wrong", self.NEGATE, op_case([1, -2], [-1, 3]))
        self.add("foreign", self.FOREIGN, op_case([1, 2], [1, 2]))
        self.add("broken", "HloModule broken\nENTRY main { this is not HLO }\n", "{}")
        self.add("damaged", self.NEGATE, "{ not json")
        self.add("other_inputs", self.NEGATE, op_case([1, 2, 3], [-1, -2, -3]))
        self.add("alone", self.NEGATE)
        statuses = self.statuses()
        self.assertEqual({module: status for module, (status, _) in statuses.items()},
                         {"right": "pass", "wrong": "fail", "foreign": "unsupported",
                          "broken": "invalid", "damaged": "invalid", "other_inputs": "invalid",
                          "alone": "no-golden"})
        self.assertIn("found 2, expected 3", statuses["wrong"][1])
        self.assertIn("nobody_knows", statuses["foreign"][1])
        done = self.check()
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("1 cases have wrong results", done.stderr)
        self.assertIn("fail: wrong / on: result 0: element 1", done.stdout)
        self.assertRegex(done.stdout, r"negate +3")

    def test_wrong_numbers_alone_exit_3(self):
        self.add("wrong", self.NEGATE, op_case([1, -2], [-1, 3]))
        self.assertEqual(self.check().returncode, 3)

    def test_what_is_refused_may_be_allowed(self):
        self.add("foreign", self.FOREIGN, op_case([1, 2], [1, 2]))
        self.assertEqual(self.check().returncode, 4)
        self.assertEqual(self.check("--allow-unsupported").returncode, 0)

    def test_limits_hold_for_each_process(self):
        self.add("endless", NEVER_ENDS, json.dumps(
            {"name": "endless", "inputs": [{"dtype": "s32", "shape": [], "values": ["0"]}],
             "expected": [{"dtype": "s32", "shape": [], "values": ["0"],
                           "tolerance": {"class": "exact"}}]}))
        self.add("large", LARGE, op_case([1], [1]))
        statuses = self.statuses("--timeout", "1s", "--max-memory", "100MiB")
        self.assertEqual(statuses["endless"][0], "timeout", statuses)
        self.assertEqual(statuses["large"][0], "out-of-memory", statuses)
        self.assertEqual(statuses["right"][0], "pass", statuses)

    def test_a_crash_is_a_row(self):
        self.add("endless", NEVER_ENDS, json.dumps(
            {"name": "endless", "inputs": [{"dtype": "s32", "shape": [], "values": ["0"]}],
             "expected": []}))
        with subprocess.Popen([BINARY, "check", self.path("modules"), "--golden",
                               self.path("golden"), "--engine", "on", "--format", "json",
                               "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment(), text=True) as process:
            victim = self.child_named(process.pid, "endless.hlo")
            os.kill(victim, signal.SIGSEGV)
            output, _ = process.communicate(timeout=60)
        cases = {case["module"]: case for case in json.loads(output)["cases"]}
        self.assertEqual(cases["endless"]["status"], "crash", cases)
        self.assertIn("signal 11", cases["endless"]["message"])
        self.assertEqual(cases["right"]["status"], "pass")

    def child_named(self, parent, word):
        for _ in range(400):
            for entry in os.listdir("/proc"):
                try:
                    with open(f"/proc/{entry}/cmdline", "rb") as file:
                        command = file.read()
                    with open(f"/proc/{entry}/stat") as file:
                        of = int(file.read().rsplit(")", 1)[1].split()[1])
                except (OSError, ValueError, IndexError):
                    continue
                if of == parent and word.encode() in command and b"check" in command:
                    time.sleep(0.3)  # past its start-up
                    return int(entry)
            time.sleep(0.02)
        self.fail("the child did not start")

    def test_ctrl_c_keeps_what_is_done(self):
        self.add("endless", NEVER_ENDS, json.dumps(
            {"name": "endless", "inputs": [{"dtype": "s32", "shape": [], "values": ["0"]}],
             "expected": []}))
        with subprocess.Popen([BINARY, "check", self.path("modules"), "--golden",
                               self.path("golden"), "--engine", "on", "--format", "json",
                               "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment(), text=True) as process:
            victim = self.child_named(process.pid, "endless.hlo")
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        cases = {case["module"]: case["status"] for case in json.loads(output)["cases"]}
        self.assertEqual(cases, {"endless": "not-run", "right": "pass"})
        self.assertFalse(os.path.exists(f"/proc/{victim}/fd/0"), "the child lives on")

    def test_junit_is_xml(self):
        self.add("wrong <&>", self.NEGATE, op_case([1, -2], [-1, 3]))
        self.add("foreign", self.FOREIGN, op_case([1, 2], [1, 2]))
        self.add("broken", "HloModule \x01 \"<\n", "{}")
        output = self.path("report.xml")
        self.check("--format", "junit", "-o", output)
        suite = xml.etree.ElementTree.parse(output).getroot()
        self.assertEqual(suite.attrib["tests"], "4")
        kinds = {case.attrib["name"]: [child.tag for child in case] for case in suite}
        self.assertEqual(kinds, {"right": [], "wrong <&>": ["failure"], "foreign": ["skipped"],
                                 "broken": ["error"]})

    def test_filters_and_folders_that_hold_nothing(self):
        self.add("wrong", self.NEGATE, op_case([1, -2], [-1, 3]))
        self.assertEqual(set(self.statuses("--filter", "r*")), {"right"})
        os.mkdir(self.path("empty"))
        self.expect(2, "no *.hlo file in", "check", self.path("empty"))
        self.expect(2, "matches 'x*'", "check", self.path("modules"), "--filter", "x*")
        self.expect(2, "is no directory", "check", self.path("modules"), "--golden", self.tiny)
        self.expect(2, "is no directory", "check", self.path("modules"), "--golden", "nowhere")
        self.expect(2, "--inputs", "check", self.path("modules"), "--inputs", "a.npz")
        self.expect(2, "junit is for folders", "check", self.tiny, "--format", "junit")

    def test_one_case_with_its_own_inputs(self):
        case = self.write("right.json", op_case([1, -2], [-1, 2]))
        module = self.write("right.hlo", self.NEGATE)
        self.expect(0, "", "check", module, "--golden", case, "--engine", "reference,off,on")


class Explain(CliTest):
    # Alike but for the depth of the sums.
    PRODUCTS = """HloModule products
ENTRY main {
  x = f32[64,32] parameter(0)
  w = f32[32,48] parameter(1)
  y = f32[64,96] parameter(2)
  v = f32[96,48] parameter(3)
  d = f32[64,48] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,48] dot(y, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[64,48] tanh(d)
  b = f32[64,48] tanh(e)
  ROOT r = (f32[64,48], f32[64,48]) tuple(a, b)
}
"""

    def test_kernels_of_unlike_work_have_their_own_rows(self):
        products = self.write("products.hlo", self.PRODUCTS)
        done = self.expect(0, "", "explain", products, "--threads", "1")
        rows = [line.split() for line in done.stdout.splitlines() if "contraction" in line]
        self.assertEqual([row[:2] for row in rows], [["1", "contraction"]] * 2, done.stdout)
        self.assertIn("2 kernels of 2 kinds", done.stdout)

    def test_the_document_counts_every_kernel(self):
        products = self.write("products.hlo", self.PRODUCTS)
        done = self.expect(0, "", "explain", products, "--threads", "1", "--format", "json")
        kernels = json.loads(done.stdout)["kernels"]
        self.assertEqual([kernel["class"] for kernel in kernels], ["contraction"] * 2)
        self.assertEqual(kernels[1]["flops"] - kernels[0]["flops"], 2 * 64 * 48 * 64)

    def test_clusters_around_an_unknown_call(self):
        calls = self.write("calls.hlo", """HloModule calls
ENTRY main {
  x = f32[8,8] parameter(0)
  y = f32[8,8] tanh(x)
  c = f32[8,8] custom-call(y), custom_call_target="who_knows"
  z = f32[8,8] exponential(c)
  q = (f32[8,8], f32[8]) custom-call(z), custom_call_target="Qr"
  a = f32[8,8] get-tuple-element(q), index=0
  ROOT r = f32[8,8] add(a, x)
}
""")
        done = self.expect(0, "", "explain", calls, "--threads", "1")
        self.assertIn("3 clusters of compiled kernels around 2 custom calls", done.stdout)
        self.assertIn("1 of the calls cannot be run", done.stdout)
        done = self.expect(0, "", "explain", calls, "--threads", "1", "--format", "json")
        document = json.loads(done.stdout)
        self.assertEqual([kernel["cluster"] for kernel in document["kernels"]], [0, 1, 2])
        self.assertEqual([call["runs"] for call in document["custom_calls"]], [False, True])
        self.expect(4, "custom-call of target 'who_knows' cannot be run", "run", calls)

    def test_an_activation_is_computed_in_its_product(self):
        done = self.expect(0, "", "explain", self.write("products.hlo", self.PRODUCTS))
        self.assertRegex(done.stdout, r"dot, tanh")


class Interrupt(CliTest):
    def start(self, *arguments):
        return subprocess.Popen([BINARY, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment())

    def test_finished_rows_are_kept(self):
        # Large enough that the limit on kept samples does not end a row before its duration.
        slow = self.write("slow.hlo", "HloModule slow\nENTRY main {\n"
                          "  p = f32[512,512] parameter(0)\n  ROOT t = f32[512,512] tanh(p)\n}\n")
        process = self.start("run", slow, self.tiny, "--engine", "off,on", "--duration", "5s",
                             "--warmup", "2", "--threads", "1", "--format", "json")
        seen = ""
        while "slow / off" not in seen:
            line = process.stderr.readline()
            self.assertTrue(line, seen)
            seen += line
        time.sleep(2)  # compiled by now: in the middle of the second row
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, seen + stderr)
        document = json.loads(stdout)
        self.assertEqual(document["exit_code"], 130)
        rows = [(row["workload"], row["engine"], row["status"]) for row in document["results"]]
        self.assertEqual(rows, [("slow", "off", "ok"), ("slow", "on", "interrupted")])
        self.assertGreater(document["results"][1]["latency"]["n"], 0)
        self.assertEqual(self.stored("SELECT status FROM run ORDER BY id"),
                         [("ok",), ("interrupted",)])
        self.assertEqual(self.stored("SELECT exit_code FROM session"), [(130,)])

    def test_a_kill_leaves_a_sound_database(self):
        process = self.start("run", self.tiny, "--duration", "30s", "--warmup", "2")
        time.sleep(1)
        process.kill()
        process.communicate(timeout=60)
        self.assertEqual(self.stored("PRAGMA integrity_check"), [("ok",)])
        self.document("run", self.tiny, *QUICK)


class TunedConfigs(CliTest):
    """Random search with a seed proposes the same everywhere."""

    def setUp(self):
        super().setUp()
        self.tiny = self.write("outer.hlo", OUTER)

    SEARCH = ["--strategy", "random", "--seed", "3", "--budget", "100s", "--threads", "1"]

    def tune(self, *arguments, code=0):
        return self.document("tune", *arguments, *self.SEARCH, code=code)

    def tuned_run(self, *arguments):
        return self.document("run", self.tiny, "--engine", "on", "--tuned", "--check", *QUICK,
                             *arguments)["results"][0]

    def decide(self, config, machine_class):
        """Puts a config into force as if a search had found it."""
        key = self.stored("SELECT key FROM trial")[0][0]
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

    def test_the_decision_holds_for_its_threads_and_residents_only(self):
        self.need_adopted(self.tune(self.tiny, "--trials", "12")["results"][0])
        other = self.document("run", self.tiny, "--engine", "on", "--tuned", "--iterations", "3",
                              "--warmup", "1", "--threads", "2")["results"][0]
        self.assertEqual(other["config"]["source"], "default")
        self.assertEqual(self.tuned_run("--resident", "1")["config"]["source"], "default")
        self.assertEqual(self.tuned_run()["config"]["source"], "tuned")

    def test_configs_tried_are_configs(self):
        """Whatever was adopted: each trial's text compiles again and gives right results."""
        document = self.tune("mlp_gelu", "--trials", "3", "--numerics", "bitwise")
        for text, in self.stored("SELECT config_text FROM trial"):
            self.decide(text, document["machine"]["class"])
            row = self.document("run", "mlp_gelu", "--engine", "on", "--tuned", "--check",
                                *QUICK)["results"][0]
            self.assertEqual((row["config"]["source"], row["numerics"]["status"]),
                             ("tuned", "pass"))

    def test_a_stale_config_is_left_behind(self):
        document = self.tune(self.tiny, "--trials", "1")
        text = self.stored("SELECT config_text FROM trial")[0][0]
        lines = text.splitlines()
        other_module = "\n".join(line if not line.startswith("module") else "module " + "0" * 32
                                 for line in lines)
        for stale in (other_module, text + "\nwarp_drive=9\n", "no config at all"):
            with self.subTest(stale=stale[:40]):
                self.decide(stale, document["machine"]["class"])
                self.assertEqual(self.tuned_run()["config"]["source"], "stale")
                again = self.tune(self.tiny, "--trials", "12")
                self.need_adopted(again["results"][0])
                self.assertIn("config", again["results"][0]["stale"])
                self.assertEqual(self.stored("SELECT state FROM decision ORDER BY id"),
                                 [("stale",), ("confirmed",)])
                self.assertEqual(self.tuned_run()["config"]["source"], "tuned")

    def test_a_better_stored_config_stays(self):
        first = self.tune(self.tiny, "--trials", "12")["results"][0]
        self.need_adopted(first)
        again = self.tune(self.tiny, "--trials", "1")["results"][0]
        stored = self.stored("SELECT config_hash FROM decision WHERE state = 'confirmed'")
        self.assertEqual(stored, [(again["config"]["hash"] if again["adopted"]
                                   else first["config"]["hash"],)])

    def test_workloads_that_cannot_be_tuned(self):
        unsupported = self.write("unsupported.hlo", "HloModule u\nENTRY main {\n  x = f32[4] "
                                 "parameter(0)\n  ROOT y = f32[4] custom-call(x), "
                                 "custom_call_target=\"foo\"\n}\n")
        self.expect(4, "custom-call", "tune", unsupported)
        self.expect(4, "bad", "tune", self.write("bad.hlo", "HloModule bad\nENTRY main {\n"))
        document = self.tune(unsupported, code=4)
        self.assertEqual(document["results"], [])
        self.assertTrue(document["reasons"])

    def test_databases_that_cannot_be_used(self):
        os.mkdir(self.path("folder"))
        for db, message in ((self.path("folder"), "directory"),
                            (os.path.join(self.tiny, "results.db"), "directory"),
                            (self.write("text.db", "no database " * 100), "not a database")):
            with self.subTest(db=db):
                self.expect(4, message, "tune", self.tiny, "--db", db, "--trials", "1",
                            *self.SEARCH)
        inside = os.path.join(self.dir, "new", "folder", "results.db")
        done = self.run_tool("tune", self.tiny, "--db", inside, "--trials", "1", *self.SEARCH)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(inside))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
