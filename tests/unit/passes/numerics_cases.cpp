#include "tests/unit/passes/numerics_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ostream>

#include "compiler/support/strings.h"
#include "compiler/text/text.h"
#include "harness/numerics.h"
#include "workloads/inputs.h"

namespace fusemark {
namespace {

// What sums of a few hundred products in the type may lose.
double ToleranceOf(std::string_view dtype) {
  if (dtype == "f64" || dtype == "c128") return 1e-13;
  if (dtype == "f16") return 2e-3;
  if (dtype == "bf16") return 1.5e-2;
  return 4e-6;
}

std::string Entry(std::string_view body) {
  return fmt::format("HloModule m\nENTRY main {{\n{}\n}}\n", body);
}

std::string Type(std::string_view dtype, const Dims& dims) {
  return fmt::format("{}[{}]", dtype, JoinInts(dims));
}

bool IsComplexName(std::string_view dtype) {
  return dtype.front() == 'c';
}

NumericsCase Cholesky(std::string_view dtype, const Dims& dims, bool lower) {
  const std::string type = Type(dtype, dims);
  NumericsCase test;
  test.name = fmt::format("cholesky {} {}", type, lower ? "lower" : "upper");
  test.text = Entry(
      fmt::format("a = {} parameter(0)\nROOT r = {} cholesky(a), lower={}", type, type, lower));
  test.diagonal = dims.back() > 32 ? 8 : 2;
  test.tolerance = ToleranceOf(dtype);
  test.is_complex = IsComplexName(dtype);
  return test;
}

struct Solve {
  std::string_view dtype;
  Dims batch;
  int64_t n, vectors;
  bool left, lower, unit;
  std::string_view transpose;
};

NumericsCase TriangularSolve(const Solve& solve) {
  Dims a = solve.batch, b = solve.batch;
  a.insert(a.end(), {solve.n, solve.n});
  b.insert(b.end(), {solve.left ? solve.n : solve.vectors, solve.left ? solve.vectors : solve.n});
  NumericsCase test;
  const std::string attributes =
      fmt::format("left_side={}, lower={}, unit_diagonal={}, transpose_a={}", solve.left,
                  solve.lower, solve.unit, solve.transpose);
  const std::string type_a = Type(solve.dtype, a), type_b = Type(solve.dtype, b);
  test.name = fmt::format("solve {} {}", type_b, attributes);
  test.text =
      Entry(fmt::format("a = {0} parameter(0)\nb = {1} parameter(1)\n"
                        "ROOT r = {1} triangular-solve(a, b), {2}",
                        type_a, type_b, attributes));
  test.diagonal = solve.n > 32 ? 8 : 2;
  test.tolerance = ToleranceOf(solve.dtype);
  test.is_complex = IsComplexName(solve.dtype);
  return test;
}

// `dims`: of the signal, that is the longer side of a real transform.
NumericsCase Fft(std::string_view kind, std::string_view dtype, const Dims& dims, size_t count) {
  const bool is_double = dtype == "f64";
  const std::string complex = is_double ? "c128" : "c64";
  Dims half = dims;
  half.back() = dims.back() == 0 ? 0 : dims.back() / 2 + 1;
  const std::string whole_type = Type(complex, dims), half_type = Type(complex, half);
  const std::string real_type = Type(dtype, dims);
  const bool to_half = kind == "RFFT", from_half = kind == "IRFFT";
  const std::string from = to_half ? real_type : from_half ? half_type : whole_type;
  const std::string to = to_half ? half_type : from_half ? real_type : whole_type;
  const Dims length(dims.end() - static_cast<std::ptrdiff_t>(count), dims.end());
  NumericsCase test;
  test.name = fmt::format("{} {} over {} dims", kind, from, count);
  test.text =
      Entry(fmt::format("a = {} parameter(0)\nROOT r = {} fft(a), fft_type={}, "
                        "fft_length={{{}}}",
                        from, to, kind, JoinInts(length)));
  test.tolerance = is_double ? 1e-14 : 2e-6;
  test.is_complex = true;
  return test;
}

NumericsCase BitGenerator(std::string_view algorithm, int64_t state, const std::string& bits) {
  const std::string type = fmt::format("(u64[{}], {})", state, bits);
  NumericsCase test;
  test.name = fmt::format("{} {} {}", algorithm, state, bits);
  test.text =
      Entry(fmt::format("s = u64[{}] parameter(0)\n"
                        "k = u64[{}] constant({{{}}})\nt = u64[{}] add(s, k)\n"
                        "ROOT r = {} rng-bit-generator(t), algorithm={}",
                        state, state,
                        state == 2 ? "12345678901234567890, 18446744073709551615"
                                   : "12345678901234567890, 18446744073709551612, 7",
                        state, type, algorithm));
  return test;
}

NumericsCase Rng(std::string_view kind, const std::string& dtype, const std::string& dims,
                 std::string_view a, std::string_view b) {
  NumericsCase test;
  test.name = fmt::format("{} {}{}", kind, dtype, dims);
  test.text =
      Entry(fmt::format("a = {0}[] constant({2})\nb = {0}[] constant({3})\n"
                        "ROOT r = {0}{1} rng(a, b), distribution={4}",
                        dtype, dims, a, b, kind));
  const bool is_integer = dtype.front() == 's' || dtype.front() == 'u' || dtype.front() == 'p';
  test.tolerance = is_integer ? 0 : kind == "rng_normal" ? ToleranceOf(dtype) : 1e-7;
  return test;
}

constexpr char kScanRegions[] = R"(HloModule m
mixed { x = f32[3] parameter(0)
  c = f32[3] parameter(1)
  s = f32[3] subtract(x, c)
  ROOT t = (f32[3], f32[3]) tuple(s, s) }
poly { x = f32[] parameter(0)
  y = s32[2] parameter(1)
  c = f32[] parameter(2)
  d = s32[] parameter(3)
  h = f32[] constant(0.5)
  m = f32[] multiply(c, h)
  n = f32[] add(m, x)
  b = s32[2] broadcast(d), dimensions={}
  o = s32[2] subtract(y, b)
  one = s32[] constant(1)
  e = s32[] add(d, one)
  ROOT t = (f32[], s32[2], f32[], f32[], s32[]) tuple(m, o, n, n, e) }
count { c = s32[] parameter(0)
  one = s32[] constant(1)
  n = s32[] add(c, one)
  ROOT t = (s32[], s32[]) tuple(c, n) }
last { x = f32[] parameter(0)
  c = f32[] parameter(1)
  ROOT n = f32[] subtract(x, c) }
square { x = c64[2] parameter(0)
  ROOT t = (c64[2]) tuple(x) }
)";

NumericsCase Scan(std::string name, std::string_view body) {
  NumericsCase test;
  test.name = std::move(name);
  test.text = fmt::format("{}ENTRY main {{\n{}\n}}\n", kScanRegions, body);
  test.tolerance = 1e-7;
  return test;
}

}  // namespace

