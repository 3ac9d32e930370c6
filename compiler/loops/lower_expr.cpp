#include "compiler/loops/lower_expr.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "compiler/ir/number.h"
#include "compiler/support/check.h"

namespace fusemark::loops {

DType HeldType(DType dtype) {
  return IsNarrowFloat(dtype) ? DType::kF32 : WrapsInByte(dtype) ? StorageType(dtype) : dtype;
}

bool IsNarrowFloat(DType dtype) {
  return IsFloat(dtype) && BitWidth(dtype) <= 16;
}

Emitter::Emitter(const LowerRequest& request, Lowered& lowered)
    : request_(request),
      computation_((*request.module)[request.computation]),
      lowered_(lowered),
      builder_(lowered.kernel),
      inlined_(computation_.instrs.size(), false) {
  for (const InstrId id : request.members) inlined_[id.index] = true;
  for (const InstrId id : request.roots) inlined_[id.index] = true;
}

// ---- statements and scopes ----

void Emitter::InScope(Scope& scope, const std::function<void()>& body) {
  scope.parent = scope_;
  scope.depth = scope_->depth + 1;
  scope_ = &scope;
  body();
  scope_ = scope.parent;
}

size_t Emitter::FreeNumber(char prefix) const {
  size_t free = 0;
  for (const auto& [name, number] : active_loops_) {
    if (name == prefix) free = std::max(free, number + 1);
  }
  return free;
}

void Emitter::Loop(char prefix, size_t number, int64_t extent, bool reduces,
                   const std::function<void(const Affine&)>& body) {
  if (extent == 1) {
    body(ConstantIndex(0));
    return;
  }
  const bool taken = std::find(active_loops_.begin(), active_loops_.end(),
                               std::pair{prefix, number}) != active_loops_.end();
  if (taken) number = FreeNumber(prefix);
  const VarId var = builder_.SameVar(prefix + std::to_string(number));
  Scope scope;
  active_loops_.emplace_back(prefix, number);
  InScope(scope, [&] {
    SetVar(var, {0, extent - 1});
    body(VarIndex(var));
  });
  active_loops_.pop_back();
  Append(builder_.For(var, extent, std::move(scope.block), LoopKind::kSerial, reduces));
}

void Emitter::Nest(char prefix, const std::vector<int64_t>& dims, bool reduces,
                   const std::function<void(const Indices&)>& body) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  const size_t first = FreeNumber(prefix);
  Indices indices;
  const std::function<void(size_t)> level = [&](size_t dim) {
    if (dim == dims.size()) {
      body(indices);
      return;
    }
    Loop(prefix, first + dim, dims[dim], reduces, [&](const Affine& index) {
      indices.push_back(index);
      level(dim + 1);
      indices.pop_back();
    });
  };
  level(0);
}

void Emitter::If(ExprId condition, const std::function<void()>& body) {
  Scope scope;
  InScope(scope, body);
  if (!scope.block.empty()) Append(builder_.If(condition, std::move(scope.block)));
}

void Emitter::SetVar(VarId var, Range range) {
  if (ranges_.size() <= var.index) {
    ranges_.resize(var.index + 1);
    depths_.resize(var.index + 1, 0);
  }
  ranges_[var.index] = range;
  depths_[var.index] = scope_->depth;
}

// ---- indices ----

Range Emitter::RangeOf(const Affine& index) const {
  Range range{index.constant, index.constant};
  for (const auto& [var, factor] : index.terms)
    range = AddRanges(range, ScaleRange(ranges_[var.index], factor));
  return range;
}

ExprId Emitter::Expr(const Affine& index) {
  ExprId sum;
  for (const auto& [var, factor] : index.terms) {
    const ExprId term = builder_.Mul(builder_.Use(var), factor);
    sum = sum.valid() ? builder_.Add(sum, term) : term;
  }
  if (!sum.valid()) return builder_.Index(index.constant);
  return builder_.Add(sum, builder_.Index(index.constant));
}

Affine Emitter::BindIndex(std::string_view name, ExprId value, Range range) {
  if (range.lo == range.hi) return ConstantIndex(range.lo);
  const VarId var = builder_.AddVar(name);
  Append(builder_.Let(var, value));
  SetVar(var, range);
  return VarIndex(var);
}

