// Linear algebra by custom calls, on every engine: modules compute from the results of a call what
// must then be zero (Q R - A, A V - V W, ...), or, where results are known, the difference to them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "compiler/calls/host_call.h"
#include "compiler/text/text.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

struct ZeroCase {
  const char* name;
  const char* entry;  // body of the entry; its result, of floats, must vanish
};

const ZeroCase kZeroCases[] = {
    {"QrOfABatch", R"(
  a = f64[2,5,3] parameter(0)
  qr = (f64[2,5,3], f64[2,3]) custom-call(a), custom_call_target="lapack_dgeqrf_ffi", backend_config={}
  f = f64[2,5,3] get-tuple-element(qr), index=0
  tau = f64[2,3] get-tuple-element(qr), index=1
  q = f64[2,5,3] custom-call(f, tau), custom_call_target="lapack_dorgqr_ffi", backend_config={}
  top = f64[2,3,3] slice(f), slice={[0:2], [0:3], [0:3]}
  row = s32[2,3,3] iota(), iota_dimension=1
  column = s32[2,3,3] iota(), iota_dimension=2
  upper = pred[2,3,3] compare(row, column), direction=LE
  zero = f64[] constant(0)
  zeros = f64[2,3,3] broadcast(zero), dimensions={}
  r = f64[2,3,3] select(upper, top, zeros)
  product = f64[2,5,3] dot(q, r), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  ROOT difference = f64[2,5,3] subtract(product, a))"},
    {"QrAsTensorFlowSpellsIt", R"(
  a = f32[4,4] parameter(0)
  qr = (f32[4,4], f32[4]) custom-call(a), custom_call_target="Qr"
  f = f32[4,4] get-tuple-element(qr), index=0
  tau = f32[4] get-tuple-element(qr), index=1
  q = f32[4,4] custom-call(f, tau), custom_call_target="ProductOfElementaryHouseholderReflectors"
  qq = f32[4,4] dot(q, q), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  row = s32[4,4] iota(), iota_dimension=0
  column = s32[4,4] iota(), iota_dimension=1
  same = pred[4,4] compare(row, column), direction=EQ
  unit = f32[4,4] convert(same)
  ROOT difference = f32[4,4] subtract(qq, unit))"},
    {"ReflectorsFromTheLeft", R"(
  a = f32[5,3] parameter(0)
  c = f32[5,2] parameter(1)
  qr = (f32[5,3], f32[3]) custom-call(a), custom_call_target="lapack_sgeqrf_ffi", backend_config={}
  f = f32[5,3] get-tuple-element(qr), index=0
  tau = f32[3] get-tuple-element(qr), index=1
  qc = f32[5,2] custom-call(f, tau, c), custom_call_target="lapack_sormqr_ffi", backend_config={left = true, transpose = false}
  back = f32[5,2] custom-call(f, tau, qc), custom_call_target="lapack_sormqr_ffi", backend_config={left = true, transpose = true}
  ROOT difference = f32[5,2] subtract(back, c))"},
    {"SymmetricEigenvectors", R"(
  x = f32[3,4,4] parameter(0)
  t = f32[3,4,4] transpose(x), dimensions={0,2,1}
  a = f32[3,4,4] add(x, t)
  eigh = (f32[3,4,4], f32[3,4], s32[3]) custom-call(a), custom_call_target="lapack_ssyevd_ffi", backend_config={mode = 86 : ui8, uplo = 76 : ui8}
  v = f32[3,4,4] get-tuple-element(eigh), index=0
  w = f32[3,4] get-tuple-element(eigh), index=1
  av = f32[3,4,4] dot(a, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  scale = f32[3,4,4] broadcast(w), dimensions={0,2}
  vw = f32[3,4,4] multiply(v, scale)
  ROOT difference = f32[3,4,4] subtract(av, vw))"},
    {"EigenvectorsAsTensorFlowSpellsThem", R"(
  x = f64[4,4] parameter(0)
  t = f64[4,4] transpose(x), dimensions={1,0}
  a = f64[4,4] add(x, t)
  eigh = (f64[4,4], f64[4]) custom-call(a), custom_call_target="Eigh", backend_config="1,1,4,0.000001"
  v = f64[4,4] get-tuple-element(eigh), index=0
  w = f64[4] get-tuple-element(eigh), index=1
  av = f64[4,4] dot(a, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  scale = f64[4,4] broadcast(w), dimensions={1}
  vw = f64[4,4] multiply(v, scale)
  ROOT difference = f64[4,4] subtract(av, vw))"},
    {"GeneralEigenvectors", R"(
  a = f32[4,4] parameter(0)
  eig = (f32[4], f32[4], c64[4,4], c64[4,4], s32[]) custom-call(a), custom_call_target="lapack_sgeev_ffi", backend_config={compute_left = 78 : ui8, compute_right = 86 : ui8}
  re = f32[4] get-tuple-element(eig), index=0
  im = f32[4] get-tuple-element(eig), index=1
  w = c64[4] complex(re, im)
  v = c64[4,4] get-tuple-element(eig), index=3
  z = f32[] constant(0)
  zeros = f32[4,4] broadcast(z), dimensions={}
  ac = c64[4,4] complex(a, zeros)
  av = c64[4,4] dot(ac, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  scale = c64[4,4] broadcast(w), dimensions={1}
  vw = c64[4,4] multiply(v, scale)
  d = c64[4,4] subtract(av, vw)
  ROOT difference = f32[4,4] abs(d))"},
    {"SingularValues", R"(
  a = c128[3,5] parameter(0)
  svd = (c128[3,5], f64[3], c128[3,3], c128[3,5], s32[]) custom-call(a), custom_call_target="lapack_zgesdd_ffi", backend_config={mode = 83 : ui8}
  s = f64[3] get-tuple-element(svd), index=1
  u = c128[3,3] get-tuple-element(svd), index=2
  vt = c128[3,5] get-tuple-element(svd), index=3
  z = f64[] constant(0)
  zeros = f64[3] broadcast(z), dimensions={}
  sc = c128[3] complex(s, zeros)
  scale = c128[3,3] broadcast(sc), dimensions={1}
  us = c128[3,3] multiply(u, scale)
  usv = c128[3,5] dot(us, vt), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = c128[3,5] subtract(usv, a)
  ROOT difference = f64[3,5] abs(d))"},
    {"TriangularSystemFromTheRight", R"(
  a = c64[3,3] parameter(0)
  b = c64[2,3] parameter(1)
  one = c64[] constant((4, 0))
  row = s32[3,3] iota(), iota_dimension=0
  column = s32[3,3] iota(), iota_dimension=1
  diagonal = pred[3,3] compare(row, column), direction=EQ
  upper = pred[3,3] compare(row, column), direction=LE
  fours = c64[3,3] broadcast(one), dimensions={}
  nil = c64[] constant((0, 0))
  zeros = c64[3,3] broadcast(nil), dimensions={}
  safe = c64[3,3] select(diagonal, fours, a)
  triangle = c64[3,3] select(upper, safe, zeros)
  x = c64[2,3] custom-call(safe, b), custom_call_target="lapack_ctrsm_ffi", backend_config={diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}
  xa = c64[2,3] dot(x, triangle), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = c64[2,3] subtract(xa, b)
  ROOT difference = f32[2,3] abs(d))"},
    {"LuOfAKnownMatrix", R"(
  a = f32[2,2] constant({{0, 2}, {3, 4}})
  lu = (f32[2,2], s32[2], s32[]) custom-call(a), custom_call_target="lapack_sgetrf_ffi", backend_config={}
  f = f32[2,2] get-tuple-element(lu), index=0
  p = s32[2] get-tuple-element(lu), index=1
  pivots = s32[2] constant({2, 2})
  exchanged = f32[2,2] constant({{3, 4}, {0, 2}})
  wrong = f32[2,2] subtract(f, exchanged)
  moved = s32[2] subtract(p, pivots)
  m = f32[2] convert(moved)
  more = f32[2,2] broadcast(m), dimensions={0}
  both = f32[2,2] add(wrong, more)
  ROOT difference = f32[2,2] abs(both))"},
    {"CholeskyOfAnIndefiniteMatrixSaysWhere", R"(
  a = f32[2,2,2] constant({{{4, 2}, {2, 5}}, {{1, 2}, {2, 1}}})
  c = (f32[2,2,2], s32[2]) custom-call(a), custom_call_target="lapack_spotrf_ffi", backend_config={uplo = 76 : ui8}
  info = s32[2] get-tuple-element(c), index=1
  want = s32[2] constant({0, 2})
  d = s32[2] subtract(info, want)
  ROOT difference = f32[2] convert(d))"},
    {"TridiagonalSystem", R"(
  lower = f64[3] constant({0, 1, 1})
  diagonal = f64[3] constant({2, 2, 2})
  upper = f64[3] constant({1, 1, 0})
  b = f64[3,1] constant({{4}, {8}, {8}})
  s = (f64[3], f64[3], f64[3], f64[3,1], s32[]) custom-call(lower, diagonal, upper, b), custom_call_target="lapack_dgtsv_ffi", backend_config={}
  x = f64[3,1] get-tuple-element(s), index=3
  want = f64[3,1] constant({{1}, {2}, {3}})
  ROOT difference = f64[3,1] subtract(x, want))"},
    {"InsideALoop", R"(
  a = f64[3,3] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f64[3,3]) tuple(zero, a)
  w = (s32[], f64[3,3]) while(start), condition=fewer, body=orthogonalise
  q = f64[3,3] get-tuple-element(w), index=1
  qq = f64[3,3] dot(q, q), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  row = s32[3,3] iota(), iota_dimension=0
  column = s32[3,3] iota(), iota_dimension=1
  same = pred[3,3] compare(row, column), direction=EQ
  unit = f64[3,3] convert(same)
  ROOT difference = f64[3,3] subtract(qq, unit))"},
    {"AnEmptyBatch", R"(
  a = f32[0,2,2] parameter(0)
  lu = (f32[0,2,2], s32[0,2], s32[0]) custom-call(a), custom_call_target="lapack_sgetrf_ffi", backend_config={}
  ROOT f = f32[0,2,2] get-tuple-element(lu), index=0)"},
    // Old calls, with the options and sizes as operands, which programs may also compute.
    {"OldQrOfABatch", R"(
  a = f64[2,5,3] parameter(0)
  c1 = s32[] constant(1)
  c2 = s32[] constant(2)
  c3 = s32[] constant(3)
  c5 = s32[] constant(5)
  b = s32[] multiply(c1, c2)
  work = s32[] constant(96)
  qr = (f64[2,5,3], f64[2,3], s32[2], f64[96]) custom-call(b, c5, c3, work, a), custom_call_target="lapack_dgeqrf"
  f = f64[2,5,3] get-tuple-element(qr), index=0
  tau = f64[2,3] get-tuple-element(qr), index=1
  qs = (f64[2,5,3], s32[2], f64[96]) custom-call(b, c5, c3, c3, work, f, tau), custom_call_target="lapack_dorgqr"
  q = f64[2,5,3] get-tuple-element(qs), index=0
  top = f64[2,3,3] slice(f), slice={[0:2], [0:3], [0:3]}
  row = s32[2,3,3] iota(), iota_dimension=1
  column = s32[2,3,3] iota(), iota_dimension=2
  upper = pred[2,3,3] compare(row, column), direction=LE
  zero = f64[] constant(0)
  zeros = f64[2,3,3] broadcast(zero), dimensions={}
  r = f64[2,3,3] select(upper, top, zeros)
  product = f64[2,5,3] dot(q, r), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  ROOT difference = f64[2,5,3] subtract(product, a))"},
    {"OldLuOfAKnownMatrix", R"(
  a = f32[2,2] constant({{0, 2}, {3, 4}})
  c1 = s32[] constant(1)
  c2 = s32[] constant(2)
  lu = (f32[2,2], s32[2], s32[]) custom-call(c1, c2, c2, a), custom_call_target="lapack_sgetrf"
  f = f32[2,2] get-tuple-element(lu), index=0
  exchanged = f32[2,2] constant({{3, 4}, {0, 2}})
  ROOT difference = f32[2,2] subtract(f, exchanged))"},
    {"OldCholeskyOfAnIndefiniteMatrixSaysWhere", R"(
  a = f32[2,2,2] constant({{{4, 2}, {2, 5}}, {{1, 2}, {2, 1}}})
  c1 = s32[] constant(1)
  c2 = s32[] constant(2)
  c = (f32[2,2,2], s32[2]) custom-call(c1, c2, c2, a), custom_call_target="lapack_spotrf"
  info = s32[2] get-tuple-element(c), index=1
  want = s32[2] constant({0, 2})
  d = s32[2] subtract(info, want)
  ROOT difference = f32[2] convert(d))"},
    {"OldTriangularSystemTakesAFactor", R"(
  a = c64[2,2] constant({{(2, 0), (0, 0)}, {(1, 1), (4, 0)}})
  b = c64[2,1] constant({{(2, 4)}, {(1, 3)}})
  c0 = s32[] constant(0)
  c1 = s32[] constant(1)
  c2 = s32[] constant(2)
  factor = c64[] constant((0, 2))
  x = c64[2,1] custom-call(c1, c1, c0, c0, c2, c1, c1, factor, a, b), custom_call_target="blas_ctrsm"
  ax = c64[2,1] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  factors = c64[2,1] broadcast(factor), dimensions={}
  want = c64[2,1] multiply(factors, b)
  d = c64[2,1] subtract(ax, want)
  ROOT difference = f32[2,1] abs(d))"},
    {"OldSingularValues", R"(
  a = c128[3,5] parameter(0)
  c0 = s32[] constant(0)
  c1 = s32[] constant(1)
  c3 = s32[] constant(3)
  c5 = s32[] constant(5)
  svd = (c128[3,5], f64[3], c128[3,3], c128[3,5], s32[], s32[24], f64[99], c128[64]) custom-call(c0, c1, c1, c3, c5, c5, a), custom_call_target="lapack_zgesdd"
  s = f64[3] get-tuple-element(svd), index=1
  u = c128[3,3] get-tuple-element(svd), index=2
  vt = c128[3,5] get-tuple-element(svd), index=3
  z = f64[] constant(0)
  zeros = f64[3] broadcast(z), dimensions={}
  sc = c128[3] complex(s, zeros)
  scale = c128[3,3] broadcast(sc), dimensions={1}
  us = c128[3,3] multiply(u, scale)
  usv = c128[3,5] dot(us, vt), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = c128[3,5] subtract(usv, a)
  ROOT difference = f64[3,5] abs(d))"},
    {"OldSymmetricEigenvectorsOfTheUpperHalf", R"(
  a = f32[2,3,3] parameter(0)
  c0 = s32[] constant(0)
  c2 = s32[] constant(2)
  c3 = s32[] constant(3)
  old = (f32[2,3,3], f32[2,3], s32[2], f32[37], s32[18]) custom-call(c0, c2, c3, a), custom_call_target="lapack_ssyevd"
  new = (f32[2,3,3], f32[2,3], s32[2]) custom-call(a), custom_call_target="lapack_ssyevd_ffi", backend_config={mode = 86 : ui8, uplo = 85 : ui8}
  v = f32[2,3,3] get-tuple-element(old), index=0
  w = f32[2,3,3] get-tuple-element(new), index=0
  ROOT difference = f32[2,3,3] subtract(v, w))"},
    {"OldGeneralEigenvectors", R"(
  a = f32[3,3] parameter(0)
  c1 = s32[] constant(1)
  c3 = s32[] constant(3)
  no = u8[] constant(78)
  yes = u8[] constant(86)
  old = (f32[3,3], f32[3,3], f32[3,3], f32[3], f32[3], c64[3,3], c64[3,3], s32[]) custom-call(c1, c3, no, yes, a), custom_call_target="lapack_sgeev"
  new = (f32[3], f32[3], c64[3,3], c64[3,3], s32[]) custom-call(a), custom_call_target="lapack_sgeev_ffi", backend_config={compute_left = 86 : ui8, compute_right = 86 : ui8}
  v = c64[3,3] get-tuple-element(old), index=6
  w = c64[3,3] get-tuple-element(new), index=3
  d = c64[3,3] subtract(v, w)
  no_left = c64[3,3] get-tuple-element(old), index=5
  sum = c64[3,3] add(d, no_left)
  ROOT difference = f32[3,3] abs(sum))"},
    {"OldSchurDecomposition", R"(
  a = c64[3,3] parameter(0)
  c1 = s32[] constant(1)
  c3 = s32[] constant(3)
  no = u8[] constant(78)
  yes = u8[] constant(86)
  old = (c64[3,3], f32[3], c64[3], c64[3,3], s32[], s32[]) custom-call(c1, c3, yes, no, a), custom_call_target="lapack_cgees"
  t = c64[3,3] get-tuple-element(old), index=0
  z = c64[3,3] get-tuple-element(old), index=3
  zt = c64[3,3] dot(z, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  az = c64[3,3] dot(a, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = c64[3,3] subtract(zt, az)
  ROOT difference = f32[3,3] abs(d))"},
    {"OldHessenbergForm", R"(
  a = f64[3,3] parameter(0)
  c1 = s32[] constant(1)
  c3 = s32[] constant(3)
  old = (f64[3,3], f64[2], s32[], f64[96]) custom-call(c3, c1, c3, c3, c1, c3, a), custom_call_target="lapack_dgehrd"
  new = (f64[3,3], f64[2], s32[]) custom-call(a), custom_call_target="lapack_dgehrd_ffi", backend_config={low = 1 : i32, high = 3 : i32}
  h = f64[3,3] get-tuple-element(old), index=0
  g = f64[3,3] get-tuple-element(new), index=0
  ROOT difference = f64[3,3] subtract(h, g))"},
    {"OldTridiagonalForm", R"(
  a = c128[3,3] parameter(0)
  c1 = s32[] constant(1)
  c3 = s32[] constant(3)
  old = (c128[3,3], f64[3], f64[2], c128[2], s32[], c128[96]) custom-call(c3, c1, c3, c1, c3, a), custom_call_target="lapack_zhetrd"
  new = (c128[3,3], f64[3], f64[2], c128[2], s32[]) custom-call(a), custom_call_target="lapack_zhetrd_ffi", backend_config={uplo = 76 : ui8}
  h = f64[2] get-tuple-element(old), index=2
  g = f64[2] get-tuple-element(new), index=2
  ROOT difference = f64[2] subtract(h, g))"},
};

constexpr char kLoop[] = R"(HloModule m
fewer { s = (s32[], f64[3,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT more = pred[] compare(i, n), direction=LT }
orthogonalise { s = (s32[], f64[3,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f64[3,3] get-tuple-element(s), index=1
  qr = (f64[3,3], f64[3]) custom-call(x), custom_call_target="Qr"
  f = f64[3,3] get-tuple-element(qr), index=0
  tau = f64[3] get-tuple-element(qr), index=1
  q = f64[3,3] custom-call(f, tau), custom_call_target="ProductOfElementaryHouseholderReflectors"
  ROOT r = (s32[], f64[3,3]) tuple(j, q) }
)";

Module Parsed(const std::string& text) {
  auto module = ParseModule(text, "test");
  FM_CHECK(module.ok(), module.error().message);
  return std::move(*module);
}

Module ModuleOf(const ZeroCase& test_case) {
  return Parsed(kLoop + std::string("ENTRY main {") + test_case.entry + "\n}\n");
}

double LargestOf(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < ElementCount(tensor.shape); ++i) {
    const double value = tensor.shape.dtype == DType::kF32
                             ? static_cast<double>(tensor.as<float>()[i])
                             : tensor.as<double>()[i];
    if (std::isnan(value)) return value;
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

using ZeroParam = std::tuple<Engine, ZeroCase>;
class LapackCalls : public ::testing::TestWithParam<ZeroParam> {};

TEST_P(LapackCalls, LeaveNothing) {
  const auto& [engine, test_case] = GetParam();
  const Module module = ModuleOf(test_case);
  const auto supported = CheckSupported(module);
  ASSERT_TRUE(supported.ok()) << supported.error().message;
  const auto results = CompileAndRun(module, OptionsOf(engine), InputsOf(module));
  ASSERT_TRUE(results.ok()) << results.error().message;
  const double bound = (*results)[0].shape.dtype == DType::kF32 ? 1e-5 : 1e-13;
  EXPECT_LE(LargestOf((*results)[0]), bound);
}

INSTANTIATE_TEST_SUITE_P(Lapack, LapackCalls,
                         ::testing::Combine(::testing::Values(Engine::kReference, Engine::kOff,
                                                              Engine::kOn),
                                            ::testing::ValuesIn(kZeroCases)),
                         [](const auto& info) {
                           return std::string(EngineName(std::get<0>(info.param))) + "_" +
                                  std::get<1>(info.param).name;
                         });

struct RefusedCase {
  const char* name;
  const char* call;
  const char* message;
};

const RefusedCase kRefused[] = {
    {"Unknown", R"(f32[4,4] custom-call(a), custom_call_target="who_knows")",
     "instruction `c` (line 4): custom-call of target 'who_knows' cannot be run: this program does "
     "not know the target"},
    {"NoSuchRoutine", R"(f32[4,4] custom-call(a), custom_call_target="lapack_sfoo_ffi")",
     "instruction `c` (line 4): custom-call of target 'lapack_sfoo_ffi' cannot be run: this "
     "program does not know the target"},
    {"OtherType", R"((f64[4,4], f64[4]) custom-call(a), custom_call_target="lapack_dgeqrf_ffi")",
     "instruction `c` (line 4): custom-call of target 'lapack_dgeqrf_ffi': operand 0 is f32[4,4], "
     "expected f64[m,n]"},
    {"NoAttributes", R"((f32[4,4], s32[]) custom-call(a), custom_call_target="lapack_spotrf_ffi")",
     "instruction `c` (line 4): custom-call of target 'lapack_spotrf_ffi': its backend_config "
     "lacks `uplo`"},
    {"OddAttributes",
     R"((f32[4,4], s32[]) custom-call(a), custom_call_target="lapack_spotrf_ffi", backend_config={uplo = 1 : ui8})",
     "instruction `c` (line 4): custom-call of target 'lapack_spotrf_ffi': uplo is neither 'L' nor "
     "'U'"},
    {"OldWithoutItsScalars",
     R"((f32[4,4], s32[4], s32[]) custom-call(a), custom_call_target="lapack_sgetrf")",
     "instruction `c` (line 4): custom-call of target 'lapack_sgetrf' cannot be run: this program "
     "does not know the target"},
    {"OldWithArraysForScalars",
     R"((f32[4,4], s32[]) custom-call(a, a, a, a), custom_call_target="lapack_spotrf")",
     "instruction `c` (line 4): custom-call of target 'lapack_spotrf': operand 0 is f32[4,4], "
     "expected s32[]"},
};

class RefusedCalls : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedCalls, AreNamed) {
  const Module module =
      Parsed("HloModule m\nENTRY main {\n  a = f32[4,4] parameter(0)\n  ROOT c = " +
             std::string(GetParam().call) + "\n}\n");
  const auto supported = CheckSupported(module);
  ASSERT_FALSE(supported.ok());
  EXPECT_EQ(supported.error().message, GetParam().message);
  for (const Engine engine : {Engine::kOff, Engine::kOn}) {
    const auto compiled = Compile(module, OptionsOf(engine));
    ASSERT_FALSE(compiled.ok());
    EXPECT_EQ(compiled.error().message, GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(Lapack, RefusedCalls, ::testing::ValuesIn(kRefused),
                         [](const auto& info) { return info.param.name; });

// Known only when the program runs: here it reads the scalars.
TEST(OldCalls, CompareTheirScalarsWithTheArrays) {
  const auto run =
      [](const std::string& rows, const std::string& full, Engine engine) {
        const Module module = Parsed(R"(HloModule m
ENTRY main {
  a = f32[4,3] constant({{1,2,3},{4,5,6},{7,8,9},{1,1,2}})
  c1 = s32[] constant(1)
  c3 = s32[] constant(3)
  rows = s32[] constant()" + rows + R"()
  full = s32[] constant()" + full + R"()
  ROOT c = (f32[4,3], f32[3], f32[4,3], f32[3,3], s32[], s32[9], f32[9]) custom-call(full, c1, c1, rows, c3, c1, a), custom_call_target="lapack_sgesdd"
})");
        const auto results = CompileAndRun(module, OptionsOf(engine), {});
        return results.ok() ? "" : results.error().message;
      };
  const std::string where = "instruction `c` (line 8): custom-call of target 'lapack_sgesdd': ";
  for (const Engine engine : {Engine::kReference, Engine::kOff, Engine::kOn}) {
    EXPECT_EQ(run("4", "0", engine), "");
    EXPECT_EQ(run("5", "0", engine), where + "operand 3 says 5, the arrays have 4");
    EXPECT_EQ(run("4", "1", engine), where + "u and vt have other sizes than the mode asks for");
  }
}

TEST(UnknownCalls, AreCompiledAroundWhereAllowed) {
  const Module module = Parsed(R"(HloModule m
ENTRY main {
  a = f32[8] parameter(0)
  b = f32[8] tanh(a)
  c = f32[8] custom-call(b), custom_call_target="who_knows"
  ROOT d = f32[8] exponential(c)
})");
  CompileOptions options = OptionsOf(Engine::kOn);
  options.allow_unknown_calls = true;
  auto executable = Compile(module, options);
  ASSERT_TRUE(executable.ok()) << executable.error().message;
  EXPECT_EQ((*executable)->Stats().unique_kernels, 2);
  const auto run = RunOnce(**executable, module, InputsOf(module));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace fusemark
