#!/usr/bin/env python3
"""Names: snake_case files, no empty words in file or type names, one name per pass in every place,
and a top level that holds exactly what it should.

A pass `fuse-producers` of compiler/pipeline.cpp is compiler/passes/fuse_producers.cpp, defines
FuseProducers() and is tested by tests/golden/passes/fuse_producers.test.
"""
import argparse
import pathlib
import re
import subprocess
import sys

import source_tree

TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "autotuner", "compiler",
             "harness", "results_db", "scripts", "tests", "workloads"}
# Words that say nothing about what a thing is.
EMPTY_WORDS = ("manager", "helper", "helpers", "util", "utils", "base", "impl")
FILE_NAME = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
# Names given by a tool, and documents, which are written in capitals.
GIVEN = {"CMakeLists.txt"}
DOCUMENT = re.compile(r"[A-Z_]+\.md")


def check_file_name(path):
    """Violations of one path below the top level."""
    problems = []
    for part in path.parts[:-1]:
        if not FILE_NAME.fullmatch(part):
            problems.append(f"{path}: directory '{part}' is not snake_case")
    name = path.name
    if name not in GIVEN and not DOCUMENT.fullmatch(name):
        # Data may carry a version or a second ending: 001_init.sql, x.expected.txt.
        for word in name.split("."):
            if not FILE_NAME.fullmatch(word):
                problems.append(f"{path}: '{name}' is not snake_case")
                break
    for word in re.split(r"[_.]", name.lower()):
        if word in EMPTY_WORDS:
            problems.append(f"{path}: '{word}' says nothing; name what the file does")
    return problems


def camel_words(name):
    return [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)]


def check_type_names(path, text):
    """Violations among the types one C++ file declares."""
    problems = []
    code = source_tree.blank(text)
    # The name must end the head: `class X`, `struct X final`, `class X : Y`, `using X =`.
    pattern = re.compile(r"\b(?:class|struct|union|enum(?:\s+class)?)\s+(?:\[\[\w+\]\]\s*)?(\w+)"
                         r"(?=\s*(?:final\b\s*)?[:{;])|\busing\s+(\w+)\s*=")
    for match in pattern.finditer(code):
        name = match.group(1) or match.group(2)
        for word in camel_words(name):
            if word in EMPTY_WORDS:
                line = code.count("\n", 0, match.start()) + 1
                problems.append(f"{path}:{line}: type {name}: '{word}' says nothing; "
                                "name what it is")
    return problems


def check_passes(root):
    """Each pass of the pipeline has its file, its function and its golden file, equally named."""
    pipeline = root / "compiler" / "pipeline.cpp"
    if not pipeline.exists():
        return ["compiler/pipeline.cpp: missing, it holds the list of passes"]
    code = source_tree.blank(pipeline.read_text(encoding="utf-8"), keep_strings=True)
    entries = re.findall(r'\{\s*"([^"]+)"\s*,\s*&?(\w+)', code)
    problems = [] if entries else ["compiler/pipeline.cpp: no pass found in it"]
    for name, function in entries:
        if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
            problems.append(f"compiler/pipeline.cpp: pass '{name}' is not in lower-case words")
            continue
        wanted = "".join(word.capitalize() for word in name.split("-"))
        if function != wanted:
            problems.append(f"compiler/pipeline.cpp: pass '{name}' calls {function}, "
                            f"expected {wanted}")
        path = pathlib.Path("compiler/passes") / (name.replace("-", "_") + ".cpp")
        if not (root / path).exists():
            problems.append(f"{path}: missing; pass '{name}' must live there")
        elif not re.search(rf"\b{wanted}\s*\(",
                           source_tree.blank((root / path).read_text(encoding="utf-8"))):
            problems.append(f"{path}: does not define {wanted}()")
        golden = pathlib.Path("tests/golden/passes") / (name.replace("-", "_") + ".test")
        if not (root / golden).exists():
            problems.append(f"{golden}: missing; pass '{name}' has no golden cases")
    return problems


def top_level(root):
    """What is at the top: tracked names in a git checkout, else everything but build products."""
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True,
                                check=False)
        if listed.returncode == 0:
            return {name.split("/")[0] for name in listed.stdout.decode().split("\0") if name}
    built = re.compile(r"build(-.*)?|.*\.db(-wal|-shm)?")
    return {p.name for p in root.iterdir() if not built.fullmatch(p.name)}


def check_top_level(names):
    visible = {name for name in names if not name.startswith(".")}
    return ([f"{n}: does not belong at the top level" for n in sorted(visible - TOP_LEVEL)]
            + [f"{n}: missing at the top level" for n in sorted(TOP_LEVEL - visible)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=source_tree.ROOT)
    root = parser.parse_args().root
    problems = check_top_level(top_level(root)) + check_passes(root)
    count = 0
    for directory in source_tree.LAYERS:
        for full in sorted((root / directory).rglob("*")):
            if not full.is_file() or "__pycache__" in full.parts:
                continue
            path, count = full.relative_to(root), count + 1
            problems += check_file_name(path)
            if path.suffix in (".h", ".cpp"):
                problems += check_type_names(path, full.read_text(encoding="utf-8"))
    print("\n".join(problems) or f"names: {count} files, clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
