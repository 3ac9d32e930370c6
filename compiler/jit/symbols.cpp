#include "compiler/jit/symbols.h"

#include <cmath>
#include <cstring>

extern "C" {
// glibc has these since 2.25, its C++ headers not everywhere.
double roundeven(double);
float roundevenf(float);
}

namespace fusemark {
namespace {

template <class Function>
void* Address(Function* function) {
  return reinterpret_cast<void*>(function);
}

using Unary64 = double(double);
using Unary32 = float(float);
using Binary64 = double(double, double);
using Binary32 = float(float, float);

#define FM_UNARY(name)                                   \
  {#name, Address(static_cast<Unary64*>(::name))}, {     \
    #name "f", Address(static_cast<Unary32*>(::name##f)) \
  }
#define FM_BINARY(name)                                   \
  {#name, Address(static_cast<Binary64*>(::name))}, {     \
    #name "f", Address(static_cast<Binary32*>(::name##f)) \
  }

const HostSymbol kSymbols[] = {
    FM_UNARY(sin),
    FM_UNARY(cos),
    FM_UNARY(tan),
    FM_UNARY(erf),
    FM_UNARY(cbrt),
    FM_BINARY(atan2),
    FM_BINARY(pow),
    FM_BINARY(fmod),
    // Rounding and fma on CPUs without the instruction.
    FM_UNARY(floor),
    FM_UNARY(ceil),
    FM_UNARY(trunc),
    FM_UNARY(round),
    FM_UNARY(roundeven),
    {"fma", Address(static_cast<double (*)(double, double, double)>(::fma))},
    {"fmaf", Address(static_cast<float (*)(float, float, float)>(::fmaf))},
    {"memcpy", Address(static_cast<void* (*)(void*, const void*, size_t)>(::memcpy))},
    {"memmove", Address(static_cast<void* (*)(void*, const void*, size_t)>(::memmove))},
    {"memset", Address(static_cast<void* (*)(void*, int, size_t)>(::memset))},
};

#undef FM_UNARY
#undef FM_BINARY

}  // namespace

std::span<const HostSymbol> HostSymbols() {
  return kSymbols;
}

}  // namespace fusemark
