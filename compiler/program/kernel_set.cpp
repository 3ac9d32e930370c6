#include "compiler/program/kernel_set.h"

#include "compiler/loops/block_layout.h"
#include "compiler/loops/knobs.h"
#include "compiler/loops/print.h"
#include "compiler/loops/schedule_cpu.h"

namespace fusemark {

Result<std::unique_ptr<KernelSet>> KernelSet::Create(const loops::Target& target) {
  FM_TRY(auto jit, Jit::Create(target));
  return std::unique_ptr<KernelSet>(new KernelSet(target, std::move(jit)));
}

Result<int> KernelSet::Add(const loops::Kernel& unscheduled, const loops::Schedule& schedule,
                           const std::vector<bool>& lasting) {
  const auto key = std::make_tuple(loops::TaskId(unscheduled),
                                   loops::PrintSchedule(unscheduled.klass, schedule), lasting);
  if (const auto it = ids_.find(key); it != ids_.end()) return it->second;
  auto scheduled = loops::ApplySchedule(unscheduled, schedule, target_, lasting);
  if (!scheduled.ok()) {
    return Error{Code::kCompileFailed, "kernel `" + unscheduled.name +
                                           "`: " + scheduled.error().message + "\n" +
                                           loops::Print(unscheduled)};
  }
  loops::Kernel kernel = std::move(*scheduled);
  const int id = size();
  ids_[key] = id;
  std::vector<int64_t>& runs = runs_.emplace_back();
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    runs.push_back(loops::BlockedRun(unscheduled, kernel, i));
  }
  scheduled_.push_back(std::move(kernel));
  return id;
}

Result<void> KernelSet::Compile(int threads) {
  std::vector<const loops::Kernel*> fresh;
  for (size_t i = compiled_.size(); i < scheduled_.size(); ++i) fresh.push_back(&scheduled_[i]);
  if (fresh.empty()) return Ok();
  FM_TRY(std::vector<CompiledKernel> compiled, jit_->Compile(fresh, threads));
  for (CompiledKernel& kernel : compiled) compiled_.push_back(std::move(kernel));
  return Ok();
}

}  // namespace fusemark
