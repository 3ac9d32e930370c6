"""Our contraction kernels against oneDNN's, from fusemark_contraction_bench: one process holds both
sides, times them in turn and compares their results, so this only asks it round by round and reads
what it says. The figure of a round is the least time, as the program itself argues.

Standard library only.
"""
import json
import os
import pathlib
import re
import subprocess

import bars
import catalogue
import idle
import protocol

PROGRAM = pathlib.Path("harness") / "micro" / "fusemark_contraction_bench"
_NAME = re.compile(r"(\w+)/threads:(\d+)/")
SMALL = 64


def _call(command, threads, cpus, timeout, log):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, env=environment,
                              timeout=timeout, check=False, text=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    except OSError as error:
        raise protocol.EngineFailed(f"{command[0]}: {error.strerror}; libbenchmark-dev and "
                                    "scripts/run build it") from None
    except subprocess.TimeoutExpired:
        raise protocol.EngineFailed(f"timeout: {timeout:g} s") from None
    if done.returncode != 0:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit {done.returncode}"
        raise protocol.EngineFailed(f"the process ended ({how})")
    return done.stdout


def read_round(text):
    """product -> its row of one thread count's JSON."""
    rows = json.loads(text)["benchmarks"]
    return {_NAME.match(row["name"])[1]: row for row in rows}


def family(row):
    """Small and skinny products have a bar of their own."""
    # A product that failed has no sizes.
    small = row.get("least_dim") == 1 or row.get("largest_dim", SMALL + 1) <= SMALL
    return "small" if small else None


def _failed(reason):
    return {name: {"status": "failed", "reason": reason, "numerics": "unchecked"}
            for name in ("on", "onednn")}


def _result(model, threads, engines, busy):
    return model, {"model": model.name, "group": model.group, "threads": threads,
                   "engines": engines, "inputs_sha256": None, "busy": busy}


def engines_of(rows):
    """engine name -> row of the results, from one product's row in each round."""
    wrong = next((row for row in rows if row.get("error_occurred")), None)
    if wrong:
        return _failed(wrong["error_message"])
    return {name: {"status": "ok", "reason": "", "numerics": numerics,
                   **bars.summarise([[row[key]] for row in rows])}
            for name, key, numerics in (("on", "own_ns", "pass"),
                                        ("onednn", "onednn_ns", "reference"))}


def results_of(rounds, threads, busy):
    """[(model, result)] of the rounds, each a dictionary as read_round makes it."""
    found = []
    for name in dict.fromkeys(name for rows in rounds for name in rows):
        rows = [rows[name] for rows in rounds if name in rows]
        engines = engines_of(rows)
        model = catalogue.Model(name=name, hlo=None, stem=name, group="contractions",
                                family=family(rows[0]))
        # All products share the rounds, which count once.
        found.append(_result(model, threads, engines, [] if found else busy))
    return found


def measure(model, threads, cpus, settings, folder, say):
    """[(model, result)] of all products at one thread count; a failure is a row of `model`."""
    folder.mkdir(parents=True, exist_ok=True)
    program = str(pathlib.Path(settings.binary).parent / PROGRAM)
    command = [program, f"--benchmark_filter=/threads:{threads}/"]
    rounds, busy = [], []
    with open(folder / f"contractions_{threads}.log", "w", encoding="utf-8") as log:
        try:
            listed = _call([*command, "--benchmark_list_tests"], threads, cpus, settings.timeout,
                           log)
            timeout = settings.timeout * len(listed.splitlines())
            for number in range(settings.rounds):
                busy.append(idle.wait(settings.settle))
                say(f"contractions T{threads} round {number + 1}/{settings.rounds}; others use "
                    f"{100 * busy[-1]:.0f} % of the CPUs")
                rounds.append(read_round(_call(
                    [*command, f"--benchmark_min_time={settings.seconds}",
                     "--benchmark_format=json"], threads, cpus, timeout, log)))
        except protocol.EngineFailed as error:
            return [_result(model, threads, _failed(str(error)), busy)]
    return results_of(rounds, threads, busy)
