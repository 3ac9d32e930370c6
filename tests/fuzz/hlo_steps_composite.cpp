// Steps that stand for whole algorithms (fft, cholesky, triangular-solve, scan), and wrappers
// around others (fusion, collectives of one device).
#include "tests/fuzz/hlo_generator.h"

namespace fusemark {
namespace {

constexpr int kDeepest = 2;  // computations in computations

}  // namespace

InstrId HloGenerator::Fft() {
  constexpr const char* kKinds[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  const std::string kind = OneOf(kKinds);
  const bool wide = Chance(30);
  const DType real = wide ? DType::kF64 : DType::kF32, complex = wide ? DType::kC128 : DType::kC64;
  Dims dims, length;
  if (Chance(40)) dims.push_back(Between(1, 3));
  for (int64_t i = Between(1, 2); i > 0; --i) length.push_back(Between(1, 9));
  dims.insert(dims.end(), length.begin(), length.end());
  if (kind == "IRFFT") dims.back() = length.back() / 2 + 1;
  return Add(Op::kFft, {Like(kind == "RFFT" ? real : complex, dims)}, FftAttrs{kind, length});
}

// The finite part of some matrices [.., n, n] within -1 and 1, and more on the diagonal, so that
// what is solved with them is decided by more than rounding.
InstrId HloGenerator::WellConditioned(DType dtype, const Dims& dims) {
  const InstrId any = Like(dtype, dims);
  const InstrId finite = Add(Op::kIsFinite, {any});
  const InstrId ones = Broadcast(Scalar(dtype, 1), dims, {});
  const InstrId low = Scalar(dtype, -1), high = Scalar(dtype, 1);
  const InstrId bounded = Add(Op::kClamp, {low, Add(Op::kSelect, {finite, any, ones}), high});
  const auto rank = static_cast<int64_t>(dims.size());
  const auto along = [&](int64_t dim) {
    return Add(Op::kIota, {}, DimsAttrs{{dim}}, {}, ArrayShape(DType::kS32, dims));
  };
  const InstrId diagonal = Add(Op::kCompare, {along(rank - 2), along(rank - 1)},
                               CompareOf(DType::kS32, Direction::kEq, false));
  const auto n = static_cast<double>(dims.back());
  const InstrId more = Broadcast(Scalar(dtype, 2 * n), dims, {});
  return Add(Op::kSelect, {diagonal, Add(Op::kAdd, {bounded, more}), bounded});
}

InstrId HloGenerator::Cholesky() {
  const DType dtype = Chance(60) ? DType::kF32 : DType::kF64;
  const int64_t n = Between(1, 6);
  Dims dims{n, n};
  if (Chance(40)) dims.insert(dims.begin(), Between(1, 3));
  // Dominant diagonals make the symmetric part positive definite.
  const InstrId a = WellConditioned(dtype, dims);
  Dims swapped(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) swapped[i] = static_cast<int64_t>(i);
  std::swap(swapped[dims.size() - 1], swapped[dims.size() - 2]);
  const InstrId sum = Add(Op::kAdd, {a, Add(Op::kTranspose, {a}, DimsAttrs{swapped})});
  TriangularAttrs attrs;
  attrs.lower = Chance(60);
  return Add(Op::kCholesky, {sum}, attrs);
}

InstrId HloGenerator::TriangularSolve() {
  constexpr const char* kTransposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  const DType dtype = Chance(60) ? DType::kF32 : DType::kF64;
  const int64_t n = Between(1, 6), more = Between(1, 4);
  TriangularAttrs attrs{Chance(50), Chance(50), Chance(20), OneOf(kTransposes)};
  Dims a{n, n}, b = attrs.left_side ? Dims{n, more} : Dims{more, n};
  if (Chance(40)) {
    const int64_t batch = Between(1, 3);
    a.insert(a.begin(), batch);
    b.insert(b.begin(), batch);
  }
  return Add(Op::kTriangularSolve, {WellConditioned(dtype, a), Like(dtype, b)}, attrs);
}

// Running sums, extrema or differences of one input along one dim.
InstrId HloGenerator::Scan() {
  if (scope_->depth >= kDeepest) return Invalid();
  const InstrId input = Pick(kReals, 1, 3);
  const Shape shape = ShapeOf(input);
  const auto dim = static_cast<int64_t>(Below(shape.dims.size()));
  Dims rest = shape.dims;
  rest.erase(rest.begin() + dim);
  const Shape slice = ArrayShape(shape.dtype, rest);
  const Op op = CombinerOp(shape.dtype);
  const auto region = Nested("scan", {slice, slice}, false, [&](const std::vector<InstrId>& in) {
    const InstrId next = Add(op, {in[0], in[1]});
    return Add(Op::kTuple, {Chance(70) ? next : in[1], next});
  });
  const InstrId carry = Like(shape.dtype, rest);
  const InstrId scan = Add(Op::kScan, {input, carry}, DimsAttrs{{dim}}, {region});
  if (!invalid_) {
    auto& extra = scope_->computation.instrs[scan.index].extra;
    extra.push_back({"num_carries", "1"});
    if (Chance(40)) extra.push_back({"is_reverse", "true"});
  }
  return scan;
}

// As a compiled program is dumped: some instructions as a computation of their own.
InstrId HloGenerator::Fusion() {
  if (scope_->depth >= kDeepest) return Invalid();
  constexpr const char* kKinds[] = {"kLoop", "kInput", "kOutput", "kCustom"};
  std::vector<InstrId> arguments;
  std::vector<Shape> shapes;
  for (int64_t i = Between(1, 3); i > 0; --i) {
    arguments.push_back(Pick(kAnything));
    shapes.push_back(ShapeOf(arguments.back()));
  }
  const auto fused = Nested("fused", shapes, false, [&](const std::vector<InstrId>&) {
    Steps(static_cast<int>(Between(1, 4)));
    return scope_->values.back();
  });
  return Add(Op::kFusion, arguments, FusionAttrs{OneOf(kKinds)}, {fused});
}

// What a program for many devices does on one.
InstrId HloGenerator::Collective() {
  const InstrId value = Pick(kNumbers, 1);
  const Shape shape = ShapeOf(value);
  const CollectiveAttrs along{{static_cast<int64_t>(Below(shape.dims.size()))}};
  InstrId result{0};
  switch (Below(8)) {
    case 0:
      result = Add(Op::kAllReduce, {value}, CollectiveAttrs{}, {Combiner(Op::kAdd, shape.dtype)});
      break;
    case 1: result = Add(Op::kAllGather, {value}, along, {}, shape); break;
    case 2:
      result = Add(Op::kReduceScatter, {value}, along, {Combiner(Op::kAdd, shape.dtype)}, shape);
      break;
    case 3: result = Add(Op::kAllToAll, {value}, along, {}, shape); break;
    case 4: return Convert(Add(Chance(50) ? Op::kPartitionId : Op::kReplicaId, {}), shape.dtype);
    case 5: result = Add(Op::kCollectiveBroadcast, {value}, CollectiveAttrs{}, {}, shape); break;
    case 6: return StartedCollective(shape, value);
    default: {
      result = Add(Op::kCollectivePermute, {value}, {}, {}, shape);
      const char* pairs = Chance(70) ? "{{0,0}}" : "{{0,1}}";  // from no one: zeros
      if (!invalid_)
        scope_->computation.instrs[result.index].extra.push_back({"source_target_pairs", pairs});
      return result;
    }
  }
  if (!invalid_) scope_->computation.instrs[result.index].extra.push_back({"replica_groups", "{}"});
  return result;
}

// In two parts, between which another program would calculate.
InstrId HloGenerator::StartedCollective(const Shape& shape, InstrId value) {
  const Shape pair = TupleShape({shape, shape});
  InstrId start{0};
  switch (Below(3)) {
    case 0:
      start = Add(Op::kAllReduceStart, {value}, CollectiveAttrs{},
                  {Combiner(Op::kAdd, shape.dtype)}, shape);
      return Add(Op::kAllReduceDone, {start});
    case 1: {
      const auto dim = static_cast<int64_t>(Below(shape.dims.size()));
      start = Add(Op::kAllGatherStart, {value}, CollectiveAttrs{{dim}}, {}, pair);
      return Add(Op::kAllGatherDone, {start});
    }
    default:
      start = Add(Op::kCollectivePermuteStart, {value}, {}, {}, pair);
      if (!invalid_)
        scope_->computation.instrs[start.index].extra.push_back(
            {"source_target_pairs", Chance(70) ? "{{0,0}}" : "{{0,1}}"});
      return Add(Op::kCollectivePermuteDone, {start});
  }
}

InstrId HloGenerator::AsyncPair() {
  if (scope_->depth >= kDeepest) return Invalid();
  std::vector<InstrId> arguments;
  std::vector<Shape> shapes;
  for (int64_t i = Between(1, 2); i > 0; --i) {
    arguments.push_back(Pick(kAnything));
    shapes.push_back(ShapeOf(arguments.back()));
  }
  Shape result;
  const auto body = Nested("async", shapes, false, [&](const std::vector<InstrId>&) {
    Steps(static_cast<int>(Between(1, 4)));
    const InstrId last = scope_->values.back();
    result = ShapeOf(last);
    return last;
  });
  const Shape state = TupleShape({TupleShape(shapes), result, ArrayShape(DType::kU32, {})});
  const InstrId start = Add(Op::kAsyncStart, arguments, {}, {body}, state);
  return Add(Op::kAsyncDone, {Chance(50) ? start : Add(Op::kAsyncUpdate, {start})});
}

InstrId HloGenerator::CopyPair() {
  const InstrId value = Pick(kAnything);
  const Shape shape = ShapeOf(value);
  const Shape state = TupleShape({shape, shape, ArrayShape(DType::kU32, {})});
  return Add(Op::kCopyDone, {Add(Op::kCopyStart, {value}, {}, {}, state)});
}

}  // namespace fusemark
