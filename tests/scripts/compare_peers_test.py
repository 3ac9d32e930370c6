"""compare_peers: the protocol with engines that answer, refuse, crash and hang; the statistics, the
bars and the tables; the reading of HLO text and workload files. Needs no other engine and no numpy.
"""
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "engines"))
sys.dont_write_bytecode = True
import bars  # noqa: E402
import catalogue  # noqa: E402
import contractions  # noqa: E402
import fusemark_worker  # noqa: E402
import hlo_text  # noqa: E402
import ideas  # noqa: E402
import idle  # noqa: E402
import peers_table  # noqa: E402
import peers_venv  # noqa: E402
import protocol  # noqa: E402
import rounds  # noqa: E402
import timing  # noqa: E402

FAKE = """
import os, sys, time
sys.path.insert(0, {engines!r})
import protocol
def load(size):
    print("noise on stdout")
    if size < 0:
        raise protocol.Unsupported("no negative sizes")
    return {{"size": size}}
def die():
    sys.stderr.write("going down\\n"); sys.stderr.flush()
    os.kill(os.getpid(), 9)
protocol.serve({{"load": load, "die": die, "hang": lambda: time.sleep(60),
                "bad": lambda: {{}}["key"],
                "cpus": lambda: {{"n": sorted(os.sched_getaffinity(0))}}}})
"""


