"""Inputs by the rule of workloads/INPUTS.md, archives in the product's .npz form, and the numerics
rule of harness/numerics.h: |got - want| <= tolerance * RMS(leaf), NaN and inf in the same places.

Needs numpy and ml_dtypes, so it runs in the private environment only.
"""
import json
import re

import ml_dtypes
import numpy as np

_MASK = (1 << 64) - 1
_CHUNK = 1 << 20
DTYPES = {"pred": np.bool_, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
          "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
          "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16,
          "c64": np.complex64, "c128": np.complex128}
# As DefaultTolerance in harness/numerics.cpp; everything else must be equal.
TOLERANCE = {"f64": 1e-9, "c128": 1e-9, "f32": 1e-3, "c64": 1e-3, "f16": 3e-2, "bf16": 2e-1}


def fnv1a64(key):
    value = 0xCBF29CE484222325
    for byte in key.encode():
        value = ((value ^ byte) * 0x100000001B3) & _MASK
    return value


def draws(key, first, count):
    """Draws first .. first+count-1 of the key's SplitMix64 stream."""
    u64 = np.uint64
    with np.errstate(over="ignore"):
        steps = np.arange(first + 1, first + count + 1, dtype=u64)
        z = u64(fnv1a64(key)) + steps * u64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> u64(30))) * u64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> u64(27))) * u64(0x94D049BB133111EB)
        return z ^ (z >> u64(31))


def _real(z, spec, scale):
    u = (z >> np.uint64(40)).astype(np.float64)
    if spec.get("kind") == "range":
        low, high = float(spec["low"]), float(spec["high"])
        return low + (u * 2.0 ** -24) * (high - low)
    return (u * 2.0 ** -23 - 1.0) * float(spec.get("scale", scale))


def _integers(z, dtype, spec):
    bits = int(dtype[1:])
    low = int(spec.get("low", 0))
    high = int(spec.get("high", min(8, 1 << (bits - (dtype[0] == "s")))))
    return ((z >> np.uint64(11)) % np.uint64(high - low)).astype(np.int64) + low


def _add_diagonal(values, shape, spec):
    if "diag" in spec:
        square = values.reshape(shape)
        k = np.arange(min(shape[-2:]))
        square[..., k, k] += float(spec["diag"])


def _narrow(values, dtype):
    """f64 to the type: narrower than f32 through f32, as the rule says."""
    if dtype in ("f16", "bf16"):
        values = values.astype(np.float32)
    return values.astype(DTYPES[dtype])


def _stream(key, count, convert, out):
    """Fills `out` from the stream in pieces, so that large weights need no large scratch."""
    for first in range(0, count, _CHUNK):
        last = min(count, first + _CHUNK)
        out[first:last] = convert(draws(key, first, last - first))
    return out


def make_input(key, dtype, shape, spec=None, scale=0.1):
    """One array by the rule; `spec` is the override, if any."""
    spec = spec or {}
    if dtype not in DTYPES:
        raise ValueError(f"inputs of type {dtype} are not made by this comparison")
    count = int(np.prod(shape, dtype=np.int64))
    kind = spec.get("kind")
    if kind == "values":
        return np.array([float(v) for v in spec["values"]]).astype(DTYPES[dtype]).reshape(shape)
    if kind == "const":
        return _narrow(np.full(shape, float(spec["value"])), dtype)
    if kind == "linspace":
        low, high = float(spec["low"]), float(spec["high"])
        return _narrow(low + np.arange(count) * ((high - low) / count), dtype).reshape(shape)
    if dtype in ("c64", "c128"):
        parts = _real(draws(key, 0, 2 * count), spec, scale)
        _add_diagonal(parts[0::2], shape, spec)
        part = parts.astype(np.float32 if dtype == "c64" else np.float64)
        return part.view(DTYPES[dtype]).reshape(shape)
    out = np.empty(count, DTYPES[dtype])
    if dtype == "pred":
        return _stream(key, count, lambda z: (z & np.uint64(1)) != 0, out).reshape(shape)
    if dtype[0] in "su":
        return _stream(key, count, lambda z: _integers(z, dtype, spec), out).reshape(shape)
    if "diag" in spec:
        values = _stream(key, count, lambda z: _real(z, spec, scale), np.empty(count))
        _add_diagonal(values, shape, spec)
        return _narrow(values, dtype).reshape(shape)
    convert = lambda z: _narrow(_real(z, spec, scale), dtype)  # noqa: E731
    return _stream(key, count, convert, out).reshape(shape)


def literal(values):
    """HLO literal text, row-major nested braces."""
    if values.ndim == 0:
        value = values[()]
        if values.dtype == np.bool_:
            return "true" if value else "false"
        return repr(float(value)) if values.dtype.kind == "f" else str(int(value))
    return "{ " + ", ".join(literal(v) for v in values) + " }"


