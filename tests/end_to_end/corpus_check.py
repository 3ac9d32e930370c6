#!/usr/bin/env python3
"""Runs `fusemark check` on one program of the corpus: corpus_check.py BINARY STEM ENGINES.

77 (skipped) without the corpus: the folder named by FUSEMARK_CORPUS.
"""
import os
import subprocess
import sys


def main():
    binary, program, engines = sys.argv[1:]
    corpus = os.environ.get("FUSEMARK_CORPUS")
    if not corpus:
        print("skipped: FUSEMARK_CORPUS does not name the corpus")
        return 77
    return subprocess.run([binary, "check", os.path.join(corpus, program + ".hlo"), "--engine",
                           engines, "--threads", "1", "--golden",
                           os.path.join(corpus, "golden")]).returncode


if __name__ == "__main__":
    sys.exit(main())
