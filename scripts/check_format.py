#!/usr/bin/env python3
"""Format: clang-format agrees with every C++ file. Exit 77 (skipped) when it is not installed.

Only the version named here is asked, since versions differ in details and the tree has one format.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import source_tree

VERSION = 22
SKIPPED = 77


def find():
    """clang-format of VERSION, or None."""
    candidates = [f"clang-format-{VERSION}", f"/usr/lib/llvm-{VERSION}/bin/clang-format",
                  "clang-format"]
    for name in candidates:
        path = shutil.which(name)
        if path:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            if f"version {VERSION}." in said.stdout:
                return path
    return None


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=source_tree.ROOT)
    root, program = parser.parse_args(arguments).root, find()
    if not program:
        print(f"format: skipped, clang-format {VERSION} is not installed "
              f"(Debian: clang-format-{VERSION})")
        return SKIPPED
    paths = [str(p) for p in source_tree.files(root, (".h", ".cpp"))]
    run = subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=1", *paths],
                         cwd=root, capture_output=True, text=True, check=False)
    bad = sorted({line.split(":")[0] for line in run.stderr.splitlines() if ": error:" in line})
    if run.returncode and not bad:
        print(run.stderr)
    for path in bad:
        print(f"{path}: not formatted; run {os.path.basename(program)} -i {path}")
    if not run.returncode:
        print(f"format: {len(paths)} files, clean")
    return 1 if run.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
