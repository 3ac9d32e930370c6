#include <algorithm>

#include "compiler/passes/simplify_algebra.h"

namespace fusemark {
namespace {

Dims WithoutOnes(const Dims& dims) {
  Dims result;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(result),
               [](int64_t extent) { return extent != 1; });
  return result;
}

Dims Inverse(const Dims& permutation) {
  Dims inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return inverse;
}

// A run of dims of one shape that a reshape maps to a run of dims of the other, as short as
// possible.
struct Group {
  size_t from_begin, from_end, to_begin, to_end;
};

// Nothing if an extent is 0 (then runs are ambiguous).
std::optional<std::vector<Group>> GroupsOf(const Dims& from, const Dims& to) {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    Group group{i, i, j, j};
    int64_t a = 1, b = 1;
    if (i < from.size()) a = from[i++];
    if (j < to.size()) b = to[j++];
    while (a != b) {
      if (a == 0 || b == 0) return std::nullopt;
      if (a < b) {
        if (i == from.size()) return std::nullopt;
        a *= from[i++];
      } else {
        if (j == to.size()) return std::nullopt;
        b *= to[j++];
      }
    }
    if (a == 0) return std::nullopt;
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

// reshape(transpose(x)) that drops all extents of 1: transpose x without them, in fewer dims.
Step ReshapeOfTranspose(Builder& builder, Instr& instr) {
  const Instr& transpose = builder[instr.operands[0]];
  const InstrId source = transpose.operands[0];
  const Dims x_dims = builder[source].shape.dims;
  if (instr.shape.dims != WithoutOnes(transpose.shape.dims)) return Leave();
  Dims wide, permutation;  // dims of x that stay, and where the transpose reads them
  for (size_t d = 0; d < x_dims.size(); ++d) {
    if (x_dims[d] != 1) wide.push_back(static_cast<int64_t>(d));
  }
  for (int64_t d : transpose.As<DimsAttrs>().dims) {
    const auto at = std::find(wide.begin(), wide.end(), d);
    if (at != wide.end()) permutation.push_back(at - wide.begin());
  }
  const InstrId value = builder.Reshape(source, WithoutOnes(x_dims));
  return Become(instr, Op::kTranspose, {value}, DimsAttrs{std::move(permutation)});
}

// reduce(reshape(x)) where the reshape only adds extents of 1: reduce x itself, so that it shares
// the dims of what else is done to x.
Step ReduceOfReshape(Builder& builder, Instr& instr) {
  const Instr& reshape = builder[instr.operands[0]];
  if (instr.operands.size() != 2 || reshape.op != Op::kReshape) return Leave();
  const InstrId source = reshape.operands[0];
  const Dims from = builder[source].shape.dims, to = reshape.shape.dims;
  if (from.size() >= to.size() || WithoutOnes(from) != WithoutOnes(to)) return Leave();
  const Dims& reduced = instr.As<DimsAttrs>().dims;
  Dims dims, kept;
  size_t next = 0;  // dims of x that are not 1 stand in the same order
  for (size_t d = 0; d < from.size(); ++d) {
    bool is_reduced = false;
    if (from[d] != 1) {
      while (to[next] == 1) ++next;
      const auto of_reshape = static_cast<int64_t>(next++);
      is_reduced = std::find(reduced.begin(), reduced.end(), of_reshape) != reduced.end();
    }
    if (is_reduced) {
      dims.push_back(static_cast<int64_t>(d));
    } else {
      kept.push_back(from[d]);
    }
  }
  if (dims.empty()) return Leave();  // only extents of 1: the region still runs once
  Instr inner = instr;
  inner.operands[0] = source;
  inner.shape = ArrayShape(instr.shape.dtype, std::move(kept));
  inner.attrs = DimsAttrs{std::move(dims)};
  return Become(instr, Op::kReshape, {builder.Emit(std::move(inner))});
}

Step SimplifyReshape(Builder& builder, Instr& instr) {
  const InstrId operand = instr.operands[0];
  const Instr& inner = builder[operand];
  if (inner.shape.dims == instr.shape.dims) return Use(operand);
  if (inner.op == Op::kReshape) return Become(instr, Op::kReshape, inner.operands);
  if (inner.op == Op::kTranspose) return ReshapeOfTranspose(builder, instr);
  if (inner.op != Op::kBroadcast) return Leave();
  const InstrId source = inner.operands[0];
  auto swapped = SwapReshapeBroadcast(builder, inner, instr.shape.dims);
  if (!swapped) return Leave();
  const InstrId value = builder.Reshape(source, std::move(swapped->operand_dims));
  return Become(instr, Op::kBroadcast, {value}, DimsAttrs{std::move(swapped->broadcast_dims)});
}

// broadcast(reshape(y)) where the reshape only adds or drops extents of 1: spread y itself.
Step BroadcastOfReshape(Builder& builder, Instr& instr) {
  const Instr& reshape = builder[instr.operands[0]];
  if (reshape.op != Op::kReshape) return Leave();
  const InstrId source = reshape.operands[0];
  const Dims squeezed = WithoutOnes(reshape.shape.dims);
  if (squeezed.size() == reshape.shape.dims.size()) return Leave();
  if (squeezed != WithoutOnes(builder[source].shape.dims)) return Leave();
  Dims dims;
  for (size_t i = 0; i < reshape.shape.dims.size(); ++i) {
    if (reshape.shape.dims[i] != 1) dims.push_back(instr.As<DimsAttrs>().dims[i]);
  }
  const InstrId value = builder.Reshape(source, squeezed);
  return Become(instr, Op::kBroadcast, {value}, DimsAttrs{std::move(dims)});
}

Step SimplifyBroadcast(Builder& builder, Instr& instr) {
  const InstrId operand = instr.operands[0];
  const Instr& inner = builder[operand];
  const Dims& dims = instr.As<DimsAttrs>().dims;
  if (inner.shape.dims == instr.shape.dims && IsIncreasing(dims)) return Use(operand);
  if (inner.op == Op::kBroadcast) {
    Dims composed;
    for (int64_t d : inner.As<DimsAttrs>().dims) composed.push_back(dims[static_cast<size_t>(d)]);
    return Become(instr, Op::kBroadcast, inner.operands, DimsAttrs{std::move(composed)});
  }
  if (ElementCount(inner.shape) == ElementCount(instr.shape) && IsIncreasing(dims)) {
    return Become(instr, Op::kReshape, {operand});
  }
  return BroadcastOfReshape(builder, instr);
}

// A transpose that keeps the order of all extents but 1 moves nothing.
bool OnlyMovesOnes(const Dims& permutation, const Dims& operand_dims) {
  Dims order;
  for (int64_t d : permutation) {
    if (operand_dims[static_cast<size_t>(d)] != 1) order.push_back(d);
  }
  return IsIncreasing(order);
}

// transpose(broadcast(x)) is a broadcast of x, or of x transposed, which is smaller.
Step TransposeOfBroadcast(Builder& builder, Instr& instr) {
  const Instr& broadcast = builder[instr.operands[0]];
  const InstrId source = broadcast.operands[0];
  const Dims position = Inverse(instr.As<DimsAttrs>().dims);
  std::vector<std::pair<int64_t, int64_t>> placed;  // dim of the result, dim of x
  const Dims& dims = broadcast.As<DimsAttrs>().dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    placed.emplace_back(position[static_cast<size_t>(dims[i])], static_cast<int64_t>(i));
  }
  std::sort(placed.begin(), placed.end());
  Dims permutation, result_dims;
  for (const auto& [to, from] : placed) {
    permutation.push_back(from);
    result_dims.push_back(to);
  }
  const InstrId value = builder.Transpose(source, std::move(permutation));
  return Become(instr, Op::kBroadcast, {value}, DimsAttrs{std::move(result_dims)});
}

Step SimplifyTranspose(Builder& builder, Instr& instr) {
  const InstrId operand = instr.operands[0];
  const Instr& inner = builder[operand];
  const Dims& permutation = instr.As<DimsAttrs>().dims;
  if (IsIncreasing(permutation)) return Use(operand);
  if (OnlyMovesOnes(permutation, inner.shape.dims)) return Become(instr, Op::kReshape, {operand});
  if (inner.op == Op::kTranspose) {
    Dims composed;
    for (int64_t d : permutation) {
      composed.push_back(inner.As<DimsAttrs>().dims[static_cast<size_t>(d)]);
    }
    return Become(instr, Op::kTranspose, inner.operands, DimsAttrs{std::move(composed)});
  }
  return inner.op == Op::kBroadcast ? TransposeOfBroadcast(builder, instr) : Leave();
}

Step SimplifyReverse(const Builder& builder, Instr& instr) {
  const Instr& inner = builder[instr.operands[0]];
  const Dims& reversed = instr.As<DimsAttrs>().dims;
  const bool nothing = std::all_of(reversed.begin(), reversed.end(), [&](int64_t d) {
    return instr.shape.dims[static_cast<size_t>(d)] <= 1;
  });
  if (nothing) return Use(instr.operands[0]);
  if (inner.op == Op::kReverse && inner.As<DimsAttrs>() == instr.As<DimsAttrs>()) {
    return Use(inner.operands[0]);
  }
  return Leave();
}

Step SimplifyIota(Builder& builder, Instr& instr) {
  const auto dim = static_cast<size_t>(instr.As<DimsAttrs>().dims[0]);
  if (instr.shape.dims[dim] != 1) return Leave();
  const InstrId zero = builder.Constant(ScalarLiteralOf(instr.shape.dtype, 0));
  return Become(instr, Op::kBroadcast, {zero}, DimsAttrs{});
}

}  // namespace

