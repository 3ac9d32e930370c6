#include "compiler/calls/host_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/calls/lapack.h"
#include "compiler/support/memory.h"

namespace fusemark {
namespace {

// from[rows][columns] -> to[columns][rows], by blocks that both fit the first cache.
template <size_t kSize>
void TransposeOf(const std::byte* from, std::byte* to, int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    for (int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      for (int64_t i = i0; i < std::min(rows, i0 + kBlock); ++i) {
        for (int64_t j = j0; j < std::min(columns, j0 + kBlock); ++j) {
          std::memcpy(to + static_cast<size_t>(j * rows + i) * kSize,
                      from + static_cast<size_t>(i * columns + j) * kSize, kSize);
        }
      }
    }
  }
}

void Transpose(const std::byte* from, std::byte* to, int64_t rows, int64_t columns, int64_t size) {
  switch (size) {
    case 4: return TransposeOf<4>(from, to, rows, columns);
    case 8: return TransposeOf<8>(from, to, rows, columns);
    default: return TransposeOf<16>(from, to, rows, columns);
  }
}

// Problems of the batch one after another. HLO's matrices are row-major here, LAPACK's are
// column-major: matrices go through scratch, vectors and scalars stay where they are.
class LapackHostCall final : public HostCall {
 public:
  LapackHostCall(const LapackCall& call, BoundSignature bound, CallAttributes attributes)
      : bound_(std::move(bound)), attributes_(std::move(attributes)) {
    constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kC64, DType::kC128};
    run_ = call.routine->run[static_cast<size_t>(
        std::find(std::begin(kTypes), std::end(kTypes), call.element) - std::begin(kTypes))];
    for (const ArraySpec& spec : bound_.results) {
      if (spec.starts_as >= 0) becomes_result_ |= 1u << spec.starts_as;
    }
    for (size_t i = 0; i < bound_.operands.size(); ++i) {
      if (NeedsCopy(i)) scratch_bytes_ += AlignUp(bound_.operands[i].bytes());
    }
    for (const ArraySpec& spec : bound_.results) {
      if (spec.matrix) scratch_bytes_ += AlignUp(spec.bytes());
    }
  }

  int64_t scratch_bytes() const override { return scratch_bytes_; }

  Result<void> Run(const void* const* operands, void* const* results,
                   std::byte* scratch) const override {
    for (int64_t problem = 0; problem < bound_.batch; ++problem) {
      if (IsOutOfMemory(Solve(problem, operands, results, scratch))) {
        return Error{Code::kLaunchFailed, "out of memory: LAPACK has no room for its work arrays"};
      }
    }
    return Ok();
  }

 private:
  // Routines overwrite matrices: those that do not become a result are copied too.
  bool NeedsCopy(size_t operand) const {
    return (becomes_result_ >> operand & 1) == 0 && bound_.operands[operand].matrix;
  }

  static const std::byte* At(const void* base, int64_t problem, const ArraySpec& spec) {
    return static_cast<const std::byte*>(base) + problem * spec.bytes();
  }
  static std::byte* At(void* base, int64_t problem, const ArraySpec& spec) {
    return static_cast<std::byte*>(base) + problem * spec.bytes();
  }

  static void Load(const ArraySpec& spec, const std::byte* from, std::byte* to) {
    if (spec.matrix) return Transpose(from, to, spec.rows, spec.columns, ByteSize(spec.dtype));
    if (from != to) std::memmove(to, from, static_cast<size_t>(spec.bytes()));
  }

  static CallArray ArrayOf(const ArraySpec& spec, std::byte* data) {
    return {data, static_cast<int32_t>(spec.rows), static_cast<int32_t>(spec.columns)};
  }

