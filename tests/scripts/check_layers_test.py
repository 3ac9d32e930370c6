"""check_layers catches what it is there for, and lets pass what it should."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_layers  # noqa: E402


def includes(path, text):
    return check_layers.check_includes(pathlib.PurePosixPath(path), text)


class Includes(unittest.TestCase):

    def accepts(self, path, text):
        self.assertEqual(includes(path, text), [])

    def rejects(self, path, text, why):
        problems = includes(path, text)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(why, problems[0])

    def test_lower_ranks_are_allowed(self):
        self.accepts("compiler/fusion/plan.cpp",
                     '#include "compiler/ir/module.h"\n#include <map>\n')
        self.accepts("harness/bench.cpp", '#include "results_db/db.h"\n')
        self.accepts("compiler/compile.cpp", '#include "compiler/jit/jit.h"\n')

    def test_higher_ranks_are_not(self):
        self.rejects("compiler/ir/module.cpp", '#include "compiler/text/text.h"\n',
                     "compiler/ir may not include compiler/text")
        self.rejects("compiler/ir/module.cpp", '#include "harness/bench.h"\n', "harness")
        self.rejects("compiler/support/hash.cpp", '#include "compiler/ir/op.h"\n', "may not")

    def test_siblings_do_not_see_each_other(self):
        self.rejects("autotuner/tuner.cpp", '#include "workloads/workload.h"\n', "may not")
        self.rejects("workloads/workload.cpp", '#include "autotuner/measure.h"\n', "may not")
        self.rejects("autotuner/tuner.cpp", '#include "results_db/db.h"\n', "may not")
        self.rejects("results_db/db.cpp", '#include "compiler/ir/module.h"\n', "may not")

    def test_codegen_and_the_oracle_share_nothing(self):
        self.rejects("compiler/codegen/a.cpp", '#include "compiler/reference/evaluate.h"\n', "may")
        self.rejects("compiler/reference/a.cpp", '#include "compiler/loops/kernel.h"\n', "may")

    def test_libraries_have_their_place(self):
        self.accepts("compiler/codegen/types.cpp", "#include <llvm/IR/Type.h>\n")
        self.accepts("compiler/program/native_host.cpp", "#include <llvm/IR/Type.h>\n")
        self.rejects("compiler/program/program.cpp", "#include <llvm/IR/Type.h>\n", "belongs to")
        self.rejects("compiler/loops/a.cpp", '#include "llvm/IR/Type.h"\n', "belongs to")
        self.rejects("autotuner/a.cpp", "#include <sqlite3.h>\n", "belongs to")
        self.rejects("autotuner/a.cpp", "#include <yaml-cpp/yaml.h>\n", "belongs to")
        self.rejects("workloads/a.cpp", "#include <CLI/CLI.hpp>\n", "belongs to")
        self.rejects("compiler/ir/a.cpp", "#include <iostream>\n", "not used here")
        self.rejects("compiler/ir/a.h", "#include <fmt/format.h>\n", "fmt stays out of headers")
        self.rejects("compiler/support/a.cpp", "#include <fmt/format.h>\n", "standard library only")
        self.rejects("compiler/support/a.cpp", "#include <unistd.h>\n", "standard library only")
        self.rejects("compiler/ir/a.cpp", "#include <boost/any.hpp>\n", "in no table")

    def test_comments_are_not_includes(self):
        self.accepts("compiler/ir/a.cpp",
                     '// #include "harness/bench.h"\n/*\n#include <regex>\n*/\n')

    def test_relative_includes(self):
        self.rejects("compiler/ir/a.cpp", '#include "op.h"\n', "not a path from the root")

    def test_the_line_is_named(self):
        self.assertIn("a.cpp:3:", includes("compiler/ir/a.cpp", "\n\n#include <regex>\n")[0])


class Tables(unittest.TestCase):

    def test_no_cycle(self):
        self.assertIsNone(check_layers.find_cycle(check_layers.DEPENDENCIES))

    def test_a_cycle_is_found(self):
        self.assertEqual(check_layers.find_cycle({"a": ("b",), "b": ("c",), "c": ("a",)}),
                         ["a", "b", "c", "a"])


class Links(unittest.TestCase):

    def problems(self, lists):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for path, text in lists.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return check_layers.check_links(root, [pathlib.Path(p) for p in lists])

    def test_clean(self):
        self.assertEqual(self.problems({
            "compiler/codegen/CMakeLists.txt": "fusemark_library(fusemark_codegen a.cpp "
                                               "DEPENDS fusemark_loops LLVM)",
            "compiler/loops/CMakeLists.txt": "fusemark_library(fusemark_loops b.cpp)"}), [])

    def test_llvm_reached_through_another_library(self):
        found = self.problems({
            "compiler/codegen/CMakeLists.txt": "fusemark_library(fusemark_codegen a.cpp DEPENDS "
                                               "LLVM)",
            "tests/unit/loops/CMakeLists.txt": "fusemark_test(loops_test b.cpp DEPENDS "
                                               "fusemark_codegen LABELS slow)"})
        self.assertEqual(len(found), 1, found)
        self.assertIn("loops_test -> fusemark_codegen -> LLVM", found[0])

    def test_library_out_of_place(self):
        found = self.problems({"autotuner/CMakeLists.txt":
                               "fusemark_library(fusemark_autotuner a.cpp DEPENDS SQLite3)"})
        self.assertEqual(len(found), 1, found)


class Listed(unittest.TestCase):

    def test_forgotten_source(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "compiler").mkdir()
            (root / "compiler" / "CMakeLists.txt").write_text(
                "fusemark_library(fusemark_support support/hash.cpp xb.cpp)")
            sources = [pathlib.Path("compiler/support/hash.cpp"), pathlib.Path("compiler/b.cpp"),
                       pathlib.Path("compiler/c.h")]
            found = check_layers.check_listed(root, sources,
                                              [pathlib.Path("compiler/CMakeLists.txt")])
            self.assertEqual(len(found), 1, found)
            self.assertIn("compiler/b.cpp", found[0])


if __name__ == "__main__":
    unittest.main()