Affine Emitter::Div(const Affine& index, int64_t divisor) {
  return DivMod(index, divisor, false);
}

Affine Emitter::Mod(const Affine& index, int64_t divisor) {
  return DivMod(index, divisor, true);
}

Affine Emitter::DivMod(const Affine& index, int64_t divisor, bool want_mod) {
  if (divisor == 1) return want_mod ? ConstantIndex(0) : index;
  SplitAffine split = Split(index, divisor);
  Range range = RangeOf(split.rest);
  if (range.lo < 0) {  // emitted as a truncating division: lift to non-negative
    const int64_t lift = -FloorDiv(range.lo, divisor);
    split.rest = split.rest + lift * divisor;
    split.quotient = split.quotient + -lift;
    range = RangeOf(split.rest);
  }
  if (range.hi < divisor) return want_mod ? split.rest : split.quotient;
  // (g * A + r) / d = A / (d / g) where 0 <= r < g and g divides d.
  for (const auto& [var, factor] : split.rest.terms) {
    const int64_t common = std::gcd(factor, divisor);
    if (common == 1) continue;
    const SplitAffine inner = Split(split.rest, common);
    if (!RangeOf(inner.rest).Within(0, common - 1) || RangeOf(inner.quotient).lo < 0) continue;
    if (!want_mod) return split.quotient + Div(inner.quotient, divisor / common);
    return Mod(inner.quotient, divisor / common) * common + inner.rest;
  }
  const auto key = std::tuple{split.rest, divisor, want_mod};
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    const auto found = scope->quotients.find(key);
    if (found == scope->quotients.end()) continue;
    return want_mod ? found->second : split.quotient + found->second;
  }
  const ExprId value = Expr(split.rest);
  const Affine bound = want_mod
                           ? BindIndex("m", builder_.Mod(value, divisor), {0, divisor - 1})
                           : BindIndex("q", builder_.Div(value, divisor),
                                       {FloorDiv(range.lo, divisor), FloorDiv(range.hi, divisor)});
  scope_->quotients.emplace(key, bound);
  return want_mod ? bound : split.quotient + bound;
}

Affine Emitter::Clamp(const Affine& index, int64_t low, int64_t high) {
  const Range range = RangeOf(index);
  if (range.Within(low, high)) return index;
  return BindIndex("c", builder_.ClampIndex(Expr(index), low, high),
                   {std::clamp(range.lo, low, high), std::clamp(range.hi, low, high)});
}

Affine Emitter::Linearise(const Indices& indices, const std::vector<int64_t>& dims) {
  Affine linear = ConstantIndex(0);
  for (size_t i = 0; i < dims.size(); ++i) linear = linear * dims[i] + indices[i];
  return linear;
}

Indices Emitter::Delinearise(const Affine& linear, const std::vector<int64_t>& dims) {
  Indices indices(dims.size());
  Affine rest = linear;
  for (size_t i = dims.size(); i-- > 0;) {
    const bool outermost = std::all_of(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(i),
                                       [](int64_t dim) { return dim == 1; });
    if (dims[i] == 1) {
      indices[i] = ConstantIndex(0);
    } else if (outermost) {
      indices[i] = rest;
      rest = ConstantIndex(0);
    } else {
      indices[i] = Mod(rest, dims[i]);
      rest = Div(rest, dims[i]);
    }
  }
  return indices;
}

// Groups of dims whose products agree are mapped each by itself, so that an expensive division in
// one group does not spread to the others.
Indices Emitter::MapReshape(const Indices& indices, const std::vector<int64_t>& to,
                            const std::vector<int64_t>& from) {
  Indices result;
  size_t i = 0, j = 0;
  while (i < to.size() || j < from.size()) {
    std::vector<int64_t> to_group, from_group;
    Indices group;
    int64_t to_size = 1, from_size = 1;
    do {
      if (j < from.size() && (from_size < to_size || i == to.size())) {
        from_size *= from[j];
        from_group.push_back(from[j++]);
      } else {
        to_size *= to[i];
        to_group.push_back(to[i]);
        group.push_back(indices[i++]);
      }
      // Trailing 1s belong to the last group.
    } while (to_size != from_size);
    const Indices mapped = Delinearise(Linearise(group, to_group), from_group);
    result.insert(result.end(), mapped.begin(), mapped.end());
  }
  return result;
}

