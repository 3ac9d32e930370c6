// The part of the zip format that .npz files use: stored and deflated members, zip64 sizes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/support/result.h"

namespace fusemark {

struct ZipMember {
  std::string name;
  std::string bytes;
};

// Checks every size and the CRC of each member.
Result<std::vector<ZipMember>> ReadZip(std::string_view archive, std::string_view source_name);

// Writes stored members one after the other; `Finish` appends the directory.
class ZipWriter {
 public:
  // Appends to `out`; 4 GiB for one member or the archive is the limit of the plain format.
  explicit ZipWriter(std::string& out) : out_(out) {}
  Result<void> Add(const std::string& name, std::string_view head, std::string_view body);
  Result<void> Finish();

 private:
  std::string& out_;
  std::string directory_;
  uint32_t count_ = 0;
};

}  // namespace fusemark
