#include "compiler/passes/new_regions.h"

#include <utility>

namespace fusemark {

NewRegions::NewRegions(const Module& module)
    : first_id_(static_cast<uint32_t>(module.computations.size())) {
  for (const Computation& computation : module.computations) taken_names_.insert(computation.name);
}

ComputationId NewRegions::Add(DType dtype) {
  for (const auto& [type, id] : sums_) {
    if (type == dtype) return id;
  }
  const Effects none;
  Builder builder(none);
  const InstrId a = builder.Emit(Op::kParameter, ArrayShape(dtype, {}), {}, ParameterAttrs{0});
  const InstrId b = builder.Emit(Op::kParameter, ArrayShape(dtype, {}), {}, ParameterAttrs{1});
  const InstrId sum = builder.Binary(Op::kAdd, a, b);
  const ComputationId id = Append(builder.Finish("add_" + std::string(DTypeName(dtype)), sum));
  sums_.emplace_back(dtype, id);
  return id;
}

ComputationId NewRegions::Append(Computation computation) {
  const std::string stem = computation.name;
  for (int count = 1; !taken_names_.insert(computation.name).second; ++count)
    computation.name = stem + "." + std::to_string(count);
  computations_.push_back(std::move(computation));
  return {first_id_ + static_cast<uint32_t>(computations_.size()) - 1};
}

void NewRegions::AppendTo(Module& module) {
  for (Computation& computation : computations_) {
    module.computations.push_back(std::move(computation));
  }
  computations_.clear();
}

}  // namespace fusemark
