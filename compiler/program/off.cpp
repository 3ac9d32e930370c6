#include "compiler/program/off.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "compiler/program/off_program.h"
#include "compiler/runtime/allocator.h"
#include "compiler/runtime/threads.h"
#include "compiler/support/memory.h"

namespace fusemark {
namespace {

// A reference-counted buffer. External ones (parameters, constants, the caller's outputs) are never
// freed.
struct Block {
  std::byte* data = nullptr;
  int64_t bytes = 0;
  int refs = 0;
  bool external = false;
};

using Blocks = std::vector<Block*>;

constexpr size_t kNotAnOutput = SIZE_MAX;

class OffExecutable final : public Executable {
 public:
  OffExecutable(OffModule off, CompileStats stats, std::vector<int64_t> output_bytes, int threads,
                const std::atomic<bool>* cancelled)
      : off_(std::move(off)),
        stats_(std::move(stats)),
        output_bytes_(std::move(output_bytes)),
        threads_(threads),
        cancelled_(cancelled) {
    const OffComputation& entry = off_.computations[off_.entry];
    output_of_.assign(entry.values, kNotAnOutput);
    for (size_t i = entry.results.size(); i-- > 0;) output_of_[entry.results[i]] = i;
  }

  ~OffExecutable() override {
    for (Block* block : all_blocks_) delete block;
  }

