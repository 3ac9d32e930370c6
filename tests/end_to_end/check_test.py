"""`fusemark check`: one module, a folder of them, and the limits on time and memory."""
import json
import os
import signal
import time
import xml.etree.ElementTree

import cli_case
from cli_case import CliTest, QUICK, NEVER_ENDS, LARGE, op_case


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
        version = json.loads(self.run_tool("version", "--format", "json").stdout)
        if "address" in version["sanitizers"]:
            self.skipTest("AddressSanitizer reserves more addresses than the limit leaves")
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
        with self.start_endless() as process:
            victim = self.child_named(process.pid, "endless.hlo")
            os.kill(victim, signal.SIGSEGV)
            output, _ = process.communicate(timeout=60)
        cases = {case["module"]: case for case in json.loads(output)["cases"]}
        self.assertEqual(cases["endless"]["status"], "crash", cases)
        self.assertIn("signal 11", cases["endless"]["message"])
        self.assertEqual(cases["right"]["status"], "pass")

    def start_endless(self):
        self.add("endless", NEVER_ENDS, json.dumps(
            {"name": "endless", "inputs": [{"dtype": "s32", "shape": [], "values": ["0"]}],
             "expected": []}))
        return self.start("check", self.path("modules"), "--golden", self.path("golden"),
                          "--engine", "on", "--format", "json", "--jobs", "2")

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
        with self.start_endless() as process:
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


if __name__ == "__main__":
    cli_case.main()
