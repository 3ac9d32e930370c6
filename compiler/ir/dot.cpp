#include "compiler/ir/dot.h"

#include <algorithm>

namespace fusemark {

Dims FreeDims(int64_t rank, const Dims& batch, const Dims& contracting) {
  const auto has = [](const Dims& dims, int64_t dim) {
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  };
  Dims free;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (!has(batch, dim) && !has(contracting, dim)) free.push_back(dim);
  }
  return free;
}

}  // namespace fusemark
