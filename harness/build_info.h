// What this binary is: filled in at build time (cmake/build_info.cmake), never empty. Outside git
// the id is "source-" and a hash of all sources, so two different builds never share one.
#pragma once

namespace fusemark {

struct BuildInfo {
  const char* version;
  const char* git_sha;
  bool dirty;
  const char* build_type;
  const char* compiler;
  const char* flags;
  const char* llvm_version;
  const char* dnnl_version;
  const char* sanitizers;  // "" when none
};

extern const BuildInfo kBuildInfo;

}  // namespace fusemark
