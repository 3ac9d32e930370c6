"""compare_peers without any engine installed: the statistics, the verdicts, the table and the
process protocol, the latter against a fake engine.
"""
import pathlib
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "engines"))
import bars  # noqa: E402
import catalogue  # noqa: E402
import peers_table  # noqa: E402
import protocol  # noqa: E402

FAKE = f"""
import sys, os, time
sys.path.insert(0, {str(ROOT / "scripts" / "engines")!r})
import protocol
def refuse(): raise protocol.Unsupported("no such graph")
def run(seconds):
    print("a library prints to stdout")
    return {{"ns": [int(seconds * 10)]}}
protocol.serve({{"run": run, "refuse": refuse, "fail": lambda: 1 / 0,
                "die": lambda: os._exit(7), "hang": lambda: time.sleep(30)}})
"""


def row(medians, **more):
    return {"status": "ok", "reason": "", "numerics": "pass", "round_medians_ns": medians,
            "median_ns": sorted(medians)[len(medians) // 2], "p99_ns": None, "max_ns": max(medians),
            "min_ns": min(medians), "n": len(medians), "compile_s": 0.5, **more}


def model(group="models", family="resnet50"):
    return types.SimpleNamespace(name="m", group=group, family=family)


def verdict(engines, bar, **of):
    return next((r for r in bars.judge_all(model(**of), engines) if r["bar"] == bar), None)


class Statistics(unittest.TestCase):
    def test_percentile_is_nearest_rank(self):
        self.assertEqual(bars.percentile(list(range(100, 0, -1)), 0.99), 99)
        self.assertEqual(bars.percentile([5], 0.99), 5)

    def test_p99_needs_enough_runs(self):
        self.assertIsNone(bars.summarise([[1] * 367])["p99_ns"])
        self.assertEqual(bars.summarise([[1] * 184, [2] * 184])["p99_ns"], 2)

    def test_median_is_of_rounds_not_of_all_runs(self):
        self.assertEqual(bars.summarise([[1] * 9, [5], [7]])["median_ns"], 5)

    def test_geomean(self):
        self.assertAlmostEqual(bars.geomean([1, 4]), 2)
        self.assertIsNone(bars.geomean([]))


class Verdicts(unittest.TestCase):
    def test_fastest_peer_counts(self):
        found = verdict({"on:resident": row([20, 20]), "xla": row([40, 40]),
                         "ort": row([10, 10])}, "resident vs best peer")
        self.assertEqual((found["theirs"], found["ratio"], found["verdict"]),
                         ("ort", 0.5, "falls short"))
        self.assertAlmostEqual(found["short_by"], 0.5)

    def test_ratio_is_taken_round_by_round(self):
        found = verdict({"on": row([10, 100, 1000]), "xla": row([20, 200, 2000])},
                        "parameters vs XLA")
        self.assertEqual((found["low"], found["high"], found["verdict"]), (2, 2, "pass"))

    def test_bar_depends_on_the_group(self):
        engines = {"on": row([10]), "xla": row([12])}
        self.assertEqual(verdict(engines, "parameters vs XLA")["verdict"], "falls short")
        found = verdict(engines, "HLO file vs XLA", group="hlo", family=None)
        self.assertEqual(found["verdict"], "pass")

    def test_wrong_numerics_are_never_a_ratio(self):
        found = verdict({"on": row([1], numerics="fail"), "xla": row([9])}, "parameters vs XLA")
        self.assertEqual((found["verdict"], found["ratio"]), ("not measured", None))

    def test_rounds_on_both_sides_are_told(self):
        found = verdict({"on": row([10, 10, 10]), "xla": row([10, 14, 15])}, "parameters vs XLA")
        self.assertFalse(found["clear"])

    def test_dispatch_is_left_out(self):
        found = verdict({"on": row([10]), "xla": row([30], dispatch_ns=20)}, "parameters vs XLA")
        self.assertEqual(found["ratio"], 1)


class Table(unittest.TestCase):
    def test_times(self):
        self.assertEqual([peers_table.time_text(ns) for ns in (None, 12, 1500, 2.5e6, 3e9)],
                         ["-", "12 ns", "1.5 us", "2.5 ms", "3 s"])

    def test_failures_and_shortfalls_are_shown(self):
        engines = {"on": row([10]), "xla": row([5]),
                   "ort": {"status": "failed", "reason": "gone", "numerics": "unchecked"}}
        judged = [{**r, "threads": 1} for r in bars.judge_all(model(), engines)]
        text = peers_table.document_text(
            {"results": [{"model": "m", "threads": 1, "engines": engines, "busy": [0.9]}],
             "bars": judged, "aims": bars.aims(judged), "rounds": 1, "seconds": 1})
        for part in ("failed: gone", "falls short by 62 %", "1 of 1 rounds", "slowest run"):
            self.assertIn(part, text)


class Selection(unittest.TestCase):
    def test_names_patterns_and_paths(self):
        models = catalogue.all_models(None)
        path = str(catalogue.BLOCKS / "mlp_gelu.hlo")
        names = [m.name for m in catalogue.select(["trans*", path], models)]
        self.assertEqual(names, ["transformer_layer", "mlp_gelu"])
        with tempfile.NamedTemporaryFile(suffix=".hlo") as own:
            found = catalogue.select([own.name], models)[0]
            self.assertEqual((found.group, found.hlo), ("hlo", pathlib.Path(own.name).resolve()))
        with self.assertRaises(KeyError):
            catalogue.select(["absent.hlo"], models)


class Protocol(unittest.TestCase):
    def setUp(self):
        self.engine = protocol.Engine("fake", [sys.executable, "-B", "-c", FAKE],
                                      log=pathlib.Path(self.folder()) / "log")
        self.addCleanup(self.engine.close)

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def fails(self, op, timeout=20):
        with self.assertRaises(protocol.EngineFailed) as caught:
            self.engine.request(op, timeout)
        return str(caught.exception)

    def test_prints_do_not_disturb_replies(self):
        self.assertEqual(self.engine.request("run", seconds=2), {"ns": [20]})

    def test_a_refusal_leaves_the_engine_usable(self):
        self.assertEqual(self.fails("refuse"), "no such graph")
        self.assertIn("ZeroDivisionError", self.fails("fail"))
        self.assertEqual(self.engine.request("run", seconds=1), {"ns": [10]})

    def test_a_death_is_told(self):
        self.assertIn("exit 7", self.fails("die"))

    def test_a_hang_ends(self):
        self.assertIn("timeout", self.fails("hang", timeout=0.5))


if __name__ == "__main__":
    unittest.main()
