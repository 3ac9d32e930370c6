#include "compiler/program/run.h"

#include <array>
#include <chrono>
#include <cstring>

#include "compiler/runtime/threads.h"
#include "compiler/support/memory.h"

namespace fusemark {
namespace {

static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free,
              "compiled loops read the flag as a byte");

class Runner {
 public:
  Runner(const Program& program, const RunContext& context, const void* const* params,
         void* const* outputs, std::byte* arena)
      : program_(program), context_(context), params_(params), outputs_(outputs), arena_(arena) {}

  Result<void> Run() {
    if (context_.times != nullptr) return RunTimed();
    return Run(program_.steps);
  }

  Result<void> Run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (context_.cancelled != nullptr && context_.cancelled->load(std::memory_order_relaxed)) {
        return Error{Code::kCancelled, "interrupted"};
      }
      auto result = std::visit([&](const auto& s) { return Do(s); }, step);
      if (!result.ok()) return result;
    }
    return Ok();
  }

  Result<void> RunTimed() {
    using Clock = std::chrono::steady_clock;
    std::vector<StepTime>& times = (*context_.times)[&program_];
    times.resize(program_.steps.size());
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const auto start = Clock::now();
      const auto result = std::visit([&](const auto& s) { return Do(s); }, program_.steps[i]);
      if (!result.ok()) return result;
      const auto took = Clock::now() - start;
      times[i].ns += std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
      ++times[i].runs;
    }
    return Ok();
  }

  Result<void> Pack() {
    for (const Step& step : program_.steps) {
      const auto* call = std::get_if<LibraryStep>(&step);
      if (call == nullptr || !call->rhs_is_resident) continue;
      FM_RETURN_IF_ERROR(call->kernel->Pack(Read(call->rhs)));
    }
    return Ok();
  }

 private:
  const void* Read(const Place& place) const {
    switch (place.storage) {
      case Place::Storage::kArena: return arena_ + place.offset;
      case Place::Storage::kParam: return params_[place.offset];
      case Place::Storage::kOutput: return outputs_[place.offset];
      case Place::Storage::kConstant:
        return program_.constants[static_cast<size_t>(place.offset)].bytes().data();
    }
    return nullptr;
  }
  void* Write(const Place& place) const { return const_cast<void*>(Read(place)); }

  // Pointer tables of a call; small ones live on the stack.
  class Pointers {
   public:
    Pointers(const Runner& runner, const std::vector<Place>& places) {
      void** out = few_.data();
      if (places.size() > few_.size()) {
        many_.resize(places.size());
        out = many_.data();
      }
      for (size_t i = 0; i < places.size(); ++i) out[i] = runner.Write(places[i]);
      begin_ = out;
    }
    Pointers(const Pointers&) = delete;
    Pointers& operator=(const Pointers&) = delete;
    void* const* get() const { return begin_; }
    const void* const* get_const() const { return begin_; }

   private:
    std::array<void*, 16> few_;
    std::vector<void*> many_;
    void** begin_;
  };

  Result<void> Do(const LaunchStep& step) {
    const Pointers operands(*this, step.operands), results(*this, step.results);
    const CompiledKernel& kernel = (*context_.kernels)[step.kernel];
    void* scratch = Write(step.scratch);
    for (size_t phase = 0; phase < kernel.phases.size(); ++phase) {
      LaunchPhase(kernel.phases[phase], operands.get_const(), results.get(), scratch,
                  kernel.extents[phase], context_.threads);
    }
    return Ok();
  }

  Result<void> Do(const LibraryStep& step) {
    return step.kernel->Run(Read(step.lhs), Read(step.rhs), Write(step.result),
                            Write(step.scratch));
  }

  Result<void> Do(const HostCallStep& step) {
    const Pointers operands(*this, step.operands), results(*this, step.results);
    return step.call->Run(operands.get_const(), results.get(),
                          static_cast<std::byte*>(Write(step.scratch)));
  }

  Result<void> Do(const CopyStep& step) {
    const void* from = Read(step.from);
    void* to = Write(step.to);
    if (from != to && step.bytes > 0) std::memmove(to, from, static_cast<size_t>(step.bytes));
    return Ok();
  }

  Result<void> Call(const Program& callee, const void* const* params, void* const* outputs,
                    const Place& arena) {
    return RunProgram(callee, context_, params, outputs, static_cast<std::byte*>(Write(arena)));
  }

  Result<void> Do(const CallStep& step) {
    const Pointers arguments(*this, step.arguments), results(*this, step.results);
    return Call(*step.callee, arguments.get_const(), results.get(), step.arena);
  }

  Result<void> Do(const ConditionalStep& step) {
    const void* selector = Read(step.selector);
    const size_t last = step.branches.size() - 1;
    size_t branch = 0;
    if (step.selector_is_pred) {
      branch = *static_cast<const uint8_t*>(selector) != 0 ? 0 : 1;
    } else {
      const int32_t index = *static_cast<const int32_t*>(selector);
      branch = index < 0 || static_cast<size_t>(index) > last ? last : static_cast<size_t>(index);
    }
    const Pointers arguments(*this, step.arguments[branch]), results(*this, step.results);
    return Call(*step.branches[branch], arguments.get_const(), results.get(), step.arena);
  }

  Result<void> Do(const NativeStep& step) {
    static const uint8_t never = 0;
    const Pointers places(*this, step.places);
    const auto* cancelled = reinterpret_cast<const uint8_t*>(context_.cancelled);
    const int32_t code =
        step.function(places.get(), Write(step.arena), cancelled != nullptr ? cancelled : &never);
    if (code != 0) return Error{Code::kCancelled, "interrupted"};
    return Ok();
  }

  Result<void> Do(const WhileStep& step) {
    const size_t leaves = step.state.size();
    std::vector<void*> now(leaves), next(leaves);
    for (size_t i = 0; i < leaves; ++i) {
      now[i] = Write(step.state[i]);
      next[i] = Write(step.other[i]);
      const void* initial = Read(step.initial[i]);
      if (!step.invariant[i] && initial != now[i]) CopyArray(now[i], initial, step.bytes[i]);
    }
    void* flag = Write(step.flag);
    while (true) {
      FM_RETURN_IF_ERROR(Call(*step.condition, now.data(), &flag, step.arena));
      if (*static_cast<const uint8_t*>(flag) == 0) break;
      if (context_.cancelled != nullptr && context_.cancelled->load(std::memory_order_relaxed)) {
        return Error{Code::kCancelled, "interrupted"};
      }
      FM_RETURN_IF_ERROR(Call(*step.body, now.data(), next.data(), step.arena));
      for (size_t i = 0; i < leaves; ++i) {
        if (!step.invariant[i]) std::swap(now[i], next[i]);
      }
    }
    for (size_t i = 0; i < leaves; ++i) {
      void* home = Write(step.state[i]);
      if (!step.invariant[i] && now[i] != home) CopyArray(home, now[i], step.bytes[i]);
    }
    return Ok();
  }

  const Program& program_;
  const RunContext& context_;
  const void* const* params_;
  void* const* outputs_;
  std::byte* arena_;
};

}  // namespace

Result<void> RunProgram(const Program& program, const RunContext& context,
                        const void* const* params, void* const* outputs, std::byte* arena) {
  return Runner(program, context, params, outputs, arena).Run();
}

Result<void> RunResidents(const Program& program, const RunContext& context,
                          const void* const* params, std::byte* arena) {
  return Runner(program, context, params, nullptr, arena).Run(program.resident_steps);
}

Result<void> PackResidents(const Program& program, const RunContext& context,
                           const void* const* params, std::byte* arena) {
  return Runner(program, context, params, nullptr, arena).Pack();
}

}  // namespace fusemark
