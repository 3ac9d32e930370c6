"""The timed loop of all workers that run inside Python: one stamp pair per run, nothing else in it.

The caller's engine must have finished when `launch` returns.
"""
import gc
import time

MOST_RUNS = 200_000


def timed_runs(launch, seconds):
    """Times in ns of runs until `seconds` have passed, at least one. The first run of a round only
    warms what the other engines cooled, unless it alone fills the round."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter_ns()
        launch()
        now = time.perf_counter_ns()
        length = int(seconds * 1e9)
        if now - start >= length:
            return [now - start]
        times = []
        end = now + length
        while now < end and len(times) < MOST_RUNS:
            start = time.perf_counter_ns()
            launch()
            now = time.perf_counter_ns()
            times.append(now - start)
        return times
    finally:
        gc.enable()
