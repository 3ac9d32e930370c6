// The functions of this process that compiled kernels may call: libm (lane by lane, for what has no
// vector code) and what LLVM's back end calls on its own. A closed list: an unexpected call is a
// link error with its name, not a silent dependency on what happens to be loaded.
#pragma once

#include <span>

namespace fusemark {

struct HostSymbol {
  const char* name;
  void* address;
};

std::span<const HostSymbol> HostSymbols();

}  // namespace fusemark
