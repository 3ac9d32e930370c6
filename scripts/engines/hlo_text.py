"""What the comparison needs to know of an HLO file, by reading its text: the entry parameters, and
the text XLA's parser accepts. Standard library only; no HLO semantics.
"""
import dataclasses
import re

_PARAMETER = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = (\(?)(\w+)\[([\d,]*)\][^=]*? "
                        r"parameter\((\d+)\)", re.M)
_ELIDED = re.compile(r"^(\s*(?:ROOT )?%?)([\w.\-]+) = (\w+)\[([\d,]*)\](\{[^}]*\})? "
                     r"constant\(\{\.\.\.\}\)", re.M)


@dataclasses.dataclass
class Parameter:
    number: int
    name: str
    dtype: str
    shape: tuple
    is_tuple: bool = False


def _dims(text):
    return tuple(int(d) for d in text.split(",") if d)


def entry_parameters(text):
    """The entry's parameters in order of their numbers."""
    entry = re.search(r"^ENTRY [^\n]*\{\s*$.*?^\}", text, re.M | re.S)
    if entry is None:
        raise ValueError("no ENTRY computation in the module")
    found = [Parameter(int(number), name, dtype, _dims(dims), bool(paren))
             for name, paren, dtype, dims, number in _PARAMETER.findall(entry.group())]
    found.sort(key=lambda p: p.number)
    if [p.number for p in found] != list(range(len(found))):
        raise ValueError("the entry's parameters are not numbered 0, 1, 2, ...")
    return found


def fill_elided(text, literal):
    """Every constant({...}) replaced by `literal(name, dtype, shape)`."""
    return _ELIDED.sub(lambda m: f"{m[1]}{m[2]} = {m[3]}[{m[4]}]{m[5] or ''} constant("
                                 f"{literal(m[2], m[3], _dims(m[4]))})", text)


def _without_attribute(text, name):
    """Drops `, name={...}` with its nested braces."""
    start = text.find(f", {name}={{")
    if start < 0:
        return text
    depth, end = 0, text.index("{", start)
    while True:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
        if depth == 0:
            return text[:start] + text[end:]


def for_xla(text):
    """The same program in words every jaxlib reads.

    Aliases go, because the timed loop uses its inputs again; a fusion without a back end's own
    config is the call of its computation; between default layouts a bitcast is a reshape, and
    XLA:CPU refuses bitcasts before its own passes have run.
    """
    head, newline, rest = text.partition("\n")
    text = _without_attribute(head, "input_output_alias") + newline + rest
    text = re.sub(r"(\btopk\([^\n]*), is_stable=(?:true|false)", r"\1", text)
    text = re.sub(r"\bfusion\(([^()]*)\),\s*kind=\w+,\s*calls=(%?[\w.\-]+)"
                  r"(?:,\s*backend_config=\{\"fusion_config\"[^\n]*)?",
                  r"call(\1), to_apply=\2", text)
    layouts = re.findall(r"\]\{([\d,]+)[:}]", text)
    if all(l == ",".join(str(i) for i in reversed(range(l.count(",") + 1))) for l in layouts):
        text = re.sub(r"(?<=[\s})\]])bitcast\(", "reshape(", text)
    return text
