"""check_names catches bad file, type and pass names and strangers at the top level."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_names  # noqa: E402


class Files(unittest.TestCase):

    def problems(self, path):
        return check_names.check_file_name(pathlib.PurePosixPath(path))

    def test_good(self):
        for path in ("compiler/ir/op.h", "results_db/schema/001_init.sql", "tests/CMakeLists.txt",
                     "scripts/check", "compiler/text/GRAMMAR.md", "compiler/support/result.h"):
            self.assertEqual(self.problems(path), [], path)

    def test_bad(self):
        for path in ("compiler/ir/Op.h", "compiler/IR/op.h", "compiler/ir/op-list.h",
                     "compiler/ir/string_utils.cpp", "harness/base.h", "harness/db_manager.cpp",
                     "compiler/ir/builder_impl.cpp", "compiler/ir/_op.h"):
            self.assertNotEqual(self.problems(path), [], path)


class Types(unittest.TestCase):

    def words(self, text):
        return check_names.check_type_names(pathlib.PurePosixPath("a.h"), text)

    def test_good(self):
        self.assertEqual(self.words("class Database final : X {};\nstruct Basement {};\n"
                                    "// class FooManager {\nenum class Mode : int {};\n"), [])

    def test_bad(self):
        for name in ("TaskManager", "StringUtil", "NodeBase", "ParserImpl", "IOHelper"):
            self.assertEqual(len(self.words(f"\nclass {name} final : public X {{}};")), 1, name)
        self.assertEqual(len(self.words("using PlanBase = int;")), 1)
        self.assertIn("a.h:2", self.words("\nstruct NodeBase;")[0])


class Passes(unittest.TestCase):

    def problems(self, pipeline, extra=()):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            tree = {"compiler/pipeline.cpp": pipeline,
                    "compiler/passes/fold_constants.cpp": "bool FoldConstants(Module& m) {}",
                    "tests/golden/passes/fold_constants.test": "case: x\n", **dict(extra)}
            for path, text in tree.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return check_names.check_passes(root)

    def test_one_name_everywhere(self):
        self.assertEqual(self.problems('  {"fold-constants", FoldConstants, true},\n'), [])

    def test_a_comment_is_no_pass(self):
        self.assertIn("no pass found", self.problems('// {"fold-constants", FoldConstants}\n')[0])

    def test_violations(self):
        self.assertIn("calls Fold", self.problems('{"fold-constants", Fold}')[0])
        self.assertIn("merge_it.cpp: missing", self.problems('{"merge-it", MergeIt}')[0])
        self.assertIn("lower-case", self.problems('{"FoldConstants", FoldConstants}')[0])
        found = self.problems('{"merge-it", MergeIt}', [("compiler/passes/merge_it.cpp", "int x;"),
                                                        ("tests/golden/passes/merge_it.test", "")])
        self.assertEqual(found, ["compiler/passes/merge_it.cpp: does not define MergeIt()"])
        found = self.problems('{"merge-it", MergeIt}',
                              [("compiler/passes/merge_it.cpp", "bool MergeIt(Module& m) {}")])
        self.assertEqual(len(found), 1)
        self.assertIn("no golden cases", found[0])


class TopLevel(unittest.TestCase):

    def test_exact(self):
        self.assertEqual(check_names.check_top_level(check_names.TOP_LEVEL | {".ci", ".git"}), [])
        self.assertIn("docs", check_names.check_top_level(check_names.TOP_LEVEL | {"docs"})[0])
        self.assertIn("LICENSE: missing",
                      check_names.check_top_level(check_names.TOP_LEVEL - {"LICENSE"})[0])


if __name__ == "__main__":
    unittest.main()
