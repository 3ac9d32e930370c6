"""check_format tells a formatted file from one that is not."""
import contextlib
import io
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_format  # noqa: E402


@unittest.skipUnless(check_format.find(), f"clang-format {check_format.VERSION} is not installed")
class Format(unittest.TestCase):

    def run_on(self, text):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            shutil.copy(ROOT / ".clang-format", root)
            (root / "compiler").mkdir()
            (root / "compiler" / "a.cpp").write_text(text, encoding="utf-8")
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = check_format.main(["--root", directory])
            return code, said.getvalue()

    def test_formatted(self):
        self.assertEqual(self.run_on("int F(int* a) {\n  return *a;\n}\n")[0], 0)

    def test_not_formatted(self):
        code, said = self.run_on("int F( int *a ){ return *a ;}\n")
        self.assertEqual(code, 1)
        self.assertIn("compiler/a.cpp: not formatted", said)


if __name__ == "__main__":
    unittest.main()
