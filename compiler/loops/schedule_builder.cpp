#include "compiler/loops/schedule_builder.h"

#include <algorithm>
#include <map>

#include "compiler/loops/load_analysis.h"
#include "compiler/loops/rewrite.h"
#include "compiler/loops/simplify.h"
#include "compiler/loops/verify.h"

namespace fusemark::loops {
namespace {

constexpr int64_t kMaxVectorBytes = 64;  // the largest of the knob's domain

int Divisions(const Kernel& kernel) {
  int count = 0;
  for (const Expr& expr : kernel.exprs) {
    const bool division = expr.kind == ExprKind::kBinary && expr.dtype == DType::kS64 &&
                          (expr.op == Op::kDivide || expr.op == Op::kRemainder);
    count += division ? 1 : 0;
  }
  return count;
}

void CollectLoops(const Block& block, VarId var, std::vector<const Stmt*>& loops) {
  for (const Stmt& stmt : block) {
    if (stmt.kind == StmtKind::kFor && stmt.var == var) loops.push_back(&stmt);
    CollectLoops(stmt.body, var, loops);
    CollectLoops(stmt.else_body, var, loops);
  }
}

void CollectInnermost(const Kernel& kernel, const Block& block, char prefix,
                      std::map<std::string, bool>& found) {
  for (const Stmt& stmt : block) {
    if (stmt.kind == StmtKind::kFor && kernel[stmt.var].name[0] == prefix) {
      const bool inner = AnyStmt(stmt.body, [](const Stmt& s) { return s.kind == StmtKind::kFor; });
      bool& everywhere = found.try_emplace(kernel[stmt.var].name, true).first->second;
      everywhere &= !inner;
    }
    CollectInnermost(kernel, stmt.body, prefix, found);
    CollectInnermost(kernel, stmt.else_body, prefix, found);
  }
}

}  // namespace

int64_t StatementsIn(const Block& block) {
  int64_t count = 0;
  for (const Stmt& stmt : block)
    count += 1 + StatementsIn(stmt.body) + StatementsIn(stmt.else_body);
  return count;
}

bool ScheduleBuilder::Keep(Primitive primitive, bool verified) {
  Kernel changed = kernel_;
  if (!Apply(changed, primitive).ok() || (verified && !Verify(changed).ok())) return false;
  kernel_ = std::move(changed);
  list_.push_back(std::move(primitive));
  return true;
}

bool ScheduleBuilder::Tile(const std::string& loop, int64_t factor, const std::string& outer,
                           const std::string& inner) {
  return Try({PrimitiveKind::kTile, {loop, outer, inner}, factor, ""});
}

bool ScheduleBuilder::Vectorise(const std::string& loop) {
  return TryVerified({PrimitiveKind::kVectorise, {loop}, 0, ""});
}

bool ScheduleBuilder::Distribute(const std::string& loop) {
  int levels = 0;
  while (DistributeOnce(loop)) ++levels;
  return levels > 0;
}

bool ScheduleBuilder::DistributeOnce(const std::string& loop) {
  return Try({PrimitiveKind::kDistribute, {loop}, 0, ""});
}

bool ScheduleBuilder::Reorder(const std::string& outer, const std::string& inner) {
  return Try({PrimitiveKind::kReorder, {outer, inner}, 0, ""});
}

bool ScheduleBuilder::Unroll(const std::string& loop) {
  return Try({PrimitiveKind::kUnroll, {loop}, 0, ""});
}

// Fusing is worth it only where the two loops walk memory as one: no new division remains.
bool ScheduleBuilder::FuseIfContiguous(const std::string& a, const std::string& b,
                                       const std::string& name) {
  Primitive fuse{PrimitiveKind::kFuse, {a, b, name}, 0, ""};
  Kernel changed = kernel_;
  if (!Apply(changed, fuse).ok()) return false;
  if (Divisions(Simplify(changed)) > Divisions(Simplify(kernel_))) return false;
  kernel_ = std::move(changed);
  list_.push_back(std::move(fuse));
  return true;
}

std::vector<std::string> ScheduleBuilder::Chain(char prefix) const {
  std::vector<std::string> names;
  for (const NamedLoop& loop : LoopChain(kernel_, prefix)) names.push_back(loop.name);
  return names;
}

std::vector<const Stmt*> ScheduleBuilder::LoopsNamed(const std::string& name) const {
  std::vector<const Stmt*> loops;
  const auto var = FindVar(kernel_, name);
  if (var) CollectLoops(kernel_.body, *var, loops);
  return loops;
}

int64_t ScheduleBuilder::LargestExtent(const std::string& name) const {
  int64_t extent = 0;
  for (const Stmt* loop : LoopsNamed(name)) extent = std::max(extent, loop->extent);
  return extent;
}

int64_t ScheduleBuilder::Lanes() const {
  const int64_t bytes = schedule_.vector_bytes != 0 ? schedule_.vector_bytes : DefaultBytes();
  return std::max<int64_t>(bytes / WidestElement(), 1);
}

int64_t ScheduleBuilder::WidestElement() const {
  int64_t widest = 4;
  for (const Buffer& buffer : kernel_.buffers) widest = std::max(widest, ByteSize(buffer.dtype));
  return std::min<int64_t>(widest, 8);
}

// The native width; twice of it where long chains of dependent operations (the polynomials of
// vector math) leave the units idle: each operation then comes in two independent halves.
int64_t ScheduleBuilder::DefaultBytes() const {
  const bool chains = std::any_of(kernel_.exprs.begin(), kernel_.exprs.end(), [](const Expr& e) {
    return e.kind == ExprKind::kUnary && IsTranscendental(e.op);
  });
  return chains && kernel_.klass == KernelClass::kLoop
             ? std::min<int64_t>(2 * target_.vector_bytes, kMaxVectorBytes)
             : target_.vector_bytes;
}

std::string ScheduleBuilder::FuseInner(const std::vector<std::string>& loops,
                                       const std::string& prefix) {
  std::string inner = loops.back();
  int fused = 0;
  for (size_t i = loops.size() - 1; i-- > 0;) {
    const std::string name = prefix + std::to_string(fused);
    if (!FuseIfContiguous(loops[i], inner, name)) break;
    inner = name;
    ++fused;
  }
  return inner;
}

// Simplified at once: tiles may hide what makes the divisions cancel out.
std::string ScheduleBuilder::FuseFlat(const std::vector<std::string>& loops,
                                      const std::string& prefix) {
  std::string inner = loops.back();
  const bool fused =
      loops.size() > 1 && AllOrNothing([&] {
        if (!TryVerified({.kind = PrimitiveKind::kFlatten})) return false;
        inner = FuseInner(loops, prefix);
        return inner != loops.back() && TryVerified({.kind = PrimitiveKind::kSimplify});
      });
  return fused ? inner : loops.back();
}

bool ScheduleBuilder::VectorLoop(const std::string& inner) {
  const int64_t lanes = std::min(Lanes(), LargestExtent(inner));
  if (lanes < 2) return false;
  int64_t body = 1;
  for (const Stmt* loop : LoopsNamed(inner)) body = std::max(body, StatementsIn(loop->body));
  int64_t unroll = std::min(schedule_.unroll, std::max<int64_t>(kUnrolledStatements / body, 1));
  unroll = std::min(unroll, LargestExtent(inner) / lanes);
  if (unroll > 1) {
    if (!Tile(inner, lanes * unroll, inner + "o", inner + "b")) return false;
    if (!Tile(inner + "b", lanes, inner + "u", inner + "v")) return false;
    const bool done = Vectorise(inner + "v");
    Unroll(inner + "u");
    return done;
  }
  return Tile(inner, lanes, inner + "o", inner + "v") && Vectorise(inner + "v");
}

std::set<std::string> ScheduleBuilder::Innermost(char prefix) const {
  std::map<std::string, bool> innermost;
  CollectInnermost(kernel_, kernel_.body, prefix, innermost);
  std::set<std::string> names;
  for (const auto& [name, everywhere] : innermost) {
    if (everywhere) names.insert(name);
  }
  return names;
}

bool ScheduleBuilder::Privatise(const std::string& loop, int64_t lanes) {
  return Try({PrimitiveKind::kPrivatise, {loop, loop + "s", loop + "l"}, lanes, ""});
}

bool ScheduleBuilder::VectoriseTile(const std::string& loop, int64_t vectors, int64_t lanes) {
  if (vectors == 1) return Vectorise(loop);
  const std::string stem = loop.substr(0, loop.size() - 1);
  return Tile(loop, lanes, stem + "u", stem + "v") && Vectorise(stem + "v") && Unroll(stem + "u");
}

bool ScheduleBuilder::Pack(const std::string& operand, const std::string& loop, int64_t run) {
  if (!Try({PrimitiveKind::kPack, {operand, loop}, run, ""})) return false;
  bool vectors = true;
  for (const std::string& copy : CopiesIn(loop)) vectors = vectors && Vectorise(copy);
  return vectors;
}

std::vector<std::string> ScheduleBuilder::CopiesIn(const std::string& loop) const {
  std::vector<std::string> names;
  for (const Stmt* panel : LoopsNamed(loop)) {
    if (panel->body.size() < 2 || panel->body[0].kind != StmtKind::kAlloc) continue;
    const Stmt* copy = &panel->body[1];
    while (copy->body.size() == 1 && copy->body[0].kind == StmtKind::kFor) copy = &copy->body[0];
    names.push_back(kernel_[copy->var].name);
  }
  return names;
}

bool ScheduleBuilder::Lasts(BufferId operand) const {
  for (size_t i = 0; i < lasting_.size(); ++i) {
    if (lasting_[i] && kernel_.operands[i] == operand) return true;
  }
  return false;
}

}  // namespace fusemark::loops