  Result<void> Run(std::span<const void* const> params, std::span<void* const> outputs) override {
    if (CurrentThreads() != threads_) SetThreads(threads_);
    Blocks arguments;
    for (const void* param : params) arguments.push_back(External(const_cast<void*>(param)));
    outputs_ = outputs;
    Blocks results;
    auto run = RunComputation(off_.entry, arguments, results, true);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i]->data != outputs[i]) CopyArray(outputs[i], results[i]->data, output_bytes_[i]);
      Release(results[i]);
    }
    for (Block* block : arguments) Release(block);
    stats_.peak_arena_bytes = allocator_.peak_bytes();
    return run;
  }
  Result<void> Bind(std::span<const void* const>) override { return Ok(); }
  CompileStats Stats() const override { return stats_; }

 private:
  // ---- buffers

  Block* NewBlock() {
    if (free_blocks_.empty()) {
      all_blocks_.push_back(new Block);
      free_blocks_.push_back(all_blocks_.back());
    }
    Block* block = free_blocks_.back();
    free_blocks_.pop_back();
    *block = {nullptr, 0, 1, false};
    return block;
  }
  Block* External(void* data) {
    Block* block = NewBlock();
    block->data = static_cast<std::byte*>(data);
    block->external = true;
    return block;
  }
  Block* Allocate(int64_t bytes) {
    std::byte* data = allocator_.Allocate(bytes);
    if (data == nullptr) return nullptr;
    Block* block = NewBlock();
    block->data = data;
    block->bytes = bytes;
    return block;
  }
  void Release(Block* block) {
    if (--block->refs > 0) return;
    if (!block->external) allocator_.Free(block->data, block->bytes);
    free_blocks_.push_back(block);
  }

  // ---- dispatch

  // `arguments` stay the caller's; `results` are owned by the caller afterwards.
  Result<void> RunComputation(uint32_t index, const Blocks& arguments, Blocks& results,
                              bool entry) {
    const OffComputation& computation = off_.computations[index];
    Blocks values(computation.values, nullptr);
    for (size_t i = 0; i < arguments.size(); ++i) {
      values[computation.parameters[i]] = arguments[i];
      ++arguments[i]->refs;
    }
    Result<void> status;
    for (const OffAction& action : computation.actions) {
      if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) {
        status = Error{Code::kCancelled, "interrupted"};
      } else {
        status = Dispatch(action, values, entry);
      }
      if (!status.ok()) break;
      for (const uint32_t value : action.dead_after) {
        Release(values[value]);
        values[value] = nullptr;
      }
    }
    if (status.ok()) {
      for (const uint32_t value : computation.results) {
        ++values[value]->refs;
        results.push_back(values[value]);
      }
    }
    for (Block* block : values) {
      if (block != nullptr) Release(block);
    }
    return status;
  }

  Result<void> Dispatch(const OffAction& action, Blocks& values, bool entry) {
    switch (action.kind) {
      case OffAction::Kind::kConstant:
        values[action.results[0]] =
            External(const_cast<std::byte*>(action.constant.bytes().data()));
        return Ok();
      case OffAction::Kind::kKernel:
      case OffAction::Kind::kLibrary:
      case OffAction::Kind::kHostCall: return Launch(action, values, entry);
      case OffAction::Kind::kCall: {
        return CallComputation(action, action.callees[0],
                               Pick(action, values, 0, action.operands.size()), values);
      }
      case OffAction::Kind::kConditional: return Conditional(action, values);
      case OffAction::Kind::kWhile: return While(action, values);
    }
    return Ok();
  }

  static Blocks Pick(const OffAction& action, const Blocks& values, size_t begin, size_t end) {
    Blocks picked;
    for (size_t i = begin; i < end; ++i) picked.push_back(values[action.operands[i]]);
    return picked;
  }

  Result<void> CallComputation(const OffAction& action, uint32_t callee, const Blocks& arguments,
                               Blocks& values) {
    Blocks results;
    FM_RETURN_IF_ERROR(RunComputation(callee, arguments, results, false));
    for (size_t i = 0; i < results.size(); ++i) values[action.results[i]] = results[i];
    return Ok();
  }

  Block* ResultBlock(uint32_t value, int64_t bytes, bool entry) {
    if (entry && output_of_[value] != kNotAnOutput) return External(outputs_[output_of_[value]]);
    return Allocate(bytes);
  }

  static Error OutOfMemory(int64_t bytes) {
    return {Code::kLaunchFailed,
            "out of memory: a buffer of " + std::to_string(bytes) + " bytes cannot be allocated"};
  }

  Result<void> Launch(const OffAction& action, Blocks& values, bool entry) {
    operands_.clear();
    results_.clear();
    for (const uint32_t operand : action.operands) operands_.push_back(values[operand]->data);
    for (size_t i = 0; i < action.results.size(); ++i) {
      Block* block = ResultBlock(action.results[i], action.result_bytes[i], entry);
      if (block == nullptr) return OutOfMemory(action.result_bytes[i]);
      values[action.results[i]] = block;
      results_.push_back(block->data);
    }
    const CompiledKernel* kernel = nullptr;
    int64_t scratch_bytes = 0;
    if (action.kind == OffAction::Kind::kLibrary) {
      scratch_bytes = action.library->scratch_bytes();
    } else if (action.kind == OffAction::Kind::kHostCall) {
      scratch_bytes = action.host_call->scratch_bytes();
    } else {
      kernel = &(*off_.kernels)[off_.kernel_by_signature.find(action.signature)->second];
      scratch_bytes = kernel->scratch_bytes;
    }
    std::byte* scratch = scratch_bytes == 0 ? nullptr : allocator_.Allocate(scratch_bytes);
    if (scratch_bytes != 0 && scratch == nullptr) return OutOfMemory(scratch_bytes);
    Result<void> status;
    if (action.kind == OffAction::Kind::kLibrary) {
      status = action.library->Run(operands_[0], operands_[1], results_[0], scratch);
    } else if (action.kind == OffAction::Kind::kHostCall) {
      status = action.host_call->Run(operands_.data(), results_.data(), scratch);
    } else {
      for (size_t phase = 0; phase < kernel->phases.size(); ++phase) {
        LaunchPhase(kernel->phases[phase], operands_.data(), results_.data(), scratch,
                    kernel->extents[phase], threads_);
      }
    }
    if (scratch != nullptr) allocator_.Free(scratch, scratch_bytes);
    return status;
  }

  Result<void> Conditional(const OffAction& action, Blocks& values) {
    const std::byte* selector = values[action.operands[0]]->data;
    const size_t last = action.callees.size() - 1;
    size_t branch = 0;
    if (action.selector_is_pred) {
      branch = *reinterpret_cast<const uint8_t*>(selector) != 0 ? 0 : 1;
    } else {
      int32_t index = 0;
      std::memcpy(&index, selector, sizeof(index));
      branch = index < 0 || static_cast<size_t>(index) > last ? last : static_cast<size_t>(index);
    }
    size_t begin = 1;
    for (size_t i = 0; i < branch; ++i) begin += action.argument_counts[i];
    return CallComputation(action, action.callees[branch],
                           Pick(action, values, begin, begin + action.argument_counts[branch]),
                           values);
  }

  Result<void> While(const OffAction& action, Blocks& values) {
    Blocks state = Pick(action, values, 0, action.operands.size());
    for (Block* block : state) ++block->refs;
    Result<void> status;
    while (status.ok()) {
      Blocks flag;
      status = RunComputation(action.callees[0], state, flag, false);
      if (!status.ok()) break;
      const bool more = *reinterpret_cast<const uint8_t*>(flag[0]->data) != 0;
      Release(flag[0]);
      if (!more) break;
      Blocks next;
      status = RunComputation(action.callees[1], state, next, false);
      if (!status.ok()) break;
      for (Block* block : state) Release(block);
      state = std::move(next);
    }
    if (!status.ok()) {
      for (Block* block : state) Release(block);
      return status;
    }
    for (size_t i = 0; i < state.size(); ++i) values[action.results[i]] = state[i];
    return Ok();
  }

  OffModule off_;
  CompileStats stats_;
  std::vector<int64_t> output_bytes_;
  std::vector<size_t> output_of_;  // by value of the entry: number of the first such output
  int threads_;
  const std::atomic<bool>* cancelled_;
  CachingAllocator allocator_;
  std::vector<Block*> all_blocks_, free_blocks_;
  std::span<void* const> outputs_;
  std::vector<const void*> operands_;
  std::vector<void*> results_;
};

}  // namespace

Result<std::unique_ptr<Executable>> CompileOff(const Module& module, const loops::Target& target,
                                               int threads, const std::atomic<bool>* cancelled) {
  const auto start = std::chrono::steady_clock::now();
  FM_TRY(OffModule off, BuildOff(module, target, threads));
  CompileStats stats;
  for (const OffAction& action : off.computations[off.entry].actions) {
    if (action.kind != OffAction::Kind::kConstant) ++stats.kernels;
  }
  stats.unique_kernels = off.kernels->size();
  stats.compile_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start)
          .count();
  std::vector<int64_t> output_bytes;
  std::vector<Shape> leaves;
  FlattenLeaves(module.Entry().Root().shape, leaves);
  for (const Shape& leaf : leaves) output_bytes.push_back(ByteSizeOf(leaf));
  return std::unique_ptr<Executable>(std::make_unique<OffExecutable>(
      std::move(off), std::move(stats), std::move(output_bytes), threads, cancelled));
}

}  // namespace fusemark
