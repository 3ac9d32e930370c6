"""The private environment with the other engines: made once in a cache directory, pinned versions.

Standard library only. A package that cannot be installed costs its engine's rows, nothing else.
"""
import hashlib
import os
import pathlib
import subprocess
import sys

REQUIREMENTS = pathlib.Path(__file__).resolve().parent / "requirements.txt"


def cache_folder():
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "fusemark" / "peers"


def python_of(folder):
    return pathlib.Path(folder) / "bin" / "python"


def requirement_lines(text):
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def stamp_text(lines, version):
    """Another list or another Python is another environment."""
    return hashlib.sha256("\n".join([version, *lines]).encode()).hexdigest()


def _pip(python, log, packages):
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *packages]
    return subprocess.run(command, stdout=log, stderr=log, check=False).returncode == 0


def ensure(folder, say):
    """The environment's Python, made where it is missing, and the packages that would not go in."""
    folder = pathlib.Path(folder)
    lines = requirement_lines(REQUIREMENTS.read_text(encoding="utf-8"))
    stamp = stamp_text(lines, sys.version.split()[0])
    done = folder / "installed"
    python = python_of(folder)
    if done.exists() and done.read_text(encoding="utf-8").strip() == stamp and python.exists():
        return python, []
    folder.mkdir(parents=True, exist_ok=True)
    say(f"installing {', '.join(lines)} into {folder}; log: {folder / 'install.log'}")
    with open(folder / "install.log", "w", encoding="utf-8") as log:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], stdout=log, stderr=log,
                       check=True)
        failed = []
        if not _pip(python, log, lines):
            # Together they resolve or they do not; alone, the ones that can go in do.
            failed = [line for line in lines if not _pip(python, log, [line])]
    if not failed:
        done.write_text(stamp + "\n", encoding="utf-8")
    return python, failed
