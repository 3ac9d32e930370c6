"""`fusemark run`: inputs and outputs as files, and what it reports."""
import json
import os
import struct
import zipfile

import cli_case
from cli_case import CliTest, QUICK, npy


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
        self.decide(key, config + "\nwarp_drive=9\n", first["machine"]["class"])
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


if __name__ == "__main__":
    cli_case.main()
