#include "compiler/reference/custom_call.h"

#include <memory>
#include <utility>

#include "compiler/calls/host_call.h"
#include "compiler/support/check.h"

namespace fusemark::reference {

Value EvalCustomCall(const Computation& computation, InstrId id,
                     const std::vector<Value>& operands) {
  const auto call = MakeHostCall(computation, id);
  FM_CHECK(call.ok(), "ReferenceSupports() lets only known custom calls through");
  std::vector<std::shared_ptr<Tensor>> arguments, results;
  for (const Value& operand : operands) FlattenValue(operand, arguments);
  std::vector<Shape> leaves;
  FlattenLeaves(computation[id].shape, leaves);
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& argument : arguments) in.push_back(argument->data.get());
  for (const Shape& leaf : leaves) {
    results.push_back(std::make_shared<Tensor>(MakeTensor(leaf)));
    out.push_back(results.back()->data.get());
  }
  const Tensor scratch = MakeTensor(ArrayShape(DType::kU8, {(*call)->scratch_bytes()}), false);
  const auto status = (*call)->Run(in.data(), out.data(), scratch.data.get());
  if (!status.ok()) throw CallFailed{status.error()};
  std::span<const std::shared_ptr<Tensor>> rest = results;
  return BuildValue(computation[id].shape, rest);
}

}  // namespace fusemark::reference
