#include "compiler/calls/host_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "compiler/calls/legacy.h"
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
class Solver {
 public:
  Solver(const LapackCall& call, BoundSignature bound) : bound_(std::move(bound)) {
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

  const BoundSignature& bound() const { return bound_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }

  // `like` has the attributes and the factor; `infos`, if given, gets LAPACK's info per problem.
  Result<void> Run(const CallProblem& like, const void* const* operands, void* const* results,
                   std::byte* scratch, int32_t* infos) const {
    for (int64_t problem = 0; problem < bound_.batch; ++problem) {
      const int32_t info = Solve(problem, like, operands, results, scratch);
      if (IsOutOfMemory(info)) {
        return Error{Code::kLaunchFailed, "out of memory: LAPACK has no room for its work arrays"};
      }
      if (infos != nullptr) infos[problem] = info;
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
  int32_t Solve(int64_t index, const CallProblem& like, const void* const* operands,
                void* const* results, std::byte* scratch) const {
    CallProblem problem = like;
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
  int32_t (*run_)(const CallProblem&) = nullptr;
  uint32_t becomes_result_ = 0;  // bit i: operand i starts a result
  int64_t scratch_bytes_ = 0;
};

class LapackHostCall final : public HostCall {
 public:
  LapackHostCall(Solver solver, CallAttributes attributes)
      : solver_(std::move(solver)), attributes_(std::move(attributes)) {}

  int64_t scratch_bytes() const override { return solver_.scratch_bytes(); }
  Result<void> Run(const void* const* operands, void* const* results,
                   std::byte* scratch) const override {
    CallProblem problem;
    problem.attributes = &attributes_;
    return solver_.Run(problem, operands, results, scratch, nullptr);
  }

 private:
  Solver solver_;
  CallAttributes attributes_;
};

// Reads sizes and options from the operands in every run; `where` begins its errors.
class LegacyHostCall final : public HostCall {
 public:
  LegacyHostCall(LegacyCall call, Solver solver, std::vector<Shape> operands,
                 std::vector<Shape> results, std::string where)
      : call_(std::move(call)),
        solver_(std::move(solver)),
        operands_(std::move(operands)),
        results_(std::move(results)),
        where_(std::move(where)) {}

  int64_t scratch_bytes() const override { return solver_.scratch_bytes(); }

  Result<void> Run(const void* const* operands, void* const* results,
                   std::byte* scratch) const override {
    CallAttributes attributes = LegacyDefaults();
    CallProblem problem;
    problem.attributes = &attributes;
    std::array<const void*, std::tuple_size_v<decltype(CallProblem::in)>> in{};
    std::array<void*, std::tuple_size_v<decltype(CallProblem::out)>> out{};
    int32_t* infos = nullptr;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const std::string_view word = call_.operands[i];
      if (IsNumber(word)) in[static_cast<size_t>(word[0] - '0')] = operands[i];
      if (word == "alpha") problem.factor = static_cast<const std::byte*>(operands[i]);
      if (IsNumber(word) || word == "alpha" || word == "_") continue;
      const int64_t value = ScalarOf(operands_[i], operands[i]);
      if (word.size() > 1) {
        SetOption(word, value, attributes);
      } else if (value != SizeOf(word[0])) {
        return Wrong(
            fmt::format("operand {} says {}, the arrays have {}", i, value, SizeOf(word[0])));
      }
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      const std::string_view word = call_.results[i];
      if (IsNumber(word)) out[static_cast<size_t>(word[0] - '0')] = results[i];
      if (word == "info") infos = static_cast<int32_t*>(results[i]);
      if (word == "_") std::memset(results[i], 0, static_cast<size_t>(ByteSizeOf(results_[i])));
    }
    const std::string wrong = call_.lapack.routine->check(solver_.bound(), attributes);
    if (!wrong.empty()) return Wrong(wrong);
    return solver_.Run(problem, in.data(), out.data(), scratch, infos);
  }

 private:
  static int64_t ScalarOf(const Shape& shape, const void* data) {
    if (shape.dtype == DType::kU8) return *static_cast<const uint8_t*>(data);
    return *static_cast<const int32_t*>(data);
  }
  int64_t SizeOf(char letter) const {
    return letter == 'b' ? solver_.bound().batch : solver_.bound()[letter];
  }
  Error Wrong(const std::string& what) const {
    return Error{Code::kInvalidInput, where_ + ": " + what};
  }

  LegacyCall call_;
  Solver solver_;
  std::vector<Shape> operands_, results_;
  std::string where_;
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

// Shapes of a call, leaves in order.
struct CallShapes {
  std::vector<Shape> operands, results;
};

CallShapes ShapesOf(const Computation& computation, const Instr& instr) {
  CallShapes shapes;
  for (const InstrId operand : instr.operands) {
    FlattenLeaves(computation[operand].shape, shapes.operands);
  }
  FlattenLeaves(instr.shape, shapes.results);
  return shapes;
}

bool IsPlain(const Shape& shape) {
  return shape.is_array() && shape.dynamic_dims == 0;
}

std::string ScalarProblem(const LegacyCall& call, size_t i, const Shape& shape) {
  const bool is_factor = call.operands[i] == "alpha";
  const bool right_type = is_factor ? shape.dtype == call.lapack.element
                                    : shape.dtype == DType::kS32 || shape.dtype == DType::kU8;
  if (right_type && IsPlain(shape) && shape.dims.empty()) return "";
  return fmt::format("operand {} is {}, expected {}[]", i, ToString(shape),
                     is_factor ? DTypeName(call.lapack.element) : "s32");
}

// The arrays of the routine among those of the call, in the routine's order.
Result<BoundSignature> BindLegacy(const LegacyCall& call, const CallShapes& shapes) {
  if (shapes.results.size() != call.results.size()) {
    return Invalid(
        fmt::format("has {} results instead of {}", shapes.results.size(), call.results.size()));
  }
  CallShapes own;
  const auto collect = [](const std::vector<std::string_view>& words,
                          const std::vector<Shape>& from, std::vector<Shape>& to) {
    to.resize(static_cast<size_t>(std::count_if(words.begin(), words.end(), IsNumber)));
    for (size_t i = 0; i < words.size(); ++i) {
      if (IsNumber(words[i])) to[static_cast<size_t>(words[i][0] - '0')] = from[i];
    }
  };
  collect(call.operands, shapes.operands, own.operands);
  collect(call.results, shapes.results, own.results);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (IsNumber(call.operands[i])) continue;
    const std::string problem = ScalarProblem(call, i, shapes.operands[i]);
    if (!problem.empty()) return Invalid(problem);
  }
  auto bound =
      BindSignature(call.lapack.signature(), call.lapack.element, own.operands, own.results);
  if (!bound.ok()) return Invalid("of its arrays, " + bound.error().message);
  for (size_t i = 0; i < call.results.size(); ++i) {
    const Shape& shape = shapes.results[i];
    const bool infos = shape.dtype == DType::kS32 && ElementCount(shape) == bound->batch;
    if (IsPlain(shape) && (call.results[i] != "info" || infos)) continue;
    return Invalid(
        fmt::format("result {} is {}, expected s32 for each problem", i, ToString(shape)));
  }
  return bound;
}

Result<std::unique_ptr<HostCall>> MakeLegacy(LegacyCall call, const Instr& instr,
                                             CallShapes shapes) {
  auto bound = BindLegacy(call, shapes);
  if (!bound.ok()) return Invalid(Where(instr) + ": " + bound.error().message, instr.loc);
  Solver solver(call.lapack, std::move(*bound));
  return std::unique_ptr<HostCall>(std::make_unique<LegacyHostCall>(
      std::move(call), std::move(solver), std::move(shapes.operands), std::move(shapes.results),
      Where(instr)));
}

Result<std::unique_ptr<HostCall>> Make(const Computation& computation, InstrId id) {
  const Instr& instr = computation[id];
  const std::string& target = instr.As<CustomCallAttrs>().target;
  CallShapes shapes = ShapesOf(computation, instr);
  if (auto legacy = FindLegacyCall(target, shapes.operands.size())) {
    return MakeLegacy(std::move(*legacy), instr, std::move(shapes));
  }
  std::optional<LapackCall> call;
  if (!shapes.operands.empty()) call = FindLapackCall(target, shapes.operands[0].dtype);
  if (!call) {
    return Unsupported(Where(instr) + " cannot be run: this program does not know the target",
                       instr.loc);
  }
  auto bound = BindSignature(call->signature(), call->element, shapes.operands, shapes.results);
  if (!bound.ok()) return Invalid(Where(instr) + ": " + bound.error().message, instr.loc);
  CallAttributes attributes = ParseCallAttributes(ConfigOf(instr));
  if (const std::string problem = Problem(*call, *bound, attributes); !problem.empty()) {
    return Invalid(Where(instr) + ": " + problem, instr.loc);
  }
  Solver solver(*call, std::move(*bound));
  return std::unique_ptr<HostCall>(
      std::make_unique<LapackHostCall>(std::move(solver), std::move(attributes)));
}

}  // namespace

Result<std::unique_ptr<HostCall>> MakeHostCall(const Computation& computation, InstrId call) {
  FM_TRY(auto host_call, Make(computation, call));
  PrepareLapack();
  return host_call;
}

std::unique_ptr<HostCall> MakeRefusedCall(Error error) {
  return std::make_unique<RefusedCall>(std::move(error));
}

Result<void> CheckHostCall(const Computation& computation, InstrId call) {
  FM_TRY(const auto host_call, Make(computation, call));
  (void)host_call;
  return Ok();
}

}  // namespace fusemark