std::optional<ExprId> Emitter::InRange(const Affine& index, int64_t low, int64_t high) {
  const Range range = RangeOf(index);
  std::optional<ExprId> condition;
  if (range.lo < low)
    condition = builder_.Compare(Direction::kGe, Expr(index), builder_.Index(low));
  if (range.hi > high) {
    const ExprId upper = builder_.Compare(Direction::kLe, Expr(index), builder_.Index(high));
    condition = condition ? builder_.Binary(Op::kAnd, *condition, upper) : upper;
  }
  return condition;
}

void Emitter::WithGuard(const Affine& index, int64_t low, int64_t high,
                        const std::function<void(const Affine&)>& body) {
  const Range range = RangeOf(index);
  if (range.Within(low, high)) {
    body(index);
    return;
  }
  if (low > high || range.hi < low || range.lo > high) return;
  const bool is_variable =
      index.terms.size() == 1 && index.terms[0].second == 1 && index.constant == 0;
  const Affine bound = is_variable ? index : BindIndex("p", Expr(index), range);
  If(*InRange(bound, low, high), [&] {
    // Inside, the variable has the narrower range.
    const VarId var = bound.terms.front().first;
    const Range outside = ranges_[var.index];
    ranges_[var.index] = Intersect(outside, {low, high});
    const int depth = std::exchange(depths_[var.index], scope_->depth);
    body(bound);
    ranges_[var.index] = outside;
    depths_[var.index] = depth;
  });
}

Affine Emitter::ClampedStart(const Value& start, int64_t high) {
  if (high <= 0) return ConstantIndex(0);
  ExprId value = Use(start);
  // Unsigned 64 bits compare unsigned: bring them into s64 first.
  if (start.dtype == DType::kU64)
    value = builder_.Binary(Op::kMinimum, value,
                            builder_.Constant(DType::kU64, static_cast<uint64_t>(high)));
  const ExprId index = builder_.Convert(value, DType::kS64);
  return BindIndex("s", builder_.ClampIndex(index, 0, high), {0, high});
}

// ---- values ----

ExprId Emitter::Use(const Value& value) {
  if (value.constant) return builder_.Constant(HeldType(value.dtype), *value.constant);
  return builder_.Use(value.var);
}

Value Emitter::Bind(std::string_view name, DType dtype, ExprId held) {
  const VarId var = builder_.AddVar(name, HeldType(dtype));
  Append(builder_.Let(var, held));
  depths_.resize(std::max<size_t>(depths_.size(), var.index + 1), 0);
  ranges_.resize(depths_.size());
  depths_[var.index] = scope_->depth;
  return {dtype, std::nullopt, var};
}

Value Emitter::Round(std::string_view name, DType dtype, ExprId held) {
  // f8 and f4 overflow so soon that a wider value between two operations is another result.
  const bool each = request_.rounding == Rounding::kEveryOperation || BitWidth(dtype) < 16;
  const bool rounds = IsNarrowFloat(dtype) && each && !exact_;
  if (rounds || WrapsInByte(dtype)) held = Narrowed(dtype, held);
  return Bind(name, dtype, held);
}

ExprId Emitter::Stored(const Value& value) {
  return ToStorage(value.dtype, Use(value));
}

Value Emitter::Select(std::string_view name, ExprId condition, const Value& a, const Value& b) {
  return Bind(name, a.dtype, builder_.Select(condition, Use(a), Use(b)));
}

std::optional<Value> ConstantValue(const Instr& constant) {
  const auto bytes = constant.As<ConstantAttrs>().literal.bytes();
  const auto size = static_cast<size_t>(ByteSize(constant.shape.dtype));
  if (bytes.size() < size) return std::nullopt;
  for (size_t i = size; i < bytes.size(); i += size) {
    if (std::memcmp(bytes.data(), bytes.data() + i, size) != 0) return std::nullopt;
  }
  const DType dtype = constant.shape.dtype;
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), size);
  if (IsSigned(dtype) && size < 8) {
    const int unused = 64 - static_cast<int>(size) * 8;
    bits = static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
  }
  if (IsNarrowFloat(dtype)) bits = FloatToBits(DType::kF32, FloatFromBits(dtype, bits));
  return Value{dtype, bits, {}};
}

