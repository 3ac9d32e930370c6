// Every instruction of every corpus module as a kernel of its own: it lowers or says why not, and
// what lowers is proved in bounds. The small modules (ops, lit) are also run and compared.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "tests/unit/loops/lower_run.h"

namespace fusemark::loops {
namespace {

std::vector<std::string> FilesOf(const std::string& folder) {
  const char* corpus = std::getenv("FUSEMARK_CORPUS");
  std::vector<std::string> files;
  if (corpus == nullptr) return files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(corpus) + "/" + folder))
    if (entry.path().extension() == ".hlo") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// What a kernel is never made of.
bool IsStructural(const Instr& in) {
  switch (ClassOf(in.op)) {
    case OpClass::Tuple:
    case OpClass::Control: return in.op != Op::kMap;
    case OpClass::Collective:
    case OpClass::Random:
    case OpClass::Linear:
    case OpClass::Normalize: return true;
    case OpClass::Other: return in.op != Op::kOptimizationBarrier || in.shape.is_tuple;
    default: return false;
  }
}

bool HasLoopTypes(const Computation& computation, const Instr& in) {
  std::vector<Shape> leaves;
  FlattenLeaves(in.shape, leaves);
  for (const InstrId operand : in.operands) FlattenLeaves(computation[operand].shape, leaves);
  return std::all_of(leaves.begin(), leaves.end(), [](const Shape& leaf) {
    const auto klass = ClassOf(leaf.dtype);
    return leaf.dynamic_dims == 0 && klass != DTypeClass::Complex && klass != DTypeClass::Opaque &&
           BitWidth(leaf.dtype) >= 8 && (klass != DTypeClass::Float || BitWidth(leaf.dtype) >= 16);
  });
}

int64_t Work(const Computation& computation, const Instr& in) {
  int64_t work = in.shape.is_tuple ? ElementCount(in.shape.elements[0]) : ElementCount(in.shape);
  for (const InstrId operand : in.operands) work += ElementCount(computation[operand].shape);
  return work;
}

double ToleranceOf(const Instr& in, const Shape& leaf) {
  if (!IsFloat(leaf.dtype)) return 0;
  const double epsilon = leaf.dtype == DType::kBF16  ? 1.0 / 128
                         : leaf.dtype == DType::kF16 ? 1.0 / 1024
                         : leaf.dtype == DType::kF32 ? 1e-6
                                                     : 1e-14;
  const OpClass klass = ClassOf(in.op);
  if (klass == OpClass::Reduce || klass == OpClass::Contract || klass == OpClass::Update)
    return 16 * epsilon;
  return IsTranscendental(in.op) ? 2 * epsilon : 0;
}

struct Sweep {
  std::map<std::string, int> unsupported;
  int lowered = 0, compared = 0, failures = 0;

  void Instruction(const Module& module, ComputationId computation, InstrId id,
                   const std::string& file, const std::vector<Leaves>* values) {
    const Instr& in = module[computation][id];
    if (IsStructural(in) || !HasLoopTypes(module[computation], in)) return;
    LowerRequest request{.module = &module, .computation = computation};
    request.roots = {id};
    request.klass = ClassOfInstr(module, computation, id);
    const auto lowered = Lower(request);
    if (!lowered.ok()) {
      ++unsupported[std::string(OpName(in.op)) + ": " + lowered.error().message];
      return;
    }
    ++this->lowered;
    const auto proved = Verify(lowered->kernel);
    if (!proved.ok() && ++failures < 20)
      ADD_FAILURE() << file << ":" << in.loc.line << " " << in.name << "\n"
                    << proved.error().message << "\n"
                    << Print(lowered->kernel);
    if (proved.ok() && values != nullptr) Compare(module, id, *lowered, file, *values);
  }

  void Compare(const Module& module, InstrId id, const Lowered& lowered, const std::string& file,
               const std::vector<Leaves>& values) {
    const Instr& in = module.Entry()[id];
    if (values[id.index].empty() || Work(module.Entry(), in) > 20000) return;
    for (const InstrId operand : lowered.operands)
      if (values[operand.index].empty()) return;
    auto got = RunLowered(lowered, values);
    ++compared;
    std::string difference = got.ok() ? "" : got.error().message;
    for (size_t leaf = 0; got.ok() && leaf < got->size() && difference.empty(); ++leaf) {
      const Tensor& want = values[id.index][leaf];
      difference = Difference((*got)[leaf], want, ToleranceOf(in, want.shape));
    }
    if (!difference.empty() && ++failures < 20)
      ADD_FAILURE() << file << ":" << in.loc.line << " " << in.name << ": " << difference << "\n"
                    << Print(lowered.kernel);
  }

  void File(const std::string& file, bool compare) {
    const auto module = ParseModuleFile(file);
    if (!module.ok()) return;
    for (uint32_t c = 0; c < module->computations.size(); ++c) {
      const bool entry = c == module->entry.index;
      std::optional<Values> values;
      if (entry && compare) values.emplace(*module, 11);
      for (uint32_t i = 0; i < module->computations[c].instrs.size(); ++i)
        Instruction(*module, {c}, {i}, file, values ? &values->values : nullptr);
    }
  }

  void Report() const {
    std::map<std::string, int> by_opcode;
    for (const auto& [reason, count] : unsupported)
      by_opcode[reason.substr(0, reason.find(':'))] += count;
    std::string text;
    for (const auto& [opcode, count] : by_opcode)
      text += " " + opcode + " " + std::to_string(count);
    printf("lowered %d, compared %d, unsupported:%s\n", lowered, compared, text.c_str());
    if (std::getenv("FUSEMARK_VERBOSE") != nullptr)
      for (const auto& [reason, count] : unsupported) printf("  %d x %s\n", count, reason.c_str());
  }

  // Opcodes left to later work; every other one must lower on loop types.
  void ExpectSupported() const {
    for (const auto& [reason, count] : unsupported) {
      const std::string opcode = reason.substr(0, reason.find(':'));
      const bool later = opcode == "sort" || opcode == "topk" || opcode == "scan" ||
                         opcode == "ragged-dot" || opcode == "scaled-dot" || opcode == "complex" ||
                         opcode == "stochastic-convert" || opcode == "dynamic-reshape";
      EXPECT_TRUE(later) << reason;
    }
  }
};

class LowerCorpus : public testing::TestWithParam<const char*> {};

TEST_P(LowerCorpus, EveryInstructionLowersAndIsProved) {
  const std::string folder = GetParam();
  const auto files = FilesOf(folder);
  if (files.empty()) GTEST_SKIP() << "FUSEMARK_CORPUS does not name the corpus";
  Sweep sweep;
  for (const std::string& file : files) sweep.File(file, folder == "ops" || folder == "lit");
  sweep.Report();
  sweep.ExpectSupported();
  EXPECT_GT(sweep.lowered, 0);
}

INSTANTIATE_TEST_SUITE_P(Folders, LowerCorpus, testing::Values("ops", "lit", "jax", "hlo"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace fusemark::loops
