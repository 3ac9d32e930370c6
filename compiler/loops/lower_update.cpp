#include <algorithm>

#include "compiler/loops/lower_nests.h"
#include "compiler/loops/lower_window.h"

namespace fusemark::loops {
namespace {

size_t At(int64_t dim) {
  return static_cast<size_t>(dim);
}

bool Contains(const Dims& dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

// Does anything but operand `number` of the root read `id` in this kernel?
bool ReadElsewhere(const Emitter& emitter, InstrId root, size_t number) {
  const InstrId id = emitter.instr(root).operands[number];
  const auto& instrs = emitter.computation().instrs;
  for (uint32_t i = id.index + 1; i < instrs.size(); ++i) {
    if (!emitter.Inlined({i})) continue;
    for (size_t j = 0; j < instrs[i].operands.size(); ++j) {
      if (instrs[i].operands[j] == id && !(InstrId{i} == root && j == number)) return true;
    }
  }
  return false;
}

std::vector<ExprId> Exprs(Emitter& emitter, const Indices& indices) {
  std::vector<ExprId> exprs;
  for (const Affine& index : indices) exprs.push_back(emitter.Expr(index));
  return exprs;
}

// First phase of an update: result = operand `number`, unless both are one buffer already.
void CopyOperand(Lowering& lowering, size_t root, size_t number) {
  Emitter& emitter = lowering.emitter;
  const InstrId operand = lowering.root(root).operands[number];
  const BufferId result = lowering.results[root][number];
  const auto constant = emitter.instr(operand).op == Op::kConstant
                            ? ConstantValue(emitter.instr(operand))
                            : std::nullopt;
  const bool buffer = !emitter.Inlined(operand) && !constant;
  const bool may_share = buffer && !ReadElsewhere(emitter, lowering.request.roots[root], number);
  if (may_share) {
    emitter.OperandBuffer(operand);
    Kernel& kernel = emitter.builder().kernel();
    // The operand was listed just now or earlier; its place is what the ABI counts.
    for (size_t i = 0; i < kernel.operands.size(); ++i) {
      if (kernel.operands[i] == emitter.OperandBuffer(operand))
        kernel.buffers[result.index].in_place_of = static_cast<int32_t>(i);
    }
    if (lowering.request.in_place) return;
  }
  emitter.Nest('i', emitter.instr(operand).shape.dims, false, [&](const Indices& indices) {
    const Value value = emitter.Emit(operand, indices);
    emitter.Append(emitter.builder().Store(result, Exprs(emitter, indices), emitter.Stored(value)));
  });
}

void LowerUpdateSlice(Lowering& lowering, size_t root) {
  Emitter& emitter = lowering.emitter;
  const Instr& in = lowering.root(root);
  CopyOperand(lowering, root, 0);
  const auto& update = emitter.instr(in.operands[1]).shape.dims;
  emitter.Nest('w', update, false, [&](const Indices& indices) {
    Indices at;
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t high = in.shape.dims[i] - update[i];
      const Value start =
          high > 0 ? emitter.Emit(in.operands[i + 2], {}) : emitter.Constant(DType::kS32, 0);
      at.push_back(emitter.ClampedStart(start, high) + indices[i]);
    }
    const Value value = emitter.Emit(in.operands[1], indices);
    emitter.Append(emitter.builder().Store(lowering.results[root][0], Exprs(emitter, at),
                                           emitter.Stored(value)));
  });
}

// Applies a region to elements of the results in memory: result = region(result, update).
void Apply(Lowering& lowering, size_t root, const Indices& at, std::span<const Value> updates,
           bool update_first) {
  Emitter& emitter = lowering.emitter;
  Builder& build = emitter.builder();
  const auto& results = lowering.results[root];
  const Instr& in = lowering.root(root);
  std::vector<Value> current;
  for (size_t i = 0; i < results.size(); ++i) {
    const DType dtype = (in.shape.is_tuple ? in.shape.elements[i] : in.shape).dtype;
    const ExprId stored = build.Load(results[i], Exprs(emitter, at));
    current.push_back(emitter.Bind("old", dtype, emitter.FromStorage(dtype, stored)));
  }
  std::vector<Value> arguments(current);
  arguments.insert(update_first ? arguments.begin() : arguments.end(), updates.begin(),
                   updates.end());
  const auto values = emitter.Region(in.called.back(), arguments);
  for (size_t i = 0; i < results.size(); ++i)
    emitter.Append(build.Store(results[i], Exprs(emitter, at), emitter.Stored(values[i])));
}

// The dims of a scatter by role.
struct ScatterRoles {
  const ScatterAttrs& attrs;
  std::vector<int64_t> operand, indices, updates;
  size_t inputs = 0;

