#include <charconv>

#include "compiler/support/strings.h"
#include "compiler/text/printer.h"

namespace fusemark {
namespace {

// The sum of the small writers below, one per attribute struct. Values equal to the default are
// left out where the parser fills in the same default.
class AttrWriter {
 public:
  AttrWriter(const Instr& instr, std::string& text) : instr_(instr), text_(text) {}

  void operator()(std::monostate) {}
  void operator()(const ParameterAttrs&) {}  // stand in the parentheses
  void operator()(const ConstantAttrs&) {}

  void operator()(const DimsAttrs& attrs) {
    if (instr_.op == Op::kIota) {
      if (!attrs.dims.empty()) Int("iota_dimension", attrs.dims[0]);
      return;
    }
    List(instr_.op == Op::kDynamicSlice ? "dynamic_slice_sizes" : "dimensions", attrs.dims);
  }
  void operator()(const TupleIndexAttrs& attrs) { Int("index", attrs.index); }

  void operator()(const CompareAttrs& attrs) {
    constexpr std::string_view kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    constexpr std::string_view kTypes[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
    Text("direction", kDirections[static_cast<size_t>(attrs.direction)]);
    Text("type", kTypes[static_cast<size_t>(attrs.type)]);
  }

  void operator()(const SliceAttrs& attrs) {
    text_ += ", slice={";
    for (size_t i = 0; i < attrs.start.size(); ++i) {
      if (i != 0) text_ += ", ";
      text_ += '[' + std::to_string(attrs.start[i]) + ':' + std::to_string(attrs.limit[i]);
      if (attrs.stride[i] != 1) text_ += ':' + std::to_string(attrs.stride[i]);
      text_ += ']';
    }
    text_ += '}';
  }

  void operator()(const PadAttrs& attrs) {
    if (attrs.low.empty()) return;
    text_ += ", padding=";
    for (size_t i = 0; i < attrs.low.size(); ++i) {
      if (i != 0) text_ += 'x';
      text_ += std::to_string(attrs.low[i]) + '_' + std::to_string(attrs.high[i]);
      if (attrs.interior[i] != 0) text_ += '_' + std::to_string(attrs.interior[i]);
    }
  }

  void operator()(const DotAttrs& attrs) {
    ListUnlessEmpty("lhs_batch_dims", attrs.lhs_batch);
    ListUnlessEmpty("lhs_contracting_dims", attrs.lhs_contracting);
    ListUnlessEmpty("rhs_batch_dims", attrs.rhs_batch);
    ListUnlessEmpty("rhs_contracting_dims", attrs.rhs_contracting);
    if (!attrs.algorithm.empty()) Text("algorithm", attrs.algorithm);
  }

  void operator()(const WindowAttrs& attrs) { Window(attrs.window); }

  void operator()(const ConvAttrs& attrs) {
    Window(attrs.window);
    Text("dim_labels", attrs.dim_labels);
    if (attrs.feature_group_count != 1) Int("feature_group_count", attrs.feature_group_count);
    if (attrs.batch_group_count != 1) Int("batch_group_count", attrs.batch_group_count);
  }

  void operator()(const GatherAttrs& attrs) {
    List("offset_dims", attrs.offset_dims);
    List("collapsed_slice_dims", attrs.collapsed_slice_dims);
    List("start_index_map", attrs.start_index_map);
    ListUnlessEmpty("operand_batching_dims", attrs.operand_batching_dims);
    ListUnlessEmpty("start_indices_batching_dims", attrs.start_indices_batching_dims);
    Int("index_vector_dim", attrs.index_vector_dim);
    List("slice_sizes", attrs.slice_sizes);
    IfTrue("indices_are_sorted", attrs.indices_are_sorted);
  }

  void operator()(const ScatterAttrs& attrs) {
    List("update_window_dims", attrs.update_window_dims);
    List("inserted_window_dims", attrs.inserted_window_dims);
    List("scatter_dims_to_operand_dims", attrs.scatter_dims_to_operand_dims);
    ListUnlessEmpty("input_batching_dims", attrs.input_batching_dims);
    ListUnlessEmpty("scatter_indices_batching_dims", attrs.scatter_indices_batching_dims);
    Int("index_vector_dim", attrs.index_vector_dim);
    IfTrue("indices_are_sorted", attrs.indices_are_sorted);
    IfTrue("unique_indices", attrs.unique_indices);
  }

  void operator()(const SortAttrs& attrs) {
    List("dimensions", {attrs.dim});
    IfTrue("is_stable", attrs.is_stable);
  }
  void operator()(const TopKAttrs& attrs) {
    Int("k", attrs.k);
    Text("largest", attrs.largest ? "true" : "false");
  }
  void operator()(const ReducePrecisionAttrs& attrs) {
    Int("exponent_bits", attrs.exponent_bits);
    Int("mantissa_bits", attrs.mantissa_bits);
  }
  void operator()(const BatchNormAttrs& attrs) {
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, attrs.epsilon).ptr;
    Text("epsilon", std::string_view(buffer, static_cast<size_t>(end - buffer)));
    Int("feature_index", attrs.feature_index);
  }
  void operator()(const RngAttrs& attrs) {
    if (instr_.op == Op::kRng) Text("distribution", attrs.kind);
    if (instr_.op == Op::kRngBitGenerator) Text("algorithm", attrs.kind);
    if (instr_.op == Op::kRngGetAndUpdateState) Int("delta", attrs.delta);
  }
  void operator()(const FftAttrs& attrs) {
    Text("fft_type", attrs.type);
    List("fft_length", attrs.length);
  }
  void operator()(const TriangularAttrs& attrs) {
    if (instr_.op == Op::kTriangularSolve) IfTrue("left_side", attrs.left_side);
    IfTrue("lower", attrs.lower);
    if (instr_.op != Op::kTriangularSolve) return;
    IfTrue("unit_diagonal", attrs.unit_diagonal);
    Text("transpose_a", attrs.transpose_a);
  }
  void operator()(const FusionAttrs& attrs) { Text("kind", attrs.kind); }
  void operator()(const CustomCallAttrs& attrs) {
    text_ += ", custom_call_target=\"" + attrs.target + '"';
    IfTrue("custom_call_has_side_effect", attrs.has_side_effect);
  }
  void operator()(const CollectiveAttrs& attrs) { ListUnlessEmpty("dimensions", attrs.dims); }

