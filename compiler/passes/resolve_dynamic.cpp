// Arrays of bounded size become arrays of their bounds, with the sizes as values beside them. Only
// the entry is rewritten: a computation it calls takes and gives arrays of one size.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/ir/identity.h"
#include "compiler/passes/emitter.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

bool IsDynamic(const Shape& shape) {
  return shape.dynamic_dims != 0 ||
         std::any_of(shape.elements.begin(), shape.elements.end(), IsDynamic);
}

bool IsBounded(const Shape& shape) {
  return std::all_of(shape.dims.begin(), shape.dims.end(), [](int64_t dim) { return dim >= 0; });
}

class Resolver {
 public:
  explicit Resolver(Module& module) : module_(module), effects_(FindEffects(module)) {}

  Result<bool> Run() {
    Computation& entry = module_.Entry();
    const bool any = std::any_of(entry.instrs.begin(), entry.instrs.end(), [](const Instr& instr) {
      return instr.op == Op::kSetDimensionSize || IsDynamic(instr.shape);
    });
    if (!any) return false;
    FM_RETURN_IF_ERROR(CheckAll(entry));
    for (const InstrId id : entry.parameters) {
      Shape& shape = entry[id].shape;
      // Whoever runs the module gives as much as the bounds allow.
      if (shape.is_array()) shape.dynamic_dims = 0;
    }
    root_ = entry.Root().name;
    Rewrite(entry, effects_,
            [&](Builder& builder, Instr&& instr) { return Resolved(builder, std::move(instr)); });
    return true;
  }

 private:
  using Sizes = std::map<int64_t, InstrId>;  // by dimension: s32 scalars

  // Of what the result needs.
  Result<void> CheckAll(const Computation& entry) const {
    std::vector<bool> needed(entry.instrs.size(), false), dynamic;
    needed[entry.root.index] = true;
    for (size_t i = entry.instrs.size(); i-- > 0;)
      for (const InstrId operand : entry.instrs[i].operands)
        needed[operand.index] = needed[operand.index] || needed[i];
    for (size_t i = 0; i < entry.instrs.size(); ++i) {
      const Instr& instr = entry.instrs[i];
      bool reads = instr.op == Op::kSetDimensionSize || IsDynamic(instr.shape);
      for (const InstrId operand : instr.operands) reads = reads || dynamic[operand.index];
      dynamic.push_back(reads && instr.op != Op::kGetDimensionSize);
      if (!reads || !needed[i] || Knows(entry, instr)) continue;
      return Unsupported(
          fmt::format("instruction `{}` (line {}): opcode {} with a dynamic shape "
                      "({}) is not supported",
                      instr.name, instr.loc.line, OpName(instr.op), DynamicShape(entry, instr)),
          instr.loc);
    }
    return Ok();
  }

  // The first one among its operands and its result.
  static std::string DynamicShape(const Computation& entry, const Instr& instr) {
    for (const InstrId operand : instr.operands)
      if (IsDynamic(entry[operand].shape)) return ToString(entry[operand].shape);
    return ToString(instr.shape);
  }

  bool Knows(const Computation& entry, const Instr& instr) const {
    // A tuple is taken apart as the entry's result only.
    if (instr.op == Op::kTuple) {
      return &instr == &entry.Root() &&
             std::none_of(instr.operands.begin(), instr.operands.end(),
                          [&](InstrId id) { return entry[id].shape.is_tuple; });
    }
    if (!instr.shape.is_array() || !IsBounded(instr.shape)) return false;
    switch (instr.op) {
      case Op::kParameter:
      case Op::kSetDimensionSize:
      case Op::kGetDimensionSize:
      case Op::kBroadcast:
      case Op::kTranspose: return true;
      case Op::kReduce: return instr.operands.size() == 2 && Identity(entry, instr).has_value();
      default: return ClassOf(instr.op) == OpClass::Elementwise;
    }
  }

  std::optional<uint64_t> Identity(const Computation& entry, const Instr& instr) const {
    const Computation& region = module_[instr.called[0]];
    const Instr& root = region.Root();
    const bool plain = root.operands.size() == 2 && region.instrs.size() == 3 &&
                       root.operands[0] != root.operands[1];
    if (!plain) return std::nullopt;
    return IdentityBits(root.op, entry[instr.operands[0]].shape.dtype);
  }

  // The size of one dimension, as a value.
  InstrId SizeOf(Builder& builder, InstrId value, int64_t dim) const {
    if (const InstrId* size = Find(value, dim)) return *size;
    const int64_t extent = builder[value].shape.dims[static_cast<size_t>(dim)];
    return builder.Constant(ScalarLiteral(DType::kS32, static_cast<uint64_t>(extent)));
  }

  const InstrId* Find(InstrId value, int64_t dim) const {
    const auto found = sizes_.find(value.index);
    if (found == sizes_.end()) return nullptr;
    const auto size = found->second.find(dim);
    return size == found->second.end() ? nullptr : &size->second;
  }

  const Sizes& SizesOf(InstrId value) const {
    static const Sizes kNone;
    const auto found = sizes_.find(value.index);
    return found == sizes_.end() ? kNone : found->second;
  }