  bool IsWindow(size_t operand_dim) const {
    const auto dim = static_cast<int64_t>(operand_dim);
    return !Contains(attrs.inserted_window_dims, dim) && !Contains(attrs.input_batching_dims, dim);
  }
  // Size of the update window along each operand dim.
  std::vector<int64_t> WindowSizes() const {
    std::vector<int64_t> sizes;
    size_t next = 0;
    for (size_t dim = 0; dim < operand.size(); ++dim)
      sizes.push_back(IsWindow(dim) ? updates[At(attrs.update_window_dims[next++])] : 1);
    return sizes;
  }
};

// The start of the window along one operand dim: a scatter index, a batch position or 0.
Affine ScatterStart(Emitter& emitter, const Instr& in, const ScatterRoles& roles, size_t dim,
                    const Indices& position) {
  const auto& attrs = roles.attrs;
  const auto& map = attrs.scatter_dims_to_operand_dims;
  const auto component = std::find(map.begin(), map.end(), static_cast<int64_t>(dim));
  if (component != map.end()) {
    Indices at = position;
    if (attrs.index_vector_dim < static_cast<int64_t>(roles.indices.size()))
      at.insert(at.begin() + attrs.index_vector_dim, ConstantIndex(component - map.begin()));
    const Value start = emitter.Emit(in.operands[roles.inputs], at);
    Builder& build = emitter.builder();
    return emitter.BindIndex("s", build.Convert(emitter.Use(start), DType::kS64), Range{});
  }
  const auto& batching = attrs.input_batching_dims;
  const auto pair = std::find(batching.begin(), batching.end(), static_cast<int64_t>(dim));
  if (pair == batching.end()) return ConstantIndex(0);
  int64_t of_index = attrs.scatter_indices_batching_dims[At(pair - batching.begin())];
  if (of_index > attrs.index_vector_dim) --of_index;
  return position[At(of_index)];
}

// One window of updates whose start is known to be inside.
void ScatterWindow(Lowering& lowering, size_t root, const ScatterRoles& roles,
                   const Indices& position, const Indices& starts) {
  Emitter& emitter = lowering.emitter;
  const Instr& in = lowering.root(root);
  std::vector<int64_t> window;
  for (const int64_t dim : roles.attrs.update_window_dims) window.push_back(roles.updates[At(dim)]);
  emitter.Nest('w', window, false, [&](const Indices& inside) {
    Indices update(roles.updates.size()), at = starts;
    size_t next_window = 0, next_position = 0, next_dim = 0;
    for (size_t dim = 0; dim < update.size(); ++dim) {
      const bool in_window = Contains(roles.attrs.update_window_dims, static_cast<int64_t>(dim));
      update[dim] = in_window ? inside[next_window++] : position[next_position++];
    }
    for (size_t dim = 0; dim < at.size(); ++dim) {
      if (roles.IsWindow(dim)) at[dim] = at[dim] + inside[next_dim++];
    }
    std::vector<Value> updates;
    for (size_t i = 0; i < roles.inputs; ++i)
      updates.push_back(emitter.Emit(in.operands[roles.inputs + 1 + i], update));
    Apply(lowering, root, at, updates, false);
  });
}

// Updates in order, so duplicates combine as HLO's evaluator does; a window that is not wholly
// inside is skipped.
void LowerScatter(Lowering& lowering, size_t root) {
  Emitter& emitter = lowering.emitter;
  const Instr& in = lowering.root(root);
  const size_t inputs = in.operands.size() / 2;
  const ScatterRoles roles{in.As<ScatterAttrs>(), emitter.instr(in.operands[0]).shape.dims,
                           emitter.instr(in.operands[inputs]).shape.dims,
                           emitter.instr(in.operands[inputs + 1]).shape.dims, inputs};
  for (size_t i = 0; i < inputs; ++i) CopyOperand(lowering, root, i);
  std::vector<int64_t> positions;
  for (size_t dim = 0; dim < roles.updates.size(); ++dim) {
    if (!Contains(roles.attrs.update_window_dims, static_cast<int64_t>(dim)))
      positions.push_back(roles.updates[dim]);
  }
  const auto sizes = roles.WindowSizes();
  emitter.Nest('u', positions, true, [&](const Indices& position) {
    Indices starts;
    const std::function<void(size_t)> guard = [&](size_t dim) {
      if (dim == roles.operand.size()) {
        ScatterWindow(lowering, root, roles, position, starts);
        return;
      }
      const Affine start = ScatterStart(emitter, in, roles, dim, position);
      emitter.WithGuard(start, 0, roles.operand[dim] - sizes[dim], [&](const Affine& inside) {
        starts.push_back(inside);
        guard(dim + 1);
        starts.pop_back();
      });
    };
    guard(0);
  });
}

// The best element of one window so far, in registers.
struct Pick {
  BufferId found, value;
  std::vector<BufferId> position;
};

void Challenge(Emitter& emitter, const Instr& in, const Pick& pick, const Indices& element) {
  Builder& build = emitter.builder();
  const DType dtype = emitter.instr(in.operands[0]).shape.dtype;
  const Value candidate = emitter.Emit(in.operands[0], element);
  const Value best = emitter.Bind("best", dtype, emitter.Read(pick.value));
  const Value selected = emitter.Region(in.called[0], std::vector<Value>{best, candidate})[0];
  // The pick stays if there is one and select(pick, candidate) holds.
  const Value keep =
      emitter.Bind("keep", DType::kPred,
                   build.Binary(Op::kAnd, emitter.Read(pick.found), emitter.Use(selected)));
  emitter.Assign(pick.value,
                 build.Select(emitter.Use(keep), emitter.Use(best), emitter.Use(candidate)));
  for (size_t i = 0; i < element.size(); ++i)
    emitter.Assign(pick.position[i], build.Select(emitter.Use(keep), emitter.Read(pick.position[i]),
                                                  emitter.Expr(element[i])));
  emitter.Assign(pick.found, build.Constant(DType::kPred, 1));
}

void LowerSelectAndScatter(Lowering& lowering, size_t root) {
  Emitter& emitter = lowering.emitter;
  Builder& build = emitter.builder();
  const Instr& in = lowering.root(root);
  const auto& dims = in.shape.dims;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  const BufferId result = lowering.results[root][0];
  emitter.Nest('i', dims, false, [&](const Indices& indices) {
    const Value init = emitter.Emit(in.operands[2], {});
    emitter.Append(build.Store(result, Exprs(emitter, indices), emitter.Stored(init)));
  });
  const DType held = HeldType(in.shape.dtype);
  emitter.Nest('u', emitter.instr(in.operands[1]).shape.dims, true, [&](const Indices& source) {
    Pick pick;
    pick.found = emitter.Accumulator(DType::kPred, build.Constant(DType::kPred, 0));
    pick.value = emitter.Accumulator(held, build.Constant(held, 0));
    for (size_t i = 0; i < dims.size(); ++i)
      pick.position.push_back(emitter.Accumulator(DType::kS64, build.Index(0)));
    WindowNest(
        emitter, in.As<WindowAttrs>().window, source, dims, 'k', true,
        [&](const Indices& element, const Indices&) { Challenge(emitter, in, pick, element); });
    // A window wholly in padding picks nothing.
    emitter.If(emitter.Read(pick.found), [&] {
      Indices at;
      for (size_t i = 0; i < dims.size(); ++i)
        at.push_back(
            emitter.BindIndex("p", build.ClampIndex(emitter.Read(pick.position[i]), 0, dims[i] - 1),
                              {0, dims[i] - 1}));
      const Value update = emitter.Emit(in.operands[1], source);
      Apply(lowering, root, at, std::vector<Value>{update}, true);
    });
  });
}

}  // namespace

// As a member: the update where the element lies in the slice, the operand elsewhere.
Value Emitter::UpdateSlice(const Instr& in, const Indices& indices) {
  const auto& update = instr(in.operands[1]).shape.dims;
  if (std::find(update.begin(), update.end(), 0) != update.end())
    return Emit(in.operands[0], indices);
  std::optional<ExprId> inside;
  Indices at;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t high = in.shape.dims[i] - update[i];
    const Value start = high > 0 ? Emit(in.operands[i + 2], {}) : Constant(DType::kS32, 0);
    const Affine position = indices[i] - ClampedStart(start, high);
    if (const auto condition = InRange(position, 0, update[i] - 1))
      inside = inside ? builder_.Binary(Op::kAnd, *inside, *condition) : *condition;
    at.push_back(Clamp(position, 0, update[i] - 1));
  }
  const Value value = Emit(in.operands[1], at);
  return inside ? Select(in.name, *inside, value, Emit(in.operands[0], indices)) : value;
}

void LowerUpdates(Lowering& lowering) {
  for (size_t i = 0; i < lowering.request.roots.size(); ++i) {
    switch (lowering.root(i).op) {
      case Op::kDynamicUpdateSlice: LowerUpdateSlice(lowering, i); break;
      case Op::kScatter: LowerScatter(lowering, i); break;
      case Op::kSelectAndScatter: LowerSelectAndScatter(lowering, i); break;
      case Op::kSort:
      case Op::kTopK: LowerOrders(lowering, i); break;
      default: LowerRoots(lowering, std::vector<size_t>{i}); break;
    }
  }
}

}  // namespace fusemark::loops
