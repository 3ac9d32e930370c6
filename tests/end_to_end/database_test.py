"""The database: what is stored, and files and disks that refuse it."""
import json
import os
import resource
import sqlite3
import stat
import subprocess

import cli_case
from cli_case import CliTest, QUICK


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
            done = subprocess.run([self.binary, "run", self.tiny, *QUICK], stdout=full,
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


if __name__ == "__main__":
    cli_case.main()
