// sort and topk.
//
// A sort is a bottom-up merge sort: a copy into place, then one merge pass per power of two between
// the result and a scratch array of its shape. Every trip count is fixed and every pass writes each
// position once, so any comparator, strict weak order or not, gives a permutation in bounds; equal
// elements keep their order. The reference interpreter merges in the same order.
#include <algorithm>

#include "compiler/loops/lower_nests.h"

namespace fusemark::loops {
namespace {

std::vector<ExprId> Exprs(Emitter& emitter, const Indices& indices) {
  std::vector<ExprId> exprs;
  for (const Affine& index : indices) exprs.push_back(emitter.Expr(index));
  return exprs;
}

Value LoadFrom(Emitter& emitter, DType dtype, BufferId buffer, const Indices& at) {
  const ExprId stored = emitter.builder().Load(buffer, Exprs(emitter, at));
  return emitter.Bind("x", dtype, emitter.FromStorage(dtype, stored));
}

void StoreTo(Emitter& emitter, BufferId buffer, const Indices& at, const Value& value) {
  emitter.Append(emitter.builder().Store(buffer, Exprs(emitter, at), emitter.Stored(value)));
}

// One pass: sorted runs of `width` from one set of arrays become runs of twice the width in the
// other, along `dim` of one row.
struct MergePass {
  Emitter& emitter;
  const Instr& sort;
  const std::vector<BufferId>& from;
  const std::vector<BufferId>& to;
  size_t dim;
  int64_t length, width;

  void Run(const Indices& row) {
    const int64_t pairs = CeilDiv(length, 2 * width);
    emitter.Loop('p', emitter.FreeNumber('p'), pairs, false,
                 [&](const Affine& pair) { Merge(row, pair * (2 * width)); });
  }

  // Cursors into the two runs; the run that begins at `begin` ends at `end`, an expression because
  // the last one may be short.
  void Merge(const Indices& row, const Affine& begin) {
    Builder& build = emitter.builder();
    const Affine middle = Bound(begin + width), end = Bound(begin + 2 * width);
    const BufferId left = emitter.Accumulator(DType::kS64, emitter.Expr(begin));
    const BufferId right = emitter.Accumulator(DType::kS64, emitter.Expr(middle));
    emitter.Loop('k', emitter.FreeNumber('k'), std::min(2 * width, length), true,
                 [&](const Affine& k) {
                   emitter.WithGuard(begin + k, 0, length - 1, [&](const Affine& place) {
                     const Value from_left = Step(row, place, left, right, middle, end);
                     const ExprId one = build.Convert(emitter.Use(from_left), DType::kS64);
                     const Value taken = emitter.Bind("n", DType::kS64, one);
                     const ExprId moved = build.Add(emitter.Read(left), emitter.Use(taken));
                     emitter.Assign(left, moved);
                     const ExprId rest = build.Sub(build.Index(1), emitter.Use(taken));
                     emitter.Assign(right, build.Add(emitter.Read(right), rest));
                   });
                 });
  }

  Affine Bound(const Affine& position) { return emitter.Clamp(position, 0, length); }

  Affine Cursor(BufferId cursor) {
    Builder& build = emitter.builder();
    const ExprId inside = build.ClampIndex(emitter.Read(cursor), 0, length - 1);
    return emitter.BindIndex("c", inside, {0, length - 1});
  }

  // Stores the next element at `place`; whether it came from the left run.
  Value Step(const Indices& row, const Affine& place, BufferId left, BufferId right,
             const Affine& middle, const Affine& end) {
    Builder& build = emitter.builder();
    Indices at_left = row, at_right = row, target = row;
    at_left[dim] = Cursor(left);
    at_right[dim] = Cursor(right);
    target[dim] = place;
    std::vector<Value> lefts, rights, arguments;
    for (size_t i = 0; i < from.size(); ++i) {
      const DType dtype = emitter.instr(sort.operands[i]).shape.dtype;
      lefts.push_back(LoadFrom(emitter, dtype, from[i], at_left));
      rights.push_back(LoadFrom(emitter, dtype, from[i], at_right));
      arguments.insert(arguments.end(), {rights.back(), lefts.back()});
    }
    const Value right_first = emitter.Region(sort.called[0], arguments).front();
    const ExprId left_open =
        build.Compare(Direction::kLt, emitter.Read(left), emitter.Expr(middle));
    const ExprId right_done = build.Compare(Direction::kGe, emitter.Read(right), emitter.Expr(end));
    const ExprId stays =
        build.Binary(Op::kAnd, left_open, build.Unary(Op::kNot, emitter.Use(right_first)));
    const Value from_left =
        emitter.Bind("left", DType::kPred, build.Binary(Op::kOr, right_done, stays));
    for (size_t i = 0; i < to.size(); ++i) {
      const Value value = emitter.Select("x", emitter.Use(from_left), lefts[i], rights[i]);
      StoreTo(emitter, to[i], target, value);
    }
    return from_left;
  }
};

void LowerSort(Lowering& lowering, size_t root) {
  Emitter& emitter = lowering.emitter;
  const Instr& in = lowering.root(root);
  const auto& dims = lowering.DimsOf(root);
  const auto dim = static_cast<size_t>(in.As<SortAttrs>().dim);
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  int passes = 0;
  while ((int64_t{1} << passes) < dims[dim]) ++passes;
  // The last pass ends in the result.
  std::vector<BufferId> to = lowering.results[root], from;
  if (passes > 0) {
    for (const InstrId operand : in.operands)
      from.push_back(emitter.builder().AddScratch(
          "merged", StorageType(emitter.instr(operand).shape.dtype), dims));
  }
  if (passes % 2 == 1) std::swap(from, to);
  std::vector<int64_t> outer = dims;
  outer[dim] = 1;
  emitter.Nest('i', outer, false, [&](const Indices& row) {
    emitter.Loop('p', emitter.FreeNumber('p'), dims[dim], false, [&](const Affine& position) {
      Indices at = row;
      at[dim] = position;
      for (size_t i = 0; i < to.size(); ++i)
        StoreTo(emitter, to[i], at, emitter.Emit(in.operands[i], at));
    });
    for (int pass = 0; pass < passes; ++pass) {
      std::swap(from, to);
      MergePass{emitter, in, from, to, dim, dims[dim], int64_t{1} << pass}.Run(row);
    }
  });
}

// The best k so far stand in order in the results; a better element is put in its place and the
// last one falls out.
struct TopK {
  Emitter& emitter;
  const TopKAttrs& attrs;
  BufferId values, positions;

