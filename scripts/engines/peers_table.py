"""The tables of compare_peers as text. Standard library only."""
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
             "numerics")]
    for result in results:
        for name, row in result["engines"].items():
            head = (result["model"], str(result["threads"]), name)
            if row["status"] != "ok":
                rows.append((*head, "-", "-", "-", "-", "-", "-", f"failed: {row['reason']}"))
                continue
            medians = row["round_medians_ns"]
            rows.append((*head, time_text(row["median_ns"]), _tail(row),
                         f"{time_text(min(medians))} .. {time_text(max(medians))}", str(row["n"]),
                         f"{row['compile_s']:.2f} s", f"{row.get('error', 0):.1e}",
                         row["numerics"]))
    return columns(rows, right=(1, 3, 4, 6, 7, 8)) + [
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


def aim_lines(rows):
    table = [("geometric mean", "T", "models", "left out", "ratio", "aim", "verdict")]
    for row in rows:
        table.append((row["bar"], str(row["threads"]), str(row["models"]), str(row["left_out"]),
                      f"{row['geomean']:.2f}", f"{row['aim']:.2f}", row["verdict"]))
    return columns(table, right=(1, 2, 3, 4, 5))


def document_text(document):
    """All of it, as compare_peers prints it."""
    parts = [engine_lines(document["results"]), bar_lines(document["bars"])]
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