  InstrId Resolved(Builder& builder, Instr&& instr) {
    Sizes sizes;
    switch (instr.op) {
      case Op::kSetDimensionSize: return WithSize(builder, instr);
      case Op::kGetDimensionSize:
        return SizeOf(builder, instr.operands[0], instr.As<DimsAttrs>().dims[0]);
      case Op::kBroadcast:
      case Op::kTranspose: sizes = MovedSizes(instr); break;
      case Op::kReduce: sizes = PrepareReduce(builder, instr); break;
      default:
        for (const InstrId operand : instr.operands)
          sizes.insert(SizesOf(operand).begin(), SizesOf(operand).end());
    }
    if (instr.shape.is_array()) instr.shape.dynamic_dims = 0;
    if (instr.op == Op::kTuple) return Results(builder, std::move(instr));
    const bool is_root = instr.name == root_;
    const InstrId value = builder.Keep(std::move(instr));
    return WithSizes(builder, value, std::move(sizes), is_root);
  }

  // A value of its own: the operand may also be used with another size.
  InstrId WithSize(Builder& builder, const Instr& instr) {
    const InstrId operand = instr.operands[0];
    const int64_t dim = instr.As<DimsAttrs>().dims[0];
    Sizes sizes = SizesOf(operand);
    Emitter emit(builder);
    const int64_t bound = builder[operand].shape.dims[static_cast<size_t>(dim)];
    const InstrId high = emit.Bits(DType::kS32, static_cast<uint64_t>(bound));
    const InstrId low = emit.Bits(DType::kS32, 0);
    sizes[dim] =
        builder.Emit(Op::kClamp, ArrayShape(DType::kS32, {}), {low, instr.operands[1], high});
    const InstrId copy = builder.Unary(Op::kCopy, operand);
    return WithSizes(builder, copy, std::move(sizes), instr.name == root_);
  }

  InstrId WithSizes(Builder& builder, InstrId value, Sizes sizes, bool is_root) {
    if (sizes.empty()) return value;
    if (is_root) value = Finished(builder, value, sizes);
    sizes_[value.index] = std::move(sizes);
    return value;
  }

  Sizes MovedSizes(const Instr& instr) const {
    Sizes sizes;
    const Dims& dims = instr.As<DimsAttrs>().dims;
    for (const auto& [dim, size] : SizesOf(instr.operands[0])) {
      const auto from = static_cast<size_t>(dim);
      if (instr.op == Op::kBroadcast) sizes[dims[from]] = size;
      for (size_t to = 0; to < dims.size() && instr.op == Op::kTranspose; ++to)
        if (dims[to] == dim) sizes[static_cast<int64_t>(to)] = size;
    }
    return sizes;
  }

  // What lies beyond the sizes of reduced dimensions becomes the identity.
  Sizes PrepareReduce(Builder& builder, Instr& instr) {
    const InstrId operand = instr.operands[0];
    const Dims reduced = instr.As<DimsAttrs>().dims;
    Sizes masked, kept;
    int64_t to = 0;
    for (int64_t dim = 0; dim < builder[operand].shape.rank(); ++dim) {
      const bool is_reduced = std::find(reduced.begin(), reduced.end(), dim) != reduced.end();
      if (const InstrId* size = Find(operand, dim)) {
        if (is_reduced) {
          masked[dim] = *size;
        } else {
          kept[to] = *size;
        }
      }
      if (!is_reduced) ++to;
    }
    if (!masked.empty()) {
      const Computation& region = module_[instr.called[0]];
      const DType dtype = builder[operand].shape.dtype;
      const InstrId identity =
          builder.Constant(ScalarLiteral(dtype, *IdentityBits(region.Root().op, dtype)));
      instr.operands[0] = Masked(builder, operand, masked, identity);
    }
    return kept;
  }

  // `filler` beyond the sizes.
  static InstrId Masked(Builder& builder, InstrId value, const Sizes& sizes, InstrId filler) {
    Emitter emit(builder);
    const Dims dims = emit.dims(value);
    for (const auto& [dim, size] : sizes) {
      const InstrId index = emit.Iota(DType::kS32, dims, dim);
      const InstrId inside = emit.Compare(Direction::kLt, index, emit.Fill(size, dims));
      value = emit.Select(inside, value, emit.Fill(filler, dims));
    }
    return value;
  }

  InstrId Results(Builder& builder, Instr&& tuple) const {
    for (size_t i = 0; i < tuple.operands.size(); ++i) {
      const InstrId operand = tuple.operands[i];
      tuple.operands[i] = Finished(builder, operand, SizesOf(operand));
      tuple.shape.elements[i].dynamic_dims = 0;
    }
    return builder.Keep(std::move(tuple));
  }

  // A result of the entry: zeros beyond the sizes.
  static InstrId Finished(Builder& builder, InstrId value, const Sizes& sizes) {
    const InstrId zero = builder.Constant(ScalarLiteral(builder[value].shape.dtype, 0));
    return Masked(builder, value, sizes, zero);
  }

  Module& module_;
  const Effects effects_;
  std::string root_;
  std::map<uint32_t, Sizes> sizes_;  // of values in the builder
};

}  // namespace

Result<bool> ResolveDynamic(Module& module, const PassContext&) {
  return Resolver(module).Run();
}

}  // namespace fusemark
