// The HLO graph as plain values: a module is a list of computations, a computation a list of
// instructions. No pointers, no virtuals, no back references: copying a module is `=`, and copies
// can be compiled in parallel without locks.
//
// INVARIANT (ir/verify.h checks it): operands precede their users, called computations precede
// their callers. So every traversal is a `for` loop. User lists are an analysis (ir/users.h), never
// stored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/attrs.h"
#include "compiler/ir/op.h"
#include "compiler/ir/shape.h"
#include "compiler/support/result.h"

namespace fusemark {

struct InstrId {
  uint32_t index = 0;
  auto operator<=>(const InstrId&) const = default;
};

struct ComputationId {
  uint32_t index = 0;
  auto operator<=>(const ComputationId&) const = default;
};

// Attributes kept as text, in its order: name, verbatim value. Most are only printed again.
using ExtraAttributes = std::vector<std::pair<std::string, std::string>>;

// The first value under that name.
std::optional<std::string_view> FindExtra(const ExtraAttributes& extra, std::string_view name);

struct Instr {
  Op op = Op::kParameter;
  Shape shape;
  std::string name;  // without '%', unique in its computation
  std::vector<InstrId> operands;
  Attrs attrs;
  // Called computations by role: call, map, reduce, reduce-window, scatter, sort, all-reduce:
  // {to_apply}; while: {condition, body}; conditional: branches (true, false for a pred selector);
  // fusion: {calls}; select-and-scatter: {select, scatter}; async-start: {calls}.
  std::vector<ComputationId> called;
  ExtraAttributes extra;
  SourceLoc loc;  // in the text it came from; not part of equality

  template <class T>
  const T& As() const {
    return std::get<T>(attrs);
  }
  template <class T>
  T& As() {
    return std::get<T>(attrs);
  }
  bool operator==(const Instr& other) const;
};

struct Computation {
  std::string name;
  std::vector<Instr> instrs;
  InstrId root;
  std::vector<InstrId> parameters;  // parameters[n] is the instruction `parameter(n)`

  const Instr& operator[](InstrId id) const { return instrs[id.index]; }
  Instr& operator[](InstrId id) { return instrs[id.index]; }
  const Instr& Root() const { return instrs[root.index]; }
  bool operator==(const Computation&) const = default;
};

// One `{output}: (parameter, {index}, kind)` row of input_output_alias.
struct Alias {
  std::vector<int64_t> output_index;
  int64_t parameter = 0;
  std::vector<int64_t> parameter_index;
  bool must = false;
  bool operator==(const Alias&) const = default;
};

struct EntryLayout {
  std::vector<Shape> parameters;
  Shape result;
  bool operator==(const EntryLayout&) const = default;
};

struct Module {
  std::string name;
  std::vector<Computation> computations;
  ComputationId entry;
  std::optional<EntryLayout> entry_layout;
  std::vector<Alias> aliases;
  ExtraAttributes extra;  // of the header

  const Computation& operator[](ComputationId id) const { return computations[id.index]; }
  Computation& operator[](ComputationId id) { return computations[id.index]; }
  const Computation& Entry() const { return computations[entry.index]; }
  Computation& Entry() { return computations[entry.index]; }
  bool operator==(const Module&) const = default;
};

}  // namespace fusemark

template <>
struct std::hash<fusemark::InstrId> {
  size_t operator()(fusemark::InstrId id) const noexcept { return id.index; }
};
