"""`fusemark roofline`, and the limits of the machine beside what was measured on it."""
import json
import os
import sqlite3

import cli_case
from cli_case import CliTest, QUICK

CORE = ["fma_f32", "fma_f64", "read_l1", "read_l2", "read_dram", "add_dram", "copy_dram",
        "write_dram"]


class Roofline(CliTest):
    def values(self, limits):
        return {(limit["name"], limit["threads"]): limit["value"] for limit in limits["values"]}

    def test_json(self):
        document = self.document("roofline", "--threads", "2")
        self.assertEqual(document["command"], "roofline")
        self.assertTrue(document["machine"]["fingerprint"])
        limits = document["limits"]
        self.assertEqual(limits["threads"], 2)
        self.assertRegex(limits["measured_utc"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        for limit in limits["values"]:
            self.assertIn(limit["name"], document["meanings"])
            self.assertIn(limit["unit"], ("FLOP/s", "OP/s", "B/s", "ns"))
            self.assertGreater(limit["value"], 0, limit)
        values = self.values(limits)
        for name in CORE:
            for threads in (1, 2):
                self.assertIn((name, threads), values)
        self.assertIn(("fork_join", 2), values)
        self.assertIn(("timer", 1), values)
        self.assertGreater(values["read_l1", 1], values["read_dram", 1])

    def test_table(self):
        done = self.expect(0, "", "roofline", "--threads", "1")
        self.assertRegex(done.stdout, r"fma_f32 +[\d.]+ GFLOP/s")
        self.assertRegex(done.stdout, r"read_dram +[\d.]+ GB/s")
        self.assertNotIn("2 threads", done.stdout)

    def test_wrong_arguments(self):
        for arguments, message in ((["--threads", "0"], "--threads"),
                                   (["--threads", "many"], "--threads"),
                                   (["--format", "text"], "--format"),
                                   (["surplus"], "surplus")):
            with self.subTest(arguments=arguments):
                done = self.expect(2, message, "roofline", *arguments)
                self.assertEqual(done.stdout, "")
        self.assertFalse(os.path.exists(self.db))

    def test_a_database_that_refuses(self):
        os.mkdir(self.db)
        self.expect(4, "is a directory", "roofline", "--threads", "1")

    def test_too_many_threads_are_warned_of(self):
        self.expect(0, "they will wait", "roofline", "--threads", "32")


class StoredLimits(CliTest):
    def age(self, seconds):
        connection = sqlite3.connect(self.db)
        with connection:
            connection.execute("UPDATE limits SET measured_utc = strftime('%Y-%m-%dT%H:%M:%SZ', "
                               "'now', ?)", ("%d seconds" % -seconds,))
        connection.close()

    def count(self):
        return self.stored("SELECT count(*) FROM limits")[0][0]

    def test_a_run_has_them_and_takes_stored_ones(self):
        first = self.document("run", self.tiny, *QUICK)["limits"]
        self.assertEqual(first["threads"], 1)
        self.assertEqual(self.count(), 1)
        self.assertEqual(self.stored("SELECT count(*) FROM limit_value"), [(len(first["values"]),)])
        self.age(3600)
        second = self.document("run", self.tiny, *QUICK)["limits"]
        self.assertEqual(second["values"], first["values"])
        self.assertGreaterEqual(second["age_s"], 3600)
        self.assertEqual(self.count(), 1)
        self.assertEqual(self.stored("SELECT limits_id FROM session ORDER BY id"), [(1,), (1,)])

    def test_old_ones_and_those_of_the_future_are_measured_again(self):
        self.document("run", self.tiny, *QUICK)
        for seconds in (25 * 3600, -3600):
            self.age(seconds)
            before = self.count()
            self.assertLess(self.document("run", self.tiny, *QUICK)["limits"]["age_s"], 60)
            self.assertEqual(self.count(), before + 1)

    def test_each_thread_count_has_its_own(self):
        self.document("run", self.tiny, *QUICK)
        limits = self.document("run", self.tiny, *QUICK[:-1], "2")["limits"]
        self.assertEqual({limit["threads"] for limit in limits["values"]}, {1, 2})
        self.assertEqual(self.stored("SELECT threads FROM limits ORDER BY id"), [(1,), (2,)])

    def test_the_database_shows_them(self):
        self.document("run", self.tiny, *QUICK)
        self.document("roofline", "--threads", "1")
        limits = json.loads(self.run_tool("db", "limits", "--format", "json").stdout)["limits"]
        self.assertEqual([stored["id"] for stored in limits], [2, 1])  # roofline measures anew
        self.assertEqual(limits[1]["sessions"], 1)
        runs = json.loads(self.run_tool("db", "runs", "--format", "json").stdout)["runs"]
        self.assertEqual([run["limits_id"] for run in runs], [1, 1])
        one = json.loads(self.run_tool("db", "limits", "--limit", "1", "--format", "json").stdout)
        self.assertEqual(len(one["limits"]), 1)
        self.assertRegex(self.run_tool("db", "limits").stdout, r"fma_f32 +[\d.]+ GFLOP/s")
        self.expect(2, "--limit", "db", "limits", "--limit", "0")

    def test_without_any(self):
        self.document("run", self.tiny, *QUICK)
        connection = sqlite3.connect(self.db)
        with connection:
            connection.execute("UPDATE session SET limits_id = NULL")
            connection.execute("DELETE FROM limit_value")
            connection.execute("DELETE FROM limits")
        connection.close()
        done = self.expect(0, "", "db", "limits")
        self.assertIn("no limits stored", done.stdout)
        runs = json.loads(self.run_tool("db", "runs", "--format", "json").stdout)["runs"]
        self.assertEqual([run["limits_id"] for run in runs], [None, None])


if __name__ == "__main__":
    cli_case.main()
