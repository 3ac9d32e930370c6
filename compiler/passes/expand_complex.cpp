// Complex arrays as pairs of real ones. A value of type c64[n] becomes the tuple (f32[n], f32[n])
// of its real and imaginary plane wherever it goes: tuples keep their indices and gain a level,
// called computations change their types in place, reductions and sorts become variadic ones. Only
// the entry keeps its types: real() and imag() take its parameters apart, complex() puts its
// results together.
#include <algorithm>
#include <cstring>

#include "compiler/ir/users.h"
#include "compiler/passes/complex_math.h"
#include "compiler/passes/new_regions.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

bool HoldsComplex(const Shape& shape) {
  if (shape.is_tuple)
    return std::any_of(shape.elements.begin(), shape.elements.end(), HoldsComplex);
  return IsComplex(shape.dtype);
}

// Where complex values may stay: at the entry's parameters and results, and around custom calls.
bool MayHold(Op op) {
  switch (op) {
    case Op::kParameter:
    case Op::kConstant:
    case Op::kTuple:
    case Op::kGetTupleElement:
    case Op::kComplex:
    case Op::kCustomCall: return true;
    default: return false;
  }
}
bool MayRead(Op op) {
  switch (op) {
    case Op::kTuple:
    case Op::kGetTupleElement:
    case Op::kReal:
    case Op::kImag:
    case Op::kCustomCall: return true;
    default: return false;
  }
}

// False for a module that the pass has been through.
bool HasComplexInside(const Module& module) {
  for (const Computation& computation : module.computations) {
    const bool is_entry = &computation == &module.Entry();
    for (const Instr& instr : computation.instrs) {
      if (HoldsComplex(instr.shape) && !(is_entry && MayHold(instr.op))) return true;
      const bool reads =
          std::any_of(instr.operands.begin(), instr.operands.end(),
                      [&](InstrId operand) { return HoldsComplex(computation[operand].shape); });
      if (reads && !MayRead(instr.op)) return true;
    }
  }
  return false;
}

Shape PlaneOf(const Shape& shape) {
  return ArrayShape(ComponentOf(shape.dtype), shape.dims);
}

// The type a value has after the pass.
Shape SplitShape(const Shape& shape) {
  if (!HoldsComplex(shape)) return shape;
  if (!shape.is_tuple) return TupleShape({PlaneOf(shape), PlaneOf(shape)});
  Shape split = shape;
  for (Shape& element : split.elements) element = SplitShape(element);
  return split;
}

Literal PlaneOf(const Literal& literal, size_t plane) {
  const Shape shape = PlaneOf(literal.shape);
  const auto size = static_cast<size_t>(ByteSize(shape.dtype));
  std::vector<std::byte> bytes(literal.bytes().size() / 2);
  for (size_t i = 0; i * size < bytes.size(); ++i)
    std::memcpy(bytes.data() + i * size, literal.bytes().data() + (2 * i + plane) * size, size);
  return MakeLiteral(shape, std::move(bytes));
}

// How the parameters of a region follow from the operands of the instruction that calls it.
enum class RegionOrder : uint8_t {
  kInOrder,      // (a..., b...): reduce, reduce-window, scatter
  kInterleaved,  // (a0, b0, a1, b1, ...): sort
};

class Expander {
 public:
  explicit Expander(Module& module)
      : module_(module), effects_(FindEffects(module)), regions_(module) {
    for (const Computation& computation : module.computations)
      scalar_regions_.push_back(MatchScalarRegion(computation));
  }

  void Run() {
    for (uint32_t i = 0; i < scalar_regions_.size(); ++i) {
      const Computation old = std::move(module_.computations[i]);
      module_.computations[i] = Expand(old, module_.entry.index == i);
    }
    regions_.AppendTo(module_);
    CollectComputations(module_);
  }

 private:
  Computation Expand(const Computation& old, bool is_entry) {
    Builder builder(effects_);
    builder_ = &builder;
    old_ = &old;
    std::vector<InstrId> map(old.instrs.size());
    for (size_t i = 0; i < old.instrs.size(); ++i) {
      Instr instr = old.instrs[i];
      for (InstrId& operand : instr.operands) operand = map[operand.index];
      map[i] = instr.op == Op::kParameter ? Parameter(std::move(instr), is_entry)
                                          : Instruction(old.instrs[i], std::move(instr));
    }
    InstrId root = map[old.root.index];
    if (is_entry) root = Pack(root, old.Root().shape);
    return builder.Finish(old.name, root);
  }

