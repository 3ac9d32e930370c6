"""XLA:CPU on the very HLO text of the model, through the compiler that jaxlib holds; with mode off,
JAX on the function that the text was lowered from, one operation at a time.
"""
import os

# The pool has a thread for each CPU the process may use, and its affinity was set before this line.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["NPROC"] = str(len(os.sched_getaffinity(0)))

import pathlib
import time

import jax
from jax._src.lib import xla_client
from jaxlib import _hlo, _jax

import arrays
import ideas
import protocol
import timing

# Measures what a call costs when there is nothing to do; also pays LLVM's start before any
# compile time is taken.
NOTHING = """HloModule nothing
ENTRY main {
  p = f32[4] parameter(0)
  ROOT r = f32[4] negate(p)
}
"""


class Program:
    def __init__(self, text, inputs):
        device = jax.devices("cpu")[0]
        module = _hlo.hlo_module_from_text(text)
        stablehlo = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
        start = time.perf_counter()
        self.executable = device.client.compile_and_load(
            stablehlo, xla_client.DeviceList((device,)), xla_client.CompileOptions())
        self.compile_s = time.perf_counter() - start
        self.buffers = [jax.device_put(values, device) for values in inputs]
        jax.block_until_ready(self.buffers)

    def launch(self):
        results = self.executable.execute_sharded(self.buffers)
        outputs = results.disassemble_into_single_device_arrays()
        for output in outputs:
            output[0].block_until_ready()
        return outputs

    def outputs(self):
        return [jax.device_get(output[0]) for output in self.launch()]


class OpByOp:
    """A function under disable_jit: each primitive is dispatched by itself, loops are Python's."""

    def __init__(self, idea, inputs):
        self.function, _ = ideas.bound(idea)
        self.buffers = [jax.device_put(values) for values in inputs]
        jax.block_until_ready(self.buffers)
        start = time.perf_counter()
        # Each primitive is compiled where it first comes up.
        self.launch()
        self.compile_s = time.perf_counter() - start

    def launch(self):
        with jax.disable_jit():
            return jax.block_until_ready(self.function(*self.buffers))

    def outputs(self):
        return [jax.device_get(output) for output in jax.tree.leaves(self.launch())]


class Xla:
    program = None

    def load(self, folder, dtypes, idea, mode="on", **_):
        if mode == "off":
            inputs = arrays.load_npz(pathlib.Path(folder) / "inputs.npz", dtypes)
            self.program = OpByOp(idea, inputs)
            return {"compile_s": self.program.compile_s, "version": jax.__version__}
        jax.config.update("jax_enable_x64", True)
        empty = Program(NOTHING, [jax.numpy.ones(4, "float32")])
        # The least, not the median: bars leave it out, and a busy machine must not enlarge it.
        idle = min(timing.timed_runs(empty.launch, 0.2))
        folder = pathlib.Path(folder)
        inputs = arrays.load_npz(folder / "inputs.npz", dtypes)
        text = (folder / "xla.hlo").read_text(encoding="utf-8")
        self.program = Program(text, inputs)
        self.program.launch()
        stats = self.program.executable.get_compiled_memory_stats()
        return {"compile_s": self.program.compile_s, "dispatch_ns": idle,
                "temp_bytes": stats.temp_size_in_bytes, "version": jax.__version__}

    def run(self, seconds):
        return {"ns": timing.timed_runs(self.program.launch, seconds)}

    def outputs(self, path):
        arrays.save_npz(path, self.program.outputs())


if __name__ == "__main__":
    xla = Xla()
    protocol.serve({"load": xla.load, "run": xla.run, "outputs": xla.outputs})
