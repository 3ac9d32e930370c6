// The form the interpreter walks: expressions as straight-line instructions on slots, statements as
// a tree that refers to instruction ranges. Private to interpret*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/loops/kernel.h"
#include "compiler/loops/scalar.h"
#include "compiler/support/result.h"

namespace fusemark::loops::interpreter {

// Where an access goes: the index slots in Program::index_slots, the extents and strides of its
// buffer.
struct Access {
  uint32_t buffer = 0;
  DType dtype = DType::kF32;
  uint32_t rank = 0;
  uint32_t first = 0;  // into Program::index_slots and, per dimension, Program::dims
};

// slots[dst] = function(slots[a], slots[b], slots[c]), or a load when `function` is null (then `a`
// is an access).
struct Instruction {
  ScalarFunction function = nullptr;
  uint32_t dst = 0, a = 0, b = 0, c = 0;
};

struct Dim {
  int64_t extent = 0;
  int64_t stride = 0;  // bytes
};

struct Node {
  StmtKind kind = StmtKind::kBarrier;
  LoopKind loop = LoopKind::kSerial;
  bool has_barrier = false;  // somewhere inside
  uint32_t code_begin = 0, code_end = 0;
  uint32_t slot = 0;    // loop variable, or the value (let writes it in its code)
  uint32_t access = 0;  // kStore
  uint32_t buffer = 0;  // kAlloc
  int64_t extent = 0;
  std::vector<Node> body, else_body;
};

struct Program {
  Kernel kernel;
  std::vector<Phase> phases;
  std::vector<int64_t> scratch_offsets;
  int64_t scratch_bytes = 0;
  std::vector<Instruction> code;
  std::vector<Access> accesses;
  std::vector<uint32_t> index_slots;
  std::vector<Dim> dims;
  std::vector<uint64_t> initial_slots;  // constants in place; variables first
  std::vector<Node> body;
};

int64_t BytesOf(const Buffer& buffer);
Result<Program> Translate(const Kernel& kernel);

}  // namespace fusemark::loops::interpreter