  InstrId Parameter(Instr instr, bool is_entry) {
    const Shape shape = instr.shape;
    if (!is_entry) instr.shape = SplitShape(shape);
    const InstrId parameter = builder_->Keep(std::move(instr));
    return is_entry ? Unpack(parameter, shape) : parameter;
  }

  // From a value with complex numbers to its split form, and back.
  InstrId Unpack(InstrId value, const Shape& shape) {
    if (!HoldsComplex(shape)) return value;
    std::vector<InstrId> elements;
    if (shape.is_tuple) {
      for (size_t i = 0; i < shape.elements.size(); ++i) {
        const InstrId element = builder_->TupleElement(value, static_cast<int64_t>(i));
        elements.push_back(Unpack(element, shape.elements[i]));
      }
    } else {
      for (const Op part : {Op::kReal, Op::kImag})
        elements.push_back(builder_->Emit(part, PlaneOf(shape), {value}));
    }
    return builder_->Tuple(std::move(elements));
  }
  InstrId Pack(InstrId value, const Shape& shape) {
    if (!HoldsComplex(shape)) return value;
    if (!shape.is_tuple) {
      const ComplexPair pair = PairOf(value);
      return builder_->Emit(Op::kComplex, ArrayShape(shape.dtype, shape.dims), {pair.re, pair.im});
    }
    std::vector<InstrId> elements;
    for (size_t i = 0; i < shape.elements.size(); ++i) {
      const InstrId element = builder_->TupleElement(value, static_cast<int64_t>(i));
      elements.push_back(Pack(element, shape.elements[i]));
    }
    return builder_->Tuple(std::move(elements));
  }

  ComplexPair PairOf(InstrId split) {
    const InstrId re = builder_->TupleElement(split, 0);
    return {re, builder_->TupleElement(split, 1)};
  }
  InstrId Join(ComplexPair pair) { return builder_->Tuple({pair.re, pair.im}); }

  bool IsComplexOperand(const Instr& old, size_t i) const {
    return IsComplex((*old_)[old.operands[i]].shape.dtype);
  }

  // `instr` is `old` with operands in the new computation.
  InstrId Instruction(const Instr& old, Instr instr) {
    const bool concerned =
        HoldsComplex(old.shape) ||
        std::any_of(old.operands.begin(), old.operands.end(),
                    [this](InstrId id) { return HoldsComplex((*old_)[id].shape); });
    if (!concerned) return builder_->Keep(std::move(instr));
    if (IsElementwise(old.op)) return Elementwise(old, std::move(instr));
    switch (old.op) {
      case Op::kGetTupleElement: {
        if ((*builder_)[instr.operands[0]].op == Op::kTuple)
          return builder_->TupleElement(instr.operands[0], old.As<TupleIndexAttrs>().index);
        [[fallthrough]];
      }
      case Op::kTuple:
      case Op::kCall:
      case Op::kWhile:
      case Op::kConditional:
        instr.shape = SplitShape(old.shape);
        return builder_->Keep(std::move(instr));
      case Op::kConstant: return Constant(old.As<ConstantAttrs>().literal);
      case Op::kIota: return Iota(instr);
      case Op::kBroadcast:
      case Op::kReshape:
      case Op::kTranspose:
      case Op::kSlice:
      case Op::kReverse:
      case Op::kConcatenate:
      case Op::kPad:
      case Op::kGather:
      case Op::kDynamicSlice:
      case Op::kDynamicUpdateSlice: return Planes(old, instr);
      case Op::kDot:
      case Op::kConvolution: return Bilinear(old, instr);
      case Op::kReduce:
      case Op::kReduceWindow:
        if (scalar_regions_[old.called[0].index].op == Op::kAdd) return Sums(old, instr);
        return Variadic(old, instr, old.operands.size() / 2, RegionOrder::kInOrder);
      case Op::kScatter:
        return Variadic(old, instr, old.operands.size() / 2, RegionOrder::kInOrder);
      case Op::kSort: return Variadic(old, instr, old.operands.size(), RegionOrder::kInterleaved);
      default: return Untouched(old, std::move(instr));
    }
  }

