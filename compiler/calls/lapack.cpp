#include "compiler/calls/lapack.h"

#include <cblas.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

// Its headers take C's complex types by default.
#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

namespace fusemark {
namespace {

// The functions of one element type under one name each.
template <class T>
struct Lapack;
#define FM_LAPACK(TYPE, P, ORTHOGONAL, SYMMETRIC)               \
  template <>                                                   \
  struct Lapack<TYPE> {                                         \
    static constexpr auto getrf = LAPACKE_##P##getrf;           \
    static constexpr auto geqrf = LAPACKE_##P##geqrf;           \
    static constexpr auto geqp3 = LAPACKE_##P##geqp3;           \
    static constexpr auto orgqr = LAPACKE_##P##ORTHOGONAL##gqr; \
    static constexpr auto ormqr = LAPACKE_##P##ORTHOGONAL##mqr; \
    static constexpr auto potrf = LAPACKE_##P##potrf;           \
    static constexpr auto gesdd = LAPACKE_##P##gesdd;           \
    static constexpr auto gesvd = LAPACKE_##P##gesvd;           \
    static constexpr auto syevd = LAPACKE_##P##SYMMETRIC##evd;  \
    static constexpr auto sytrd = LAPACKE_##P##SYMMETRIC##trd;  \
    static constexpr auto geev = LAPACKE_##P##geev;             \
    static constexpr auto gees = LAPACKE_##P##gees;             \
    static constexpr auto gehrd = LAPACKE_##P##gehrd;           \
    static constexpr auto gtsv = LAPACKE_##P##gtsv;             \
    static constexpr auto trsm = cblas_##P##trsm;               \
  }
FM_LAPACK(float, s, or, sy);
FM_LAPACK(double, d, or, sy);
FM_LAPACK(std::complex<float>, c, un, he);
FM_LAPACK(std::complex<double>, z, un, he);
#undef FM_LAPACK

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <class T>
using Real = typename RealOf<T>::Type;
template <class T>
constexpr bool kIsReal = std::is_same_v<T, Real<T>>;

char Letter(const CallProblem& p, std::string_view name) {
  return static_cast<char>(p.attributes->find(name)->second);
}

lapack_int SetInfo(const CallArray& array, lapack_int info) {
  *array.as<int32_t>() = info;
  return info;
}

template <class T>
lapack_int Getrf(const CallProblem& p) {
  const CallArray& a = p.out[0];
  return SetInfo(p.out[2], Lapack<T>::getrf(LAPACK_COL_MAJOR, a.rows, a.columns, a.as<T>(),
                                            a.stride(), p.out[1].as<lapack_int>()));
}

template <class T>
lapack_int Geqrf(const CallProblem& p) {
  const CallArray& a = p.out[0];
  return Lapack<T>::geqrf(LAPACK_COL_MAJOR, a.rows, a.columns, a.as<T>(), a.stride(),
                          p.out[1].as<T>());
}

template <class T>
lapack_int Geqp3(const CallProblem& p) {
  const CallArray& a = p.out[0];
  return Lapack<T>::geqp3(LAPACK_COL_MAJOR, a.rows, a.columns, a.as<T>(), a.stride(),
                          p.out[1].as<lapack_int>(), p.out[2].as<T>());
}

template <class T>
lapack_int Orgqr(const CallProblem& p) {
  const CallArray& a = p.out[0];
  return Lapack<T>::orgqr(LAPACK_COL_MAJOR, a.rows, a.columns, p.in[1].rows, a.as<T>(), a.stride(),
                          p.in[1].as<T>());
}

template <class T>
lapack_int Ormqr(const CallProblem& p) {
  const CallArray &a = p.in[0], &c = p.out[0];
  const bool left = p.attributes->find("left")->second != 0;
  const bool transpose = p.attributes->find("transpose")->second != 0;
  return Lapack<T>::ormqr(LAPACK_COL_MAJOR, left ? 'L' : 'R',
                          !transpose   ? 'N'
                          : kIsReal<T> ? 'T'
                                       : 'C',
                          c.rows, c.columns, p.in[1].rows, a.as<T>(), a.stride(), p.in[1].as<T>(),
                          c.as<T>(), c.stride());
}

template <class T>
lapack_int Potrf(const CallProblem& p) {
  const CallArray& a = p.out[0];
  return SetInfo(p.out[1], Lapack<T>::potrf(LAPACK_COL_MAJOR, Letter(p, "uplo"), a.rows, a.as<T>(),
                                            a.stride()));
}

template <class T>
lapack_int Gesdd(const CallProblem& p) {
  const CallArray &a = p.out[0], &u = p.out[2], &vt = p.out[3];
  return SetInfo(p.out[4], Lapack<T>::gesdd(LAPACK_COL_MAJOR, Letter(p, "mode"), a.rows, a.columns,
                                            a.as<T>(), a.stride(), p.out[1].as<Real<T>>(),
                                            u.as<T>(), u.stride(), vt.as<T>(), vt.stride()));
}

template <class T>
lapack_int Gesvd(const CallProblem& p) {
  const CallArray &a = p.out[0], &u = p.out[2], &vt = p.out[3];
  const char mode = Letter(p, "mode");
  std::vector<Real<T>> unconverged(static_cast<size_t>(std::min(a.rows, a.columns)) + 1);
  return SetInfo(p.out[4],
                 Lapack<T>::gesvd(LAPACK_COL_MAJOR, mode, mode, a.rows, a.columns, a.as<T>(),
                                  a.stride(), p.out[1].as<Real<T>>(), u.as<T>(), u.stride(),
                                  vt.as<T>(), vt.stride(), unconverged.data()));
}

template <class T>
lapack_int Syevd(const CallProblem& p) {
  const CallArray& a = p.out[0];
  return SetInfo(p.out[2], Lapack<T>::syevd(LAPACK_COL_MAJOR, Letter(p, "mode"), Letter(p, "uplo"),
                                            a.rows, a.as<T>(), a.stride(), p.out[1].as<Real<T>>()));
}

// XLA's Eigh has no info output: what did not converge is NaN.
template <class T>
lapack_int Eigh(const CallProblem& p) {
  const CallArray &a = p.out[0], &values = p.out[1];
  const auto lower = p.attributes->find("lower");
  const bool upper = lower != p.attributes->end() && lower->second == 0;
  const lapack_int info = Lapack<T>::syevd(LAPACK_COL_MAJOR, 'V', upper ? 'U' : 'L', a.rows,
                                           a.as<T>(), a.stride(), values.as<Real<T>>());
  if (info == 0) return 0;
  const auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
  std::fill_n(a.as<T>(), static_cast<size_t>(a.rows) * static_cast<size_t>(a.columns), T(nan));
  std::fill_n(values.as<Real<T>>(), values.rows, nan);
  return info;
}

template <class T>
lapack_int Sytrd(const CallProblem& p) {
  const CallArray& a = p.out[0];
  return SetInfo(
      p.out[4], Lapack<T>::sytrd(LAPACK_COL_MAJOR, Letter(p, "uplo"), a.rows, a.as<T>(), a.stride(),
                                 p.out[1].as<Real<T>>(), p.out[2].as<Real<T>>(), p.out[3].as<T>()));
}

template <class T>
lapack_int Gehrd(const CallProblem& p) {
  const CallArray& a = p.out[0];
  const auto low = static_cast<lapack_int>(p.attributes->find("low")->second);
  const auto high = static_cast<lapack_int>(p.attributes->find("high")->second);
  return SetInfo(p.out[2], Lapack<T>::gehrd(LAPACK_COL_MAJOR, a.rows, low, high, a.as<T>(),
                                            a.stride(), p.out[1].as<T>()));
}

// The first element of the lower diagonal and the last of the upper one are padding.
template <class T>
lapack_int Gtsv(const CallProblem& p) {
  const CallArray& b = p.out[3];
  return SetInfo(p.out[4],
                 Lapack<T>::gtsv(LAPACK_COL_MAJOR, b.rows, b.columns, p.out[0].as<T>() + 1,
                                 p.out[1].as<T>(), p.out[2].as<T>(), b.as<T>(), b.stride()));
}

template <class T>
lapack_int Trsm(const CallProblem& p) {
  const CallArray &a = p.in[0], &x = p.out[0];
  const CBLAS_SIDE side = Letter(p, "side") == 'L' ? CblasLeft : CblasRight;
  const CBLAS_UPLO uplo = Letter(p, "uplo") == 'L' ? CblasLower : CblasUpper;
  const CBLAS_DIAG diag = Letter(p, "diag") == 'U' ? CblasUnit : CblasNonUnit;
  const char trans = Letter(p, "trans_x");
  const CBLAS_TRANSPOSE transpose = trans == 'T'   ? CblasTrans
                                    : trans == 'C' ? CblasConjTrans
                                                   : CblasNoTrans;
  const auto solve = [&](auto alpha) {
    Lapack<T>::trsm(CblasColMajor, side, uplo, transpose, diag, x.rows, x.columns, alpha, a.as<T>(),
                    a.stride(), x.as<T>(), x.stride());
  };
  const T factor = p.factor != nullptr ? *reinterpret_cast<const T*>(p.factor) : T(1);
  if constexpr (kIsReal<T>) {
    solve(factor);
  } else {
    solve(&factor);
  }
  return 0;
}

// LAPACK packs the eigenvectors of a conjugate pair of a real matrix as real and imaginary part in
// two columns.
template <class T>
void UnpackPairs(const T* packed, const T* imaginary, const CallArray& vectors) {
  auto* out = vectors.as<std::complex<T>>();
  const auto n = static_cast<size_t>(vectors.rows);
  for (size_t j = 0; j < n; ++j) {
    const bool pair = imaginary[j] > 0 && j + 1 < n;
    for (size_t i = 0; i < n; ++i) {
      const T re = packed[j * n + i], im = pair ? packed[(j + 1) * n + i] : T(0);
      out[j * n + i] = {re, im};
      if (pair) out[(j + 1) * n + i] = {re, -im};
    }
    if (pair) ++j;
  }
}

template <class T>
lapack_int Geev(const CallProblem& p) {
  const CallArray& a = p.in[0];
  const char left = Letter(p, "compute_left"), right = Letter(p, "compute_right");
  const lapack_int n = a.rows;
  if constexpr (kIsReal<T>) {
    const CallArray &re = p.out[0], &im = p.out[1];
    const size_t elements = static_cast<size_t>(n) * static_cast<size_t>(n) + 1;
    std::vector<T> vl(elements), vr(elements);
    const lapack_int info =
        Lapack<T>::geev(LAPACK_COL_MAJOR, left, right, n, a.as<T>(), a.stride(), re.as<T>(),
                        im.as<T>(), vl.data(), a.stride(), vr.data(), a.stride());
    SetInfo(p.out[4], info);
    if (left == 'V') UnpackPairs(vl.data(), im.as<T>(), p.out[2]);
    if (right == 'V') UnpackPairs(vr.data(), im.as<T>(), p.out[3]);
    return info;
  } else {
    return SetInfo(p.out[3], Lapack<T>::geev(LAPACK_COL_MAJOR, left, right, n, a.as<T>(),
                                             a.stride(), p.out[0].as<T>(), p.out[1].as<T>(),
                                             a.stride(), p.out[2].as<T>(), a.stride()));
  }
}

// Without sorting: a selector is a function of the program that made the module.
template <class T>
lapack_int Gees(const CallProblem& p) {
  const CallArray &a = p.out[0], &vectors = p.out[1];
  const char mode = Letter(p, "mode");
  lapack_int selected = 0, info = 0;
  if constexpr (kIsReal<T>) {
    info = Lapack<T>::gees(LAPACK_COL_MAJOR, mode, 'N', nullptr, a.rows, a.as<T>(), a.stride(),
                           &selected, p.out[2].as<T>(), p.out[3].as<T>(), vectors.as<T>(),
                           vectors.stride());
  } else {
    info = Lapack<T>::gees(LAPACK_COL_MAJOR, mode, 'N', nullptr, a.rows, a.as<T>(), a.stride(),
                           &selected, p.out[2].as<T>(), vectors.as<T>(), vectors.stride());
  }
  SetInfo(p.out[kIsReal<T> ? 4 : 3], selected);
  return SetInfo(p.out[kIsReal<T> ? 5 : 4], info);
}

// ---- what the signatures cannot say

std::string Anything(const BoundSignature&, const CallAttributes&) {
  return "";
}

bool IsOneOf(const CallAttributes& attributes, std::string_view name, std::string_view letters) {
  const int64_t code = attributes.find(name)->second;
  return code > 0 && code < 128 && letters.find(static_cast<char>(code)) != std::string_view::npos;
}

std::string CheckUplo(const BoundSignature&, const CallAttributes& attributes) {
  return IsOneOf(attributes, "uplo", "LU") ? "" : "uplo is neither 'L' nor 'U'";
}

std::string CheckSyevd(const BoundSignature& sizes, const CallAttributes& attributes) {
  if (!IsOneOf(attributes, "mode", "NV")) return "mode is neither 'N' nor 'V'";
  return CheckUplo(sizes, attributes);
}

std::string CheckReflectors(const BoundSignature& sizes, const CallAttributes&) {
  if (sizes['m'] >= sizes['n'] && sizes['n'] >= sizes['p']) return "";
  return "the matrix must have rows >= columns >= reflectors";
}

std::string CheckOrmqr(const BoundSignature& sizes, const CallAttributes& attributes) {
  const int64_t side = attributes.find("left")->second != 0 ? sizes['m'] : sizes['n'];
  if (sizes['a'] == side && sizes['p'] <= sizes['q'] && sizes['p'] <= side) return "";
  return "the reflectors do not fit the matrix";
}

std::string CheckTrsm(const BoundSignature& sizes, const CallAttributes& attributes) {
  if (!IsOneOf(attributes, "side", "LR")) return "side is neither 'L' nor 'R'";
  if (!IsOneOf(attributes, "diag", "NU")) return "diag is neither 'N' nor 'U'";
  if (!IsOneOf(attributes, "trans_x", "NTC")) return "trans_x is none of 'N', 'T', 'C'";
  const int64_t order = IsOneOf(attributes, "side", "L") ? sizes['m'] : sizes['n'];
  if (sizes['q'] != order) return "the triangular matrix does not fit the right-hand side";
  return CheckUplo(sizes, attributes);
}

std::string CheckSvd(const BoundSignature& sizes, const CallAttributes& attributes) {
  if (!IsOneOf(attributes, "mode", "ANS")) return "mode is none of 'A', 'N', 'S'";
  const int64_t m = sizes['m'], n = sizes['n'], k = std::min(m, n);
  const bool all = IsOneOf(attributes, "mode", "A");
  const bool fits = sizes['u'] == (all ? m : k) && sizes['w'] == (all ? n : k);
  if (fits || IsOneOf(attributes, "mode", "N")) return "";
  return "u and vt have other sizes than the mode asks for";
}

std::string CheckGeev(const BoundSignature&, const CallAttributes& attributes) {
  for (const std::string_view side : {"compute_left", "compute_right"}) {
    if (!IsOneOf(attributes, side, "NV")) return std::string(side) + " is neither 'N' nor 'V'";
  }
  return "";
}

std::string CheckGees(const BoundSignature&, const CallAttributes& attributes) {
  if (!IsOneOf(attributes, "mode", "NV")) return "mode is neither 'N' nor 'V'";
  return IsOneOf(attributes, "sort", "N") ? "" : "sorting by a selector function cannot be done";
}

std::string CheckGehrd(const BoundSignature& sizes, const CallAttributes& attributes) {
  const int64_t low = attributes.find("low")->second, high = attributes.find("high")->second;
  const int64_t n = sizes['n'];
  if (n == 0 || (1 <= low && low <= high && high <= n)) return "";
  return "low and high must be 1 <= low <= high <= " + std::to_string(n);
}

// ---- the table

#define FM_TYPES(FN)                                                         \
  std::array<int32_t (*)(const CallProblem&), 4> {                           \
    FN<float>, FN<double>, FN<std::complex<float>>, FN<std::complex<double>> \
  }

constexpr const char* kSvd = "T:mn -> T:mn=0 R:k T:mu T:wn I:";
constexpr const char* kQr = "T:mn -> T:mn=0 T:k";
constexpr const char* kReflect = "T:mn T:p -> T:mn=0";
constexpr const char* kMultiply = "T:aq T:p T:mn -> T:mn=2";
constexpr const char* kTridiagonal = "T:n T:n T:n T:nr -> T:n=0 T:n=1 T:n=2 T:nr=3 I:";

const LapackRoutine kRoutines[] = {
    {"getrf", "T:mn -> T:mn=0 I:k I:", "", Anything, FM_TYPES(Getrf)},
    {"geqrf", kQr, "", Anything, FM_TYPES(Geqrf)},
    {"geqp3", "T:mn I:n -> T:mn=0 I:n=1 T:k", "", Anything, FM_TYPES(Geqp3)},
    {{"orgqr", "ungqr"}, kReflect, "", CheckReflectors, FM_TYPES(Orgqr)},
    {{"ormqr", "unmqr"}, kMultiply, "left transpose", CheckOrmqr, FM_TYPES(Ormqr)},
    {"potrf", "T:nn -> T:nn=0 I:", "uplo", CheckUplo, FM_TYPES(Potrf)},
    {"gesdd", kSvd, "mode", CheckSvd, FM_TYPES(Gesdd)},
    {"gesvd", kSvd, "mode", CheckSvd, FM_TYPES(Gesvd)},
    {{"syevd", "heevd"}, "T:nn -> T:nn=0 R:n I:", "mode uplo", CheckSyevd, FM_TYPES(Syevd)},
    {{"sytrd", "hetrd"}, "T:nn -> T:nn=0 R:n R:h T:h I:", "uplo", CheckUplo, FM_TYPES(Sytrd)},
    {"geev",
     {"T:nn -> T:n T:n C:nn C:nn I:", "T:nn -> T:n T:nn T:nn I:"},
     "compute_left compute_right",
     CheckGeev,
     FM_TYPES(Geev)},
    {"gees",
     {"T:nn -> T:nn=0 T:nn T:n T:n I: I:", "T:nn -> T:nn=0 T:nn T:n I: I:"},
     "mode sort",
     CheckGees,
     FM_TYPES(Gees)},
    {"gehrd", "T:nn -> T:nn=0 T:h I:", "low high", CheckGehrd, FM_TYPES(Gehrd)},
    {"gtsv", kTridiagonal, "", Anything, FM_TYPES(Gtsv)},
    {"trsm", "T:qq T:mn -> T:mn=1", "side uplo trans_x diag", CheckTrsm, FM_TYPES(Trsm)},
};

// Custom calls of XLA's client library, which TensorFlow and PyTorch/XLA use; types as the operand.
const LapackRoutine kXlaRoutines[] = {
    {"Qr", kQr, "", Anything, FM_TYPES(Geqrf)},
    {"ProductOfElementaryHouseholderReflectors", kReflect, "", CheckReflectors, FM_TYPES(Orgqr)},
    {"Eigh", "T:nn -> T:nn=0 R:n", "", Anything, FM_TYPES(Eigh)},
};
#undef FM_TYPES

std::optional<DType> TypeOfPrefix(char prefix) {
  switch (prefix) {
    case 's': return DType::kF32;
    case 'd': return DType::kF64;
    case 'c': return DType::kC64;
    case 'z': return DType::kC128;
    default: return std::nullopt;
  }
}

}  // namespace

void PrepareLapack() {
  // Else LAPACKE refuses matrices with a NaN, where the programs expect NaN results.
  LAPACKE_set_nancheck(0);
}

bool IsOutOfMemory(int32_t info) {
  return info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR;
}

std::optional<LapackCall> FindLapackCall(std::string_view target, DType first) {
  for (const LapackRoutine& routine : kXlaRoutines) {
    const bool known = first == DType::kF32 || first == DType::kF64 || IsComplex(first);
    if (known && routine.name.Of(first) == target) return LapackCall{&routine, first};
  }
  constexpr std::string_view kPrefix = "lapack_", kSuffix = "_ffi";
  if (!target.starts_with(kPrefix) || !target.ends_with(kSuffix)) return std::nullopt;
  target.remove_prefix(kPrefix.size());
  target.remove_suffix(std::min(kSuffix.size(), target.size()));
  return FindLapackRoutine(target);
}

std::optional<LapackCall> FindLapackRoutine(std::string_view typed_name) {
  const auto element = typed_name.empty() ? std::nullopt : TypeOfPrefix(typed_name[0]);
  if (!element) return std::nullopt;
  for (const LapackRoutine& routine : kRoutines) {
    if (routine.name.Of(*element) == typed_name.substr(1)) return LapackCall{&routine, *element};
  }
  return std::nullopt;
}

CallAttributes ParseCallAttributes(std::string_view text) {
  CallAttributes attributes;
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  std::string name;
  bool after_equal = false;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string word(text.substr(i, end - i));
    if (word.empty()) {
      after_equal = after_equal ? text[i] == ' ' : text[i] == '=';
      ++i;
      continue;
    }
    if (after_equal) {
      attributes[name] = word == "true" ? 1 : std::strtoll(word.c_str(), nullptr, 10);
      after_equal = false;
    } else {
      name = word;
    }
    i = end;
  }
  // XLA's Eigh: "lower,sort,iterations,tolerance".
  if (attributes.empty() && text.size() > 1 && text[0] == '"')
    attributes["lower"] = text[1] == '0' ? 0 : 1;
  return attributes;
}

}  // namespace fusemark