void PrintTo(const NumericsCase& test, std::ostream* out) {
  *out << test.name;
}

std::vector<NumericsCase> LinearCases() {
  std::vector<NumericsCase> cases;
  for (const char* dtype : {"f32", "f64", "c64", "c128", "f16", "bf16"}) {
    cases.push_back(Cholesky(dtype, {2, 7, 7}, true));
    cases.push_back(Cholesky(dtype, {3, 3}, false));
  }
  for (const int64_t n : {0, 1, 2, 5, 49, 70}) cases.push_back(Cholesky("f32", {n, n}, n % 2 == 0));
  cases.push_back(Cholesky("c64", {51, 51}, false));
  cases.push_back(Cholesky("f64", {2, 1, 3, 4, 4}, true));
  cases.push_back(Cholesky("f64", {0, 4, 4}, true));
  for (int bits = 0; bits < 8; ++bits) {
    for (const char* transpose : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
      const bool left = bits & 1, lower = bits & 2, unit = bits & 4;
      cases.push_back(TriangularSolve({"f64", {2}, 5, 3, left, lower, unit, transpose}));
      cases.push_back(TriangularSolve({"c64", {}, 6, 2, left, lower, unit, transpose}));
    }
  }
  for (const char* dtype : {"f32", "c128", "f16", "bf16"})
    cases.push_back(TriangularSolve({dtype, {2, 2}, 5, 4, true, true, false, "NO_TRANSPOSE"}));
  for (const int64_t n : {0, 1, 2, 50, 67})
    cases.push_back(TriangularSolve({"f32", {2}, n, 3, n % 2 == 0, false, false, "TRANSPOSE"}));
  cases.push_back(TriangularSolve({"f32", {}, 4, 0, true, true, false, "NO_TRANSPOSE"}));
  cases.push_back(TriangularSolve({"c64", {}, 53, 5, false, true, false, "ADJOINT"}));
  return cases;
}

