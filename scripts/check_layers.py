#!/usr/bin/env python3
"""Layers: which directory may include which, and which may know which library.

Reads #include lines and the DEPENDS of fusemark_library/fusemark_test; the tables below are the
rule. Also finds sources that no build list names. Not here: sizes and names. Keep DEPENDENCIES
free of cycles: main() refuses a table with one.
"""
import argparse
import pathlib
import re
import sys

import source_tree

# unit -> units it may include besides itself; a unit is a directory, or the one file named here.
# The rank of a layer falls from harness (3) over autotuner and workloads (2), compiler and
# results_db (1) to compiler/support (0).
DEPENDENCIES = {
    "compiler/support": (),
    "compiler/program/abi.h": (),
    "compiler/ir": ("compiler/support",),
    "compiler/text": ("compiler/ir", "compiler/support"),
    "compiler/calls": ("compiler/ir", "compiler/support"),
    "compiler/reference": ("compiler/calls", "compiler/ir", "compiler/support"),
    # Passes get the evaluator handed in: they do not link the oracle they are tested against.
    "compiler/passes": ("compiler/ir", "compiler/support"),
    "compiler/loops": ("compiler/ir", "compiler/support"),
    "compiler/fusion": ("compiler/loops", "compiler/ir", "compiler/support"),
    "compiler/memory": ("compiler/fusion", "compiler/loops", "compiler/ir", "compiler/support"),
    "compiler/codegen": ("compiler/loops", "compiler/program/abi.h", "compiler/ir",
                         "compiler/support"),
    "compiler/jit": ("compiler/codegen", "compiler/loops", "compiler/program/abi.h", "compiler/ir",
                     "compiler/support"),
    "compiler/aot": ("compiler/codegen", "compiler/loops", "compiler/program/abi.h", "compiler/ir",
                     "compiler/support"),
    "compiler/runtime": ("compiler/program/abi.h", "compiler/support"),
    "compiler/program": ("compiler/program/abi.h", "compiler/calls", "compiler/jit",
                         "compiler/runtime", "compiler/codegen", "compiler/memory",
                         "compiler/fusion", "compiler/loops", "compiler/ir", "compiler/support"),
    # The front door (compile.h, pipeline.h): the files directly in compiler/.
    "compiler": ("compiler/program", "compiler/program/abi.h", "compiler/calls", "compiler/jit",
                 "compiler/runtime", "compiler/codegen", "compiler/memory", "compiler/fusion",
                 "compiler/loops", "compiler/passes", "compiler/reference", "compiler/text",
                 "compiler/ir", "compiler/support"),
    "compiler/tools": ("compiler", "compiler/text", "compiler/ir", "compiler/support"),
    "results_db": ("compiler/support",),
}
COMPILER = tuple(unit for unit in DEPENDENCIES if unit.startswith("compiler"))
DEPENDENCIES["autotuner"] = COMPILER
DEPENDENCIES["workloads"] = ("compiler/text", "compiler/ir", "compiler/support")
DEPENDENCIES["harness"] = (*COMPILER, "autotuner", "workloads", "results_db")
DEPENDENCIES["tests"] = (*COMPILER, "autotuner", "workloads", "results_db", "harness")

# The start of an external header -> the places that may know it (a path prefix each).
EVERYWHERE = ("compiler", "autotuner", "workloads", "harness", "results_db", "tests")
LIBRARIES = {
    "llvm/": ("compiler/codegen", "compiler/jit", "compiler/aot", "compiler/program/native_",
              "tests/unit/codegen", "tests/unit/jit", "tests/unit/program"),
    "oneapi/dnnl/": ("compiler/runtime",),
    "dnnl": ("compiler/runtime",),
    "omp.h": ("compiler/runtime",),
    "lapacke.h": ("compiler/calls",),
    "cblas.h": ("compiler/calls",),
    "cuda": ("compiler/runtime",),
    "sqlite3.h": ("results_db", "tests/unit/results_db"),
    "yaml-cpp/": ("workloads", "harness", "tests/unit/workloads", "tests/unit/harness"),
    "CLI/": ("harness",),
    "benchmark/": ("harness/micro",),
    "zlib.h": ("workloads", "tests/unit/workloads"),
    "nlohmann/": ("workloads", "harness", "tests"),
    "gtest/": ("tests",),
    "gmock/": ("tests",),
    "fmt/": EVERYWHERE,
}
FORBIDDEN = {"iostream": "use compiler/support/check.h or std::fwrite: it costs start-up time",
             "regex": "slow to compile and to run; parse by hand"}
SYSTEM = re.compile(r"(?:sys|linux|asm)/\w+\.h|(?:cpuid|dirent|dlfcn|fcntl|fnmatch|immintrin|poll|"
                    r"pthread|sched|signal|spawn|stdlib|strings|termios|time|unistd)\.h|[a-z_0-9]+")
LLVM_FREE = ("support", "ir", "text", "passes", "fusion", "loops", "memory", "reference")
# What a library's DEPENDS may name besides fusemark_*: lower-case start -> the directories.
LINKED = {"llvm": ("compiler/codegen", "compiler/jit", "compiler/aot", "compiler/program"),
          "dnnl": ("compiler/runtime",), "sqlite": ("results_db", "tests"),
          "yaml-cpp": ("workloads", "harness"), "cli11": ("harness",)}