 private:
  void Text(std::string_view name, std::string_view value) {
    text_ += ", ";
    text_ += name;
    text_ += '=';
    text_ += value;
  }
  void Int(std::string_view name, int64_t value) { Text(name, std::to_string(value)); }
  void IfTrue(std::string_view name, bool value) {
    if (value) Text(name, "true");
  }
  void List(std::string_view name, const Dims& dims) { Text(name, '{' + JoinInts(dims) + '}'); }
  void ListUnlessEmpty(std::string_view name, const Dims& dims) {
    if (!dims.empty()) List(name, dims);
  }

  template <class Get>
  void WindowField(std::string_view name, const fusemark::Window& window, const Get& get) {
    text_ += name;
    text_ += '=';
    for (size_t i = 0; i < window.size(); ++i) {
      if (i != 0) text_ += 'x';
      text_ += get(window[i]);
    }
  }

  template <class Differs>
  static bool Any(const fusemark::Window& window, const Differs& differs) {
    for (const WindowDim& dim : window) {
      if (differs(dim)) return true;
    }
    return false;
  }

  void Window(const fusemark::Window& window) {
    if (window.empty()) return;
    text_ += ", window={";
    WindowField("size", window, [](const WindowDim& d) { return std::to_string(d.size); });
    if (Any(window, [](const WindowDim& d) { return d.stride != 1; })) {
      WindowField(" stride", window, [](const WindowDim& d) { return std::to_string(d.stride); });
    }
    if (Any(window, [](const WindowDim& d) { return d.pad_low != 0 || d.pad_high != 0; })) {
      WindowField(" pad", window, [](const WindowDim& d) {
        return std::to_string(d.pad_low) + '_' + std::to_string(d.pad_high);
      });
    }
    if (Any(window, [](const WindowDim& d) { return d.base_dilation != 1; })) {
      WindowField(" lhs_dilate", window,
                  [](const WindowDim& d) { return std::to_string(d.base_dilation); });
    }
    if (Any(window, [](const WindowDim& d) { return d.window_dilation != 1; })) {
      WindowField(" rhs_dilate", window,
                  [](const WindowDim& d) { return std::to_string(d.window_dilation); });
    }
    if (Any(window, [](const WindowDim& d) { return d.reversal; })) {
      WindowField(" rhs_reversal", window,
                  [](const WindowDim& d) { return std::string(d.reversal ? "1" : "0"); });
    }
    text_ += '}';
  }

  const Instr& instr_;
  std::string& text_;
};

}  // namespace

void AppendAttributes(const Instr& instr, std::string& text) {
  std::visit(AttrWriter(instr, text), instr.attrs);
}

}  // namespace fusemark