  // LAPACK's info.
  int32_t Solve(int64_t index, const void* const* operands, void* const* results,
                std::byte* scratch) const {
    CallProblem problem;
    problem.attributes = &attributes_;
    for (size_t i = 0; i < bound_.operands.size(); ++i) {
      const ArraySpec& spec = bound_.operands[i];
      const std::byte* from = At(operands[i], index, spec);
      // A vector is only read where it does not become a result.
      problem.in[i] = ArrayOf(spec, const_cast<std::byte*>(from));
      if (!NeedsCopy(i)) continue;
      problem.in[i].data = scratch;
      scratch += AlignUp(spec.bytes());
      Load(spec, from, problem.in[i].data);
    }
    for (size_t i = 0; i < bound_.results.size(); ++i) {
      const ArraySpec& spec = bound_.results[i];
      problem.out[i] = ArrayOf(spec, At(results[i], index, spec));
      if (spec.matrix) {
        problem.out[i].data = scratch;
        scratch += AlignUp(spec.bytes());
      }
      if (spec.starts_as < 0) {
        std::memset(problem.out[i].data, 0, static_cast<size_t>(spec.bytes()));
      } else {
        const void* operand = operands[spec.starts_as];
        Load(spec, At(operand, index, spec), problem.out[i].data);
      }
    }
    const int32_t info = run_(problem);
    for (size_t i = 0; i < bound_.results.size(); ++i) {
      const ArraySpec& spec = bound_.results[i];
      if (!spec.matrix) continue;
      Transpose(problem.out[i].data, At(results[i], index, spec), spec.columns, spec.rows,
                ByteSize(spec.dtype));
    }
    return info;
  }

  BoundSignature bound_;
  CallAttributes attributes_;
  int32_t (*run_)(const CallProblem&) = nullptr;
  uint32_t becomes_result_ = 0;  // bit i: operand i starts a result
  int64_t scratch_bytes_ = 0;
};

class RefusedCall final : public HostCall {
 public:
  explicit RefusedCall(Error error) : error_(std::move(error)) {}
  Result<void> Run(const void* const*, void* const*, std::byte*) const override { return error_; }
  int64_t scratch_bytes() const override { return 0; }

 private:
  Error error_;
};

std::string_view ConfigOf(const Instr& instr) {
  return FindExtra(instr.extra, "backend_config").value_or("");
}

std::string Where(const Instr& instr) {
  return fmt::format("instruction `{}` (line {}): custom-call of target '{}'", instr.name,
                     instr.loc.line, instr.As<CustomCallAttrs>().target);
}

std::string Problem(const LapackCall& call, const BoundSignature& bound,
                    const CallAttributes& attributes) {
  std::string_view names = call.routine->attributes;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    if (!attributes.contains(name)) {
      return fmt::format("its backend_config lacks `{}`", name);
    }
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  return call.routine->check(bound, attributes);
}

struct Checked {
  LapackCall call;
  BoundSignature bound;
  CallAttributes attributes;
};

Result<Checked> Check(const Computation& computation, InstrId id) {
  const Instr& instr = computation[id];
  const std::string& target = instr.As<CustomCallAttrs>().target;
  std::vector<Shape> operands, results;
  for (const InstrId operand : instr.operands) {
    FlattenLeaves(computation[operand].shape, operands);
  }
  FlattenLeaves(instr.shape, results);
  std::optional<LapackCall> call;
  if (!operands.empty()) call = FindLapackCall(target, operands[0].dtype);
  if (!call) {
    return Unsupported(Where(instr) + " cannot be run: this program does not know the target",
                       instr.loc);
  }
  auto bound = BindSignature(call->signature(), call->element, operands, results);
  if (!bound.ok()) return Invalid(Where(instr) + ": " + bound.error().message, instr.loc);
  CallAttributes attributes = ParseCallAttributes(ConfigOf(instr));
  if (const std::string problem = Problem(*call, *bound, attributes); !problem.empty()) {
    return Invalid(Where(instr) + ": " + problem, instr.loc);
  }
  return Checked{*call, std::move(*bound), std::move(attributes)};
}

}  // namespace

Result<std::unique_ptr<HostCall>> MakeHostCall(const Computation& computation, InstrId call) {
  FM_TRY(Checked checked, Check(computation, call));
  PrepareLapack();
  return std::unique_ptr<HostCall>(std::make_unique<LapackHostCall>(
      checked.call, std::move(checked.bound), std::move(checked.attributes)));
}

std::unique_ptr<HostCall> MakeRefusedCall(Error error) {
  return std::make_unique<RefusedCall>(std::move(error));
}

Result<void> CheckHostCall(const Computation& computation, InstrId call) {
  FM_TRY(const Checked checked, Check(computation, call));
  (void)checked;
  return Ok();
}

}  // namespace fusemark
