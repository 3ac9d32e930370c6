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
    """The worst leaf, measured by its share of its bound."""
    got = arrays.load_npz(outputs, dtypes)
    if golden:
        rows = arrays.against_golden(got, golden, stem)
    else:
        rows = arrays.against_arrays(got, arrays.load_npz(reference, dtypes), dtypes, tolerance)
    if not rows:
        return {"error": 0.0, "bound": 0.0, "pass": True, "leaves": 0}
    worst = max(rows, key=lambda row: row[1] / row[2] if row[2] else row[1] * 1e300)
    return {"error": worst[1], "bound": worst[2], "leaves": len(rows),
            "pass": all(error <= bound for _, error, bound in rows)}


if __name__ == "__main__":
    protocol.serve({"prepare": prepare, "compare": compare})
