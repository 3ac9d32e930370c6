// Large modules by shape of the graph, for finding steps that are not linear.
#pragma once

#include <cstdint>
#include <string>

namespace fusemark {

// kLayers     dense layers with bias, relu and a running mean over rows: what models are made of
// kChain      one elementwise chain
// kShared     elementwise trees whose values have several readers each
// kFan        one value read by every instruction, all results in one tuple
// kParameters an entry with as many parameters as results, in nested tuples
// kCalls      chains of computations, each calling the one before
// kMoves      slices, concatenations, transposes and reshapes of each other
enum class LargeForm : uint8_t { kLayers, kChain, kShared, kFan, kParameters, kCalls, kMoves };
constexpr LargeForm kLargeForms[] = {LargeForm::kLayers, LargeForm::kChain,      LargeForm::kShared,
                                     LargeForm::kFan,    LargeForm::kParameters, LargeForm::kCalls,
                                     LargeForm::kMoves};
const char* LargeFormName(LargeForm form);

// HLO text of about `instructions` instructions.
std::string LargeModuleText(LargeForm form, int instructions);

}  // namespace fusemark
