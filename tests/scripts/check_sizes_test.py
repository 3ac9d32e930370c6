"""check_sizes measures files, lines and functions; the function scanner survives real C++."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_sizes  # noqa: E402
import cpp_functions  # noqa: E402
import source_tree  # noqa: E402


def check(path, text):
    return check_sizes.check_file(pathlib.PurePosixPath(path), text)


def function(lines):
    return "void F() {\n" + "  G();\n" * (lines - 2) + "}\n"


class Limits(unittest.TestCase):

    def test_file_limits(self):
        self.assertEqual(check("compiler/a.cpp", "int a;\n" * 800), [])
        self.assertIn("801 lines", check("compiler/a.cpp", "int a;\n" * 801)[0])
        self.assertEqual(check("compiler/a.h", "int a;\n" * 300), [])
        self.assertIn("limit 300", check("compiler/a.h", "int a;\n" * 301)[0])
        for test in ("tests/a_test.cpp", "tests/a_test.py"):
            self.assertEqual(check(test, "a\n" * 800), [])
            self.assertIn("801 lines", check(test, "a\n" * 801)[0])

    def test_columns(self):
        self.assertEqual(check("scripts/run", "x" * 100 + "\n"), [])
        self.assertIn("a.cpp:2: 101 columns", check("compiler/a.cpp", "\n" + "x" * 101)[0])
        self.assertEqual(check("compiler/a.cpp", "é" * 100), [])
        data = 'auto text = R"(\n' + "x" * 120 + '\n)";\n'
        self.assertEqual(check("tests/a_test.cpp", data), [])
        self.assertEqual(len(check("compiler/a.cpp", data)), 1)

    def test_functions(self):
        self.assertEqual(check("compiler/a.cpp", function(60)), [])
        self.assertIn("F has 61 lines", check("compiler/a.cpp", function(61))[0])
        self.assertEqual(check("tests/a_test.cpp", function(200)), [])

    def test_allowed_is_respected_and_empty(self):
        self.assertEqual(check_sizes.ALLOWED, {})
        check_sizes.ALLOWED["compiler/a.cpp:F"] = "for this test"
        try:
            self.assertEqual(check("compiler/a.cpp", function(61)), [])
        finally:
            check_sizes.ALLOWED.clear()


class Scanner(unittest.TestCase):

    def found(self, text):
        return list(cpp_functions.functions(text))

    def names(self, text):
        return [name for name, _, _ in self.found(text)]

    def test_lines_count_from_the_signature(self):
        self.assertEqual(self.found("int a;\n\nint F(int x,\n      int y) {\n  return 1;\n}\n"),
                         [("F", 3, 4)])

    def test_scopes_are_looked_into(self):
        text = ("namespace a::b {\nnamespace {\nstruct S final : T<int> {\n int x = 0;\n"
                " public:\n  void M() const { x(); }\n};\n}  // namespace\n"
                'extern "C" {\nint C(void) { return 0; }\n}\n}\n')
        self.assertEqual(self.names(text), ["M", "C"])
        self.assertEqual(self.found(text)[0][1:], (6, 1))

    def test_braces_in_text_do_not_count(self):
        text = ('void F() {\n  // {\n  /* { */\n  const char* s = "{\\"{";\n  char c = \'{\';\n'
                '  auto r = R"x({{{ )" )x";\n  int n = 1\'000\'000;\n}\nvoid G() {\n}\n')
        self.assertEqual(self.found(text), [("F", 1, 8), ("G", 9, 2)])

    def test_initialisers_are_not_functions(self):
        text = ("constexpr Row kRows[] = {\n  {1, {2}},\n};\nint a{3};\n"
                "enum class E : int { kA };\n"
                "struct P { int x{1}; std::vector<int> v = {1, 2}; };\nvoid F() {}\n")
        self.assertEqual(self.names(text), ["F"])

    def test_constructor_lists(self):
        text = ("Foo::Foo(int a)\n    : a_{a},\n      b_(std::move(a)), c_{} {\n  Init();\n}\n"
                "Foo::~Foo() { Drop(); }\n")
        self.assertEqual(self.found(text), [("Foo::Foo", 1, 5), ("Foo::~Foo", 6, 1)])

    def test_templates_operators_and_lambdas(self):
        text = ("template <class T, class = std::enable_if_t<(sizeof(T) > 4)>>\nT Max(T a, T b) {\n"
                "  auto f = [&](int x) { return x; };\n  return f(a);\n}\n"
                "bool operator==(const A& a, const A& b) { return true; }\n"
                "const auto kLess = [](int a, int b) {\n  return a < b;\n};\n"
                "auto G() -> std::vector<int> {\n  struct L { void M() {} };\n  return {};\n}\n")
        self.assertEqual([f[0] for f in self.found(text)][:2], ["Max", "operator=="])
        self.assertEqual([f[2] for f in self.found(text)], [5, 1, 3, 4])

    def test_preprocessor_branches(self):
        text = ("#define OPEN {\n#ifdef A\nvoid F() {\n#else\nvoid F(int) {\n#endif\n}\n"
                "#if 0\n{\n#else\nvoid G() {}\n#endif\n#define M(x) \\\n  {x\nvoid H() {}\n")
        self.assertEqual(self.names(text), ["F", "G", "H"])

    def test_the_tree_balances(self):
        for path in source_tree.files(ROOT, (".cpp", ".h")):
            text = cpp_functions.blank_preprocessor(
                source_tree.blank((ROOT / path).read_text(encoding="utf-8")))
            self.assertEqual(text.count("{"), text.count("}"), path)


if __name__ == "__main__":
    unittest.main()
