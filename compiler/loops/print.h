// Text form of loop nest IR. What it is not: the stored form of a schedule (that is knobs.h).
//
// Law: Parse(Print(k)) equals Compacted(k), and Print(Compacted(k)) == Print(k). Binary operators +
// - * / % and comparisons are infix, all others are calls by their HLO name; `f32(x)` converts,
// `bitcast<u32>(x)` reinterprets, `0.5:f32` is a constant (a bare integer is s64).
#pragma once

#include <string>

#include "compiler/loops/kernel.h"
#include "compiler/support/hash.h"

namespace fusemark::loops {

struct PrintOptions {
  // Names of the kernel, buffers and variables become numbers in order of appearance: equal up to
  // names = equal text. This is the task text.
  bool canonical = false;
};

std::string Print(const Kernel& kernel, const PrintOptions& options = {});
std::string PrintExpr(const Kernel& kernel, ExprId expr);

// The task id: the hash of the canonical text.
Hash128 TaskId(const Kernel& kernel);

// Expressions, variables and local buffers renumbered in order of appearance, unused ones dropped.
Kernel Compacted(const Kernel& kernel);

}  // namespace fusemark::loops
