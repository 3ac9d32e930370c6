// Schedule primitives: transformations of a loop nest, each a value with a text form. A list of
// them is what a schedule stands for (schedule_cpu.h); it is printed for people and tests and can
// be replayed, but is not stored.
//
// Loops are addressed by name: a primitive applies to every loop that carries the name, at least
// one. What a primitive cannot do legally is an error that names the loop and the reason; the
// kernel is then unchanged. Results stay bit for bit the same, except after privatise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

enum class PrimitiveKind : uint8_t {
  kTile,        // tile i 16 io ii: i = io * 16 + ii; a tail of i % 16 iterations in its own branch
  kReorder,     // reorder i j: j, perfectly nested in i, comes out of it
  kFuse,        // fuse i j f: i and j, perfectly nested, become one loop f
  kUnroll,      // unroll i: unrolled completely
  kVectorise,   // vectorise i: all iterations in lockstep
  kParallel,    // parallel i: iterations on any thread; outermost statements only
  kBind,        // bind i block|thread: a dimension of the GPU grid
  kDistribute,  // distribute i: local buffers get a dimension, the body's statements get their own
                // copies of the loop, the reductions directly inside move out of it
  kPrivatise,   // privatise k 8 ko l: the reductions named k run as loop ko over 8 independent
                // accumulators l, combined at the end by loops lc (reassociates)
  kStage,       // stage a k stack|shared: the part of operand a that the body of k reads is copied
                // to a local buffer first
  kPack,  // pack a k 16: as stage to the stack, the last dimension cut into runs of 16 that stand
          // behind each other: [.., n] becomes [n / 16, .., 16]
  kInterleave,  // interleave a k 16 i e: as pack, the runs along what moves with loop i, and inside
                // of them the elements that loop e goes through stand together: where it has 4
                // iterations, [e, i] becomes [i / 16, e / 4, 16, 4]
  kOffset,  // offset a 128 m n e: in sums of products over e inside of m and n, operand a counts as
            // larger by 128; the excess is added up once for all m and taken off at the end
  kPeel,  // peel i: the last iteration of i, the only one with another body, becomes a loop of its
          // own
  kPrefetch,  // prefetch a i k: in every iteration of k, inside of i, the lines of operand a that
              // it will read one iteration of i later
  kPrefetchTile,  // prefetch_tile a i: every iteration of i begins by asking for the lines of
                  // operand or result a that it will use
  kBlockOperand,  // block a 16: operand a comes from the caller as [n / 16, .., 16] instead of
                  // [.., n] (block_layout.h)
  kFlatten,   // flatten: operands, results and scratch become one-dimensional (they are dense), so
              // that loops over neighbouring dimensions can be fused without divisions
  kSimplify,  // simplify: index arithmetic to its cheapest form (simplify.h), before more
              // primitives take its variables apart
};

struct Primitive {
  PrimitiveKind kind = PrimitiveKind::kUnroll;
  std::vector<std::string> names;  // loops; stage, pack: buffer, loop
  int64_t factor = 0;              // tile, privatise, pack
  std::string word;                // bind: block, thread; stage: stack, shared
  bool operator==(const Primitive&) const = default;
};

// Each checks, then transforms in place.
Result<void> Apply(Kernel& kernel, const Primitive& primitive);
Result<Kernel> Replay(const Kernel& kernel, const std::vector<Primitive>& primitives);

// `tile i1 16 i1o i1i; vectorise i1i; parallel i0`
std::string PrintPrimitives(const std::vector<Primitive>& primitives);
Result<std::vector<Primitive>> ParsePrimitives(std::string_view text);

}  // namespace fusemark::loops
