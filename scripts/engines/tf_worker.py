"""TensorFlow on its own form of the model: eager (mode off), as a graph (graph), as a graph
compiled by XLA (on).
"""
import pathlib
import time

import tensorflow as tf

import arrays
import parameters as names
import protocol
import tf_models
import timing


class TensorFlow:
    program = inputs = None

    def load(self, folder, threads, family, parameters, dtypes, mode, **_):
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        values = arrays.load_npz(pathlib.Path(folder) / "inputs.npz", dtypes)
        weights, inputs, given = names.split(parameters, values)
        program = tf_models.FAMILIES[family]({n: tf.constant(w) for n, w in weights.items()})
        self.inputs = [tf.constant(given[name]) for name, _, _ in inputs]
        self.program = program if mode == "off" else tf.function(program, jit_compile=mode == "on")
        start = time.perf_counter()
        # Tracing and compiling happen in the first call.
        self.launch()
        return {"compile_s": time.perf_counter() - start, "version": tf.__version__}

    def launch(self):
        # On CPU devices eager operations and calls of graphs have finished when they return.
        return self.program(*self.inputs)

    def run(self, seconds):
        return {"ns": timing.timed_runs(self.launch, seconds)}

    def outputs(self, path):
        arrays.save_npz(path, [output.numpy() for output in self.launch()])


if __name__ == "__main__":
    engine = TensorFlow()
    protocol.serve({"load": engine.load, "run": engine.run, "outputs": engine.outputs})
