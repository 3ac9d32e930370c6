#include "compiler/ir/random.h"

#include <string>

#include "compiler/ir/number.h"
#include "compiler/support/hash.h"

namespace fusemark {

std::optional<BitAlgorithm> AlgorithmOf(const Instr& instr, const Shape& state) {
  const std::string& kind = instr.As<RngAttrs>().kind;
  const bool three_fry = kind == "rng_three_fry";
  if (!three_fry && kind != "rng_philox" && kind != "rng_default") return std::nullopt;
  if (!state.is_array() || state.dtype != DType::kU64 || state.rank() != 1) return std::nullopt;
  if (state.dims[0] != 2 && (three_fry || state.dims[0] != 3)) return std::nullopt;
  const Shape& bits = instr.shape.is_tuple ? instr.shape.elements[1] : instr.shape;
  if (!bits.is_array() || bits.dynamic_dims != 0) return std::nullopt;
  const DTypeClass type = ClassOf(bits.dtype);
  const bool number =
      type == DTypeClass::Signed || type == DTypeClass::Unsigned || type == DTypeClass::Float;
  if (!number || BitWidth(bits.dtype) < 8) return std::nullopt;
  return three_fry ? BitAlgorithm::kThreeFry : BitAlgorithm::kPhilox;
}

bool IsSupportedRng(const Instr& instr) {
  if (instr.shape.dynamic_dims != 0) return false;
  const DType dtype = instr.shape.dtype;
  const bool uniform = instr.As<RngAttrs>().kind == "rng_uniform";
  switch (ClassOf(dtype)) {
    case DTypeClass::Float: return uniform || dtype != DType::kF8E8M0FNU;  // it has no sign
    case DTypeClass::Pred:
    case DTypeClass::Signed:
    case DTypeClass::Unsigned: return uniform;
    default: return false;
  }
}

bool IsRandomState(const Instr& instr) {
  return instr.shape.is_array() && instr.shape.dtype == DType::kU64 && instr.shape.dims == Dims{2};
}

uint64_t SeedOf(std::string_view computation, std::string_view instr) {
  return Fnv1a64(std::string(computation) + "/" + std::string(instr));
}

int FractionBits(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 53;
    case DType::kF32: return 24;
    default: return FloatFormatOf(dtype).mantissa_bits + 1;
  }
}

size_t PairedDim(const Dims& dims) {
  size_t largest = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] % 2 == 0) return i;
    if (dims[i] > dims[largest]) largest = i;
  }
  return largest;
}

}  // namespace fusemark
