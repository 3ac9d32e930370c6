// The texts of workloads/ that are compiled into the program (see embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace fusemark {

struct EmbeddedFile {
  std::string_view name;  // "blocks/mlp_gelu.hlo", "suites/default.yaml"
  std::string_view text;
};

std::span<const EmbeddedFile> EmbeddedFiles();

}  // namespace fusemark
