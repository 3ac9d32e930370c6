// Arrays as JSON text, shared by goldens and operation cases: numbers are decimal text that reads
// back exactly, complex ones pairs of it.
#pragma once

#include <complex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

// Reads `values` into an array of the given shape; its length must be the element count.
Result<Tensor> ReadJsonValues(const nlohmann::json& values, Shape shape, const std::string& place);
// Reads {"dtype": ..., "shape": [...]}.
Result<Shape> ReadJsonShape(const nlohmann::json& object, const std::string& place);
Result<nlohmann::json> LoadJson(const std::string& path);

// One element of any type as f64: the real part of a complex one is real().
std::complex<double> ElementAt(const Tensor& tensor, int64_t index);
// Integers and pred exactly, as text.
std::string ElementText(const Tensor& tensor, int64_t index);

}  // namespace fusemark
