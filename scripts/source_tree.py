"""What the checks here share: which files there are, and C++ text without its comments.

Not here: any rule. Paths are pathlib paths relative to the repository's root.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = ("compiler", "autotuner", "workloads", "harness", "results_db", "scripts", "tests")
CPP = (".h", ".cpp", ".def")


def files(root, suffixes, top=LAYERS):
    """Sorted files under the source directories; `suffixes` are endings, "" means no dot at all."""
    found = []
    for directory in top:
        for path in (root / directory).rglob("*"):
            if path.is_file() and path.suffix in suffixes and "__pycache__" not in path.parts:
                found.append(path.relative_to(root))
    return sorted(found)


_TOKEN = re.compile(
    r'//(?:[^\n\\]|\\[\s\S])*'                            # line comment, continued lines included
    r'|/\*[\s\S]*?\*/'                                    # block comment
    r'|(?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\([\s\S]*?\)(?P=tag)"'
    r'|"(?:[^"\\\n]|\\[\s\S])*"'                          # string
    r"|\b\d(?:[\w.]|'(?=\w))*"                            # number: 1'000 is not a character
    r"|'(?:[^'\\\n]|\\.)+'",                              # character
)


def blank(text, keep_strings=False):
    """Replaces comments and the inside of literals by spaces; line numbers and columns stay."""

    def spaces(match):
        token = match.group()
        if token[0].isdigit() or (keep_strings and not token.startswith(("//", "/*"))):
            return token
        return re.sub(r"[^\n]", " ", token)

    return _TOKEN.sub(spaces, text)


def raw_string_lines(text):
    """Numbers of the lines that lie wholly or partly inside a raw string: data, not code."""
    lines = set()
    for match in _TOKEN.finditer(text):
        if match.group("tag") is not None:
            first = text.count("\n", 0, match.start()) + 1
            lines.update(range(first, first + match.group().count("\n") + 1))
    return lines
