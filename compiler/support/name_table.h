// Name -> index, for the instructions of one computation or the computations of a module. Keys are
// views into the text. Clearing costs nothing (slots carry the generation that wrote them), so one
// table serves thousands of small computations after a large one.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace fusemark {

class NameTable {
 public:
  NameTable() : slots_(64) {}

  void Clear() {
    ++generation_;
    size_ = 0;
  }

  // False if the name is taken.
  bool Insert(std::string_view name, uint32_t index) {
    if (size_ * 2 >= slots_.size()) Grow();
    Slot& slot = slots_[Find(name)];
    if (slot.generation == generation_) return false;
    slot = {name, index, generation_};
    ++size_;
    return true;
  }

  // Null if the name is unknown.
  const uint32_t* Lookup(std::string_view name) const {
    const Slot& slot = slots_[Find(name)];
    return slot.generation == generation_ ? &slot.index : nullptr;
  }

 private:
  struct Slot {
    std::string_view name;
    uint32_t index = 0;
    uint32_t generation = 0;
  };

  size_t Find(std::string_view name) const {
    const size_t mask = slots_.size() - 1;
    size_t at = std::hash<std::string_view>()(name) & mask;
    while (slots_[at].generation == generation_ && slots_[at].name != name) at = (at + 1) & mask;
    return at;
  }

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.generation == generation_) slots_[Find(slot.name)] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
  uint32_t generation_ = 1;
};

}  // namespace fusemark
