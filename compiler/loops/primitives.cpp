#include "compiler/loops/primitives.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "compiler/loops/builder.h"
#include "compiler/loops/primitives_internal.h"
#include "compiler/loops/rewrite.h"
#include "compiler/loops/simplify.h"
#include "compiler/support/strings.h"

namespace fusemark::loops {
namespace {

Result<void> SetKind(Kernel& kernel, const std::string& name, LoopKind kind);

Result<void> Unroll(Kernel& kernel, const Primitive& p) {
  return SetKind(kernel, p.names[0], LoopKind::kUnroll);
}
Result<void> Vectorise(Kernel& kernel, const Primitive& p) {
  return SetKind(kernel, p.names[0], LoopKind::kVector);
}
Result<void> Parallel(Kernel& kernel, const Primitive& p) {
  return SetKind(kernel, p.names[0], LoopKind::kParallel);
}
Result<void> BindLoop(Kernel& kernel, const Primitive& p) {
  return SetKind(kernel, p.names[0], p.word == "block" ? LoopKind::kBlock : LoopKind::kThread);
}

Result<void> SimplifyAll(Kernel& kernel, const Primitive&) {
  kernel = Simplify(kernel);
  return Ok();
}

// The text form: names before the factor, the factor, names after it, a word out of two.
struct Form {
  std::string_view name;
  PrimitiveKind kind;
  size_t before = 1;
  bool factor = false;
  size_t after = 0;
  std::string_view words[2] = {};
  Result<void> (*apply)(Kernel&, const Primitive&) = nullptr;
};

constexpr Form kForms[] = {
    {"tile", PrimitiveKind::kTile, 1, true, 2, {}, Tile},
    {"reorder", PrimitiveKind::kReorder, 2, false, 0, {}, Reorder},
    {"fuse", PrimitiveKind::kFuse, 3, false, 0, {}, Fuse},
    {"unroll", PrimitiveKind::kUnroll, 1, false, 0, {}, Unroll},
    {"vectorise", PrimitiveKind::kVectorise, 1, false, 0, {}, Vectorise},
    {"parallel", PrimitiveKind::kParallel, 1, false, 0, {}, Parallel},
    {"bind", PrimitiveKind::kBind, 1, false, 0, {"block", "thread"}, BindLoop},
    {"distribute", PrimitiveKind::kDistribute, 1, false, 0, {}, Distribute},
    {"privatise", PrimitiveKind::kPrivatise, 1, true, 2, {}, Privatise},
    {"flatten", PrimitiveKind::kFlatten, 0, false, 0, {}, Flatten},
    {"simplify", PrimitiveKind::kSimplify, 0, false, 0, {}, SimplifyAll},
    {"stage", PrimitiveKind::kStage, 2, false, 0, {"stack", "shared"}, Stage},
    {"pack", PrimitiveKind::kPack, 2, true, 0, {}, Stage},
    {"interleave", PrimitiveKind::kInterleave, 2, true, 2, {}, Interleave},
    {"offset", PrimitiveKind::kOffset, 1, true, 3, {}, Offset},
    {"peel", PrimitiveKind::kPeel, 1, false, 0, {}, Peel},
    {"prefetch", PrimitiveKind::kPrefetch, 3, false, 0, {}, Prefetch},
    {"prefetch_tile", PrimitiveKind::kPrefetchTile, 2, false, 0, {}, PrefetchTile},
    {"block", PrimitiveKind::kBlockOperand, 1, true, 0, {}, BlockOperand},
};

const Form& FormOf(PrimitiveKind kind) {
  return *std::find_if(std::begin(kForms), std::end(kForms),
                       [kind](const Form& form) { return form.kind == kind; });
}

// ---- loop kinds ----

Error Refuse(std::string_view what, const std::string& loop, std::string_view why) {
  return Invalid(fmt::format("cannot {} loop {}: {}", what, loop, why));
}

Result<void> CheckKind(const Stmt& loop, const std::string& name, LoopKind kind, bool outermost) {
  const auto has = [&](auto... kinds) {
    return AnyStmt(loop.body, [&](const Stmt& stmt) {
      return stmt.kind == StmtKind::kFor && ((stmt.loop == kinds) || ...);
    });
  };
  const bool barrier =
      AnyStmt(loop.body, [](const Stmt& stmt) { return stmt.kind == StmtKind::kBarrier; });
  const std::string_view what = LoopKindName(kind);
  const std::string make = fmt::format("make {} of", what);
  if (kind == LoopKind::kUnroll) return Ok();
  if (loop.reduces)
    return Refuse(make, name, "its iterations carry a value (privatise or distribute it first)");
  if (loop.loop != LoopKind::kSerial && loop.loop != kind)
    return Refuse(make, name, fmt::format("it is {} already", LoopKindName(loop.loop)));
  if (kind == LoopKind::kVector) {
    if (has(LoopKind::kVector)) return Refuse(make, name, "it holds a vector loop");
    if (barrier) return Refuse(make, name, "it holds a barrier");
  }
  const bool outer = kind == LoopKind::kParallel || kind == LoopKind::kBlock;
  if (outer && !outermost) return Refuse(make, name, "it is not the outermost statement");
  if (outer && has(LoopKind::kParallel, LoopKind::kBlock))
    return Refuse(make, name, "it holds a parallel or block loop");
  return Ok();
}

Result<void> SetKindIn(Block& block, VarId var, const std::string& name, LoopKind kind,
                       bool in_vector, bool in_block, bool outermost) {
  for (Stmt& stmt : block) {
    const bool loop = stmt.kind == StmtKind::kFor;
    if (loop && stmt.var == var) {
      FM_RETURN_IF_ERROR(CheckKind(stmt, name, kind, outermost));
      if (kind == LoopKind::kVector && in_vector)
        return Refuse("make vector of", name, "it stands inside a vector loop");
      if (kind == LoopKind::kThread && !in_block)
        return Refuse("make thread of", name, "it stands outside a block loop");
      stmt.loop = kind;
    }
    const bool vector = in_vector || (loop && stmt.loop == LoopKind::kVector);
    const bool grid = in_block || (loop && stmt.loop == LoopKind::kBlock);
    FM_RETURN_IF_ERROR(SetKindIn(stmt.body, var, name, kind, vector, grid, false));
    FM_RETURN_IF_ERROR(SetKindIn(stmt.else_body, var, name, kind, vector, grid, false));
  }
  return Ok();
}

Result<void> SetKind(Kernel& kernel, const std::string& name, LoopKind kind) {
  FM_TRY(const VarId var, LoopNamed(kernel, name));
  // A parallel loop is a phase of its own: what is allocated or bound beside it would be cut off.
  const bool outer = kind == LoopKind::kParallel || kind == LoopKind::kBlock;
  for (const Stmt& stmt : kernel.body) {
    if (outer && (stmt.kind == StmtKind::kAlloc || stmt.kind == StmtKind::kLet))
      return Refuse(fmt::format("make {} of", LoopKindName(kind)), name,
                    "local buffers or lets stand beside it");
  }
  return SetKindIn(kernel.body, var, name, kind, false, false, true);
}

// ---- text ----

Result<Primitive> ParseOne(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  const auto* const form = std::find_if(std::begin(kForms), std::end(kForms),
                                        [&](const Form& f) { return f.name == words[0]; });
  if (form == std::end(kForms)) return Invalid(fmt::format("unknown primitive '{}'", words[0]));
  const bool word = !form->words[0].empty();
  const size_t expected = 1 + form->before + (form->factor ? 1 : 0) + form->after + (word ? 1 : 0);
  if (words.size() != expected)
    return Invalid(fmt::format("'{}': {} takes {} words, found {}", Trim(text), form->name,
                               expected - 1, words.size() - 1));
  Primitive primitive{.kind = form->kind};
  size_t next = 1;
  for (size_t i = 0; i < form->before; ++i) primitive.names.emplace_back(words[next++]);
  if (form->factor) {
    const auto factor = ParseInt(words[next++]);
    if (!factor || *factor <= 0)
      return Invalid(
          fmt::format("'{}': expected a positive factor, found '{}'", Trim(text), words[next - 1]));
    primitive.factor = *factor;
  }
  for (size_t i = 0; i < form->after; ++i) primitive.names.emplace_back(words[next++]);
  if (word) {
    primitive.word = words[next];
    if (primitive.word != form->words[0] && primitive.word != form->words[1])
      return Invalid(fmt::format("'{}': expected {} or {}, found '{}'", Trim(text), form->words[0],
                                 form->words[1], primitive.word));
  }
  return primitive;
}

}  // namespace

Result<VarId> LoopNamed(const Kernel& kernel, const std::string& name) {
  const auto var = FindVar(kernel, name);
  const bool found = var && AnyStmt(kernel.body, [&](const Stmt& stmt) {
                       return stmt.kind == StmtKind::kFor && stmt.var == *var;
                     });
  if (!found) return Invalid(fmt::format("there is no loop named {}", name));
  return *var;
}

Result<VarId> FreshLoop(Kernel& kernel, const std::string& name) {
  if (FindVar(kernel, name)) return Invalid(fmt::format("the name {} is taken", name));
  return Builder(kernel).AddVar(name);
}

Result<void> Apply(Kernel& kernel, const Primitive& primitive) {
  Kernel changed = kernel;
  FM_RETURN_IF_ERROR(FormOf(primitive.kind).apply(changed, primitive));
  kernel = std::move(changed);
  return Ok();
}

Result<Kernel> Replay(const Kernel& kernel, const std::vector<Primitive>& primitives) {
  Kernel changed = kernel;
  for (const Primitive& primitive : primitives) {
    const auto status = Apply(changed, primitive);
    if (!status.ok())
      return Invalid(fmt::format("{}: {}", PrintPrimitives({primitive}), status.error().message));
  }
  return changed;
}

std::string PrintPrimitives(const std::vector<Primitive>& primitives) {
  std::vector<std::string> lines;
  for (const Primitive& primitive : primitives) {
    const Form& form = FormOf(primitive.kind);
    std::string line(form.name);
    for (size_t i = 0; i <= primitive.names.size(); ++i) {
      if (form.factor && i == form.before) line += fmt::format(" {}", primitive.factor);
      if (i < primitive.names.size()) line += " " + primitive.names[i];
    }
    if (!primitive.word.empty()) line += " " + primitive.word;
    lines.push_back(std::move(line));
  }
  return Join(lines, "; ");
}

Result<std::vector<Primitive>> ParsePrimitives(std::string_view text) {
  std::vector<Primitive> primitives;
  for (const std::string_view part : Split(text, ';')) {
    if (Trim(part).empty()) continue;
    FM_TRY(Primitive primitive, ParseOne(Trim(part)));
    primitives.push_back(std::move(primitive));
  }
  return primitives;
}

}  // namespace fusemark::loops