std::vector<NumericsCase> FftCases() {
  std::vector<NumericsCase> cases;
  for (const int64_t n : {0, 1, 2, 3, 4, 5, 8, 12, 31, 64, 74, 100, 127, 257, 521, 1024})
    cases.push_back(Fft(n % 2 == 0 ? "FFT" : "IFFT", "f32", {2, n}, 1));
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 9, 16, 37, 514}) {
    cases.push_back(Fft("RFFT", "f64", {3, n}, 1));
    cases.push_back(Fft("IRFFT", "f64", {3, n}, 1));
  }
  for (const char* kind : {"FFT", "IFFT", "RFFT", "IRFFT"}) {
    cases.push_back(Fft(kind, "f32", {2, 6, 10}, 2));
    cases.push_back(Fft(kind, "f64", {3, 4, 5}, 3));
    cases.push_back(Fft(kind, "f32", {2, 3, 40, 7}, 3));
    cases.push_back(Fft(kind, "f64", {0, 4}, 1));
  }
  cases.push_back(Fft("IFFT", "f64", {521, 2}, 2));
  cases.push_back(Fft("FFT", "f64", {4, 1031}, 1));
  return cases;
}

std::vector<NumericsCase> RandomCases() {
  std::vector<NumericsCase> cases;
  const char* kShapes[] = {"u32[]",    "u32[0]",   "u32[1]",      "u32[5]",  "u32[3,4,5]",
                           "u32[3,5]", "u64[]",    "u64[3,3]",    "s32[6]",  "s64[2]",
                           "u8[7]",    "s16[2,3]", "f32[4]",      "f64[3]",  "bf16[5]",
                           "u32[5,3]", "u32[4,0]", "u8[3,2,1,5]", "u16[40]", "s8[9]"};
  for (const char* shape : kShapes) {
    cases.push_back(BitGenerator("rng_three_fry", 2, shape));
    cases.push_back(BitGenerator("rng_philox", 2, shape));
    cases.push_back(BitGenerator("rng_philox", 3, shape));
  }
  cases.push_back(BitGenerator("rng_default", 3, "u32[9]"));
  for (const char* dtype : {"f32", "f64", "f16", "bf16"}) {
    cases.push_back(Rng("rng_uniform", dtype, "[7,3]", "-2", "5"));
    cases.push_back(Rng("rng_normal", dtype, "[40]", "1", "0.5"));
  }
  for (const char* dtype : {"s32", "u8", "s64", "u32", "s8"})
    cases.push_back(Rng("rng_uniform", dtype, "[50]", "3", "120"));
  for (const char* dtype : {"s2", "s4"})
    cases.push_back(Rng("rng_uniform", dtype, "[50]", "-2", "1"));
  for (const char* dtype : {"u2", "u4", "s4"})
    cases.push_back(Rng("rng_uniform", dtype, "[50]", "1", "3"));
  cases.push_back(Rng("rng_uniform", "pred", "[9]", "0", "1"));
  cases.push_back(Rng("rng_uniform", "pred", "[9]", "1", "0"));  // the range wraps
  cases.push_back(Rng("rng_uniform", "s4", "[50]", "3", "-4"));
  for (const char* dtype : {"f8e5m2", "f8e4m3fn", "f8e4m3b11fnuz", "f8e3m4", "f4e2m1fn"})
    cases.push_back(Rng("rng_uniform", dtype, "[50]", "-1", "2"));
  cases.push_back(Rng("rng_uniform", "f8e8m0fnu", "[50]", "1", "8"));
  cases.push_back(Rng("rng_normal", "f8e4m3", "[50]", "1", "0.5"));
  cases.push_back(Rng("rng_uniform", "s32", "[5]", "-2000000000", "2000000000"));
  cases.push_back(Rng("rng_uniform", "s32", "[5]", "4", "4"));
  cases.push_back(Rng("rng_uniform", "f32", "[]", "0", "1"));
  cases.push_back(Rng("rng_normal", "f32", "[0]", "0", "1"));
  NumericsCase state;
  state.name = "rng-get-and-update-state";
  state.text = Entry(
      "a = u64[2] rng-get-and-update-state(), delta=5\n"
      "b = u64[2] rng-get-and-update-state(), delta=7\n"
      "c = u64[2] rng-get-and-update-state(), delta=1\n"
      "ROOT r = (u64[2], u64[2]) tuple(a, c)");
  cases.push_back(state);
  return cases;
}

