"""`fusemark tune`, and what `run --tuned` makes of the configs it stored."""
import json
import os
import signal
import sqlite3
import time

import cli_case
from cli_case import CliTest, QUICK, TINY, OUTER


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
        process = self.start("tune", self.tiny, "--threads", "1", "--budget", "60s", "--format",
                             "json")
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

    def force(self, config, machine_class):
        self.decide(self.stored("SELECT key FROM trial")[0][0], config, machine_class)

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
            self.force(text, document["machine"]["class"])
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
                self.force(stale, document["machine"]["class"])
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
    cli_case.main()