def unit_of(path):
    """The unit a repository path belongs to, or None."""
    text = str(path)
    if text in DEPENDENCIES:
        return text
    parts = pathlib.PurePosixPath(text).parts
    if len(parts) < 2:
        return None
    if parts[0] == "compiler" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def find_cycle(table):
    """A cycle of the table as a list of units, or None. Its own sub-files do not count."""
    state = {}

    def visit(unit, trail):
        if state.get(unit) == "done":
            return None
        if unit in trail:
            return trail[trail.index(unit):] + [unit]
        for below in table.get(unit, ()):
            found = visit(below, trail + [unit])
            if found:
                return found
        state[unit] = "done"
        return None

    for unit in table:
        found = visit(unit, [])
        if found:
            return found
    return None


def check_external(path, header):
    """Why `path` may not include the external <header>, or None."""
    if header in FORBIDDEN:
        return f"<{header}> is not used here: {FORBIDDEN[header]}"
    for start, places in LIBRARIES.items():
        if header.startswith(start):
            if not str(path).startswith(places):
                return f"<{header}> belongs to {', '.join(places)}"
            if start == "fmt/" and str(path).startswith("compiler/support"):
                return "compiler/support uses the standard library only"
            if start == "fmt/" and path.suffix == ".h" and path.parts[0] != "tests":
                return "fmt stays out of headers: it costs compile time everywhere"
            return None
    if not SYSTEM.fullmatch(header):
        return f"<{header}> is in no table of check_layers.py: say there who may know it"
    # memory.cpp asks the system for huge pages.
    if (str(path).startswith("compiler/support") and not re.fullmatch(r"[a-z_0-9]+", header)
            and (str(path), header) != ("compiler/support/memory.cpp", "sys/mman.h")):
        return "compiler/support uses the C++ standard library only"
    return None


def check_includes(path, text):
    """Violations of one C++ file."""
    problems, own = [], unit_of(path)
    code = source_tree.blank(text, keep_strings=True)
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', code, re.M):
        where = f"{path}:{code.count(chr(10), 0, match.start()) + 1}"
        external, header = match.group(1) == "<", match.group(2)
        if external:
            why = check_external(path, header)
        elif header.startswith("llvm/"):
            why = check_external(path, header)
        else:
            unit = unit_of(header)
            if unit is None or unit not in DEPENDENCIES:
                why = f'"{header}" is not a path from the root to a known layer'
            elif unit != own and unit not in DEPENDENCIES.get(own, ()):
                why = f"{own} may not include {unit} ({header})"
            else:
                why = None
        if why:
            problems.append(f"{where}: {why}")
    return problems


def targets(path, text):
    """The fusemark_library and fusemark_test calls of a CMakeLists.txt: (name, depends)."""
    text = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(r"fusemark_(?:library|test)\s*\(([^)]*)\)", text):
        words = match.group(1).split()
        depends = words[words.index("DEPENDS") + 1:] if "DEPENDS" in words else []
        if "LABELS" in depends:
            depends = depends[:depends.index("LABELS")]
        if words:
            yield words[0], depends


def check_links(root, paths):
    """Violations of the link lines: libraries outside their place, LLVM where it must not come."""
    problems, library_of, all_targets = [], {}, []
    for path in paths:
        for name, depends in targets(path, (root / path).read_text(encoding="utf-8")):
            all_targets.append((path, name, depends))
            library_of[name] = depends
    for path, name, depends in all_targets:
        for word in depends:
            for start, places in LINKED.items():
                if word.lower().startswith(start) and not str(path).startswith(places):
                    problems.append(f"{path}: {name} links {word}, which belongs to "
                                    f"{', '.join(places)}")
        pure = [f"{top}/{d}/" for d in LLVM_FREE for top in ("compiler", "tests/unit")]
        if str(path).startswith(tuple(pure)):
            trail = _reaches_llvm(name, library_of, [])
            if trail:
                problems.append(f"{path}: {name} must link without LLVM, but "
                                f"{' -> '.join(trail)}")
    return problems


def check_listed(root, sources, lists):
    """Sources that no build list of their directory or one above names: never built, never run."""
    text = {str(p.parent): (root / p).read_text(encoding="utf-8") for p in lists}
    problems = []
    for path in sources:
        if path.suffix != ".cpp":
            continue
        named = any(re.search(rf"(?<![\w/.-]){re.escape(str(path.relative_to(above)))}\b",
                              text.get(str(above), ""))
                    for above in path.parents if str(above) != ".")
        if not named:
            problems.append(f"{path}: no CMakeLists.txt names it, so it is not built")
    return problems


def _reaches_llvm(name, library_of, trail):
    if name in trail:
        return None
    for word in library_of.get(name, ()):
        if word.lower().startswith("llvm"):
            return trail + [name, word]
        found = _reaches_llvm(word, library_of, trail + [name])
        if found:
            return found
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=source_tree.ROOT)
    root, problems = parser.parse_args().root, []
    cycle = find_cycle(DEPENDENCIES)
    if cycle:
        problems.append("DEPENDENCIES has a cycle: " + " -> ".join(cycle))
    sources = source_tree.files(root, source_tree.CPP)
    for path in sources:
        problems += check_includes(path, (root / path).read_text(encoding="utf-8"))
    lists = [p for p in source_tree.files(root, (".txt",)) if p.name == "CMakeLists.txt"]
    problems += check_links(root, lists) + check_listed(root, sources, lists)
    print("\n".join(problems) or f"layers: {len(sources)} files, {len(lists)} build lists, clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
