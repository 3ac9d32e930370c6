// Where the values of one computation live while its program is being built (internal to program/).
// Arena places carry a slot number instead of an offset until Assign() has packed the slots.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/memory/arena.h"
#include "compiler/program/program.h"

namespace fusemark {

// One leaf of an instruction's value.
struct ValueLeaf {
  InstrId instr;
  int64_t leaf = 0;
  auto operator<=>(const ValueLeaf&) const = default;
};

class Slots {
 public:
  // `skip_outputs`: output leaves that nobody writes (loop invariants).
  Slots(const Computation& computation, const std::vector<bool>& skip_outputs);

  // The instruction that really defines the leaf: tuples and get-tuple-elements looked through.
  ValueLeaf Definition(ValueLeaf value) const;
  // The place of a defined leaf. Parameters and constants define themselves.
  Place PlaceOf(ValueLeaf value);
  bool IsDefined(ValueLeaf value) const;

  // Gives a leaf its place: the caller's output where it is a result, else a new arena slot.
  Place Define(ValueLeaf value, int64_t bytes);
  // The leaf shares the place of another (in-place update).
  void DefineAt(ValueLeaf value, Place place);
  bool IsOutput(ValueLeaf value) const { return outputs_.contains(value); }

  Place Temporary(int64_t bytes);
  // Makes a temporary at least this large.
  void Resize(Place place, int64_t bytes);
  // The slot behind the place is alive at step `step`.
  void Touch(Place place, int64_t step);
  // Alive always: its value outlives a run.
  void Keep(Place place);

  // Output leaves whose value lives elsewhere: to be copied at the end.
  std::vector<std::pair<Place, int64_t>> MissingOutputs();  // (source, output leaf)

  // Packs the arena, returns its size; Final() then translates slot numbers to offsets.
  int64_t Assign();
  Place Final(Place place) const;
  std::map<int64_t, int64_t> SlotBytes() const;  // as Program::slot_bytes, after Assign()

  std::vector<Literal> TakeConstants() { return std::move(constants_); }
  const std::vector<Shape>& output_leaves() const { return output_leaves_; }

 private:
  Place ConstantPlace(ValueLeaf value);

  const Computation& computation_;
  std::vector<Shape> output_leaves_;
  std::vector<ValueLeaf> output_definitions_;
  std::vector<bool> skip_outputs_;
  std::map<ValueLeaf, int64_t> outputs_;  // definition -> the output leaf it is written to directly
  std::vector<int64_t> parameter_base_;   // by parameter number: its first leaf
  std::map<ValueLeaf, Place> places_;
  std::vector<ArenaSlot> slots_;
  std::vector<Literal> constants_;
};

}  // namespace fusemark