std::optional<SwappedBroadcast> SwapReshapeBroadcast(const Builder& builder, const Instr& broadcast,
                                                     const Dims& result) {
  const Dims& x_dims = builder[broadcast.operands[0]].shape.dims;
  const Dims& broadcast_dims = broadcast.As<DimsAttrs>().dims;
  const Dims& middle = broadcast.shape.dims;
  if (!IsIncreasing(broadcast_dims)) return std::nullopt;
  const auto groups = GroupsOf(middle, result);
  if (!groups) return std::nullopt;
  SwappedBroadcast swapped;
  size_t next = 0;  // next dim of x
  for (const Group& group : *groups) {
    int64_t held = 1, all = 1;
    for (size_t d = group.from_begin; d < group.from_end; ++d) {
      all *= middle[d];
      if (next < broadcast_dims.size() && broadcast_dims[next] == static_cast<int64_t>(d)) {
        held *= x_dims[next++];
      }
    }
    if (held == 1) continue;  // spread only: any split of the result will do
    if (held != all) return std::nullopt;
    for (size_t d = group.to_begin; d < group.to_end; ++d) {
      if (result[d] == 1) continue;
      swapped.operand_dims.push_back(result[d]);
      swapped.broadcast_dims.push_back(static_cast<int64_t>(d));
    }
  }
  return swapped;
}

Step SimplifyMovement(Builder& builder, Instr& instr) {
  switch (instr.op) {
    case Op::kReshape: return SimplifyReshape(builder, instr);
    case Op::kBroadcast: return SimplifyBroadcast(builder, instr);
    case Op::kTranspose: return SimplifyTranspose(builder, instr);
    case Op::kReverse: return SimplifyReverse(builder, instr);
    case Op::kIota: return SimplifyIota(builder, instr);
    case Op::kReduce: return ReduceOfReshape(builder, instr);
    default: return Leave();
  }
}

}  // namespace fusemark
