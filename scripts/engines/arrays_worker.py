"""Makes the inputs that all engines share, once, and compares results. Not an engine."""
import hashlib
import pathlib

import arrays
import hlo_text
import ideas
import protocol


def prepare(hlo, stem, folder, overrides, idea=None):
    """Writes model.hlo (constants filled), xla.hlo and inputs.npz; returns what they hold."""
    folder = pathlib.Path(folder)
    params = overrides.get("params", {})
    constants = overrides.get("constants", {})
    scale = overrides.get("scale", 0.1)
    text = ideas.lowered(idea) if idea else pathlib.Path(hlo).read_text(encoding="utf-8")
    text = hlo_text.fill_elided(text, lambda name, dtype, shape: arrays.literal(arrays.make_input(
        f"{stem}/const/{name}", dtype, shape, constants.get(name), scale)))
    parameters = hlo_text.entry_parameters(text)
    if any(p.is_tuple for p in parameters):
        raise protocol.Unsupported("a parameter is a tuple")
    inputs = [arrays.make_input(f"{stem}/{p.number}/0", p.dtype, p.shape,
                                params.get(f"{p.number}/0", params.get(str(p.number))), scale)
              for p in parameters]
    (folder / "model.hlo").write_text(text, encoding="utf-8")
    (folder / "xla.hlo").write_text(hlo_text.for_xla(text), encoding="utf-8")
    arrays.save_npz(folder / "inputs.npz", inputs)
    digest = hashlib.sha256()
    for values in inputs:
        digest.update(values.tobytes())
    return {"sha256": digest.hexdigest(), "result_dtypes": arrays.result_dtypes(text),
            "parameters": [[p.name, p.dtype, list(p.shape)] for p in parameters]}


def compare(outputs, dtypes, stem, golden=None, reference=None, tolerance=None):
    """The worst leaf, measured by its share of its bound; and the largest root mean square."""
    got = arrays.load_npz(outputs, dtypes)
    if golden:
        rows = arrays.against_golden(got, golden, stem)
    else:
        rows = arrays.against_arrays(got, arrays.load_npz(reference, dtypes), dtypes, tolerance)
    if not rows:
        return {"error": 0.0, "rms_error": 0.0, "bound": 0.0, "pass": True, "leaves": 0}
    largest = [(errors[0], bound) for errors, bound in rows]
    worst = max(largest, key=lambda leaf: leaf[0] / leaf[1] if leaf[1] else leaf[0] * 1e300)
    return {"error": worst[0], "bound": worst[1], "leaves": len(rows),
            "rms_error": max(errors[1] for errors, _ in rows),
            "pass": all(error <= bound for error, bound in largest)}


if __name__ == "__main__":
    protocol.serve({"prepare": prepare, "compare": compare})
