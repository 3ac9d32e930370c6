#include "compiler/program/slots.h"

#include <algorithm>

#include "compiler/support/check.h"

namespace fusemark {
namespace {

// The leaf literal at depth-first position `leaf` of a (tuple) literal.
const Literal* LiteralLeaf(const Literal& literal, int64_t& leaf) {
  if (!literal.shape.is_tuple) return leaf-- == 0 ? &literal : nullptr;
  for (const Literal& element : literal.elements) {
    if (const Literal* found = LiteralLeaf(element, leaf)) return found;
  }
  return nullptr;
}

}  // namespace

Slots::Slots(const Computation& computation, const std::vector<bool>& skip_outputs)
    : computation_(computation), skip_outputs_(skip_outputs) {
  int64_t base = 0;
  for (const InstrId parameter : computation.parameters) {
    parameter_base_.push_back(base);
    base += LeafCount(computation[parameter].shape);
  }
  FlattenLeaves(computation.Root().shape, output_leaves_);
  skip_outputs_.resize(output_leaves_.size(), false);
  for (int64_t leaf = 0; leaf < static_cast<int64_t>(output_leaves_.size()); ++leaf) {
    const ValueLeaf definition = Definition({computation.root, leaf});
    output_definitions_.push_back(definition);
    const Op op = computation[definition.instr].op;
    if (op == Op::kParameter || op == Op::kConstant) continue;
    outputs_.emplace(definition, leaf);  // the first of several equal leaves is written directly
  }
}

ValueLeaf Slots::Definition(ValueLeaf value) const {
  while (true) {
    const Instr& instr = computation_[value.instr];
    if (instr.op == Op::kTuple) {
      size_t element = 0;
      while (value.leaf >= LeafCount(instr.shape.elements[element])) {
        value.leaf -= LeafCount(instr.shape.elements[element++]);
      }
      value.instr = instr.operands[element];
    } else if (instr.op == Op::kGetTupleElement) {
      const Shape& tuple = computation_[instr.operands[0]].shape;
      const auto index = static_cast<size_t>(instr.As<TupleIndexAttrs>().index);
      for (size_t element = 0; element < index; ++element) {
        value.leaf += LeafCount(tuple.elements[element]);
      }
      value.instr = instr.operands[0];
    } else {
      return value;
    }
  }
}

bool Slots::IsDefined(ValueLeaf value) const {
  const ValueLeaf definition = Definition(value);
  const Op op = computation_[definition.instr].op;
  return op == Op::kParameter || op == Op::kConstant || places_.contains(definition);
}

Place Slots::ConstantPlace(ValueLeaf value) {
  int64_t leaf = value.leaf;
  const Literal* literal = LiteralLeaf(computation_[value.instr].As<ConstantAttrs>().literal, leaf);
  FM_CHECK(literal != nullptr, computation_[value.instr].name);
  constants_.push_back(*literal);
  return {Place::Storage::kConstant, static_cast<int64_t>(constants_.size()) - 1};
}

Place Slots::PlaceOf(ValueLeaf value) {
  const ValueLeaf definition = Definition(value);
  if (const auto it = places_.find(definition); it != places_.end()) return it->second;
  const Instr& instr = computation_[definition.instr];
  Place place;
  if (instr.op == Op::kParameter) {
    const auto number = static_cast<size_t>(instr.As<ParameterAttrs>().number);
    place = {Place::Storage::kParam, parameter_base_[number] + definition.leaf};
  } else {
    FM_CHECK(instr.op == Op::kConstant, "`" + instr.name + "` is read before it is computed");
    place = ConstantPlace(definition);
  }
  places_[definition] = place;
  return place;
}

Place Slots::Temporary(int64_t bytes) {
  slots_.push_back({bytes, INT64_MAX, -1, 0});
  return {Place::Storage::kArena, static_cast<int64_t>(slots_.size()) - 1};
}

Place Slots::Define(ValueLeaf value, int64_t bytes) {
  const auto output = outputs_.find(value);
  const Place place =
      output != outputs_.end() ? Place{Place::Storage::kOutput, output->second} : Temporary(bytes);
  places_[value] = place;
  return place;
}

void Slots::DefineAt(ValueLeaf value, Place place) {
  places_[value] = place;
}

void Slots::Resize(Place place, int64_t bytes) {
  int64_t& size = slots_[static_cast<size_t>(place.offset)].bytes;
  size = std::max(size, bytes);
}

void Slots::Touch(Place place, int64_t step) {
  if (place.storage != Place::Storage::kArena) return;
  ArenaSlot& slot = slots_[static_cast<size_t>(place.offset)];
  slot.first = std::min(slot.first, step);
  slot.last = std::max(slot.last, step);
}

void Slots::Keep(Place place) {
  Touch(place, 0);
  Touch(place, INT64_MAX);
}

std::vector<std::pair<Place, int64_t>> Slots::MissingOutputs() {
  std::vector<std::pair<Place, int64_t>> missing;
  for (int64_t leaf = 0; leaf < static_cast<int64_t>(output_leaves_.size()); ++leaf) {
    if (skip_outputs_[static_cast<size_t>(leaf)]) continue;
    const Place source = PlaceOf(output_definitions_[static_cast<size_t>(leaf)]);
    if (source != Place{Place::Storage::kOutput, leaf}) missing.emplace_back(source, leaf);
  }
  return missing;
}

int64_t Slots::Assign() {
  for (ArenaSlot& slot : slots_) {
    if (slot.last < 0) slot.first = slot.last = 0;
  }
  return AssignOffsets(slots_);
}

std::map<int64_t, int64_t> Slots::SlotBytes() const {
  std::map<int64_t, int64_t> bytes;
  for (const ArenaSlot& slot : slots_) {
    int64_t& largest = bytes[slot.offset];
    largest = std::max(largest, slot.bytes);
  }
  return bytes;
}

Place Slots::Final(Place place) const {
  if (place.storage == Place::Storage::kArena) {
    place.offset = slots_[static_cast<size_t>(place.offset)].offset;
  }
  return place;
}

}  // namespace fusemark
