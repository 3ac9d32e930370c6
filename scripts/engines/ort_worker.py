"""ONNX Runtime on the ONNX form of the model."""
import pathlib
import time

import onnxruntime

import arrays
import onnx_models
import protocol
import timing


class OnnxRuntime:
    session = None

    def load(self, folder, threads, family, parameters, dtypes, **_):
        inputs = arrays.load_npz(pathlib.Path(folder) / "inputs.npz", dtypes)
        model, given = onnx_models.build(family, parameters, inputs)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        start = time.perf_counter()
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                    providers=["CPUExecutionProvider"])
        compile_s = time.perf_counter() - start
        # Bound buffers: a run copies nothing in, and results stay where they are made.
        self.binding = self.session.io_binding()
        for name, values in given.items():
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(values))
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)
        self.launch()
        return {"compile_s": compile_s, "version": onnxruntime.__version__}

    def launch(self):
        self.session.run_with_iobinding(self.binding)

    def run(self, seconds):
        return {"ns": timing.timed_runs(self.launch, seconds)}

    def outputs(self, path):
        self.launch()
        arrays.save_npz(path, self.binding.copy_outputs_to_cpu())


if __name__ == "__main__":
    ort = OnnxRuntime()
    protocol.serve({"load": ort.load, "run": ort.run, "outputs": ort.outputs})
