#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/ir/infer.h"
#include "compiler/ir/scan.h"

namespace fusemark {
namespace {

// The leaves of a value that is a tuple only where it has several.
std::vector<Shape> Elements(const Shape& shape) {
  return shape.is_tuple ? shape.elements : std::vector<Shape>{shape};
}

Shape WithoutDim(Shape shape, int64_t dim) {
  shape.dims.erase(shape.dims.begin() + dim);
  return Plain(shape);
}

Result<void> CheckScanRegion(const InferContext& context, const ScanForm& form) {
  const Computation& region = context.called(0);
  if (region.parameters.size() != context.operand_count()) {
    return context.Fail(fmt::format("%{} takes {} parameters, expected {}, one per operand",
                                    region.name, region.parameters.size(),
                                    context.operand_count()));
  }
  for (size_t i = 0; i < context.operand_count(); ++i) {
    const Shape& operand = context.shape(i);
    const Shape expected = i < form.inputs ? WithoutDim(operand, form.dim) : operand;
    const Shape& parameter = region[region.parameters[i]].shape;
    if (!SameType(parameter, expected)) {
      return context.Fail(fmt::format("parameter {} of %{} is {}, expected {}", i, region.name,
                                      ToString(parameter), ToString(expected)));
    }
  }
  const std::vector<Shape> results = Elements(region.Root().shape);
  bool fits = results.size() >= form.carries;
  for (size_t i = 0; fits && i < form.carries; ++i)
    fits = SameType(results[form.outputs + i], context.shape(form.inputs + i));
  for (size_t i = 0; fits && i < form.outputs; ++i)
    fits = results[i].is_array() && results[i].rank() >= form.dim;
  if (!fits) {
    return context.Fail(fmt::format("%{} returns {}, expected outputs and then the {} carries",
                                    region.name, ToString(region.Root().shape), form.carries));
  }
  return Ok();
}

}  // namespace

int64_t ExtraNumber(const Instr& instr, std::string_view name, int64_t absent) {
  const std::optional<std::string_view> text = FindExtra(instr.extra, name);
  if (!text) return absent;
  int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, value);
  return read.ec == std::errc() && read.ptr == end && value >= 0 ? value : -1;
}

ScanForm FormOfScan(const Computation& region, const Instr& instr, const Shape& first) {
  ScanForm form;
  form.dim = instr.As<DimsAttrs>().dims[0];
  const auto operands = static_cast<int64_t>(instr.operands.size());
  form.carries = static_cast<size_t>(ExtraNumber(instr, "num_carries", operands / 2));
  form.inputs = instr.operands.size() - form.carries;
  const size_t results = Elements(region.Root().shape).size();
  form.outputs = results - std::min(results, form.carries);
  const std::vector<Shape> written = Elements(instr.shape);
  const Shape* scanned = nullptr;
  if (form.inputs > 0) scanned = &first;
  if (form.inputs == 0 && form.outputs > 0) scanned = &written[0];
  if (scanned != nullptr && form.dim < scanned->rank())
    form.length = scanned->dims[static_cast<size_t>(form.dim)];
  form.reverse = FindExtra(instr.extra, "is_reverse") == "true";
  return form;
}

Inferred InferScan(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Dims& dims = context.instr.As<DimsAttrs>().dims;
  const auto operands = static_cast<int64_t>(context.operand_count());
  const int64_t carries = ExtraNumber(context.instr, "num_carries", operands / 2);
  if (carries < 0 || carries > operands)
    return context.Fail(fmt::format("num_carries must be from 0 to {} (the operands)", operands));
  if (dims.size() != 1 || dims[0] < 0)
    return context.Fail("expected exactly one dimension to scan along");
  const ScanForm form = FormOfScan(context.called(0), context.instr, context.shape(0));
  for (size_t i = 0; i < form.inputs; ++i) {
    const Shape& input = context.shape(i);
    if (input.rank() <= form.dim || input.dims[static_cast<size_t>(form.dim)] != form.length) {
      return context.BadOperand(
          i, fmt::format("an array with {} elements along dimension {}", form.length, form.dim));
    }
  }
  FM_RETURN_IF_ERROR(CheckScanRegion(context, form));
  std::vector<Shape> results = Elements(context.called(0).Root().shape);
  for (size_t i = 0; i < form.outputs; ++i) {
    results[i] = Plain(results[i]);
    results[i].dims.insert(results[i].dims.begin() + form.dim, form.length);
  }
  if (!context.called(0).Root().shape.is_tuple) return std::optional<Shape>(results[0]);
  return std::optional<Shape>(TupleShape(std::move(results)));
}

}  // namespace fusemark
