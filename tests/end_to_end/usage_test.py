"""The command line itself, and workloads that are none: exit codes and messages."""
import json
import os

import cli_case
from cli_case import CliTest, QUICK, TINY


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


if __name__ == "__main__":
    cli_case.main()
