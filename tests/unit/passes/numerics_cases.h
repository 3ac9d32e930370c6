// Modules of one instruction each that expand-numerics rewrites: linear algebra, Fourier
// transforms, random numbers and scans, over types, sizes (0, 1, primes, more than one panel),
// batch dimensions and attributes. Used against the reference as they are, expanded, and compiled.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"

namespace fusemark {

struct NumericsCase {
  std::string name;
  std::string text;         // of the module
  double diagonal = 0;      // added to parameter 0, which makes matrices well-conditioned
  double tolerance = 0;     // error over the root mean square of the result; 0: exact
  bool is_complex = false;  // any value
};
void PrintTo(const NumericsCase& test, std::ostream* out);

std::vector<NumericsCase> LinearCases();
std::vector<NumericsCase> FftCases();
std::vector<NumericsCase> RandomCases();
std::vector<NumericsCase> ScanCases();

// Fails the current test if the text is no module.
Module ModuleOf(const NumericsCase& test);
std::vector<Tensor> InputsOf(const NumericsCase& test, const Module& module);
// "" if the results are the same within the tolerance of the case.
std::string ResultsDiffer(const NumericsCase& test, const std::vector<Tensor>& got,
                          const std::vector<Tensor>& want);

}  // namespace fusemark