  // An instruction that knows no planes: its own types, between complex() and real(), imag().
  InstrId Untouched(const Instr& old, Instr instr) {
    for (size_t i = 0; i < old.operands.size(); ++i)
      instr.operands[i] = Pack(instr.operands[i], (*old_)[old.operands[i]].shape);
    const InstrId value = builder_->Keep(std::move(instr));
    return Unpack(value, old.shape);
  }

  InstrId Constant(const Literal& literal) {
    if (!HoldsComplex(literal.shape)) return builder_->Constant(literal);
    std::vector<InstrId> elements;
    if (literal.shape.is_tuple) {
      for (const Literal& element : literal.elements) elements.push_back(Constant(element));
    } else {
      for (const size_t plane : {0, 1})
        elements.push_back(builder_->Constant(PlaneOf(literal, plane)));
    }
    return builder_->Tuple(std::move(elements));
  }

  InstrId Zeros(const Shape& plane) {
    const InstrId zero = builder_->Constant(ScalarLiteral(plane.dtype, 0));
    return builder_->Broadcast(zero, plane.dims, {});
  }

  InstrId Iota(const Instr& instr) {
    Instr plane = instr;
    plane.shape = PlaneOf(instr.shape);
    const InstrId re = builder_->Emit(std::move(plane));
    return Join({re, Zeros(PlaneOf(instr.shape))});
  }

  // The instruction once per plane: its complex operands by that plane, the others as they are.
  InstrId Planes(const Instr& old, const Instr& instr) {
    std::vector<InstrId> planes;
    for (const int64_t plane : {0, 1}) {
      Instr copy = instr;
      copy.shape = PlaneOf(old.shape);
      for (size_t i = 0; i < old.operands.size(); ++i) {
        if (IsComplexOperand(old, i))
          copy.operands[i] = builder_->TupleElement(instr.operands[i], plane);
      }
      planes.push_back(builder_->Emit(std::move(copy)));
    }
    return builder_->Tuple(std::move(planes));
  }

  // Sums of complex numbers are sums of the planes.
  InstrId Sums(const Instr& old, Instr instr) {
    instr.called = {regions_.Add(ComponentOf(old.shape.dtype))};
    return Planes(old, instr);
  }

  // (a + bi)(c + di) = (ac - bd) + (ad + bc)i for products of arrays.
  InstrId Bilinear(const Instr& old, const Instr& instr) {
    const auto product = [&](InstrId lhs, InstrId rhs) {
      Instr copy = instr;
      copy.shape = PlaneOf(old.shape);
      copy.operands = {lhs, rhs};
      return builder_->Emit(std::move(copy));
    };
    const InstrId lhs = instr.operands[0], rhs = instr.operands[1];
    if (!IsComplexOperand(old, 0)) {
      const ComplexPair y = PairOf(rhs);
      const InstrId re = product(lhs, y.re);
      return Join({re, product(lhs, y.im)});
    }
    const ComplexPair x = PairOf(lhs);
    if (!IsComplexOperand(old, 1)) {
      const InstrId re = product(x.re, rhs);
      return Join({re, product(x.im, rhs)});
    }
    const ComplexPair y = PairOf(rhs);
    const InstrId ac = product(x.re, y.re), bd = product(x.im, y.im);
    const InstrId ad = product(x.re, y.im), bc = product(x.im, y.re);
    const InstrId re = builder_->Binary(Op::kSubtract, ac, bd);
    return Join({re, builder_->Binary(Op::kAdd, ad, bc)});
  }

  // Reduce, scatter and sort on more arrays than before: each complex one counts as two.
  InstrId Variadic(const Instr& old, Instr instr, size_t results, RegionOrder order) {
    std::vector<InstrId> operands;
    for (size_t i = 0; i < old.operands.size(); ++i) {
      if (!IsComplexOperand(old, i)) {
        operands.push_back(instr.operands[i]);
        continue;
      }
      const ComplexPair pair = PairOf(instr.operands[i]);
      operands.insert(operands.end(), {pair.re, pair.im});
    }
    instr.operands = std::move(operands);
    instr.called = {Region(old.called[0], order)};
    std::vector<Shape> leaves;
    FlattenLeaves(SplitShape(old.shape), leaves);
    instr.shape = TupleShape(std::move(leaves));
    const InstrId flat = builder_->Emit(std::move(instr));
    int64_t next = 0;
    const auto element = [&](const Shape& shape) {
      const InstrId first = builder_->TupleElement(flat, next++);
      if (!IsComplex(shape.dtype)) return first;
      return Join({first, builder_->TupleElement(flat, next++)});
    };
    if (results == 1) return element(old.shape);
    std::vector<InstrId> elements;
    for (const Shape& shape : old.shape.elements) elements.push_back(element(shape));
    return builder_->Tuple(std::move(elements));
  }

