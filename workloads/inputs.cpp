#include "workloads/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <complex>
#include <new>

#include "compiler/ir/number.h"
#include "compiler/support/hash.h"
#include "workloads/spec.h"

namespace fusemark {
namespace {

using Entry = InputSpec::Entry;

// Draw i of the SplitMix64 stream with this seed.
uint64_t Draw(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// Everything needed to make element i of one array.
struct Generator {
  const Shape& shape;
  const Entry& entry;
  uint64_t seed;
  double scale;  // when the entry has none
  int64_t count;

  double Real(uint64_t draw) const {
    const double u = static_cast<double>(draw >> 40);
    if (entry.kind == SpecKind::kRange)
      return entry.low.real + (u * 0x1p-24) * (entry.high.real - entry.low.real);
    return (u * 0x1p-23 - 1.0) * entry.scale.value_or(scale);
  }

  // Element i of a float array, or the real part of a complex one.
  double RealAt(int64_t i, uint64_t draw) const {
    if (entry.kind == SpecKind::kConst) return entry.values[0].real;
    if (entry.kind == SpecKind::kValues) return entry.values[static_cast<size_t>(i)].real;
    if (entry.kind == SpecKind::kLinspace)
      return entry.low.real + static_cast<double>(i) *
                                  ((entry.high.real - entry.low.real) / static_cast<double>(count));
    const double value = Real(draw);
    if (!entry.diag) return value;
    const int64_t columns = shape.dims[shape.dims.size() - 1];
    const int64_t rows = shape.dims[shape.dims.size() - 2];
    return i % columns == i / columns % rows ? value + *entry.diag : value;
  }

  double FloatAt(int64_t i) const { return RealAt(i, Draw(seed, static_cast<uint64_t>(i))); }

  bool HasDraws() const {
    return entry.kind == SpecKind::kScale || entry.kind == SpecKind::kRange ||
           entry.kind == SpecKind::kInt;
  }

  std::complex<double> ComplexAt(int64_t i) const {
    const auto draw = 2 * static_cast<uint64_t>(i);
    return {RealAt(i, Draw(seed, draw)), HasDraws() ? Real(Draw(seed, draw + 1)) : 0.0};
  }

  // Wraps when stored in a narrower type.
  uint64_t IntegerAt(int64_t i) const {
    if (entry.kind == SpecKind::kConst) return static_cast<uint64_t>(entry.values[0].integer);
    if (entry.kind == SpecKind::kValues)
      return static_cast<uint64_t>(entry.values[static_cast<size_t>(i)].integer);
    const int bits = BitWidth(shape.dtype) - (IsSigned(shape.dtype) ? 1 : 0);
    int64_t low = 0, high = bits >= 3 ? 8 : int64_t{1} << bits;
    if (entry.kind == SpecKind::kInt || entry.kind == SpecKind::kRange) {
      low = entry.low.integer;
      high = entry.high.integer;
    }
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const uint64_t draw = Draw(seed, static_cast<uint64_t>(i));
    return (draw >> 11) % span + static_cast<uint64_t>(low);
  }

  uint8_t PredAt(int64_t i) const {
    if (!HasDraws()) return IntegerAt(i) != 0 ? 1 : 0;
    return static_cast<uint8_t>(Draw(seed, static_cast<uint64_t>(i)) & 1);
  }
};

template <class T, class F>
void FillWith(Tensor& tensor, int64_t count, F element) {
  T* to = tensor.as<T>();
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(element(i));
}

// Sub-byte integers are kept one per byte, sign- or zero-extended.
void FillIntegers(const Generator& make, Tensor& tensor) {
  const auto element = [&](int64_t i) { return make.IntegerAt(i); };
  const int bits = BitWidth(make.shape.dtype);
  switch (ByteSize(make.shape.dtype)) {
    case 2: return FillWith<uint16_t>(tensor, make.count, element);
    case 4: return FillWith<uint32_t>(tensor, make.count, element);
    case 8: return FillWith<uint64_t>(tensor, make.count, element);
    default: break;
  }
  const bool is_signed = IsSigned(make.shape.dtype);
  FillWith<uint8_t>(tensor, make.count, [&](int64_t i) {
    const auto top = static_cast<uint8_t>(make.IntegerAt(i) << (8 - bits));
    return is_signed ? static_cast<uint8_t>(static_cast<int8_t>(top) >> (8 - bits))
                     : static_cast<uint8_t>(top >> (8 - bits));
  });
}

void FillFloats(const Generator& make, Tensor& tensor) {
  const DType dtype = make.shape.dtype;
  const auto element = [&](int64_t i) { return make.FloatAt(i); };
  // Narrow types round twice: to f32, then to the type.
  const auto narrow = [&](int64_t i) {
    return FloatToBits(dtype, static_cast<double>(static_cast<float>(make.FloatAt(i))));
  };
  if (dtype == DType::kF64) return FillWith<double>(tensor, make.count, element);
  if (dtype == DType::kF32) return FillWith<float>(tensor, make.count, element);
  if (dtype == DType::kBF16)
    return FillWith<uint16_t>(tensor, make.count, [&](int64_t i) {
      return F32ToBF16(static_cast<float>(make.FloatAt(i)));
    });
  if (dtype == DType::kF16) return FillWith<uint16_t>(tensor, make.count, narrow);
  FillWith<uint8_t>(tensor, make.count, narrow);
}

Result<void> CheckEntry(const Shape& shape, const Entry& entry, const std::string& key) {
  const int64_t count = ElementCount(shape);
  if (entry.kind == SpecKind::kValues && static_cast<int64_t>(entry.values.size()) != count)
    return Invalid("inputs of " + key + ": found " + std::to_string(entry.values.size()) +
                   " values, expected " + std::to_string(count) + " for " + ToString(shape));
  if (entry.diag && shape.rank() < 2)
    return Invalid("inputs of " + key + ": \"diag\" needs a matrix, found " + ToString(shape));
  if (entry.kind == SpecKind::kLinspace && !IsFloat(shape.dtype))
    return Invalid("inputs of " + key + ": linspace is for float types, found " + ToString(shape));
  const bool has_range = entry.kind == SpecKind::kInt || entry.kind == SpecKind::kRange;
  if (IsInteger(shape.dtype) && has_range && entry.high.integer <= entry.low.integer)
    return Invalid("inputs of " + key + ": \"high\" must be above \"low\" for " + ToString(shape));
  return Ok();
}

Result<Tensor> Generate(const Shape& shape, const std::string& key, const Entry* entry,
                        double scale) {
  static const Entry kPlain;
  const Entry& used = entry != nullptr ? *entry : kPlain;
  FM_RETURN_IF_ERROR(CheckEntry(shape, used, key));
  const Generator make{shape, used, Fnv1a64(key), scale, ElementCount(shape)};
  Tensor tensor = MakeTensor(shape, false);
  switch (ClassOf(shape.dtype)) {
    case DTypeClass::Pred:
      FillWith<uint8_t>(tensor, make.count, [&](int64_t i) { return make.PredAt(i); });
      break;
    case DTypeClass::Signed:
    case DTypeClass::Unsigned: FillIntegers(make, tensor); break;
    case DTypeClass::Float: FillFloats(make, tensor); break;
    case DTypeClass::Complex:
      if (shape.dtype == DType::kC64)
        FillWith<std::complex<float>>(
            tensor, make.count, [&](int64_t i) { return std::complex<float>(make.ComplexAt(i)); });
      else
        FillWith<std::complex<double>>(tensor, make.count,
                                       [&](int64_t i) { return make.ComplexAt(i); });
      break;
    case DTypeClass::Opaque: break;  // tokens carry nothing
  }
  return tensor;
}

const Entry* Find(const std::map<std::string, std::shared_ptr<const Entry>>& entries,
                  const std::string& name) {
  const auto found = entries.find(name);
  return found == entries.end() ? nullptr : found->second.get();
}

// Refused before any memory is touched: the machine would swap or kill the process half-way.
Result<void> CheckMemory(const Module& module) {
  int64_t total = 0;
  for (InstrId id : module.Entry().parameters) {
    const auto bytes = CheckedByteSize(module.Entry()[id].shape);
    if (!bytes || __builtin_add_overflow(total, *bytes, &total))
      return Error{Code::kLaunchFailed, "the size of the parameters overflows 64 bits"};
  }
  const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (total <= memory) return Ok();
  return Error{Code::kLaunchFailed, "the parameters take " + std::to_string(total >> 20) +
                                        " MiB, this machine has " + std::to_string(memory >> 20) +
                                        " MiB of memory"};
}

}  // namespace

Result<std::vector<Tensor>> SynthesiseInputs(const Module& module, std::string_view stem,
                                             const InputSpec& spec, uint64_t seed) {
  FM_RETURN_IF_ERROR(CheckMemory(module));
  const std::string prefix =
      (seed == 0 ? "" : std::to_string(seed) + ":") + std::string(stem) + "/";
  std::vector<Tensor> inputs;
  const Computation& entry = module.Entry();
  try {
    for (size_t number = 0; number < entry.parameters.size(); ++number) {
      std::vector<Shape> leaves;
      FlattenLeaves(entry[entry.parameters[number]].shape, leaves);
      const std::string name = std::to_string(number);
      for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        const std::string place = name + "/" + std::to_string(leaf);
        const Entry* exact = Find(spec.params, place);
        FM_TRY(Tensor tensor, Generate(leaves[leaf], prefix + place,
                                       exact != nullptr ? exact : Find(spec.params, name),
                                       spec.scale.value_or(0.1)));
        inputs.push_back(std::move(tensor));
      }
    }
  } catch (const std::bad_alloc&) {
    return Error{Code::kLaunchFailed, "out of memory while making the inputs"};
  }
  return inputs;
}

Result<std::vector<std::string>> FillElidedConstants(Module& module, std::string_view stem,
                                                     const InputSpec& spec) {
  std::vector<std::string> filled;
  for (Computation& computation : module.computations) {
    for (Instr& instr : computation.instrs) {
      if (instr.op != Op::kConstant || !instr.As<ConstantAttrs>().elided) continue;
      auto& constant = instr.As<ConstantAttrs>();
      if (!instr.shape.is_array())
        return Invalid("constant %" + instr.name + ": only the values of arrays can be elided",
                       instr.loc);
      const std::string key = std::string(stem) + "/const/" + instr.name;
      FM_TRY(const Tensor values, Generate(instr.shape, key, Find(spec.constants, instr.name),
                                           spec.scale.value_or(0.1)));
      const std::byte* data = values.data.get();
      constant.literal =
          MakeLiteral(instr.shape, std::vector<std::byte>(data, data + values.size_bytes()));
      constant.elided = false;
      filled.push_back(instr.name);
    }
  }
  return filled;
}

std::vector<int64_t> SamplePositions(std::string_view stem, int64_t leaf, int64_t n) {
  constexpr int64_t kSamples = 512;
  std::vector<int64_t> positions;
  if (n <= kSamples) {
    for (int64_t i = 0; i < n; ++i) positions.push_back(i);
    return positions;
  }
  const uint64_t seed = Fnv1a64(std::string(stem) + "/out/" + std::to_string(leaf));
  // i * n / 512 without overflow for any n.
  const auto bound = [n](int64_t i) {
    return static_cast<int64_t>(static_cast<unsigned __int128>(i) *
                                static_cast<unsigned __int128>(n) / kSamples);
  };
  for (int64_t i = 0; i < kSamples; ++i) {
    const int64_t low = bound(i);
    const auto width = static_cast<uint64_t>(bound(i + 1) - low);
    positions.push_back(low + static_cast<int64_t>(Draw(seed, static_cast<uint64_t>(i)) % width));
  }
  return positions;
}

}  // namespace fusemark