def sampled_positions(stem, leaf, count, most=512):
    if count <= most:
        return np.arange(count)
    i = np.arange(most, dtype=np.int64)
    low, high = i * count // most, (i + 1) * count // most
    z = draws(f"{stem}/out/{leaf}", 0, most)
    return low + (z % (high - low).astype(np.uint64)).astype(np.int64)


def load_npz(path, dtypes=None):
    """The arrays "0", "1", ... in order; `dtypes` names what raw bytes are."""
    with np.load(path) as archive:
        arrays = [archive[str(i)] for i in range(len(archive.files))]
    if dtypes:
        arrays = [a.view(DTYPES[d]) if a.dtype.kind == "V" else a for a, d in zip(arrays, dtypes)]
    return arrays


def save_npz(path, arrays):
    """Stored, not deflated; types numpy does not know as raw bytes of their width."""
    raw = [a.view(f"V{a.dtype.itemsize}") if a.dtype == ml_dtypes.bfloat16 else a
           for a in map(np.asarray, arrays)]
    np.savez(path, **{str(i): a for i, a in enumerate(raw)})


def leaf_errors(got, want, rms=None):
    """Largest and root mean square error over the leaf's RMS; infinite where NaN or inf stand in
    other places. The first says whether a result is wrong. Which of two engines rounds more only
    the second does: the largest of a few hundred errors is up to twice as large for other inputs.
    """
    wide = np.complex128 if got.dtype.kind == "c" or want.dtype.kind == "c" else np.float64
    got, want = got.reshape(-1).astype(wide), want.reshape(-1).astype(wide)
    finite = np.isfinite(got) & np.isfinite(want)
    if not np.all(finite | (got == want) | (np.isnan(got) & np.isnan(want))):
        return float("inf"), float("inf")
    if not finite.any():
        return 0.0, 0.0
    want = want[finite]
    scale = rms if rms is not None else float(np.sqrt(np.mean(np.abs(want) ** 2)))
    errors = np.abs(got[finite] - want) / (scale or 1.0)
    return float(errors.max()), float(np.sqrt(np.mean(errors ** 2)))


def _golden_value(text, wide):
    return complex(float(text[0]), float(text[1])) if wide else float(text)


def against_golden(outputs, golden_path, stem):
    """[(errors, bound)] of each leaf at the golden's sampled positions. The bound is the
    product's tolerance by type, or four times XLA's own error where that is larger."""
    with open(golden_path, encoding="utf-8") as file:
        golden = json.load(file)
    if len(golden["outputs"]) != len(outputs):
        raise ValueError(f"{len(outputs)} results, the golden has {len(golden['outputs'])}")
    rows = []
    for k, (leaf, got) in enumerate(zip(golden["outputs"], outputs)):
        wide = leaf["dtype"] in ("c64", "c128")
        want = np.array([_golden_value(v, wide) for v in leaf["values"]])
        got = got.reshape(-1)[sampled_positions(stem, k, leaf["count"])]
        finite = leaf["count"] - leaf["nan"] - leaf["inf"]
        rms = float(leaf["l2"]) / np.sqrt(finite) if finite > 0 else 0.0
        own = leaf.get("xla_error", {}).get("max_over_rms",
                                            golden.get("xla_f32_max_err_over_rms", 0))
        perturbed = leaf.get("perturbed", {}).get("max_over_rms", 0)
        bound = max(TOLERANCE.get(leaf["dtype"], 0), 4 * max(own or 0, perturbed))
        rows.append((leaf_errors(got, want, rms), bound))
    return rows


def against_arrays(outputs, reference, dtypes, tolerance=None):
    """As above, with another engine's results as the measure."""
    if len(reference) != len(outputs):
        raise ValueError(f"{len(outputs)} results, the reference has {len(reference)}")
    rows = []
    for got, want, dtype in zip(outputs, reference, dtypes):
        if got.size != want.size:
            raise ValueError(f"a result has {got.size} elements, the reference {want.size}")
        bound = TOLERANCE.get(dtype, 0)
        rows.append((leaf_errors(got, want), tolerance if tolerance and bound else bound))
    return rows


def result_dtypes(text):
    """Element types of the result's leaves, from the root line of the entry."""
    entry = re.search(r"^ENTRY [^\n]*\{\s*$.*?^\}", text, re.M | re.S).group()
    root = re.search(r"^\s*ROOT %?[\w.\-]+ = (.*?) [\w\-]+\(", entry, re.M).group(1)
    return re.findall(r"(?<![\w])([a-z]\w*)\[", root)