  ExprId Beats(const Value& a, const Value& b) {
    return emitter.builder().Compare(attrs.largest ? Direction::kGt : Direction::kLt,
                                     emitter.SortKey(a), emitter.SortKey(b));
  }

  Indices At(const Indices& row, const Affine& place) {
    Indices at = row;
    at.back() = place;
    return at;
  }

  // Places [0, filled) are in use; the candidate ends in one of [0, filled].
  void Insert(const Indices& row, const Value& value, const Affine& position,
              const Affine& filled) {
    Builder& build = emitter.builder();
    const DType held = HeldType(value.dtype);
    const BufferId candidate = emitter.Accumulator(held, emitter.Use(value));
    const DType index = build.kernel()[positions].dtype;
    const BufferId where = emitter.Accumulator(index, build.Convert(emitter.Expr(position), index));
    const BufferId shifting = emitter.Accumulator(DType::kPred, build.Constant(DType::kPred, 0));
    emitter.Loop('k', emitter.FreeNumber('k'), attrs.k, true, [&](const Affine& place) {
      const Value kept = LoadFrom(emitter, value.dtype, values, At(row, place));
      const Value kept_where = LoadFrom(emitter, index, positions, At(row, place));
      const Value moving = emitter.Bind("x", value.dtype, emitter.Read(candidate));
      const Value moving_where = emitter.Bind("x", index, emitter.Read(where));
      const ExprId in_use =
          build.Compare(Direction::kLt, emitter.Expr(place), emitter.Expr(filled));
      const ExprId goes = build.Binary(Op::kOr, emitter.Read(shifting), Beats(moving, kept));
      const Value swaps = emitter.Bind("swap", DType::kPred, build.Binary(Op::kAnd, in_use, goes));
      const ExprId last = build.Compare(Direction::kEq, emitter.Expr(place), emitter.Expr(filled));
      const Value takes =
          emitter.Bind("take", DType::kPred, build.Binary(Op::kOr, emitter.Use(swaps), last));
      StoreTo(emitter, values, At(row, place),
              emitter.Select("x", emitter.Use(takes), moving, kept));
      StoreTo(emitter, positions, At(row, place),
              emitter.Select("x", emitter.Use(takes), moving_where, kept_where));
      emitter.Assign(candidate,
                     build.Select(emitter.Use(swaps), emitter.Use(kept), emitter.Use(moving)));
      emitter.Assign(where, build.Select(emitter.Use(swaps), emitter.Use(kept_where),
                                         emitter.Use(moving_where)));
      emitter.Assign(shifting, build.Binary(Op::kOr, emitter.Read(shifting), emitter.Use(swaps)));
    });
  }
};

void LowerTopK(Lowering& lowering, size_t root) {
  Emitter& emitter = lowering.emitter;
  const Instr& in = lowering.root(root);
  const auto& attrs = in.As<TopKAttrs>();
  std::vector<int64_t> rows = lowering.DimsOf(root);
  const int64_t length = emitter.instr(in.operands[0]).shape.dims.back();
  if (attrs.k == 0) return;
  rows.back() = 1;
  TopK top{emitter, attrs, lowering.results[root][0], lowering.results[root][1]};
  const auto element = [&](const Indices& row, const Affine& position) {
    return emitter.Emit(in.operands[0], top.At(row, position));
  };
  emitter.Nest('i', rows, false, [&](const Indices& row) {
    emitter.Loop('e', emitter.FreeNumber('e'), attrs.k, true, [&](const Affine& position) {
      top.Insert(row, element(row, position), position, position);
    });
    if (length == attrs.k) return;
    emitter.Loop('e', emitter.FreeNumber('e'), length - attrs.k, true, [&](const Affine& step) {
      const Affine position = step + attrs.k, last = ConstantIndex(attrs.k - 1);
      const Value value = element(row, position);
      const Value worst = LoadFrom(emitter, value.dtype, top.values, top.At(row, last));
      emitter.If(top.Beats(value, worst), [&] { top.Insert(row, value, position, last); });
    });
  });
}

}  // namespace

void LowerOrders(Lowering& lowering, size_t root) {
  if (lowering.root(root).op == Op::kSort) {
    LowerSort(lowering, root);
  } else {
    LowerTopK(lowering, root);
  }
}

}  // namespace fusemark::loops