  // The region, split already, with one scalar per parameter and a flat result.
  ComputationId Region(ComputationId id, RegionOrder order) {
    const Computation& split = module_[id];
    std::vector<int64_t> firsts;  // number of the first leaf of each parameter
    int64_t next = 0;
    for (size_t n = 0; n < split.parameters.size(); ++n) {
      const int64_t leaves = LeafCount(split[split.parameters[n]].shape);
      const bool second = order == RegionOrder::kInterleaved && n % 2 == 1;
      firsts.push_back(second ? firsts.back() + 1 : next);
      next += leaves;
    }
    Builder builder(effects_);
    std::vector<InstrId> map(split.instrs.size());
    for (size_t i = 0; i < split.instrs.size(); ++i) {
      Instr instr = split.instrs[i];
      for (InstrId& operand : instr.operands) operand = map[operand.index];
      if (instr.op == Op::kParameter) {
        const int64_t first = firsts[static_cast<size_t>(instr.As<ParameterAttrs>().number)];
        map[i] = RegionParameter(builder, instr, first, order);
      } else if (instr.op == Op::kGetTupleElement) {
        map[i] = builder.TupleElement(instr.operands[0], instr.As<TupleIndexAttrs>().index);
      } else {
        map[i] = builder.Keep(std::move(instr));
      }
    }
    std::vector<InstrId> leaves;
    FlattenValue(builder, map[split.root.index], leaves);
    const InstrId root = leaves.size() == 1 ? leaves[0] : builder.Tuple(leaves);
    return regions_.Append(builder.Finish(split.name + ".planes", root));
  }

  static InstrId RegionParameter(Builder& builder, const Instr& parameter, int64_t first,
                                 RegionOrder order) {
    std::vector<Shape> leaves;
    FlattenLeaves(parameter.shape, leaves);
    std::vector<InstrId> scalars;
    for (const Shape& leaf : leaves) {
      Instr scalar = parameter;
      scalar.shape = leaf;
      scalar.As<ParameterAttrs>().number = first;
      first += order == RegionOrder::kInterleaved ? 2 : 1;
      scalars.push_back(builder.Emit(std::move(scalar)));
    }
    return parameter.shape.is_tuple ? builder.Tuple(std::move(scalars)) : scalars[0];
  }

  static void FlattenValue(Builder& builder, InstrId value, std::vector<InstrId>& leaves) {
    const Shape shape = builder[value].shape;
    if (!shape.is_tuple) {
      leaves.push_back(value);
      return;
    }
    for (size_t i = 0; i < shape.elements.size(); ++i)
      FlattenValue(builder, builder.TupleElement(value, static_cast<int64_t>(i)), leaves);
  }

  InstrId Elementwise(const Instr& old, Instr instr) {
    switch (old.op) {
      case Op::kCopy: return instr.operands[0];
      case Op::kComplex: return Join({instr.operands[0], instr.operands[1]});
      case Op::kReal: return PairOf(instr.operands[0]).re;
      case Op::kImag: return PairOf(instr.operands[0]).im;
      case Op::kAbs: return ComplexAbs(*builder_, PairOf(instr.operands[0]));
      case Op::kSelect: return Planes(old, instr);
      case Op::kCompare: return Compare(old, instr);
      case Op::kConvert: return Convert(old, std::move(instr));
      case Op::kBitcastConvert: return BitcastConvert(old, std::move(instr));
      default: break;
    }
    std::optional<ComplexPair> result;
    if (old.operands.size() == 1 && IsComplexOperand(old, 0)) {
      result = ComplexUnary(*builder_, old.op, PairOf(instr.operands[0]));
    } else if (old.operands.size() == 2 && IsComplexOperand(old, 0) && IsComplexOperand(old, 1)) {
      const ComplexPair x = PairOf(instr.operands[0]);
      result = ComplexBinary(*builder_, old.op, x, PairOf(instr.operands[1]));
    }
    return result ? Join(*result) : Untouched(old, std::move(instr));
  }

