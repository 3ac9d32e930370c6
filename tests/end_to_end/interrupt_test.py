"""Ctrl-C and kill in the middle of `fusemark run`."""
import json
import signal
import time

import cli_case
from cli_case import CliTest, QUICK


class Interrupt(CliTest):
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


if __name__ == "__main__":
    cli_case.main()
