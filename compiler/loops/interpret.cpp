#include "compiler/loops/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "compiler/loops/interpret_program.h"

namespace fusemark::loops {
namespace interpreter {
namespace {

// The state of one thread: values, and where each buffer lies for it.
struct Frame {
  std::vector<uint64_t> slots;
  std::vector<std::byte*> bases;
};

template <class T>
uint64_t ReadAs(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  if constexpr (std::is_signed_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  else
    return value;
}

uint64_t Read(DType dtype, const std::byte* place) {
  if (dtype == DType::kPred) return ReadAs<uint8_t>(place) != 0 ? 1 : 0;
  if (IsSigned(dtype)) {
    switch (ByteSize(dtype)) {
      case 1: return ReadAs<int8_t>(place);
      case 2: return ReadAs<int16_t>(place);
      case 4: return ReadAs<int32_t>(place);
      default: return ReadAs<int64_t>(place);
    }
  }
  switch (ByteSize(dtype)) {
    case 1: return ReadAs<uint8_t>(place);
    case 2: return ReadAs<uint16_t>(place);
    case 4: return ReadAs<uint32_t>(place);
    default: return ReadAs<uint64_t>(place);
  }
}

class Run {
 public:
  explicit Run(const Program& program) : program_(program) {
    frame_.slots = program.initial_slots;
    frame_.bases.assign(program.kernel.buffers.size(), nullptr);
    local_.resize(program.kernel.buffers.size());
  }

  void Bind(BufferId id, const void* memory) {
    frame_.bases[id.index] = static_cast<std::byte*>(const_cast<void*>(memory));
  }

  Result<void> ExecutePhase(const Phase& phase, int64_t begin, int64_t end) {
    const Node& first = program_.body[phase.begin];
    const bool loop = first.kind == StmtKind::kFor &&
                      (first.loop == LoopKind::kParallel || first.loop == LoopKind::kBlock);
    if (loop) {
      Range(first, frame_, begin, end);
    } else if (begin == 0 && end == 1) {
      for (size_t i = phase.begin; i < phase.end; ++i) Execute(program_.body[i], frame_);
    }
    if (!error_.empty()) return Error{Code::kLaunchFailed, error_};
    return Ok();
  }

 private:
  // ---- one thread ----
  void Evaluate(const Node& node, Frame& frame) {
    uint64_t* const slots = frame.slots.data();
    for (uint32_t i = node.code_begin; i < node.code_end; ++i) {
      const Instruction& in = program_.code[i];
      if (in.function != nullptr) {
        slots[in.dst] = in.function(slots[in.a], slots[in.b], slots[in.c]);
      } else {
        const Access& access = program_.accesses[in.a];
        const std::byte* const place = PlaceOf(access, frame);
        slots[in.dst] = place == nullptr ? 0 : Read(access.dtype, place);
      }
    }
  }

  // Null (and an error) when out of bounds.
  std::byte* PlaceOf(const Access& access, Frame& frame) {
    int64_t offset = 0;
    for (uint32_t i = access.first; i < access.first + access.rank; ++i) {
      const auto index = static_cast<int64_t>(frame.slots[program_.index_slots[i]]);
      const Dim& dim = program_.dims[i];
      if (index < 0 || index >= dim.extent) {
        OutOfBounds(access, i - access.first, index);
        return nullptr;
      }
      offset += index * dim.stride;
    }
    std::byte* const base = frame.bases[access.buffer];
    if (base == nullptr && error_.empty())
      error_ = fmt::format("kernel @{}: %{} is used before its alloc", program_.kernel.name,
                           program_.kernel.buffers[access.buffer].name);
    return base == nullptr ? nullptr : base + offset;
  }

  void OutOfBounds(const Access& access, uint32_t dim, int64_t index) {
    if (!error_.empty()) return;
    const Buffer& buffer = program_.kernel.buffers[access.buffer];
    error_ = fmt::format("kernel @{}: index {} of %{} is {}, its extent is {}",
                         program_.kernel.name, dim, buffer.name, index, buffer.dims[dim]);
  }

  void Execute(const Node& node, Frame& frame) {
    switch (node.kind) {
      case StmtKind::kFor: return Range(node, frame, 0, node.extent);
      case StmtKind::kBarrier:
      case StmtKind::kPrefetch: return;
      case StmtKind::kAlloc: return Allocate(node, frame);
      case StmtKind::kLet: return Evaluate(node, frame);
      case StmtKind::kStore: return Store(node, frame);
      case StmtKind::kIf:
        Evaluate(node, frame);
        for (const Node& inner : frame.slots[node.slot] != 0 ? node.body : node.else_body)
          Execute(inner, frame);
        return;
    }
  }

  void Range(const Node& node, Frame& frame, int64_t begin, int64_t end) {
    if (node.loop == LoopKind::kThread && node.has_barrier) return Threads(node, frame);
    for (int64_t i = begin; i < end && error_.empty(); ++i) {
      frame.slots[node.slot] = static_cast<uint64_t>(i);
      for (const Node& inner : node.body) Execute(inner, frame);
    }
  }

  void Store(const Node& node, Frame& frame) {
    Evaluate(node, frame);
    const Access& access = program_.accesses[node.access];
    std::byte* const place = PlaceOf(access, frame);
    if (place == nullptr) return;
    // Little-endian hosts only: the low bytes of the pattern are the element.
    std::memcpy(place, &frame.slots[node.slot], static_cast<size_t>(ByteSize(access.dtype)));
  }

  void Fresh(std::vector<std::byte>& memory, uint32_t buffer) {
    memory.assign(static_cast<size_t>(BytesOf(program_.kernel.buffers[buffer])), std::byte{0xff});
    if (memory.empty()) memory.resize(1);
  }

  void Allocate(const Node& node, Frame& frame) {
    Fresh(local_[node.buffer], node.buffer);
    frame.bases[node.buffer] = local_[node.buffer].data();
  }

  // ---- all threads of a block, in lockstep from barrier to barrier ----
  using Team = std::vector<Frame*>;

  void Threads(const Node& loop, Frame& outer) {
    Team team = {&outer};
    std::vector<std::unique_ptr<Frame>> frames;
    SpawnAndRun(loop, team, frames);
  }

  void SpawnAndRun(const Node& loop, const Team& outer,
                   std::vector<std::unique_ptr<Frame>>& frames) {
    Team team;
    for (const Frame* parent : outer) {
      for (int64_t i = 0; i < loop.extent; ++i) {
        frames.push_back(std::make_unique<Frame>(*parent));
        frames.back()->slots[loop.slot] = static_cast<uint64_t>(i);
        team.push_back(frames.back().get());
      }
    }
    std::vector<std::vector<std::byte>> memory;
    Together(loop.body, team, frames, memory);
  }

  void Together(const std::vector<Node>& body, const Team& team,
                std::vector<std::unique_ptr<Frame>>& frames,
                std::vector<std::vector<std::byte>>& memory) {
    size_t i = 0;
    while (i < body.size() && error_.empty()) {
      if (body[i].kind == StmtKind::kAlloc) {
        AllocateForTeam(body[i++], team, memory);
      } else if (body[i].has_barrier) {
        Uniform(body[i++], team, frames, memory);
      } else {
        size_t end = i;
        while (end < body.size() && !body[end].has_barrier && body[end].kind != StmtKind::kAlloc)
          ++end;
        for (Frame* frame : team) {
          for (size_t j = i; j < end; ++j) Execute(body[j], *frame);
        }
        i = end;
      }
    }
  }

  void AllocateForTeam(const Node& node, const Team& team,
                       std::vector<std::vector<std::byte>>& memory) {
    const bool shared = program_.kernel.buffers[node.buffer].space == Space::kShared;
    for (Frame* frame : team) {
      if (!shared || frame == team.front()) {
        memory.emplace_back();
        Fresh(memory.back(), node.buffer);
      }
      frame->bases[node.buffer] = memory.back().data();
    }
  }

  // A statement with a barrier inside: every thread must take the same way through it.
  void Uniform(const Node& node, const Team& team, std::vector<std::unique_ptr<Frame>>& frames,
               std::vector<std::vector<std::byte>>& memory) {
    if (node.kind == StmtKind::kFor && node.loop == LoopKind::kThread)
      return SpawnAndRun(node, team, frames);
    if (node.kind == StmtKind::kFor) {
      for (int64_t i = 0; i < node.extent && error_.empty(); ++i) {
        for (Frame* frame : team) frame->slots[node.slot] = static_cast<uint64_t>(i);
        Together(node.body, team, frames, memory);
      }
    } else if (node.kind == StmtKind::kIf) {
      for (Frame* frame : team) Evaluate(node, *frame);
      const bool taken = team.front()->slots[node.slot] != 0;
      for (const Frame* frame : team) {
        if ((frame->slots[node.slot] != 0) != taken && error_.empty())
          error_ = fmt::format(
              "kernel @{}: a barrier stands under a condition on which the threads "
              "of a block disagree",
              program_.kernel.name);
      }
      Together(taken ? node.body : node.else_body, team, frames, memory);
    }
  }

  const Program& program_;
  Frame frame_;
  std::vector<std::vector<std::byte>> local_;  // one per buffer, outside lockstep
  std::string error_;
};

}  // namespace
}  // namespace interpreter

Interpreter::Interpreter(std::unique_ptr<interpreter::Program> program)
    : program_(std::move(program)) {}
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;
Interpreter::~Interpreter() = default;

Result<Interpreter> Interpreter::Prepare(const Kernel& kernel) {
  FM_TRY(auto program, interpreter::Translate(kernel));
  return Interpreter(std::make_unique<interpreter::Program>(std::move(program)));
}

Result<void> Interpreter::RunPhase(size_t phase, std::span<const void* const> operands,
                                   std::span<void* const> results, void* scratch, int64_t begin,
                                   int64_t end) const {
  const Kernel& kernel = program_->kernel;
  FM_CHECK(operands.size() == kernel.operands.size() && results.size() == kernel.results.size());
  FM_CHECK(phase < program_->phases.size());
  interpreter::Run run(*program_);
  for (size_t i = 0; i < operands.size(); ++i) run.Bind(kernel.operands[i], operands[i]);
  for (size_t i = 0; i < results.size(); ++i) run.Bind(kernel.results[i], results[i]);
  for (size_t i = 0; i < kernel.scratch.size(); ++i)
    run.Bind(kernel.scratch[i], static_cast<std::byte*>(scratch) + program_->scratch_offsets[i]);
  return run.ExecutePhase(program_->phases[phase], begin, end);
}

Result<void> Interpreter::Run(std::span<const void* const> operands,
                              std::span<void* const> results) const {
  const size_t bytes = static_cast<size_t>(std::max<int64_t>(program_->scratch_bytes, 1));
  std::vector<std::byte> scratch(bytes, std::byte{0xff});
  for (size_t i = 0; i < program_->phases.size(); ++i) {
    FM_RETURN_IF_ERROR(
        RunPhase(i, operands, results, scratch.data(), 0, program_->phases[i].extent));
  }
  return Ok();
}

Result<void> Interpret(const Kernel& kernel, std::span<const void* const> operands,
                       std::span<void* const> results) {
  FM_TRY(const auto interpreter, Interpreter::Prepare(kernel));
  return interpreter.Run(operands, results);
}

}  // namespace fusemark::loops
