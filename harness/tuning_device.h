// The tuner's device: candidates compiled by the on engine and run on one set of inputs.
#pragma once

#include <memory>
#include <string>

#include "autotuner/tuner.h"
#include "compiler/compile.h"
#include "harness/load.h"

namespace fusemark {

class EngineDevice final : public TuningDevice {
 public:
  // Both must outlive the device.
  EngineDevice(const LoadedWorkload& loaded, const CompileOptions& options)
      : loaded_(loaded), options_(options) {}

  Result<std::unique_ptr<PreparedCandidate>> Prepare(const std::string& config_text) override;

 private:
  const LoadedWorkload& loaded_;
  const CompileOptions& options_;
};

}  // namespace fusemark
