"""The tables of compare_peers as text. Standard library only."""
import bars
import idle


def time_text(ns):
    if ns is None:
        return "-"
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "us", 1e3), (1e9, "ms", 1e6)):
        if ns < limit * 0.9995:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def columns(rows, right=()):
    """Lines of aligned cells; `right` holds the numbers of the columns of figures."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.rjust(w) if i in right else cell.ljust(w)
                      for i, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in rows]


def _tail(row):
    """P99 where it exists; otherwise the slowest run, marked."""
    if row["p99_ns"] is None:
        return time_text(row["max_ns"]) + "*"
    return time_text(row["p99_ns"])


def engine_lines(results):
    rows = [("model", "T", "engine", "median", "P99", "rounds", "n", "compile", "error",
             "rms error", "numerics")]
    for result in results:
        for name, row in result["engines"].items():
            head = (result["model"], str(result["threads"]), name)
            if row["status"] != "ok":
                rows.append((*head, "-", "-", "-", "-", "-", "-", "-", f"failed: {row['reason']}"))
                continue
            medians = row["round_medians_ns"]
            rows.append((*head, time_text(row["median_ns"]), _tail(row),
                         f"{time_text(min(medians))} .. {time_text(max(medians))}", str(row["n"]),
                         f"{row['compile_s']:.2f} s" if "compile_s" in row else "-",
                         *(f"{row[key]:.1e}" if key in row else "-"
                           for key in ("error", "rms_error")), row["numerics"]))
    return columns(rows, right=(1, 3, 4, 6, 7, 8, 9)) + [
        "* fewer than 368 runs: no P99 exists, this is the slowest run"]


def _verdict(row):
    if row["verdict"] == "falls short":
        text = f"falls short by {100 * row['short_by']:.0f} %"
    else:
        text = row["verdict"]
    if row["verdict"] == "not measured":
        return f"not measured: {row['reason']}"
    if row["without"]:
        text += f", without {' '.join(row['without'])}"
    return text if row["clear"] else text + " (rounds on both sides)"


def bar_lines(rows):
    table = [("bar", "model", "T", "ours", "theirs", "ratio", "rounds", "at least", "verdict")]
    for row in rows:
        measured = row["ratio"] is not None
        spread = f"{row['low']:.2f} .. {row['high']:.2f}" if measured else "-"
        table.append((row["bar"], row["model"], str(row["threads"]), row["ours"],
                      row["theirs"] or "-", f"{row['ratio']:.2f}" if measured else "-",
                      spread if row["metric"] == "time" else "-", f"{row['least']:.2f}",
                      _verdict(row)))
    return columns(table, right=(2, 5, 7))


# Their bars on times stand in one line for each idea instead.
_IDEA_BARS = [bar.name for bar in bars.BARS if "ideas" in bar.groups and bar.metric == "time"]


def in_idea_line(row):
    return row["group"] == "ideas" and row["bar"] in _IDEA_BARS


def _idea_verdict(rows):
    """All bars of one idea in a few words: those that fall short, by how much."""
    texts = [f"{row['bar']} {_verdict(row)}" for row in rows if row["verdict"] != "pass"]
    if texts or not rows:
        return "; ".join(texts) or "-"
    return "pass" if all(row["clear"] for row in rows) else "pass (rounds on both sides)"


def idea_lines(results, rows):
    """One line for each idea and thread count: medians, the ratios of its bars, the verdict."""
    ideas = [result for result in results if result["group"] == "ideas"]
    engines = list(dict.fromkeys(name for result in ideas for name in result["engines"]))
    table = [("idea", "T", *engines, *_IDEA_BARS, "verdict")]
    for result in ideas:
        mine = {row["bar"]: row for row in rows if in_idea_line(row)
                and (row["model"], row["threads"]) == (result["model"], result["threads"])}
        ratios = [mine[name]["ratio"] if name in mine else None for name in _IDEA_BARS]
        table.append((result["model"], str(result["threads"]),
                      *(time_text(result["engines"].get(name, {}).get("median_ns"))
                        for name in engines),
                      *("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios),
                      _idea_verdict(list(mine.values()))))
    return columns(table, right=range(1, len(table[0]) - 1))


def aim_lines(rows):
    table = [("geometric mean", "T", "models", "left out", "ratio", "aim", "verdict")]
    for row in rows:
        table.append((row["bar"], str(row["threads"]), str(row["models"]), str(row["left_out"]),
                      f"{row['geomean']:.2f}", f"{row['aim']:.2f}", row["verdict"]))
    return columns(table, right=(1, 2, 3, 4, 5))


def document_text(document):
    """All of it, as compare_peers prints it."""
    parts = [engine_lines(document["results"])]
    rest = [row for row in document["bars"] if not in_idea_line(row)]
    if rest:
        parts.append(bar_lines(rest))
    if any(result["group"] == "ideas" for result in document["results"]):
        parts.append(idea_lines(document["results"], document["bars"]))
    if document["aims"]:
        parts.append(aim_lines(document["aims"]))
    dispatch = [row["dispatch_ns"] for r in document["results"] for row in r["engines"].values()
            if row.get("dispatch_ns")]
    notes = [f"ratios are theirs over ours, the median over rounds; of {document['rounds']} rounds "
             f"of {document['seconds']:g} s"]
    if dispatch:
        notes.append(f"bars leave out what dispatching an empty module costs (XLA: "
                     f"{time_text(min(dispatch))} .. {time_text(max(dispatch))})")
    loud = [busy for r in document["results"] for busy in r["busy"] if busy > idle.QUIET]
    if loud:
        count = sum(len(r["busy"]) for r in document["results"])
        notes.append(f"others used the CPUs at the start of {len(loud)} of {count} rounds, up to "
                     f"{100 * max(loud):.0f} %: trust those less")
    judged = [row for row in document["bars"] if row["ratio"] is not None]
    passed = sum(row["verdict"] == "pass" for row in judged)
    notes.append(f"{passed} of {len(judged)} bars pass, {len(document['bars']) - len(judged)} "
                 f"not measured")
    return "\n\n".join("\n".join(lines) for lines in [*parts, notes]) + "\n"