  InstrId Compare(const Instr& old, const Instr& instr) {
    const Direction direction = old.As<CompareAttrs>().direction;
    const ComplexPair x = PairOf(instr.operands[0]), y = PairOf(instr.operands[1]);
    const auto compare = [&](InstrId a, InstrId b) {
      return builder_->Emit(Op::kCompare, ArrayShape(DType::kPred, old.shape.dims), {a, b},
                            CompareAttrs{direction, CompareType::kFloat});
    };
    const InstrId re = compare(x.re, y.re), im = compare(x.im, y.im);
    return builder_->Binary(direction == Direction::kEq ? Op::kAnd : Op::kOr, re, im);
  }

  InstrId Convert(const Instr& old, Instr instr) {
    const Shape plane = PlaneOf(old.shape);
    if (!IsComplex(old.shape.dtype)) return Untouched(old, std::move(instr));
    if (!IsComplexOperand(old, 0)) {
      const InstrId re = builder_->Convert(instr.operands[0], plane.dtype);
      return Join({re, Zeros(plane)});
    }
    const ComplexPair x = PairOf(instr.operands[0]);
    const InstrId re = builder_->Convert(x.re, plane.dtype);
    return Join({re, builder_->Convert(x.im, plane.dtype)});
  }

  // Between c128 and pairs of c64: each half of the bits of a part is a part.
  InstrId BitcastConvert(const Instr& old, Instr instr) {
    const DType to = old.shape.dtype;
    if (!IsComplex(to) || !IsComplexOperand(old, 0)) return Untouched(old, std::move(instr));
    const ComplexPair x = PairOf(instr.operands[0]);
    const Dims& from_dims = (*builder_)[x.re].shape.dims;
    if (from_dims.size() == old.shape.dims.size()) return Join(x);
    const bool widens = from_dims.size() > old.shape.dims.size();
    const Dims& pairs = widens ? from_dims : old.shape.dims;  // [..., 2]
    const auto half = static_cast<int64_t>(pairs.size()) - 1;
    const auto bits = [&](InstrId value, DType dtype, const Dims& dims) {
      return builder_->Emit(Op::kBitcastConvert, ArrayShape(dtype, dims), {value});
    };
    const auto part = [&](InstrId value, int64_t index) {
      SliceAttrs slice{Dims(pairs.size(), 0), pairs, Dims(pairs.size(), 1)};
      slice.start[static_cast<size_t>(half)] = index;
      slice.limit[static_cast<size_t>(half)] = index + 1;
      const Shape& shape = (*builder_)[value].shape;
      Shape one = ArrayShape(shape.dtype, shape.dims);
      one.dims[static_cast<size_t>(half)] = 1;
      return builder_->Emit(Op::kSlice, std::move(one), {value}, std::move(slice));
    };
    const auto together = [&](InstrId first, InstrId second) {
      const DType dtype = (*builder_)[first].shape.dtype;
      return builder_->Emit(Op::kConcatenate, ArrayShape(dtype, pairs), {first, second},
                            DimsAttrs{{half}});
    };
    if (widens) {  // element 0 holds the bits of the real part
      const auto whole = [&](int64_t index) {
        const InstrId low = part(x.re, index);
        const InstrId bytes = together(low, part(x.im, index));
        return bits(bytes, ComponentOf(to), old.shape.dims);
      };
      const InstrId re = whole(0);
      return Join({re, whole(1)});
    }
    const InstrId re = bits(x.re, ComponentOf(to), pairs), im = bits(x.im, ComponentOf(to), pairs);
    const auto halves = [&](int64_t index) {
      const InstrId low = part(re, index);
      return together(low, part(im, index));
    };
    const InstrId first = halves(0);
    return Join({first, halves(1)});
  }

  Module& module_;
  Effects effects_;
  NewRegions regions_;
  std::vector<ScalarRegion> scalar_regions_;  // by computation, as it was
  Builder* builder_ = nullptr;
  const Computation* old_ = nullptr;
};

}  // namespace

Result<bool> ExpandComplex(Module& module, const PassContext&) {
  if (!HasComplexInside(module)) return false;
  Expander(module).Run();
  return true;
}

}  // namespace fusemark
