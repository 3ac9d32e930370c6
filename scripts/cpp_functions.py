"""Finds the functions of a C++ file by its braces: enough to measure their length.

Looks at namespaces, classes and what stands before each brace. Lambdas and local classes belong to
the function around them. Of #if/#else only the first branch is read, so braces always balance.
"""
import re

from source_tree import blank

_TYPE = re.compile(r"(?:typedef\s+)?(class|struct|union|enum)\b")
_ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
_NAME = re.compile(r"([~\w]+(?:\s*::\s*[~\w]+)*|operator\s*(?:\(\)|\[\]|[^\s(]+))\s*\(")


def blank_preprocessor(text):
    """Blanks directives (with continuation lines) and every branch of an #if after its first."""
    out, skipping, continued = [], [], False
    for line in text.split("\n"):
        stripped = line.lstrip()
        directive = not continued and stripped.startswith("#")
        if directive:
            word = re.match(r"#\s*(\w*)", stripped).group(1)
            if word in ("if", "ifdef", "ifndef"):
                skipping.append(re.match(r"#\s*if\s+0\b", stripped) is not None)
            elif word in ("else", "elif") and skipping:
                # After `#if 0` the other branch is the code that is read.
                skipping[-1] = not (skipping[-1] and word == "else")
            elif word == "endif" and skipping:
                skipping.pop()
        hidden = directive or continued or any(skipping)
        continued = (directive or continued) and line.rstrip().endswith("\\")
        out.append("" if hidden else line)
    return "\n".join(out)


def _strip_template(header):
    """Without leading template<...> parameter lists and [[attributes]]."""
    header = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^)]*\)", " ", header, flags=re.S).strip()
    while header.startswith("template"):
        depth, i = 0, header.find("<")
        if i < 0:
            break
        for i in range(i, len(header)):
            depth += {"<": 1, ">": -1}.get(header[i], 0)
            if depth == 0:
                break
        header = header[i + 1:].strip()
    return header


def classify(header):
    """What the brace after `header` opens: scope, function, member or opaque (a value, an enum)."""
    header = _strip_template(_ACCESS.sub(" ", header))
    if re.match(r"(?:inline\s+)?namespace\b", header) or re.fullmatch(r"extern", header):
        return "scope"
    kind = _TYPE.match(header)
    if kind and "(" not in header.split(":")[0]:
        return "opaque" if kind.group(1) == "enum" else "scope"
    paren = header.find("(")
    equals = re.search(r"(?<![=!<>+\-*/%&|^])=(?!=)", header)
    if equals and (paren < 0 or equals.start() < paren) and "operator" not in header[:equals.end()]:
        return "function" if re.search(r"\]\s*(?:\(|$)", header[equals.end():]) else "opaque"
    if paren < 0:
        return "opaque"
    if header.count("(") > header.count(")"):
        return "opaque"
    # In a constructor's list `: a_{1}, b_(2) {` a brace after a name is a member's.
    listed = re.search(r"\)\s*(?:noexcept\s*(?:\([^)]*\))?\s*)?:(?!:)", header)
    if listed and not re.search(r"[)}]\s*$", header):
        return "member"
    return "function"


def functions(text):
    """Yields (name, first line, number of lines from the signature to the closing brace)."""
    text = blank_preprocessor(blank(text))
    stack, start, depth_in_function = [], 0, 0
    current = None
    line_of = _line_index(text)
    for match in re.finditer(r"[{};]", text):
        char, at = match.group(), match.start()
        inside = stack and stack[-1] != "scope"
        if char == "{":
            if inside:
                stack.append("opaque")
                continue
            header = text[start:at]
            kind = classify(header)
            if kind == "function":
                current = (header, _first_code(text, start, at))
            stack.append(kind)
            if kind == "scope":
                start = at + 1
        elif char == "}":
            kind = stack.pop() if stack else "scope"
            if kind == "function":
                header, first = current
                yield (_function_name(header), line_of(first), line_of(at) - line_of(first) + 1)
            if kind != "member" and not (stack and stack[-1] != "scope"):
                start = at + 1
        elif not inside:
            start = at + 1


def _line_index(text):
    import bisect
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    return lambda at: bisect.bisect_right(starts, at)


def _first_code(text, start, end):
    """Position of the signature's first character; access labels belong to the class."""
    label = None
    for label in _ACCESS.finditer(text, start, end):
        pass
    start = label.end() if label else start
    return start + len(text[start:end]) - len(text[start:end].lstrip())


def _function_name(header):
    name = _NAME.search(_strip_template(_ACCESS.sub(" ", header)))
    return re.sub(r"\s+", "", name.group(1)) if name else " ".join(header.split())[:40]
