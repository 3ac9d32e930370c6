"""One model at one number of threads: starts its engines, checks their numerics, and measures them
in rounds in which every engine runs once, in an order drawn anew each time.

Standard library only: engines are processes (protocol.py), arrays stay in files.
"""
import dataclasses
import pathlib
import random
import sys
import time

import bars
import idle
import protocol
from parameters import is_weight

HERE = pathlib.Path(__file__).resolve().parent
# engine name -> worker file, what `load` gets beside the model
OURS = {"off": {"engine": "off"}, "on": {"engine": "on"}, "on:resident": {"engine": "on"}}
WORKERS = {"xla": ("xla_worker.py", {}), "jax:off": ("xla_worker.py", {"mode": "off"}),
           "ort": ("ort_worker.py", {}),
           "openvino": ("openvino_worker.py", {}),
           "tf:on": ("tf_worker.py", {"mode": "on"}),
           "tf:graph": ("tf_worker.py", {"mode": "graph"}),
           "tf:off": ("tf_worker.py", {"mode": "off"})}
NAMES = tuple(OURS) + tuple(WORKERS)
# These take the model in a form of their own, made for the whole models only.
NEED_FAMILY = ("ort", "openvino", "tf:on", "tf:graph", "tf:off")


@dataclasses.dataclass
class Settings:
    python: str                    # of the private environment
    binary: str
    rounds: int = 5
    seconds: float = 1.0
    timeout: float = 120.0
    settle: float = 20.0           # most seconds a round waits for others to leave the CPUs
    seed: int = 0


def applies(name, model):
    """Whether the engine can be asked at all; what it then refuses is a row."""
    if name in NEED_FAMILY:
        return model.family is not None
    if name == "jax:off":
        return model.group == "ideas"
    return name != "on:resident" or model.family is not None or bool(model.resident)


def residents_of(model, parameters):
    if model.resident is not None:
        return model.resident
    return [i for i, (name, _, _) in enumerate(parameters) if is_weight(name)]


class Comparison:
    """The shared files of one model; call `measure` for each number of threads."""

    def __init__(self, model, settings, folder, say):
        self.model, self.settings, self.say = model, settings, say
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.reference, self.busy = None, []
        self.arrays = protocol.Engine(
            "arrays", [settings.python, "-B", str(HERE / "arrays_worker.py")],
            log=self.folder / "arrays.log")
        self.idea = model.name if model.group == "ideas" else None
        said = self.arrays.request("prepare", settings.timeout, folder=str(folder), stem=model.stem,
                                   hlo=str(model.hlo), overrides=model.inputs, idea=self.idea)
        self.sha256, self.parameters = said["sha256"], said["parameters"]
        self.result_dtypes = said["result_dtypes"]

    def close(self):
        self.arrays.close()

    def measure(self, names, threads, cpus):
        """engine name -> row; the engines live only in here. Leaves in `busy` what others used of
        the CPUs before each round."""
        rows, running, self.busy = {}, {}, []
        try:
            for name in names:
                if applies(name, self.model):
                    rows[name] = self._start(name, threads, cpus, running)
            times = self._rounds(rows, running)
            for name, rounds in times.items():
                if rows[name]["status"] == "ok":
                    rows[name].update(bars.summarise(rounds))
        finally:
            for engine in running.values():
                engine.close()
        return rows

    def _start(self, name, threads, cpus, running):
        """Loads one engine and checks its results before anything is timed."""
        self.say(f"{self.model.name} T{threads} {name}: loading")
        arguments = {"folder": str(self.folder), "threads": threads, "family": self.model.family,
                     "parameters": self.parameters, "idea": self.idea,
                     "dtypes": [dtype for _, dtype, _ in self.parameters]}
        if name in OURS:
            command = [sys.executable, "-B", str(HERE / "fusemark_worker.py"), self.settings.binary]
            arguments.update(OURS[name])
            if name == "on:resident":
                arguments["residents"] = residents_of(self.model, self.parameters)
        else:
            file, extra = WORKERS[name]
            command = [self.settings.python, "-B", str(HERE / file)]
            arguments.update(extra)
        log = self.folder / f"{name.replace(':', '_')}_{threads}.log"
        engine = protocol.Engine(name, command, cpus=cpus, log=log, environment={
            "OMP_NUM_THREADS": str(threads), "TF_CPP_MIN_LOG_LEVEL": "3"})
        running[name] = engine
        try:
            start = time.monotonic()
            row = engine.request("load", self.settings.timeout, **arguments)
            row["load_s"] = time.monotonic() - start
            return {**row, "status": "ok", "reason": "", **self._check(engine, name, threads)}
        except protocol.EngineFailed as error:
            running.pop(name).close()
            return {"status": "failed", "reason": str(error), "numerics": "unchecked"}

    def _check(self, engine, name, threads):
        path = self.folder / f"out_{name.replace(':', '_')}_{threads}.npz"
        engine.request("outputs", self.settings.timeout, path=str(path))
        golden = str(self.model.golden) if self.model.golden else None
        if golden is None and self.reference is None:
            # Without a golden the first engine's results, XLA's if it takes part, are the measure.
            self.reference = path
            return {"numerics": "reference", "error": 0.0, "rms_error": 0.0}
        said = self.arrays.request(
            "compare", self.settings.timeout, outputs=str(path), dtypes=self.result_dtypes,
            stem=self.model.stem, golden=golden, reference=str(self.reference),
            tolerance=self.model.tolerance)
        if path != self.reference:
            path.unlink()
        return {"numerics": "pass" if said["pass"] else "fail", "error": said["error"],
                "rms_error": said["rms_error"], "bound": said["bound"]}

    def _rounds(self, rows, running):
        times = {name: [] for name in running}
        shuffle = random.Random(f"{self.settings.seed}/{self.model.name}")
        for number in range(self.settings.rounds):
            order = [name for name in running if rows[name]["status"] == "ok"]
            shuffle.shuffle(order)
            busy = idle.wait(self.settings.settle)
            self.busy.append(busy)
            self.say(f"{self.model.name} round {number + 1}/{self.settings.rounds}: "
                     f"{' '.join(order)}; others use {100 * busy:.0f} % of the CPUs")
            for name in order:
                try:
                    said = running[name].request("run", self.settings.timeout,
                                                 seconds=self.settings.seconds)
                    times[name].append(said["ns"])
                except protocol.EngineFailed as error:
                    rows[name].update(status="failed", reason=str(error))
        return times
