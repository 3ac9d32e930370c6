#include "compiler/jit/jit.h"

#include "tests/unit/codegen/kernel_run.h"

namespace fusemark {
namespace {

using loops::Builder;
using loops::ExprId;
using loops::Kernel;
using loops::LoopKind;

Kernel AddKernel(int64_t count, int64_t lanes) {
  return ElementwiseKernel(
      {DType::kF32, DType::kF32}, DType::kF32, count, lanes,
      [](Builder& b, const std::vector<ExprId>& x) { return b.Binary(Op::kAdd, x[0], x[1]); });
}

TEST(Jit, AddsScalarsAndVectorsOfAnyLaneCount) {
  std::vector<float> x, y;
  for (int i = 0; i < 203; ++i) {
    x.push_back(static_cast<float>(i));
    y.push_back(1000.0f + static_cast<float>(i));
  }
  for (const int64_t lanes : {0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 64, 100, 203}) {
    const auto results = RunJit(AddKernel(203, lanes), {BufferOf(x), BufferOf(y)});
    for (int i = 0; i < 203; ++i)
      ASSERT_EQ(results[0].as<float>()[i], 1000.0f + 2.0f * static_cast<float>(i)) << lanes;
  }
}

TEST(Jit, EqualKernelsShareOneBody) {
  auto jit = Jit::Create(HostTarget());
  ASSERT_TRUE(jit.ok());
  Kernel a = AddKernel(64, 8), b = AddKernel(64, 8), c = AddKernel(64, 4);
  b.name = "other";
  b.buffers[0].name = "renamed";
  auto first = (*jit)->Compile({&a, &b, &c}, 2);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ((*first)[0].phases, (*first)[1].phases);
  EXPECT_NE((*first)[0].phases, (*first)[2].phases);
  auto second = (*jit)->Compile({&b}, 1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)[0].phases, (*first)[0].phases);
}

TEST(Jit, CompilesManyKernelsInParallel) {
  auto jit = Jit::Create(HostTarget());
  ASSERT_TRUE(jit.ok());
  std::vector<Kernel> kernels;
  for (int64_t count = 1; count <= 100; ++count) kernels.push_back(AddKernel(count, 8));
  std::vector<const Kernel*> pointers;
  for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
  auto compiled = (*jit)->Compile(pointers, 4);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const std::vector<TestBuffer> operands = {BufferOf(std::vector<float>(k + 1, 1)),
                                              BufferOf(std::vector<float>(k + 1, 2))};
    const auto results = ResultsOf(kernels[k]);
    RunCompiled((*compiled)[k], PointersOf(operands, results));
    for (size_t i = 0; i <= k; ++i) ASSERT_EQ(results[0].as<float>()[i], 3);
    ASSERT_TRUE(results[0].GuardIntact());
  }
}

TEST(Jit, ReportsPhasesExtentsAndScratch) {
  Kernel kernel;
  Builder b(kernel);
  const auto in = b.AddOperand("x", DType::kF32, {8});
  const auto out = b.AddResult("y", DType::kF32, {8});
  const auto temporary = b.AddScratch("t", DType::kF32, {8});
  const auto i = b.AddVar("i"), j = b.AddVar("j");
  const auto doubled = b.Binary(Op::kAdd, b.Load(in, {b.Use(i)}), b.Load(in, {b.Use(i)}));
  kernel.body = {
      b.For(i, 8, {b.Store(temporary, {b.Use(i)}, doubled)}, LoopKind::kParallel),
      b.For(j, 8,
            {b.Store(out, {b.Use(j)},
                     b.Load(temporary, {b.Add(b.Index(7), b.Sub(b.Index(0), b.Use(j)))}))},
            LoopKind::kParallel)};
  auto compiled = TestJit().Compile({&kernel}, 1);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_EQ((*compiled)[0].phases.size(), 2u);
  EXPECT_EQ((*compiled)[0].extents, (std::vector<int64_t>{8, 8}));
  EXPECT_EQ((*compiled)[0].scratch_bytes, 64);
  const auto results = RunJit(kernel, {BufferOf(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7})});
  for (int k = 0; k < 8; ++k)
    EXPECT_EQ(results[0].as<float>()[k], 2.0f * static_cast<float>(7 - k));
}

TEST(Jit, RejectsUnknownCpu) {
  loops::Target target = HostTarget();
  target.cpu = "no-such-cpu";
  const auto jit = Jit::Create(target);
  ASSERT_FALSE(jit.ok());
  EXPECT_EQ(jit.error().code, Code::kInvalidInput);
  EXPECT_THAT(jit.error().message, testing::HasSubstr("no-such-cpu"));
}

TEST(Jit, UnsupportedOperationNamesItself) {
  const Kernel kernel = ElementwiseKernel(
      {DType::kS32}, DType::kS32, 8, 8,
      [](Builder& b, const std::vector<ExprId>& x) { return b.Unary(Op::kTanh, x[0]); });
  const auto compiled = TestJit().Compile({&kernel}, 1);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, Code::kUnsupported);
  EXPECT_THAT(compiled.error().message, testing::HasSubstr("'tanh' from s32"));
}

TEST(Jit, EmitsTextOfBothKinds) {
  const Kernel kernel = AddKernel(64, 8);
  const auto llvm = Jit::EmitText(kernel, HostTarget(), Jit::Emit::kLlvm);
  ASSERT_TRUE(llvm.ok());
  EXPECT_THAT(*llvm, testing::HasSubstr("fadd <8 x float>"));
  const auto assembly = Jit::EmitText(kernel, HostTarget(), Jit::Emit::kAssembly);
  ASSERT_TRUE(assembly.ok());
  EXPECT_THAT(*assembly, testing::HasSubstr("kernel_p0"));
}

}  // namespace
}  // namespace fusemark
