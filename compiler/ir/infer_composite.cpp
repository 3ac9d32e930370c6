#include <fmt/format.h>

#include "compiler/ir/infer.h"
#include "compiler/support/strings.h"

namespace fusemark {

// training(x, scale, offset), inference(x, scale, offset, mean, var), grad(x, scale, mean, var, g).
Inferred InferBatchNorm(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const auto& attrs = context.instr.As<BatchNormAttrs>();
  const Shape input = Plain(context.shape(0));
  FM_RETURN_IF_ERROR(context.ExpectDims("feature_index", {attrs.feature_index}, input.rank()));
  const int64_t features = input.dims[static_cast<size_t>(attrs.feature_index)];
  const Shape feature = PlainArray(context.shape(1).dtype, {features});
  const bool is_grad = context.instr.op == Op::kBatchNormGrad;
  for (size_t i = 1; i < context.operand_count(); ++i) {
    const bool is_gradient = is_grad && i == 4;
    FM_RETURN_IF_ERROR(context.ExpectSameType(i, is_gradient ? input : feature));
  }
  if (context.instr.op == Op::kBatchNormInference) return std::optional<Shape>(input);
  return std::optional<Shape>(TupleShape({input, feature, feature}));
}

// Two scalar parameters of the type that is drawn: [a, b) or (mean, deviation).
Inferred InferRng(const InferContext& context) {
  const std::string& kind = context.instr.As<RngAttrs>().kind;
  if (kind != "rng_uniform" && kind != "rng_normal") {
    return context.Fail(fmt::format("distribution={}, expected rng_uniform or rng_normal", kind));
  }
  const Shape& written = context.instr.shape;
  if (!written.is_array()) return context.Fail("the result must be an array");
  for (size_t i = 0; i < context.operand_count(); ++i)
    FM_RETURN_IF_ERROR(context.ExpectSameType(i, PlainArray(written.dtype, {})));
  return std::optional<Shape>();
}

// The result is (new state, bits); its bits may have any shape.
Inferred InferRngBitGenerator(const InferContext& context) {
  const Shape& written = context.instr.shape;
  const Shape& state = context.shape(0);
  if (!written.is_tuple) return std::optional<Shape>();  // the old form without the new state
  if (written.elements.size() == 2 && Compatible(written.elements[0], state))
    return std::optional<Shape>();
  return context.Fail(fmt::format("the result is written as {}, expected ({}, bits)",
                                  ToString(written), ToString(state)));
}

Inferred InferCholesky(const InferContext& context) {
  const Shape& a = context.shape(0);
  const size_t rank = a.dims.size();
  const bool numbers = a.is_array() && (IsFloat(a.dtype) || IsComplex(a.dtype));
  if (!numbers || rank < 2 || !SizesMatch(a.dims[rank - 1], a.dims[rank - 2]))
    return context.BadOperand(0, "square float or complex matrices");
  return std::optional<Shape>(Plain(a));
}

Inferred InferTriangularSolve(const InferContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  const auto& attrs = context.instr.As<TriangularAttrs>();
  const size_t rank = a.dims.size();
  if (!a.is_array() || rank < 2 || !SizesMatch(a.dims[rank - 1], a.dims[rank - 2]))
    return context.BadOperand(0, "square matrices");
  bool fits = b.is_array() && b.dtype == a.dtype && b.dims.size() == rank;
  for (size_t i = 0; fits && i + 2 < rank; ++i) fits = SizesMatch(a.dims[i], b.dims[i]);
  if (fits) {
    const size_t solved = attrs.left_side ? rank - 2 : rank - 1;
    fits = SizesMatch(b.dims[solved], a.dims[rank - 1]);
  }
  if (!fits) {
    return context.BadOperand(1, fmt::format("right-hand sides that fit {} from the {}",
                                             ToString(a), attrs.left_side ? "left" : "right"));
  }
  const std::string& transpose = attrs.transpose_a;
  if (transpose != "NO_TRANSPOSE" && transpose != "TRANSPOSE" && transpose != "ADJOINT") {
    return context.Fail(
        fmt::format("transpose_a={}, expected NO_TRANSPOSE, TRANSPOSE or ADJOINT", transpose));
  }
  return std::optional<Shape>(Plain(b));
}

namespace {

struct FftKind {
  std::string_view name;
  bool real_input;
  bool real_output;
};

constexpr FftKind kFftKinds[] = {
    {"FFT", false, false},
    {"IFFT", false, false},
    {"RFFT", true, false},
    {"IRFFT", false, true},
};

const FftKind* FindFftKind(std::string_view name) {
  for (const FftKind& kind : kFftKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace

// The last 1 to 3 dims are transformed; on its short side a real transform has n/2+1 values.
Inferred InferFft(const InferContext& context) {
  const auto& attrs = context.instr.As<FftAttrs>();
  Shape shape = Plain(context.shape(0));
  const FftKind* kind = FindFftKind(attrs.type);
  if (kind == nullptr) {
    return context.Fail(fmt::format("fft_type={}, expected FFT, IFFT, RFFT or IRFFT", attrs.type));
  }
  const size_t count = attrs.length.size();
  if (count < 1 || count > 3 || count > shape.dims.size()) {
    return context.Fail(
        fmt::format("fft_length={{{}}} has {} entries, expected 1 to 3 and at most "
                    "the rank of {}",
                    JoinInts(attrs.length), count, ToString(shape)));
  }
  const bool real = shape.dtype == DType::kF32 || shape.dtype == DType::kF64;
  if (kind->real_input ? !real : !IsComplex(shape.dtype))
    return context.BadOperand(0, kind->real_input ? "f32 or f64" : "c64 or c128");
  for (size_t i = 0; i < count; ++i) {
    int64_t& dim = shape.dims[shape.dims.size() - count + i];
    const bool last = i + 1 == count;
    const int64_t half = attrs.length[i] == 0 ? 0 : attrs.length[i] / 2 + 1;
    const int64_t expected = kind->real_output && last ? half : attrs.length[i];
    if (attrs.length[i] < 0 || !SizesMatch(dim, expected)) {
      return context.Fail(fmt::format("fft_length={{{}}} does not fit the operand {}",
                                      JoinInts(attrs.length), ToString(context.shape(0))));
    }
    dim = kind->real_input && last ? half : attrs.length[i];
  }
  if (kind->real_output) shape.dtype = ComponentOf(shape.dtype);
  if (kind->real_input) shape.dtype = shape.dtype == DType::kF64 ? DType::kC128 : DType::kC64;
  return std::optional<Shape>(std::move(shape));
}

Inferred InferDimensionSize(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Dims& dims = context.instr.As<DimsAttrs>().dims;
  FM_RETURN_IF_ERROR(context.ExpectDims("dimensions", dims, context.shape(0).rank()));
  if (dims.size() != 1) return context.Fail("expected exactly one dimension");
  if (context.instr.op == Op::kGetDimensionSize)
    return std::optional<Shape>(PlainArray(DType::kS32, {}));
  FM_RETURN_IF_ERROR(context.ExpectSameType(1, PlainArray(DType::kS32, {})));
  return std::optional<Shape>(Plain(context.shape(0)));
}

Inferred InferFirstOperand(const InferContext& context) {
  return std::optional<Shape>(Plain(context.shape(0)));
}

Inferred InferAllReduce(const InferContext& context) {
  if (context.operand_count() == 1) return InferFirstOperand(context);
  std::vector<Shape> elements;
  for (size_t i = 0; i < context.operand_count(); ++i) elements.push_back(Plain(context.shape(i)));
  return std::optional<Shape>(TupleShape(std::move(elements)));
}

Inferred InferToken(const InferContext&) {
  return std::optional<Shape>(PlainArray(DType::kToken, {}));
}
Inferred InferId(const InferContext&) {
  return std::optional<Shape>(PlainArray(DType::kU32, {}));
}
Inferred InferNothing(const InferContext&) {
  return std::optional<Shape>();
}

}  // namespace fusemark
