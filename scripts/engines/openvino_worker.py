"""OpenVINO on the ONNX form of the model, in f32."""
import pathlib
import time

import openvino

import arrays
import onnx_models
import protocol
import timing


class OpenVino:
    request = None

    def load(self, folder, threads, family, parameters, dtypes, **_):
        inputs = arrays.load_npz(pathlib.Path(folder) / "inputs.npz", dtypes)
        model, given = onnx_models.build(family, parameters, inputs)
        path = pathlib.Path(folder) / f"openvino_{threads}.onnx"
        path.write_bytes(model.SerializeToString())
        start = time.perf_counter()
        # Where the CPU has bf16 or f16 units OpenVINO would use them unasked.
        compiled = openvino.Core().compile_model(str(path), "CPU", {
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32"})
        compile_s = time.perf_counter() - start
        path.unlink()
        self.request = compiled.create_infer_request()
        for name, values in given.items():
            self.request.set_tensor(name, openvino.Tensor(values, shared_memory=True))
        self.kept = given
        self.launch()
        return {"compile_s": compile_s, "version": openvino.__version__.split("-")[0]}

    def launch(self):
        self.request.infer()

    def run(self, seconds):
        return {"ns": timing.timed_runs(self.launch, seconds)}

    def outputs(self, path):
        self.launch()
        arrays.save_npz(path, [tensor.data.copy() for tensor in self.request.output_tensors])


if __name__ == "__main__":
    engine = OpenVino()
    protocol.serve({"load": engine.load, "run": engine.run, "outputs": engine.outputs})
