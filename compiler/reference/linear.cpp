// cholesky and triangular-solve, a number at a time in f64 or complex<double>.
#include <cmath>

#include "compiler/reference/context.h"
#include "compiler/reference/contract.h"

namespace fusemark::reference {
namespace {

double Conjugate(double x) {
  return x;
}
Complex Conjugate(Complex x) {
  return std::conj(x);
}
double RealPart(double x) {
  return x;
}
double RealPart(Complex x) {
  return x.real();
}

Kind ComputeKind(const Shape& shape) {
  return IsComplex(shape.dtype) ? Kind::kComplex : Kind::kFloat;
}

// a = l * l^H for one matrix; reads the lower triangle of `a` as given by `at(row, column)`. The
// diagonal is divided, not set to the root: an imaginary part there (no Hermitian matrix) stays.
template <class T, class At>
void Factor(int64_t n, At at, T* l) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      T sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= l[i * n + k] * Conjugate(l[j * n + k]);
      l[i * n + j] = sum;
    }
    const double pivot = std::sqrt(RealPart(l[j * n + j]));
    for (int64_t i = j; i < n; ++i) l[i * n + j] /= pivot;
  }
}

// m x = b for one matrix and one vector of stride `step`; m is lower triangular if `lower`, and its
// diagonal counts as 1 if `unit`.
template <class T, class At>
void Substitute(int64_t n, bool lower, bool unit, At at, T* x, int64_t step) {
  for (int64_t done = 0; done < n; ++done) {
    const int64_t i = lower ? done : n - 1 - done;
    T sum = x[i * step];
    for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); ++k) sum -= at(i, k) * x[k * step];
    x[i * step] = unit ? sum : sum / at(i, i);
  }
}

template <class T>
void SolveMatrix(const TriangularAttrs& attrs, int64_t n, int64_t rows, int64_t columns, const T* a,
                 T* x) {
  // From the right: x op(a) = b is op(a)^T x^T = b^T.
  const bool transposed = (attrs.transpose_a != "NO_TRANSPOSE") != !attrs.left_side;
  const bool conjugated = attrs.transpose_a == "ADJOINT";
  const auto at = [&](int64_t i, int64_t k) {
    const T value = transposed ? a[k * n + i] : a[i * n + k];
    return conjugated ? Conjugate(value) : value;
  };
  const int64_t vectors = attrs.left_side ? columns : rows;
  for (int64_t v = 0; v < vectors; ++v)
    Substitute(n, attrs.lower != transposed, attrs.unit_diagonal, at,
               attrs.left_side ? x + v : x + v * columns, attrs.left_side ? columns : 1);
}

}  // namespace

Tensor EvalCholesky(const Context& context, const Instr& instr, Operands operands) {
  Tensor result = MakeTensor(instr.shape);
  const Kind kind = ComputeKind(instr.shape);
  const int64_t n = instr.shape.dims.back(), count = ElementCount(instr.shape);
  const bool lower = instr.As<TriangularAttrs>().lower;
  const LaneBuffer source = DecodeAs(*operands[0], kind);
  LaneBuffer target(count, kind);
  const auto run = [&]<class T>(T*) {
    std::fill_n(target.as<T>(), count, T{});
    std::vector<T> factor(static_cast<size_t>(n * n));
    for (int64_t base = 0; base < count; base += n * n) {
      context.poll();
      const T* a = source.as<T>() + base;
      T* out = target.as<T>() + base;
      // The upper factor of a is the transpose of the lower one of a^T.
      const auto at = [&](int64_t i, int64_t j) { return lower ? a[i * n + j] : a[j * n + i]; };
      Factor(n, at, factor.data());
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j)
          out[lower ? i * n + j : j * n + i] = factor[static_cast<size_t>(i * n + j)];
    }
  };
  if (kind == Kind::kComplex) {
    run(static_cast<Complex*>(nullptr));
  } else {
    run(static_cast<double*>(nullptr));
  }
  Encode(instr.shape.dtype, target.data(), count, result.data.get());
  return result;
}

Tensor EvalTriangularSolve(const Context& context, const Instr& instr, Operands operands) {
  Tensor result = MakeTensor(instr.shape);
  const Kind kind = ComputeKind(instr.shape);
  const auto& attrs = instr.As<TriangularAttrs>();
  const Dims& dims = instr.shape.dims;
  const int64_t columns = dims.back(), rows = dims[dims.size() - 2];
  const int64_t n = attrs.left_side ? rows : columns, count = ElementCount(instr.shape);
  const LaneBuffer matrices = DecodeAs(*operands[0], kind);
  const LaneBuffer solved = DecodeAs(*operands[1], kind);
  const auto run = [&]<class T>(T*) {
    for (int64_t base = 0, batch = 0; base < count; base += rows * columns, ++batch) {
      context.poll();
      SolveMatrix(attrs, n, rows, columns, matrices.as<T>() + batch * n * n, solved.as<T>() + base);
    }
  };
  if (kind == Kind::kComplex) {
    run(static_cast<Complex*>(nullptr));
  } else {
    run(static_cast<double*>(nullptr));
  }
  Encode(instr.shape.dtype, solved.data(), count, result.data.get());
  return result;
}

}  // namespace fusemark::reference
