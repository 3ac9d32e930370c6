"""How much of the CPUs other programs use, and waiting for it to become little: with as many
threads as CPUs, one busy neighbour spoils whole rounds of engines whose threads wait by spinning.

Call only while no engine runs. Standard library only.
"""
import time

QUIET = 0.1
_SAMPLE = 0.2


def busy_share(before, after):
    """The share of busy time between two first lines of /proc/stat."""
    old, new = ([int(n) for n in line.split()[1:9]] for line in (before, after))
    spent = [b - a for a, b in zip(old, new)]
    # user nice system idle iowait irq softirq steal
    total = sum(spent)
    return 0.0 if total <= 0 else 1 - (spent[3] + spent[4]) / total


def _stat():
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return file.readline()
    except OSError:
        return "cpu 0 0 0 0 0 0 0 0"


def wait(limit):
    """Waits at most `limit` seconds until the CPUs are quiet; the share others used at the end."""
    end = time.monotonic() + limit
    while True:
        before = _stat()
        time.sleep(_SAMPLE)
        busy = busy_share(before, _stat())
        if busy <= QUIET or time.monotonic() >= end:
            return busy
