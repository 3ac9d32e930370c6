"""Statistics of interleaved rounds, and the bars: which ratio is judged, against which limit.

Every ratio is theirs over ours, so that larger is better for us and a bar is a least value. Rounds
are pairs in time: the ratio is taken round by round and its median is judged, so that a machine
that drifts between rounds does not decide. Standard library only.
"""
import dataclasses
import math
import statistics

# The least n for which a two-sided 95 % interval of P99 exists; with fewer runs the number would
# be the maximum under another name.
P99_RUNS = 368
OURS = ("off", "on", "on:resident")
# Intermediates within one page are alignment, not memory: no bar on them.
PAGE = 4096


def percentile(values, share):
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summarise(rounds):
    """The figures of one engine from its list of rounds, each a list of times in ns."""
    rounds = [times for times in rounds if times]
    medians = [statistics.median(times) for times in rounds]
    times = [ns for times in rounds for ns in times]
    return {"n": len(times), "median_ns": statistics.median(medians), "round_medians_ns": medians,
            "p99_ns": percentile(times, 0.99) if len(times) >= P99_RUNS else None,
            "max_ns": max(times), "min_ns": min(times)}


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


@dataclasses.dataclass(frozen=True)
class Bar:
    """`theirs`: engine names, of which the fastest counts. `groups`: model groups it holds for."""
    name: str
    ours: str
    theirs: tuple
    least: float
    groups: tuple
    metric: str = "time"           # time, compile or memory
    family: str | None = None
    aim: float | None = None       # geometric mean over the models
    exempt: tuple = ()             # families with a bar of their own


PEERS = ("xla", "ort", "openvino", "tf:on", "tf:graph", "tf:off")
EVERY = ("models", "jax", "hlo", "blocks", "ideas")
# The last table of the performance page.
BARS = (
    Bar("resident vs best peer", "on:resident", PEERS, 1.0, ("models",), aim=1.25),
    Bar("parameters vs XLA", "on", ("xla",), 1.3, ("models",), aim=2.0),
    Bar("HLO file vs XLA", "on", ("xla",), 1.0, ("jax", "hlo", "blocks"), aim=2.0),
    Bar("idea vs XLA", "on", ("xla",), 1.0, ("ideas",)),
    Bar("contraction vs oneDNN", "on", ("onednn",), 0.95, ("contractions",), aim=1.05,
        exempt=("small",)),
    Bar("small contraction vs oneDNN", "on", ("onednn",), 1.5, ("contractions",), family="small"),
    Bar("on vs off", "on", ("off",), 1.5, ("models",), family="bert"),
    Bar("on vs off", "on", ("off",), 1.0, EVERY, aim=1.7, exempt=("bert",)),
    Bar("off vs TF eager", "off", ("tf:off",), 1.0, ("models",)),
    Bar("off vs JAX op by op", "off", ("jax:off",), 1.0, ("ideas",)),
    Bar("compile vs XLA", "on", ("xla",), 1.0, EVERY, metric="compile", aim=2.0),
    Bar("memory vs XLA", "on", ("xla",), 1 / 1.1, EVERY, metric="memory", aim=1.0),
)


def _usable(engines, name):
    row = engines.get(name)
    return row is not None and row["status"] == "ok" and row["numerics"] != "fail"


def _why_not(engines, names):
    for name in names:
        row = engines.get(name)
        if row is not None and not _usable(engines, name):
            return f"{name}: {row.get('reason') or 'numerics failed'}"
    return f"{' and '.join(names)} not measured"


def _round_times(row):
    """Medians by round, without what dispatching nothing costs: the bar is on the program."""
    idle = row.get("dispatch_ns") or 0
    return [max(ns - idle, 1) for ns in row["round_medians_ns"]]


def _ratios(bar, ours, theirs):
    if bar.metric == "time":
        pairs = zip(_round_times(theirs), _round_times(ours))
        return [a / b for a, b in pairs]
    key = {"compile": "compile_s", "memory": "temp_bytes"}[bar.metric]
    if not ours.get(key) or not theirs.get(key):
        return []
    if bar.metric == "memory" and ours[key] <= PAGE:
        return []
    return [theirs[key] / ours[key]]


def judge(bar, model, engines):
    """The row of one bar for one model and thread count, or None where it does not apply.

    `model` has .name, .group and .family; `engines` is name -> summary with status and numerics.
    """
    if model.group not in bar.groups or (bar.family and model.family != bar.family):
        return None
    if model.family in bar.exempt or (bar.ours not in engines):
        return None
    asked = [name for name in bar.theirs if name in engines]
    if not asked:
        return None
    row = {"bar": bar.name, "model": model.name, "group": model.group, "ours": bar.ours,
           "theirs": None, "ratio": None, "low": None, "high": None, "least": bar.least,
           "metric": bar.metric}
    usable = [name for name in asked if _usable(engines, name)]
    if not _usable(engines, bar.ours) or not usable:
        missing = [bar.ours] if not _usable(engines, bar.ours) else asked
        return {**row, "verdict": "not measured", "reason": _why_not(engines, missing)}
    best = min(usable, key=lambda name: statistics.median(_round_times(engines[name])))
    ratios = _ratios(bar, engines[bar.ours], engines[best])
    if not ratios:
        # Nothing to hold in memory on one side, or next to nothing: no verdict.
        return None
    ratio = statistics.median(ratios)
    row.update(theirs=best, ratio=ratio, low=min(ratios), high=max(ratios),
               without=[name for name in bar.theirs if name not in usable])
    row["verdict"] = "pass" if ratio >= bar.least else "falls short"
    row["clear"] = len(ratios) == 1 or min(ratios) >= bar.least or max(ratios) < bar.least
    row["short_by"] = max(0.0, 1 - ratio / bar.least)
    return row


def judge_all(model, engines):
    return [row for row in (judge(bar, model, engines) for bar in BARS) if row is not None]


def aims(rows):
    """Geometric means of the judged rows by bar and thread count, against the aims."""
    found = []
    for bar in BARS:
        if bar.aim is None:
            continue
        for threads in sorted({row["threads"] for row in rows}):
            mine = [row for row in rows if row["bar"] == bar.name and row["threads"] == threads]
            ratios = [row["ratio"] for row in mine if row["ratio"] is not None]
            if ratios:
                mean = geomean(ratios)
                found.append({"bar": bar.name, "threads": threads, "models": len(ratios),
                              "left_out": len(mine) - len(ratios), "geomean": mean,
                              "aim": bar.aim, "verdict": "reached" if mean >= bar.aim
                              else "not reached"})
    return found
