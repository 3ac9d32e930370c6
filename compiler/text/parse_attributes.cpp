#include <fmt/format.h>

#include <array>

#include "compiler/text/attr_reader.h"
#include "compiler/text/parser.h"

namespace fusemark {
namespace {

// ---- one function per family of opcodes ----

bool ReadDims(AttrReader& read) {
  DimsAttrs attrs;
  const bool may_lack = read.instr().op == Op::kMap || read.instr().op == Op::kBroadcast;
  const bool ok = read.Dims("dimensions", attrs.dims, may_lack ? Need::kOptional : Need::kRequired);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadDimsAndCalled(AttrReader& read) {
  return ReadDims(read) && read.Called("to_apply", Need::kRequired);
}

bool ReadIota(AttrReader& read) {
  DimsAttrs attrs;
  attrs.dims.resize(1);
  const bool scalar = read.instr().shape.dims.empty() && !read.Has("iota_dimension");
  if (scalar) attrs.dims.clear();
  const bool ok = scalar || read.OneDim("iota_dimension", attrs.dims[0], Need::kRequired);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadDimensionSize(AttrReader& read) {
  DimsAttrs attrs;
  attrs.dims.resize(1);
  const bool ok = read.OneDim("dimensions", attrs.dims[0], Need::kRequired);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadDynamicSlice(AttrReader& read) {
  DimsAttrs attrs;
  const bool ok = read.Dims("dynamic_slice_sizes", attrs.dims, Need::kRequired);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadTupleIndex(AttrReader& read) {
  TupleIndexAttrs attrs;
  const bool ok = read.Int("index", attrs.index, Need::kRequired);
  read.instr().attrs = attrs;
  return ok;
}

bool ReadSlice(AttrReader& read) {
  SliceAttrs attrs;
  const bool ok = read.Slices("slice", attrs);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadPad(AttrReader& read) {
  PadAttrs attrs;
  const bool scalar = read.instr().shape.dims.empty() && !read.Has("padding");
  const bool ok = scalar || read.Padding("padding", attrs);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadDot(AttrReader& read) {
  DotAttrs attrs;
  const bool ok = read.Dims("lhs_batch_dims", attrs.lhs_batch, Need::kOptional) &&
                  read.Dims("rhs_batch_dims", attrs.rhs_batch, Need::kOptional) &&
                  read.Dims("lhs_contracting_dims", attrs.lhs_contracting, Need::kOptional) &&
                  read.Dims("rhs_contracting_dims", attrs.rhs_contracting, Need::kOptional) &&
                  read.Text("algorithm", attrs.algorithm, Need::kOptional);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadConvolution(AttrReader& read) {
  ConvAttrs attrs;
  bool present = false;
  const bool ok = read.DimLabels("dim_labels", attrs) &&
                  read.Window("window", attrs.window, present) &&
                  read.Int("feature_group_count", attrs.feature_group_count, Need::kOptional) &&
                  read.Int("batch_group_count", attrs.batch_group_count, Need::kOptional);
  if (!present) attrs.window.resize(attrs.dims.lhs_spatial.size());
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadWindowed(AttrReader& read) {
  WindowAttrs attrs;
  bool present = false;
  const bool ok = read.Window("window", attrs.window, present);
  read.instr().attrs = std::move(attrs);
  if (!ok || read.instr().op == Op::kReduceWindow)
    return ok && read.Called("to_apply", Need::kRequired);
  return read.Called("select", Need::kRequired) && read.Called("scatter", Need::kRequired);
}

bool ReadGather(AttrReader& read) {
  GatherAttrs attrs;
  const bool ok =
      read.Dims("offset_dims", attrs.offset_dims, Need::kRequired) &&
      read.Dims("collapsed_slice_dims", attrs.collapsed_slice_dims, Need::kOptional) &&
      read.Dims("start_index_map", attrs.start_index_map, Need::kRequired) &&
      read.Dims("operand_batching_dims", attrs.operand_batching_dims, Need::kOptional) &&
      read.Dims("start_indices_batching_dims", attrs.start_indices_batching_dims,
                Need::kOptional) &&
      read.Int("index_vector_dim", attrs.index_vector_dim, Need::kRequired) &&
      read.Dims("slice_sizes", attrs.slice_sizes, Need::kRequired) &&
      read.Bool("indices_are_sorted", attrs.indices_are_sorted);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadScatter(AttrReader& read) {
  ScatterAttrs attrs;
  const bool ok = read.Dims("update_window_dims", attrs.update_window_dims, Need::kRequired) &&
                  read.Dims("inserted_window_dims", attrs.inserted_window_dims, Need::kOptional) &&
                  read.Dims("scatter_dims_to_operand_dims", attrs.scatter_dims_to_operand_dims,
                            Need::kRequired) &&
                  read.Dims("input_batching_dims", attrs.input_batching_dims, Need::kOptional) &&
                  read.Dims("scatter_indices_batching_dims", attrs.scatter_indices_batching_dims,
                            Need::kOptional) &&
                  read.Int("index_vector_dim", attrs.index_vector_dim, Need::kRequired) &&
                  read.Bool("indices_are_sorted", attrs.indices_are_sorted) &&
                  read.Bool("unique_indices", attrs.unique_indices);
  read.instr().attrs = std::move(attrs);
  return ok && read.Called("to_apply", Need::kRequired);
}

bool ReadSort(AttrReader& read) {
  SortAttrs attrs;
  const bool ok = read.OneDim("dimensions", attrs.dim, Need::kOptional) &&
                  read.Bool("is_stable", attrs.is_stable);
  read.instr().attrs = attrs;
  return ok && read.Called("to_apply", Need::kRequired);
}

bool ReadTopK(AttrReader& read) {
  TopKAttrs attrs;
  const bool ok = read.Int("k", attrs.k, Need::kRequired) && read.Bool("largest", attrs.largest);
  read.instr().attrs = attrs;
  return ok;
}

bool ReadReducePrecision(AttrReader& read) {
  ReducePrecisionAttrs attrs;
  const bool ok = read.Int("exponent_bits", attrs.exponent_bits, Need::kRequired) &&
                  read.Int("mantissa_bits", attrs.mantissa_bits, Need::kRequired);
  read.instr().attrs = attrs;
  return ok;
}

bool ReadBatchNorm(AttrReader& read) {
  BatchNormAttrs attrs;
  const bool ok = read.Double("epsilon", attrs.epsilon, Need::kRequired) &&
                  read.Int("feature_index", attrs.feature_index, Need::kRequired);
  read.instr().attrs = attrs;
  return ok;
}

bool ReadRng(AttrReader& read) {
  RngAttrs attrs;
  bool ok = true;
  if (read.instr().op == Op::kRng) ok = read.Text("distribution", attrs.kind, Need::kRequired);
  if (read.instr().op == Op::kRngBitGenerator)
    ok = read.Text("algorithm", attrs.kind, Need::kRequired);
  if (read.instr().op == Op::kRngGetAndUpdateState)
    ok = read.Int("delta", attrs.delta, Need::kRequired);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadFft(AttrReader& read) {
  FftAttrs attrs;
  const bool ok = read.Text("fft_type", attrs.type, Need::kRequired) &&
                  read.Dims("fft_length", attrs.length, Need::kRequired);
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadTriangular(AttrReader& read) {
  TriangularAttrs attrs;
  bool ok = read.Bool("lower", attrs.lower);
  if (ok && read.instr().op == Op::kTriangularSolve) {
    attrs.transpose_a = "NO_TRANSPOSE";
    ok = read.Bool("left_side", attrs.left_side) &&
         read.Bool("unit_diagonal", attrs.unit_diagonal) &&
         read.Text("transpose_a", attrs.transpose_a, Need::kOptional);
  }
  read.instr().attrs = std::move(attrs);
  return ok;
}

bool ReadCall(AttrReader& read) {
  return read.Called("to_apply", Need::kRequired);
}

bool ReadWhile(AttrReader& read) {
  return read.Called("condition", Need::kRequired) && read.Called("body", Need::kRequired);
}

bool ReadConditional(AttrReader& read) {
  if (read.Has("branch_computations"))
    return read.CalledList("branch_computations", Need::kRequired);
  if (!read.Has("true_computation"))
    return read.Fail(
        "conditional needs branch_computations= or true_computation= and "
        "false_computation=");
  return read.Called("true_computation", Need::kRequired) &&
         read.Called("false_computation", Need::kRequired);
}

bool ReadFusion(AttrReader& read) {
  FusionAttrs attrs;
  const bool ok = read.Text("kind", attrs.kind, Need::kRequired);
  read.instr().attrs = std::move(attrs);
  return ok && read.Called("calls", Need::kRequired);
}

bool ReadAsyncStart(AttrReader& read) {
  return read.Called("calls", Need::kRequired);
}

bool ReadCustomCall(AttrReader& read) {
  CustomCallAttrs attrs;
  const bool ok = read.Text("custom_call_target", attrs.target, Need::kRequired) &&
                  read.Bool("custom_call_has_side_effect", attrs.has_side_effect);
  read.instr().attrs = std::move(attrs);
  return ok && read.CalledList("called_computations", Need::kOptional) &&
         read.CalledList("to_apply", Need::kOptional);
}

bool ReadCollective(AttrReader& read) {
  CollectiveAttrs attrs;
  const bool ok = read.Dims("dimensions", attrs.dims, Need::kOptional);
  read.instr().attrs = std::move(attrs);
  return ok && read.Called("to_apply", Need::kOptional);
}

bool ReadCompare(AttrReader& read) {
  CompareAttrs attrs;
  size_t direction = 0;
  size_t type = SIZE_MAX;
  if (!read.OneOf("direction", {"EQ", "NE", "LT", "LE", "GT", "GE"}, direction, Need::kRequired) ||
      !read.OneOf("type", {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}, type, Need::kOptional)) {
    return false;
  }
  attrs.direction = static_cast<Direction>(direction);
  if (type != SIZE_MAX) attrs.type = static_cast<CompareType>(type);
  read.instr().attrs = attrs;
  return true;
}

// ---- which opcode reads what ----

using ReadFn = bool (*)(AttrReader&);
struct OpReader {
  Op op;
  ReadFn read;
};

constexpr OpReader kReaders[] = {
    {Op::kGetTupleElement, ReadTupleIndex},
    {Op::kCall, ReadCall},
    {Op::kWhile, ReadWhile},
    {Op::kConditional, ReadConditional},
    {Op::kFusion, ReadFusion},
    {Op::kMap, ReadDimsAndCalled},
    {Op::kCompare, ReadCompare},
    {Op::kReducePrecision, ReadReducePrecision},
    {Op::kBroadcast, ReadDims},
    {Op::kTranspose, ReadDims},
    {Op::kReverse, ReadDims},
    {Op::kConcatenate, ReadDims},
    {Op::kSlice, ReadSlice},
    {Op::kIota, ReadIota},
    {Op::kPad, ReadPad},
    {Op::kGather, ReadGather},
    {Op::kDynamicSlice, ReadDynamicSlice},
    {Op::kReduce, ReadDimsAndCalled},
    {Op::kReduceWindow, ReadWindowed},
    {Op::kScan, ReadDimsAndCalled},
    {Op::kDot, ReadDot},
    {Op::kRaggedDot, ReadDot},
    {Op::kScaledDot, ReadDot},
    {Op::kConvolution, ReadConvolution},
    {Op::kScatter, ReadScatter},
    {Op::kSelectAndScatter, ReadWindowed},
    {Op::kSort, ReadSort},
    {Op::kTopK, ReadTopK},
    {Op::kBatchNormTraining, ReadBatchNorm},
    {Op::kBatchNormInference, ReadBatchNorm},
    {Op::kBatchNormGrad, ReadBatchNorm},
    {Op::kRng, ReadRng},
    {Op::kRngBitGenerator, ReadRng},
    {Op::kRngGetAndUpdateState, ReadRng},
    {Op::kCholesky, ReadTriangular},
    {Op::kTriangularSolve, ReadTriangular},
    {Op::kFft, ReadFft},
    {Op::kGetDimensionSize, ReadDimensionSize},
    {Op::kSetDimensionSize, ReadDimensionSize},
    {Op::kCustomCall, ReadCustomCall},
    {Op::kAsyncStart, ReadAsyncStart},
    {Op::kAllGather, ReadCollective},
    {Op::kAllGatherStart, ReadCollective},
    {Op::kAllReduce, ReadCollective},
    {Op::kAllReduceStart, ReadCollective},
    {Op::kAllToAll, ReadCollective},
    {Op::kReduceScatter, ReadCollective},
    {Op::kCollectiveBroadcast, ReadCollective},
};

constexpr std::array<ReadFn, 256> ByOp() {
  std::array<ReadFn, 256> by_op{};
  for (const OpReader& row : kReaders) by_op[static_cast<size_t>(row.op)] = row.read;
  return by_op;
}
constexpr std::array<ReadFn, 256> kByOp = ByOp();

// Facts about where the text came from; they take most of a dump's size and mean nothing here.
bool IsDropped(std::string_view name) {
  return name == "metadata" || name == "origin" || name == "statistics" ||
         name == "result_accuracy";
}

// Line breaks outside quotes become one space, so that every instruction prints on one line; not
// where the line would end elsewhere, as behind a // between apostrophes.
std::string OneLine(std::string_view value) {
  if (value.find('\n') == std::string_view::npos) return std::string(value);
  std::string line;
  bool quoted = false;
  for (size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (quoted && c == '\\' && i + 1 < value.size()) {
      line += c;
      line += value[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '/' && i + 1 < value.size() && value[i + 1] == '/' &&
        (line.empty() || line.back() == ' ' || line.back() == '{' || line.back() == '[')) {
      i = std::min(value.find('\n', i), value.size());
      continue;
    }
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (quoted || !space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  line.insert(0, "=");  // a lexer looks at what is before an apostrophe
  Lexer lexer(line);
  std::string_view whole;
  const bool same = lexer.Take('=') && lexer.TakeValue(whole) && whole.size() + 1 == line.size();
  return same ? line.substr(1) : std::string(value);
}

CompareType DefaultCompareType(DType dtype) {
  if (IsSigned(dtype)) return CompareType::kSigned;
  if (IsUnsigned(dtype) || dtype == DType::kPred) return CompareType::kUnsigned;
  return CompareType::kFloat;
}

}  // namespace

bool Parser::ReadAttrs(const Body& body, Instr& instr, std::vector<RawAttr>& attrs,
                       const char* place) {
  AttrReader reader(*this, instr, attrs, place);
  if (const ReadFn read = kByOp[static_cast<size_t>(instr.op)]) {
    if (!read(reader)) return false;
  }
  if (instr.op == Op::kCompare && !reader.Has("type") && !instr.operands.empty()) {
    instr.As<CompareAttrs>().type =
        DefaultCompareType(body.computation[instr.operands[0]].shape.dtype);
  }
  for (const RawAttr& attr : attrs) {
    if (!attr.used && !IsDropped(attr.name)) {
      instr.extra.emplace_back(attr.name, OneLine(attr.value));
    }
  }
  return true;
}

bool Parser::ComputationRef(std::string_view base_name, ComputationId& id) {
  if (lex_.Peek() == '{') return InlineComputation(base_name, id);
  const char* place = lex_.pos();
  const std::string_view name = lex_.TakeName();
  if (name.empty()) return Expected(fmt::format("the name of a computation for {}", base_name));
  if (const uint32_t* index = computations_.Lookup(name)) {
    id = {*index};
    return true;
  }
  if (name == open_name_) {
    return Fail(place, fmt::format("%{} calls itself, which HLO does not allow", name));
  }
  return Fail(place, fmt::format("found the unknown computation %{}, expected one defined above "
                                 "(computations come before their callers)",
                                 name));
}

}  // namespace fusemark
