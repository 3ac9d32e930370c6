#!/usr/bin/env python3
"""Sizes: .cpp and .py at most 800 lines, .h 300, a function 60, a line 100 columns.

Functions are measured in C++ outside tests; data files, and lines in a test's raw strings, are
free. ALLOWED is the only way around a limit and starts empty. Prints the lines of each directory,
so growth is seen.
"""
import argparse
import collections
import pathlib
import sys

import cpp_functions
import source_tree

FILE_LIMIT = {".cpp": 800, ".py": 800, ".h": 300}
FUNCTION_LIMIT = 60
COLUMN_LIMIT = 100
# "path" or "path:function" -> the reason.
ALLOWED = {}


def check_file(path, text):
    """The violations of one file, as messages; `path` is relative to the root."""
    problems, test = [], path.parts[0] == "tests"
    lines = text.split("\n")
    count = len(lines) - (lines[-1] == "")
    limit = FILE_LIMIT.get(path.suffix)
    if limit and count > limit and str(path) not in ALLOWED:
        problems.append(f"{path}: {count} lines, limit {limit}; split it by what it does")
    data = source_tree.raw_string_lines(text) if test and path.suffix in source_tree.CPP else ()
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMN_LIMIT and number not in data:
            problems.append(f"{path}:{number}: {len(line)} columns, limit {COLUMN_LIMIT}")
    if path.suffix in (".cpp", ".h") and not test:
        for name, first, length in cpp_functions.functions(text):
            if length > FUNCTION_LIMIT and f"{path}:{name}" not in ALLOWED:
                problems.append(f"{path}:{first}: function {name} has {length} lines, "
                                f"limit {FUNCTION_LIMIT}")
    return problems


def group_of(path):
    """compiler/ir for the compiler's parts, the top directory elsewhere."""
    deep = path.parts[0] in ("compiler", "tests") and len(path.parts) > 2
    return "/".join(path.parts[:2]) if deep else path.parts[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=source_tree.ROOT)
    root, problems, totals = parser.parse_args().root, [], collections.Counter()
    checked = source_tree.files(root, (*source_tree.CPP, ".py", ".sh", ".txt", ".cmake", ""))
    for path in checked:
        text = (root / path).read_text(encoding="utf-8")
        problems += check_file(path, text)
        totals[group_of(path)] += text.count("\n")
    for group, count in sorted(totals.items()):
        print(f"{count:8d}  {group}")
    print(f"{sum(totals.values()):8d}  in {len(checked)} files")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
