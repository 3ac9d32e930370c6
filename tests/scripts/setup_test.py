"""scripts/setup.sh and scripts/run against fake tools: what is installed, when, which exit code.

The fakes stand alone on PATH (with the few real commands the scripts need), log how they were
called and answer from files, so nothing on this machine is asked or changed.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL = ("bash", "dirname", "awk", "id", "mkdir", "touch", "cat", "grep", "env", "nproc")
FAKES = {
    "dpkg-query": 'for n in "${@:3}"; do grep -qx "$n" "$T/installed" && echo "installed $n"; '
                  "done; exit 0",
    "apt-cache": 'grep -qx "$2" "$T/offered"',
    "apt-get": 'for a; do [[ $a == -* || $a == install || $a == update ]] || echo "$a"; done '
               '>> "$T/installed"',
    "cmake": 'touch "$T/build/build.ninja"',
    "ninja": 'exit "$(cat "$T/ninja_code")"',
    "id": "echo 0",
}
PACKAGES = subprocess.run(["bash", "-c", f"source '{ROOT}/scripts/setup.sh'; "
                           "printf '%s\\n' \"${fm_packages[@]}\""],
                          capture_output=True, text=True, check=True).stdout.split()


class Fixture(unittest.TestCase):

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.top = pathlib.Path(self.directory.name)
        (self.top / "bin").mkdir()
        (self.top / "build").mkdir()
        for name in REAL:
            (self.top / "bin" / name).symlink_to(shutil.which(name))
        for name, body in FAKES.items():
            self.fake(self.top / "bin" / name, body)
        self.write("installed", PACKAGES + ["llvm-22-dev", "clang-format-22"])
        self.write("offered", ["llvm-19-dev", "llvm-22-dev"])
        self.write("ninja_code", ["0"])
        self.write("log", [])

    def fake(self, path, body):
        path.unlink(missing_ok=True)
        path.write_text(f'#!{shutil.which("bash")}\necho "{path.name} $*" >> "$T/log"\n{body}\n')
        path.chmod(0o755)

    def write(self, name, lines):
        (self.top / name).write_text("".join(line + "\n" for line in lines))

    def log(self):
        return (self.top / "log").read_text()

    def run_script(self, *command):
        environment = {"PATH": str(self.top / "bin"), "T": str(self.top), "HOME": str(self.top),
                       "FUSEMARK_BUILD_DIR": str(self.top / "build")}
        return subprocess.run([shutil.which("bash"), *command], env=environment, cwd="/",
                              capture_output=True, text=True, check=False, timeout=60)

    def set_up(self):
        return self.run_script("-c", f"set -uo pipefail; source '{ROOT}/scripts/setup.sh'; "
                                     "fm_setup fusemark")


class Setup(Fixture):

    def test_nothing_missing_installs_nothing(self):
        self.assertEqual(self.set_up().returncode, 0)
        self.assertNotIn("apt-get", self.log())

    def test_missing_packages_are_installed_once(self):
        self.write("installed", [p for p in PACKAGES if p != "libfmt-dev"] +
                   ["llvm-22-dev", "clang-format-22"])
        self.assertEqual(self.set_up().returncode, 0)
        self.assertIn("apt-get update", self.log())
        self.assertRegex(self.log(), r"apt-get install .* libfmt-dev\n")
        self.write("log", [])
        self.set_up()
        self.assertNotIn("apt-get", self.log())

    def test_the_newest_llvm_offered(self):
        self.write("installed", PACKAGES)
        self.set_up()
        self.assertRegex(self.log(), r"apt-get install .*llvm-22-dev clang-format-22\n")
        self.write("installed", PACKAGES)
        self.write("offered", ["llvm-19-dev", "llvm-20-dev", "llvm-14-dev"])
        self.set_up()
        self.assertRegex(self.log(), r"apt-get install .*llvm-20-dev")

    def test_no_llvm_offered_is_said(self):
        self.write("installed", PACKAGES)
        self.write("offered", ["llvm-14-dev"])
        self.assertIn("no LLVM of 22 21 20 19 is offered", self.set_up().stderr)

    def test_other_systems_get_the_list_and_go_on(self):
        (self.top / "bin" / "apt-get").unlink()
        done = self.set_up()
        self.assertEqual(done.returncode, 0)
        self.assertIn("libdnnl-dev", done.stderr)
        self.assertIn("ninja", self.log())

    def test_a_failed_installation_still_tries_the_build(self):
        self.write("installed", [])
        self.fake(self.top / "bin" / "apt-get", "exit 100")
        done = self.set_up()
        self.assertIn("installation failed", done.stderr)
        self.assertIn("ninja", self.log())

    def test_a_failed_build_is_4(self):
        self.write("ninja_code", ["1"])
        self.assertEqual(self.set_up().returncode, 4)

    def test_configures_once(self):
        self.set_up()
        self.set_up()
        self.assertEqual(self.log().count("\ncmake -S"), 1)


class Run(Fixture):

    def run_main(self, body, *arguments):
        self.fake(self.top / "build" / "fusemark", body)
        return self.run_script(str(ROOT / "scripts" / "run"), *arguments)

    def test_arguments_and_exit_code_pass_through(self):
        done = self.run_main('printf "%s|" "$@"; exit 3', "run", "a b", "--check")
        self.assertEqual((done.returncode, done.stdout), (3, "run|a b|--check|"))

    def test_the_main_job(self):
        done = self.run_main("exit 0")
        self.assertEqual(done.returncode, 0)
        calls = [line.split()[1] for line in self.log().splitlines() if line.startswith("fusemark")]
        self.assertEqual(calls, ["run", "tune", "run"])

    def test_the_most_serious_code_wins(self):
        self.assertEqual(self.run_main('[[ $1 == tune ]] && exit 4; exit 3').returncode, 4)
        self.assertEqual(self.run_main('[[ $1 == tune ]] && exit 3; exit 0').returncode, 3)
        self.assertEqual(self.run_main('[[ $1 == tune ]] && exit 130; exit 3').returncode, 130)
        self.assertEqual(self.run_main("exit 139").returncode, 139)


if __name__ == "__main__":
    unittest.main()
