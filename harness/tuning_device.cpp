#include "harness/tuning_device.h"

#include <new>
#include <utility>
#include <vector>

#include "harness/bench.h"

namespace fusemark {
namespace {

class Prepared final : public PreparedCandidate {
 public:
  Prepared(std::unique_ptr<Executable> executable, const std::vector<Tensor>& inputs,
           std::vector<Tensor> outputs)
      : executable_(std::move(executable)), outputs_(std::move(outputs)) {
    for (const Tensor& input : inputs) params_.push_back(input.data.get());
    for (const Tensor& output : outputs_) results_.push_back(output.data.get());
  }

  Result<void> Bind() { return executable_->Bind(params_); }
  Result<void> Run() override { return executable_->Run(params_, results_); }
  std::span<const Tensor> outputs() const override { return outputs_; }
  int64_t compile_ns() const override { return executable_->Stats().compile_ns; }

 private:
  std::unique_ptr<Executable> executable_;
  std::vector<const void*> params_;
  std::vector<Tensor> outputs_;
  std::vector<void*> results_;
};

}  // namespace

Result<std::unique_ptr<PreparedCandidate>> EngineDevice::Prepare(const std::string& config_text) {
  CompileOptions options = options_;
  options.config_text = config_text;
  try {
    FM_TRY(auto executable, Compile(loaded_.workload.module, options));
    FM_TRY(auto outputs, MakeOutputs(loaded_.workload.module));
    auto prepared =
        std::make_unique<Prepared>(std::move(executable), loaded_.inputs, std::move(outputs));
    if (!options.residents.empty()) FM_RETURN_IF_ERROR(prepared->Bind());
    return std::unique_ptr<PreparedCandidate>(std::move(prepared));
  } catch (const std::bad_alloc&) {
    return Error{Code::kLaunchFailed, "out of memory while compiling a candidate"};
  }
}

}  // namespace fusemark