std::vector<NumericsCase> ScanCases() {
  std::vector<NumericsCase> cases;
  for (const int n : {0, 1, 3, 4, 5, 17}) {
    for (const char* reverse : {"false", "true"}) {
      cases.push_back(Scan(fmt::format("differences of {}, reverse {}", n, reverse),
                           fmt::format("x = f32[3,{0}] parameter(0)\nc = f32[3] parameter(1)\n"
                                       "ROOT r = (f32[3,{0}], f32[3]) scan(x, c), dimensions={{1}},"
                                       " num_carries=1, is_reverse={1}, to_apply=mixed",
                                       n, reverse)));
    }
  }
  for (const char* op : {"add", "multiply", "maximum", "minimum"}) {
    for (const char* dtype : {"f32", "bf16", "f16", "s32", "u8", "f64", "s8", "c64"}) {
      if (dtype[0] == 'c' && op[0] == 'm' && op[1] != 'u') continue;
      for (const char* reverse : {"false", "true"}) {
        NumericsCase test = Scan(fmt::format("running {} {} {}", op, dtype, reverse), "");
        test.text = fmt::format(
            "HloModule m\n"
            "f {{ x = {1}[2] parameter(0)\n c = {1}[2] parameter(1)\n s = {1}[2] {0}(c, x)\n"
            " ROOT t = ({1}[2], {1}[2]) tuple(s, s) }}\n"
            "ENTRY main {{ x = {1}[2,7] parameter(0)\n c = {1}[2] parameter(1)\n"
            " ROOT r = ({1}[2,7], {1}[2]) scan(x, c), dimensions={{1}}, num_carries=1,"
            " is_reverse={2}, to_apply=f }}\n",
            op, dtype, reverse);
        // The carry of a scan is rounded after each step, in every engine.
        const bool narrow = std::string_view(dtype).ends_with("f16");
        test.tolerance = narrow ? 0 : 1e-6;
        test.is_complex = dtype[0] == 'c';
        cases.push_back(test);
      }
    }
  }
  cases.push_back(Scan("more outputs than inputs",
                       "x = f32[9] parameter(0)\ny = s32[9,2] parameter(1)\n"
                       "c = f32[] parameter(2)\nd = s32[] parameter(3)\n"
                       "ROOT r = (f32[9], s32[9,2], f32[9], f32[], s32[]) scan(x, y, c, d), "
                       "dimensions={0}, num_carries=2, to_apply=poly"));
  cases.push_back(Scan("no inputs",
                       "c = s32[] parameter(0)\nROOT r = (s32[6], s32[]) scan(c), "
                       "dimensions={0}, num_carries=1, to_apply=count"));
  cases.push_back(Scan("last value only",
                       "x = f32[6] parameter(0)\nc = f32[] parameter(1)\n"
                       "ROOT r = f32[] scan(x, c), dimensions={0}, num_carries=1, to_apply=last"));
  cases.push_back(Scan("no carries",
                       "x = c64[5,2] parameter(0)\nROOT r = (c64[5,2]) scan(x), "
                       "dimensions={0}, num_carries=0, to_apply=square"));
  cases.back().is_complex = true;
  return cases;
}

Module ModuleOf(const NumericsCase& test) {
  auto module = ParseModule(test.text, test.name);
  EXPECT_TRUE(module.ok()) << module.error().message << "\n" << test.text;
  return module.ok() ? std::move(*module) : Module{};
}

std::vector<Tensor> InputsOf(const NumericsCase& test, const Module& module) {
  const std::string json = fmt::format(
      R"({{"numerics": {{"params": {{"0": {{"scale": 0.5, "diag": {}}}}}}}}})", test.diagonal);
  const bool matrix = test.diagonal != 0;
  auto spec = matrix ? ParseInputSpec(json, "numerics", "test") : Result<InputSpec>(InputSpec{});
  EXPECT_TRUE(spec.ok()) << spec.error().message;
  auto inputs = SynthesiseInputs(module, "numerics", *spec);
  EXPECT_TRUE(inputs.ok()) << inputs.error().message;
  return std::move(*inputs);
}

std::string ResultsDiffer(const NumericsCase& test, const std::vector<Tensor>& got,
                          const std::vector<Tensor>& want) {
  const auto compared = CompareTensors(got, want, test.tolerance == 0 ? 1e-300 : test.tolerance);
  if (!compared.ok()) return compared.error().message;
  for (const LeafComparison& leaf : compared->leaves) {
    if (leaf.pass()) continue;
    return fmt::format("leaf {}, element {} of {}: got {}, want {}; error over RMS {}", leaf.leaf,
                       leaf.first_mismatch, ToString(leaf.shape), leaf.got, leaf.want,
                       leaf.max_over_rms);
  }
  return "";
}

}  // namespace fusemark