class Protocol(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        path = pathlib.Path(self.folder.name) / "fake.py"
        path.write_text(FAKE.format(engines=str(ROOT / "scripts" / "engines")))
        self.command = [sys.executable, "-B", str(path)]
        self.log = pathlib.Path(self.folder.name) / "log"
        self.engine = protocol.Engine("fake", self.command, log=self.log)
        self.addCleanup(self.engine.close)

    def test_reply_survives_a_library_that_prints(self):
        self.assertEqual(self.engine.request("load", size=3), {"size": 3})
        self.engine.close()
        self.assertIn("noise on stdout", self.log.read_text())

    def test_a_refusal_is_a_reason_and_the_engine_lives(self):
        with self.assertRaisesRegex(protocol.EngineFailed, "^no negative sizes$"):
            self.engine.request("load", size=-1)
        with self.assertRaisesRegex(protocol.EngineFailed, "KeyError: 'key'"):
            self.engine.request("bad")
        self.assertEqual(self.engine.request("load", size=1), {"size": 1})

    def test_a_crash_says_how_and_the_last_words(self):
        with self.assertRaisesRegex(protocol.EngineFailed, "signal 9.*going down"):
            self.engine.request("die")
        with self.assertRaises(protocol.EngineFailed):
            self.engine.request("load", size=1)

    def test_a_hang_ends_at_the_timeout(self):
        with self.assertRaisesRegex(protocol.EngineFailed, "timeout: 'hang' took more than 0.3 s"):
            self.engine.request("hang", timeout=0.3)

    def test_affinity_is_the_process_s(self):
        cpu = min(os.sched_getaffinity(0))
        engine = protocol.Engine("fake", self.command, cpus=[cpu])
        self.addCleanup(engine.close)
        self.assertEqual(engine.request("cpus"), {"n": [cpu]})

    def test_first_line(self):
        self.assertEqual(protocol.first_line("\n  a\nb"), "a")
        self.assertEqual(len(protocol.first_line("x" * 500)), 200)


class Statistics(unittest.TestCase):

    def test_percentile_is_nearest_rank(self):
        values = list(range(1, 101))
        self.assertEqual(bars.percentile(values, 0.99), 99)
        self.assertEqual(bars.percentile(values, 0.5), 50)
        self.assertEqual(bars.percentile([7], 0.99), 7)

    def test_p99_needs_enough_runs(self):
        self.assertIsNone(bars.summarise([[1] * 367])["p99_ns"])
        self.assertEqual(bars.summarise([[1] * 300, [2] * 68])["p99_ns"], 2)

    def test_the_median_is_over_rounds_not_runs(self):
        # One round with many quick runs must not outvote two others.
        row = bars.summarise([[1] * 100, [10, 10], [12, 14, 16]])
        self.assertEqual(row["median_ns"], 10)
        self.assertEqual(row["round_medians_ns"], [1, 10, 14])
        self.assertEqual((row["n"], row["min_ns"], row["max_ns"]), (105, 1, 16))

    def test_geomean(self):
        self.assertAlmostEqual(bars.geomean([1, 4]), 2)
        self.assertIsNone(bars.geomean([]))

    def test_samples_of_the_database(self):
        # 5, 3, 300 as first value and differences: zigzag 10, 3, 594.
        self.assertEqual(fusemark_worker.decode_samples(bytes([10, 3, 0xD2, 0x04])), [5, 3, 300])

    def test_timed_runs(self):
        self.assertGreater(len(timing.timed_runs(lambda: None, 0.01)), 10)
        self.assertEqual(len(timing.timed_runs(lambda: time.sleep(0.02), 0.01)), 1)

    def test_busy_share(self):
        start = "cpu 0 0 0 0 0 0 0 0"
        self.assertAlmostEqual(idle.busy_share(start, "cpu 10 0 10 70 10 0 0 0"), 0.2)
        self.assertEqual(idle.busy_share(start, start), 0.0)


def engine(*medians, **more):
    return {"status": "ok", "numerics": "pass", "round_medians_ns": list(medians), "reason": "",
            "median_ns": sorted(medians)[len(medians) // 2], "compile_s": 1.0, **more}


def model(group="models", family="dlrm"):
    return types.SimpleNamespace(name="m", group=group, family=family)


def find(rows, name):
    return [row for row in rows if row["bar"] == name]


class Bars(unittest.TestCase):

    def test_the_fastest_peer_counts(self):
        rows = bars.judge_all(model(), {"on:resident": engine(100, 100, 100), "xla": engine(300),
                                        "ort": engine(120, 130, 110), "openvino": engine(200)})
        row, = find(rows, "resident vs best peer")
        self.assertEqual((row["theirs"], row["verdict"]), ("ort", "pass"))
        self.assertAlmostEqual(row["ratio"], 1.2)
        self.assertEqual(row["without"], ["tf:on", "tf:graph", "tf:off"])

    def test_ratios_are_taken_round_by_round(self):
        # Both drift together: the ratio is 1.5 in every round.
        row, = find(bars.judge_all(model(), {"on": engine(100, 200, 400),
                                             "xla": engine(150, 300, 600)}), "parameters vs XLA")
        self.assertEqual((row["low"], row["ratio"], row["high"]), (1.5, 1.5, 1.5))
        self.assertTrue(row["clear"])

    def test_falls_short_says_by_how_much(self):
        row, = find(bars.judge_all(model(), {"on": engine(100), "xla": engine(104)}),
                    "parameters vs XLA")
        self.assertEqual(row["verdict"], "falls short")
        self.assertAlmostEqual(row["short_by"], 0.2)

    def test_rounds_on_both_sides_are_said(self):
        row, = find(bars.judge_all(model("hlo"), {"on": engine(100, 100, 100),
                                                  "xla": engine(90, 110, 120)}), "HLO file vs XLA")
        self.assertEqual((row["verdict"], row["clear"]), ("pass", False))

    def test_dispatch_is_not_the_program(self):
        row, = find(bars.judge_all(model("hlo"), {"on": engine(10), "xla": engine(
            15, dispatch_ns=7)}), "HLO file vs XLA")
        self.assertAlmostEqual(row["ratio"], 0.8)

    def test_a_peer_with_wrong_numbers_does_not_count(self):
        rows = bars.judge_all(model(), {"on:resident": engine(100), "xla": engine(120),
                                        "ort": engine(1, numerics="fail")})
        self.assertEqual(find(rows, "resident vs best peer")[0]["theirs"], "xla")
        row, = find(bars.judge_all(model(), {"on": engine(1, numerics="fail"), "xla": engine(9)}),
                    "parameters vs XLA")
        self.assertEqual((row["verdict"], row["ratio"]), ("not measured", None))

    def test_a_failure_is_a_row_with_its_reason(self):
        failed = {"status": "failed", "reason": "no such op", "numerics": "unchecked"}
        row, = find(bars.judge_all(model(), {"on": engine(1), "xla": failed}), "parameters vs XLA")
        self.assertEqual((row["verdict"], row["reason"]), ("not measured", "xla: no such op"))
        row, = find(bars.judge_all(model(), {"on": failed, "xla": engine(1)}), "parameters vs XLA")
        self.assertEqual(row["reason"], "on: no such op")

    def test_each_group_has_its_bar(self):
        engines = {"on": engine(100), "off": engine(160), "xla": engine(110)}
        names = lambda m: {(r["bar"], r["least"]) for r in bars.judge_all(m, engines)}  # noqa: E731
        self.assertIn(("on vs off", 1.5), names(model(family="bert")))
        self.assertIn(("on vs off", 1.0), names(model(family="dlrm")))
        self.assertIn(("HLO file vs XLA", 1.0), names(model("jax", None)))
        self.assertNotIn("parameters vs XLA", {name for name, _ in names(model("jax", None))})

    def test_compile_and_memory(self):
        rows = bars.judge_all(model("hlo", None), {
            "on": engine(1, compile_s=2.0, temp_bytes=11000),
            "xla": engine(1, compile_s=1.0, temp_bytes=10000)})
        self.assertEqual(find(rows, "compile vs XLA")[0]["verdict"], "falls short")
        self.assertEqual(find(rows, "memory vs XLA")[0]["verdict"], "pass")

    def test_a_page_of_memory_is_not_judged(self):
        rows = bars.judge_all(model("hlo", None), {"on": engine(1, temp_bytes=4096),
                                                   "xla": engine(1, temp_bytes=16)})
        self.assertEqual(find(rows, "memory vs XLA"), [])

    def test_an_idea_against_xla_off_and_op_by_op(self):
        engines = {"on": engine(100), "off": engine(90), "xla": engine(150), "jax:off": engine(45)}
        rows = {row["bar"]: row for row in bars.judge_all(model("ideas", None), engines)}
        said = {name: (rows[name]["ours"], rows[name]["theirs"], round(rows[name]["ratio"], 3),
                       rows[name]["least"], rows[name]["verdict"])
                for name in ("idea vs XLA", "on vs off", "off vs JAX op by op")}
        self.assertEqual(said, {
            "idea vs XLA": ("on", "xla", 1.5, 1.0, "pass"),
            "on vs off": ("on", "off", 0.9, 1.0, "falls short"),
            "off vs JAX op by op": ("off", "jax:off", 0.5, 1.0, "falls short")})
        self.assertNotIn("idea vs XLA", {r["bar"] for r in bars.judge_all(model(), engines)})

    def test_aims_are_geometric_means(self):
        rows = [{"bar": "HLO file vs XLA", "threads": 1, "ratio": r} for r in (1, 4, 16, None)]
        aim, = bars.aims(rows)
        self.assertAlmostEqual(aim["geomean"], 4)
        self.assertEqual((aim["models"], aim["left_out"], aim["verdict"]), (3, 1, "reached"))


class Tables(unittest.TestCase):

    def test_times(self):
        for ns, text in ((5, "5 ns"), (999.9, "1 us"), (1500, "1.5 us"), (2.5e6, "2.5 ms"),
                         (3e9, "3 s"), (None, "-")):
            self.assertEqual(peers_table.time_text(ns), text)

    def test_document(self):
        engines = {"on": {**engine(100.0), **bars.summarise([[100] * 400])},
                   "xla": {**engine(104.0), **bars.summarise([[104] * 3])},
                   "ort": {"status": "failed", "reason": "not installed", "numerics": "unchecked"}}
        judged = [{**row, "threads": 2} for row in bars.judge_all(model(), engines)]
        text = peers_table.document_text({
            "results": [{"model": "m", "group": "models", "threads": 2, "engines": engines,
                         "busy": [0.5, 0.0]}],
            "bars": judged, "aims": bars.aims(judged), "rounds": 1, "seconds": 1.0})
        for words in ("falls short by 20 %", "failed: not installed", "104 ns*", "up to 50 %",
                      "1 of 2 bars pass"):
            self.assertIn(words, text)
        self.assertFalse([line for line in text.splitlines() if line != line.rstrip()])

    def idea(self, engines, threads=1):
        """The lines about one idea and what the table of bars says beside them."""
        for row in engines.values():
            row.update(bars.summarise([[ns] for ns in row.get("round_medians_ns", [1])]))
        result = {"model": "m", "group": "ideas", "threads": threads, "engines": engines,
                  "busy": []}
        judged = [{**row, "threads": threads}
                  for row in bars.judge_all(model("ideas", None), engines)]
        text = peers_table.document_text({"results": [result], "bars": judged, "aims": [],
                                          "rounds": 1, "seconds": 1.0})
        return next(part.splitlines() for part in text.split("\n\n")
                    if part.startswith("idea ")), text

    def test_an_idea_is_one_line(self):
        (head, line), text = self.idea({"on": engine(100), "off": engine(90), "xla": engine(150),
                                        "jax:off": engine(180)})
        self.assertRegex(head, "^idea +T +on +off +xla +jax:off +idea vs XLA +on vs off +"
                               "off vs JAX op by op +verdict$")
        self.assertRegex(line, r"^m +1 +100 ns +90 ns +150 ns +180 ns +1.50 +0.90 +2.00 +"
                               r"on vs off falls short by 10 %$")
        # Its bars on times stand nowhere else, that on compiling stays in the table of all.
        self.assertEqual(text.count("idea vs XLA"), 1)
        self.assertEqual(text.count("compile vs XLA"), 1)

    def test_an_idea_that_passes_or_was_not_measured(self):
        (_, line), _ = self.idea({"on": engine(100), "off": engine(110)})
        self.assertRegex(line, r" - +1.10 +- +pass$")
        (_, line), _ = self.idea({"on": engine(100, 100), "off": engine(110, 90)})
        self.assertRegex(line, r"pass \(rounds on both sides\)$")
        failed = {"status": "failed", "reason": "no such op", "numerics": "unchecked"}
        (_, line), _ = self.idea({"on": failed, "off": engine(110)})
        self.assertRegex(line, r"on vs off not measured: on: no such op$")
        (_, line), _ = self.idea({"on": engine(1)})
        self.assertRegex(line, r" -$")


MODULE = """HloModule m, input_output_alias={ {0}: (1, {}, may-alias) }, other={1}

region {
  a = f32[] parameter(0)
  ROOT b = f32[] negate(a)
}

ENTRY main {
  p__w__.1 = f32[2,3]{1,0} parameter(1), metadata={op_name="w"}
  %x_0_.1 = s32[4]{0} parameter(0)
  %t = (f32[2], s32[]) parameter(2)
  c = f32[2]{0} constant({...})
  %f = f32[2] fusion(%c, %c),
    kind=kLoop, calls=region
  ROOT r = (bf16[1,4]{1,0}, s32[1,4]{1,0}) topk(%f), k=4, is_stable=true
}
"""


class HloText(unittest.TestCase):

    def test_entry_parameters(self):
        found = hlo_text.entry_parameters(MODULE)
        self.assertEqual([(p.name, p.dtype, p.shape, p.is_tuple) for p in found],
                         [("x_0_.1", "s32", (4,), False), ("p__w__.1", "f32", (2, 3), False),
                          ("t", "f32", (2,), True)])
        with self.assertRaises(ValueError):
            hlo_text.entry_parameters("HloModule m")

    def test_for_xla(self):
        text = hlo_text.for_xla(MODULE)
        self.assertIn("HloModule m, other={1}\n", text)
        self.assertIn("call(%c, %c), to_apply=region\n", text)
        self.assertIn("topk(%f), k=4\n", text)

    def test_fill_elided(self):
        text = hlo_text.fill_elided(MODULE, lambda name, dtype, shape: f"{name} {dtype} {shape}")
        self.assertIn("c = f32[2]{0} constant(c f32 (2,))", text)


class Catalogue(unittest.TestCase):

    def test_description(self):
        said = catalogue.read_description(
            'name: n\ntolerance: 1e-5\nresident: [1, 2]\ntags: [a, b c]\ninputs:\n  params:\n'
            '    "0": {scale: 1.5}\n    "1": {kind: int, low: 0, high: 9}\n')
        self.assertEqual(said["inputs"]["params"], {"0": {"scale": 1.5},
                                                    "1": {"kind": "int", "low": 0, "high": 9}})
        self.assertEqual((said["tolerance"], said["resident"]), (1e-5, [1, 2]))

    def test_every_built_in_workload_is_read(self):
        models = catalogue.all_models(None)
        blocks = {n: m for n, m in models.items() if m.group == "blocks"}
        self.assertEqual(set(blocks), {p.stem for p in catalogue.BLOCKS.glob("*.yaml")})
        for found in blocks.values():
            count = len(hlo_text.entry_parameters(found.hlo.read_text()))
            self.assertTrue(all(0 <= i < count for i in found.resident), found.name)
            self.assertTrue(all(int(i) < count for i in found.inputs["params"]), found.name)

    def test_select(self):
        models = catalogue.all_models(None)
        names = lambda *words: [m.name for m in catalogue.select(words, models)]  # noqa: E731
        self.assertEqual(names("mlp_gelu", "mlp*"), ["mlp_gelu"])
        self.assertEqual(names("all"), list(models))
        self.assertEqual(names("ideas"), [idea.name for idea in ideas.IDEAS])
        self.assertEqual(names("softmax", "dot_loop_?"),
                         ["softmax", "dot_loop_2", "dot_loop_4", "dot_loop_8"])
        with self.assertRaises(KeyError):
            names("nothing_of_this_name")

    def test_a_file_is_named_by_its_path(self):
        models = catalogue.all_models(None)
        known, = catalogue.select([str(catalogue.BLOCKS / "mlp_gelu.hlo")], models)
        self.assertIs(known, models["mlp_gelu"])
        with tempfile.NamedTemporaryFile(suffix=".hlo") as own:
            found, = catalogue.select([own.name], models)
            self.assertEqual((found.group, found.hlo), ("hlo", pathlib.Path(own.name).resolve()))
        with self.assertRaises(KeyError):
            catalogue.select(["absent.hlo"], models)

    def test_which_engines_apply(self):
        block, whole = model("blocks", None), model()
        block.resident = [1]
        self.assertTrue(rounds.applies("on:resident", block))
        self.assertFalse(rounds.applies("ort", block))
        self.assertTrue(rounds.applies("ort", whole))
        # JAX op by op needs a function, which only an idea has.
        self.assertFalse(rounds.applies("jax:off", whole))
        self.assertTrue(rounds.applies("jax:off", model("ideas", None)))

    def test_the_matrix_of_a_dot_loop(self):
        for n in (2, 4, 8, 16):
            _, (_, shape, said) = ideas.BY_NAME[f"dot_loop_{n}"].inputs
            self.assertEqual(shape, (n, n))
            rows = [said["values"][i * n:(i + 1) * n] for i in range(n)]
            carry, seen = [list(range(1, n + 1))], []
            while carry[-1] not in seen:
                seen.append(carry[-1])
                carry.append([sum(a * row[j] for a, row in zip(seen[-1], rows)) for j in range(n)])
            # Comes back to its start, no sooner than after 2n trips, and not at the end.
            self.assertEqual((carry[-1], len(seen)), (seen[0], 2 * n))
            self.assertGreater(ideas.TRIPS % len(seen), 1)


def said_by_the_benchmark(*products):
    """Its JSON: (name, own_ns, onednn_ns, m, n, k), or (name, error)."""
    rows = []
    for name, *values in products:
        row = {"name": f"{name}/threads:2/manual_time", "run_type": "iteration", "real_time": 7.0}
        if len(values) == 1:
            row.update(error_occurred=True, error_message=values[0])
        else:
            own, onednn, *dims = values
            row.update(own_ns=own, onednn_ns=onednn, least_dim=min(dims), largest_dim=max(dims))
        rows.append(row)
    return json.dumps({"context": {}, "benchmarks": rows})


class Contractions(unittest.TestCase):

    def judged(self, *texts):
        found = contractions.results_of([contractions.read_round(t) for t in texts], 2, [0.0])
        return [bars.judge_all(measured, result["engines"]) for measured, result in found], found

    def test_bars_by_size(self):
        judged, _ = self.judged(said_by_the_benchmark(
            ("up", 100, 96, 128, 3072, 768), ("cube_64", 100, 149, 64, 64, 64),
            ("decode", 100, 151, 1, 3072, 768), ("cube_65", 100, 94, 64, 64, 65)))
        self.assertEqual([[(r["bar"], r["model"], r["least"], r["verdict"]) for r in rows]
                          for rows in judged], [
            [("contraction vs oneDNN", "up", 0.95, "pass")],
            [("small contraction vs oneDNN", "cube_64", 1.5, "falls short")],
            [("small contraction vs oneDNN", "decode", 1.5, "pass")],
            [("contraction vs oneDNN", "cube_65", 0.95, "falls short")]])

    def test_rounds_are_pairs(self):
        (row,), = self.judged(*(said_by_the_benchmark(("up", own, onednn, 128, 128, 128))
                                for own, onednn in ((100, 100), (200, 220), (50, 60))))[0]
        self.assertEqual((row["low"], row["ratio"], row["high"]), (1.0, 1.1, 1.2))

    def test_wrong_results_are_no_measurement(self):
        judged, found = self.judged(
            said_by_the_benchmark(("up", 100, 100, 128, 128, 128)),
            said_by_the_benchmark(("up", "results differ by 3 of the RMS")))
        (row,), = judged
        self.assertEqual((row["verdict"], row["reason"]),
                         ("not measured", "on: results differ by 3 of the RMS"))
        self.assertEqual(found[0][1]["engines"]["onednn"]["status"], "failed")

    def test_a_program_that_is_absent_or_ends_is_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            settings = rounds.Settings("python", str(folder / "fusemark"), rounds=1, settle=0)
            cpus = [min(os.sched_getaffinity(0))]
            whole = catalogue.all_models(None)["contractions"]
            measure = lambda: contractions.measure(  # noqa: E731
                whole, 1, cpus, settings, folder, lambda text: None)
            (_, result), = measure()
            self.assertIn("No such file", result["engines"]["on"]["reason"])
            program = folder / contractions.PROGRAM
            program.parent.mkdir(parents=True)
            program.write_text("#!/bin/sh\ncase $* in *list*) echo a;; *) exit 3;; esac\n")
            program.chmod(0o755)
            (_, result), = measure()
            self.assertEqual(result["engines"]["on"]["reason"], "the process ended (exit 3)")
            text = said_by_the_benchmark(("a", 10, 20, 1, 1, 1))
            program.write_text(f"#!/bin/sh\ncase $* in *list*) echo a;; *) echo '{text}';; esac\n")
            (measured, result), = measure()
            self.assertEqual((measured.name, measured.family, result["threads"]), ("a", "small", 1))
            self.assertEqual(result["engines"]["onednn"]["median_ns"], 20)


class Environment(unittest.TestCase):

    def test_all_versions_are_pinned(self):
        lines = peers_venv.requirement_lines(peers_venv.REQUIREMENTS.read_text())
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"^[\w-]+==[\d.]+$")

    def test_a_changed_list_is_another_environment(self):
        self.assertNotEqual(peers_venv.stamp_text(["a==1"], "3.11"),
                            peers_venv.stamp_text(["a==2"], "3.11"))


class ExitCodes(unittest.TestCase):

    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("compare_peers",
                                                      str(ROOT / "scripts" / "compare_peers"))
        spec = importlib.util.spec_from_loader("compare_peers", loader)
        self.script = importlib.util.module_from_spec(spec)
        loader.exec_module(self.script)

    def code(self, engines, verdict="pass", strict=False):
        return self.script.exit_code({"results": [{"engines": engines}],
                                      "bars": [{"verdict": verdict}]}, strict)

    def test_table(self):
        failed = {"status": "failed", "reason": "x", "numerics": "unchecked"}
        self.assertEqual(self.code({"on": engine(1), "xla": engine(1)}), 0)
        self.assertEqual(self.code({"on": engine(1), "xla": failed}), 0)
        self.assertEqual(self.code({"on": failed, "xla": engine(1)}), 4)
        self.assertEqual(self.code({"on": failed, "xla": failed}), 4)
        self.assertEqual(self.code({"on": engine(1, numerics="fail")}), 3)
        self.assertEqual(self.code({"on": engine(1)}, "falls short"), 0)
        self.assertEqual(self.code({"on": engine(1)}, "falls short", strict=True), 1)

    def test_usage(self):
        for words in (["--engines", "nobody"], ["--threads", "0"], ["--models", "nothing"],
                      ["--rounds", "0"], ["--threads", "many"]):
            with self.assertRaises(SystemExit) as raised, \
                    unittest.mock.patch("sys.stderr", new=io.StringIO()):
                self.script.main(words)
            self.assertEqual(raised.exception.code, 2, words)


if __name__ == "__main__":
    unittest.main()