std::optional<Value> Emitter::SplatConstant(InstrId id) const {
  const Instr& constant = instr(id);
  if (constant.op != Op::kConstant || !constant.shape.is_array()) return std::nullopt;
  return ConstantValue(constant);
}

const Value* Emitter::Find(const Key& key) const {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    const auto found = scope->values.find(key);
    if (found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

int Emitter::DepthOf(const Affine& index) const {
  int depth = 0;
  for (const auto& [var, factor] : index.terms) depth = std::max(depth, depths_[var.index]);
  return depth;
}

Emitter::Scope* Emitter::TargetScope(const Indices& indices) const {
  if (floor_ == nullptr || scope_->depth <= floor_->depth) return scope_;
  const bool outside = std::all_of(indices.begin(), indices.end(), [this](const Affine& index) {
    return DepthOf(index) <= floor_->depth;
  });
  return outside ? floor_ : scope_;
}

Value Emitter::Emit(InstrId id, const Indices& indices, int64_t leaf) {
  FM_CHECK(instr(id).shape.is_tuple || indices.size() == instr(id).shape.dims.size(),
           "index of another rank for " + instr(id).name);
  if (const auto constant = SplatConstant(id)) return *constant;
  const Key key{id, leaf, indices};
  if (const Value* known = Find(key)) return *known;
  Scope* const outer = std::exchange(scope_, TargetScope(indices));
  std::optional<Value> value = LoadKept(id, indices);
  if (!value) {
    value =
        Inlined(id) ? Compute(id, indices, leaf) : LoadOperand(id, indices, instr(id).shape.dims);
    StoreKept(id, indices, *value);
  }
  Remember(id, leaf, indices, *value);
  scope_ = outer;
  return *value;
}

void Emitter::Remember(InstrId id, int64_t leaf, const Indices& indices, const Value& value) {
  scope_->values.insert_or_assign(Key{id, leaf, indices}, value);
}

// A buffer is dense row-major memory: where all its readers are one reshape, it takes the reshape's
// dims, and the reshape costs nothing.
std::vector<int64_t> Emitter::BufferDims(InstrId id) const {
  const std::vector<int64_t>* view = nullptr;
  for (const auto* readers : {&request_.members, &request_.roots}) {
    for (const InstrId reader_id : *readers) {
      const Instr& reader = instr(reader_id);
      for (const InstrId operand : reader.operands) {
        if (operand != id) continue;
        const bool same = view == nullptr || *view == reader.shape.dims;
        if (reader.op != Op::kReshape || !same) return instr(id).shape.dims;
        view = &reader.shape.dims;
      }
    }
  }
  return view != nullptr ? *view : instr(id).shape.dims;
}

BufferId Emitter::OperandBuffer(InstrId id) {
  const auto [place, fresh] = operand_buffers_.try_emplace(id);
  if (fresh) {
    const Instr& operand = instr(id);
    std::vector<int64_t> dims = BufferDims(id);
    DType dtype = operand.shape.dtype;
    if (IsComplex(dtype)) {  // parts next to each other
      dtype = ComponentOf(dtype);
      dims.push_back(2);
    }
    place->second = builder_.AddOperand(operand.name, StorageType(dtype), dims);
    lowered_.operands.push_back(id);
  }
  return place->second;
}

Value Emitter::LoadOperand(InstrId id, const Indices& indices, const std::vector<int64_t>& dims) {
  const Instr& operand = instr(id);
  const BufferId buffer = OperandBuffer(id);
  const std::vector<int64_t> buffer_dims = builder_.kernel()[buffer].dims;
  std::vector<ExprId> at;
  for (const Affine& index : buffer_dims == dims ? indices : MapReshape(indices, dims, buffer_dims))
    at.push_back(Expr(index));
  const DType dtype = operand.shape.dtype;
  return Bind(operand.name, dtype, FromStorage(dtype, builder_.Load(buffer, at)));
}

Value Emitter::LoadPart(const Instr& part, const Indices& indices) {
  const Instr& operand = instr(part.operands[0]);
  std::vector<ExprId> at;
  for (const Affine& index : indices) at.push_back(Expr(index));
  at.push_back(builder_.Index(part.op == Op::kReal ? 0 : 1));
  const BufferId buffer = OperandBuffer(part.operands[0]);
  return Bind(part.name, ComponentOf(operand.shape.dtype), builder_.Load(buffer, at));
}

std::optional<Value> Emitter::LoadKept(InstrId id, const Indices& indices) {
  const auto found = kept_.find(id);
  if (found == kept_.end() || !found->second.filled) return std::nullopt;
  const Kept& kept = found->second;
  // The buffer holds the current row only.
  for (size_t i = 0; i < indices.size(); ++i) {
    const bool along =
        std::find(kept.dims.begin(), kept.dims.end(), static_cast<int64_t>(i)) != kept.dims.end();
    if (!along && indices[i] != kept.canonical[i]) return std::nullopt;
  }
  const std::vector<int64_t> extents = builder_.kernel()[kept.buffer].dims;
  std::vector<ExprId> at;
  for (size_t i = 0; i < kept.dims.size(); ++i) {
    Affine index = indices[static_cast<size_t>(kept.dims[i])];
    if (!kept.start.empty()) index = index + kept.start[i] * -1;
    if (!RangeOf(index).Within(0, extents[i] - 1)) return std::nullopt;
    at.push_back(Expr(index));
  }
  return Bind(instr(id).name, instr(id).shape.dtype, builder_.Load(kept.buffer, at));
}

void Emitter::StoreKept(InstrId id, const Indices& indices, const Value& value) {
  const auto found = kept_.find(id);
  if (found == kept_.end() || found->second.filled || found->second.canonical != indices) return;
  std::vector<ExprId> at;
  for (const int64_t dim : found->second.dims)
    at.push_back(Expr(indices[static_cast<size_t>(dim)]));
  Append(builder_.Store(found->second.buffer, at, Use(value)));
}

BufferId Emitter::Accumulator(DType held, ExprId init) {
  const BufferId buffer = builder_.AddLocal("acc", held, {}, Space::kRegister);
  Append(builder_.Alloc(buffer));
  Assign(buffer, init);
  return buffer;
}

Value Emitter::Compute(InstrId id, const Indices& indices, int64_t leaf) {
  const Instr& in = instr(id);
  const auto bound = [&] {
    const Value* value = Find({id, leaf, indices});
    FM_CHECK(value != nullptr, "no value of " + in.name);
    return *value;
  };
  switch (in.op) {
    case Op::kGetTupleElement: {
      const InstrId tuple = in.operands[0];
      if (!Inlined(tuple)) return LoadOperand(id, indices, in.shape.dims);
      return Emit(tuple, indices, in.As<TupleIndexAttrs>().index);
    }
    case Op::kReal:
    case Op::kImag:
      if (IsComplex(instr(in.operands[0]).shape.dtype)) return LoadPart(in, indices);
      break;
    case Op::kReduce: {
      const auto group = share_passes_ ? Siblings(id) : std::vector<InstrId>{id};
      EmitReduces(group, indices, 'k');
      return bound();
    }
    case Op::kReduceWindow: ReduceWindow(id, indices); return bound();
    case Op::kDot: return Dot(in, indices);
    case Op::kConvolution: return Convolution(in, indices);
    case Op::kDynamicUpdateSlice: return UpdateSlice(in, indices);
    case Op::kConstant: return LoadOperand(id, indices, in.shape.dims);
    default: break;
  }
  const bool wide_bitcast =
      in.op == Op::kBitcastConvert && instr(in.operands[0]).shape.rank() != in.shape.rank();
  if (ClassOf(in.op) == OpClass::Index || wide_bitcast) return Movement(id, indices);
  std::vector<Value> arguments;
  for (const InstrId operand : in.operands) {
    const bool scalar = instr(operand).shape.dims.empty();
    arguments.push_back(Emit(operand, scalar ? Indices{} : indices));
  }
  if (in.op == Op::kMap) return Region(in.called[0], arguments).front();
  return Elementwise(computation_, in, arguments);
}

}  // namespace fusemark::loops
