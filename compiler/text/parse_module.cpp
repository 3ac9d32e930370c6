#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <unordered_set>

#include "compiler/ir/verify.h"
#include "compiler/text/parser.h"

namespace fusemark {
namespace {

constexpr std::string_view kDebugTables[] = {"FileNames", "FunctionNames", "FileLocations",
                                             "StackFrames"};

bool IsDebugTable(std::string_view word) {
  return std::find(std::begin(kDebugTables), std::end(kDebugTables), word) !=
         std::end(kDebugTables);
}

}  // namespace

// ---- errors ----

bool Parser::Fail(const char* place, std::string message) {
  if (has_error_) return false;
  has_error_ = true;
  if (place == text_.data() + text_.size()) {  // an empty last line would show nothing
    while (place > text_.data() && std::isspace(static_cast<unsigned char>(place[-1])) != 0)
      --place;
  }
  const SourceLoc where = source_.LocOf(place);
  error_ = Invalid(fmt::format("{}:{}: {}", where.line, where.column, message), where);
  return false;
}

std::string Parser::Found() {
  if (!lex_.Skip()) return "a comment that is never closed";
  if (lex_.AtEnd()) {
    const bool at_end_of_text = lex_.pos() == text_.data() + text_.size();
    return at_end_of_text ? "the end of the text" : "the end of the value";
  }
  const char* start = lex_.pos();
  constexpr size_t kLongest = 40;
  std::string_view token = lex_.TakeName();
  if (token.empty()) token = lex_.TakeNumber();
  if (token.empty()) token = {start, 1};
  token = {start, static_cast<size_t>(token.data() + token.size() - start)};
  lex_.Rewind(start);
  if (token.size() > kLongest) return fmt::format("'{}...'", token.substr(0, kLongest));
  const auto c = static_cast<unsigned char>(token[0]);
  if (c < 0x20 || c >= 0x7f) return fmt::format("byte {:#04x}", c);
  return fmt::format("'{}'", token);
}

bool Parser::Expected(std::string_view what) {
  const std::string found = Found();
  return Fail(lex_.pos(), fmt::format("found {}, expected {}", found, what));
}

bool Parser::Need(char c, std::string_view context) {
  return lex_.Take(c) || Expected(fmt::format("'{}' {}", c, context));
}

// The verifier's messages already begin with line and column.
Error Parser::MakeError(const Error& error) const {
  Error full = error;
  full.message =
      fmt::format("{}:{}{}", source_name_, error.where.line == 0 ? " " : "", error.message);
  if (error.where.line != 0) {
    full.message += "\n" + source_.Excerpt(source_.PlaceOf(error.where));
  }
  return full;
}

// ---- file ----

Result<Module> Parser::Run() {
  if (!CheckText() || !File()) {
    return MakeError(error_);
  }
  auto verified = VerifyModule(module_);
  if (verified.ok()) return std::move(module_);
  return MakeError(verified.error());
}

bool Parser::CheckText() {
  const void* nul = text_.empty() ? nullptr : std::memchr(text_.data(), '\0', text_.size());
  if (nul != nullptr) {
    return Fail(static_cast<const char*>(nul),
                "found a NUL byte, expected HLO text (is this a binary file?)");
  }
  if (text_.size() > UINT32_MAX) {
    return Fail(text_.data(), "the text is larger than 4 GB");
  }
  if (lex_.AtEnd()) return Fail(lex_.pos(), "found no module, the text is empty");
  return true;
}

bool Parser::File() {
  const bool has_header = lex_.PeekWord() == "HloModule";
  if (has_header && !Header()) return false;
  if (!DebugTables()) return false;
  if (!has_header && !LooksLikeComputation()) return BareInstructions();
  bool has_entry = false;
  std::optional<ComputationId> last;
  while (!lex_.AtEnd()) {
    const char* place = lex_.pos();
    bool is_entry = false;
    ComputationId id;
    if (!TopLevelComputation(is_entry, id)) return false;
    if (is_entry && has_entry) {
      return Fail(place, fmt::format("found a second ENTRY, expected one; the first is %{}",
                                     module_[module_.entry].name));
    }
    if (is_entry) module_.entry = id;
    has_entry |= is_entry;
    last = id;
    if (!DebugTables()) return false;
  }
  if (!last) return Expected("a computation such as ENTRY name { ... }");
  if (!has_entry) module_.entry = *last;
  if (!has_header) module_.name = "module_" + module_.Entry().name;
  NameInlineComputations();
  return true;
}

bool Parser::Header() {
  lex_.TakeWord();
  const std::string_view name = lex_.TakeName();
  if (name.empty()) return Expected("the name of the module");
  module_.name = name;
  size_t count = 0;
  std::unordered_set<std::string_view> seen;
  while (lex_.Take(',')) {
    const std::string_view attribute = lex_.TakeWord();
    if (attribute.empty()) return Expected("the name of a header attribute");
    if (!Need('=', "after the attribute name")) return false;
    if (!seen.insert(attribute).second) {
      return Fail(attribute.data(), fmt::format("the attribute {} is given twice", attribute));
    }
    if (++count > kMaxAttrs) {
      return Fail(attribute.data(), fmt::format("more than {} header attributes", kMaxAttrs));
    }
    if (!HeaderAttribute(attribute, attribute.data())) return false;
  }
  return true;
}

bool Parser::HeaderAttribute(std::string_view name, const char* place) {
  if (name == "entry_computation_layout") return EntryComputationLayout();
  if (name == "input_output_alias") return InputOutputAlias();
  std::string_view value;
  if (!lex_.TakeValue(value)) {
    return Fail(place, fmt::format("the value of {} is never closed", name));
  }
  if (value.empty()) return Expected(fmt::format("a value for {}", name));
  if (name != "origin_recovery_table" && name != "debug_attributes") {
    module_.extra.emplace_back(name, value);
  }
  return true;
}

bool Parser::EntryComputationLayout() {
  EntryLayout layout;
  if (!Need('{', "to begin the layout") || !Need('(', "to begin the parameter shapes"))
    return false;
  if (!lex_.Take(')')) {
    do {
      layout.parameters.emplace_back();
      if (!ParseShape(layout.parameters.back())) return false;
    } while (lex_.Take(','));
    if (!Need(')', "to end the parameter shapes")) return false;
  }
  if (!lex_.Take("->")) return Expected("'->' and the result shape");
  if (!ParseShape(layout.result) || !Need('}', "to end the layout")) return false;
  module_.entry_layout = std::move(layout);
  return true;
}

// { {0}: (3, {}, may-alias), {1,2}: (4, {0}), ... }
bool Parser::InputOutputAlias() {
  if (!Need('{', "to begin the alias list")) return false;
  while (!lex_.Take('}')) {
    Alias alias;
    if (!TupleIndex(alias.output_index) || !Need(':', "after the output index")) return false;
    if (!Need('(', "before the parameter number")) return false;
    if (lex_.TakeInt(alias.parameter) != Lexer::IntStatus::kOk)
      return Expected("a parameter number");
    if (!Need(',', "after the parameter number") || !TupleIndex(alias.parameter_index))
      return false;
    if (lex_.Take(',')) {
      const std::string_view kind = lex_.PeekWord();
      if (kind != "may-alias" && kind != "must-alias") return Expected("may-alias or must-alias");
      lex_.TakeWord();
      alias.must = kind == "must-alias";
    }
    if (!Need(')', "to end the alias")) return false;
    module_.aliases.push_back(std::move(alias));
    if (!lex_.Take(',') && lex_.Peek() != '}') return Expected("',' or '}' in the alias list");
  }
  return true;
}

bool Parser::TupleIndex(std::vector<int64_t>& index) {
  if (!Need('{', "to begin a tuple index")) return false;
  while (!lex_.Take('}')) {
    int64_t value = 0;
    if (lex_.TakeInt(value) != Lexer::IntStatus::kOk || value < 0)
      return Expected("a tuple index such as {0,1}");
    index.push_back(value);
    lex_.Take(',');
  }
  return true;
}

// Rows are a number and a string or a braced list; nothing in the compiler reads them.
bool Parser::DebugTables() {
  while (IsDebugTable(lex_.PeekWord())) {
    const char* start = lex_.pos();
    lex_.TakeWord();
    const char next = lex_.Peek();
    if (next == '{' || next == '(') {  // a computation with that name
      lex_.Rewind(start);
      return true;
    }
    while (lex_.Peek() >= '0' && lex_.Peek() <= '9') {
      const char* row = lex_.pos();
      lex_.TakeNumber();
      std::string_view skipped;
      const bool braced = lex_.Peek() == '{';
      if (braced ? !lex_.TakeBalanced(skipped) : lex_.TakeString().empty()) {
        return Fail(row,
                    "found a malformed row of a debug table, expected a number and a string "
                    "or {...}");
      }
    }
  }
  return true;
}

// ---- computations ----

// Tells `name { ... }`, `name (p: shape) -> shape { ... }` and ENTRY from a bare instruction.
bool Parser::LooksLikeComputation() {
  const char* start = lex_.pos();
  bool result = lex_.TakeWord("ENTRY");
  if (!result && !lex_.TakeName().empty()) {
    std::string_view skipped;
    result =
        lex_.Peek() == '{' || (lex_.Peek() == '(' && lex_.TakeBalanced(skipped) && lex_.Take("->"));
  }
  lex_.Rewind(start);
  return result;
}

bool Parser::TopLevelComputation(bool& is_entry, ComputationId& id) {
  lex_.Skip();
  const char* start = lex_.pos();
  is_entry = lex_.TakeWord("ENTRY");
  if (is_entry && (lex_.Peek() == '{' || lex_.Peek() == '(')) {  // a computation called ENTRY
    lex_.Rewind(start);
    is_entry = false;
  }
  lex_.Skip();
  Body body;
  body.place = lex_.pos();
  body.name = lex_.TakeName();
  if (body.name.empty()) return Expected("a computation such as ENTRY name { ... }");
  if (computations_.Lookup(body.name) != nullptr) {
    return Fail(body.place, fmt::format("the computation %{} is defined twice", body.name));
  }
  open_name_ = body.name;
  if (lex_.Peek() == '(' && !Signature(body)) return false;
  if (!ComputationBody(body) || !FinishBody(body, id)) return false;
  computations_.Insert(body.name, id.index);
  while (lex_.Take(',')) {  // execution_thread="..."
    std::string_view value;
    if (lex_.TakeWord().empty()) return Expected("an attribute of the computation");
    if (!Need('=', "after the attribute name")) return false;
    if (!lex_.TakeValue(value)) return Expected("a value that ends");
  }
  return true;
}

// (p0: shape, ...) -> shape. The parameter list only repeats the body's parameter instructions,
// under names of its own.
bool Parser::Signature(Body& body) {
  std::string_view parameters;
  if (!lex_.TakeBalanced(parameters)) {
    return Fail(lex_.pos(), "found a parameter list that is never closed");
  }
  if (!lex_.Take("->")) return Expected("'->' and the result shape");
  body.result.emplace();
  return ParseShape(*body.result);
}

bool Parser::ComputationBody(Body& body) {
  if (++depth_ > kMaxDepth) {
    return Fail(lex_.pos(), fmt::format("computations nest deeper than {}", kMaxDepth));
  }
  if (!Need('{', fmt::format("to begin the body of %{}", body.name))) return false;
  if (open_bodies_ == tables_.size()) tables_.emplace_back();
  body.names = &tables_[open_bodies_++];
  body.names->Clear();
  while (!lex_.Take('}')) {
    if (lex_.AtEnd()) {
      return Expected(fmt::format("an instruction or '}}' to end %{}", body.name));
    }
    if (!Instruction(body)) return false;
  }
  --open_bodies_;
  --depth_;
  return true;
}

bool Parser::BareInstructions() {
  Body body;
  body.bare = true;
  body.name = "entry";
  body.place = lex_.pos();
  tables_.emplace_back();
  body.names = &tables_[open_bodies_++];
  while (!lex_.AtEnd()) {
    if (!Instruction(body)) return false;
  }
  ComputationId id;
  if (!FinishBody(body, id)) return false;
  module_.name = "module_entry";
  module_.entry = id;
  NameInlineComputations();
  return true;
}

bool Parser::FinishBody(Body& body, ComputationId& id) {
  Computation& computation = body.computation;
  if (computation.instrs.empty()) {
    return Fail(body.place,
                fmt::format("found no instructions in %{}, expected at least one", body.name));
  }
  computation.name = body.name;
  computation.root =
      body.root.value_or(InstrId{static_cast<uint32_t>(computation.instrs.size() - 1)});
  if (!CheckParameters(body)) return false;
  if (body.has_unnamed) NameUnnamed(body);
  const Instr& root = computation.Root();
  if (body.result && !SameType(*body.result, root.shape)) {
    return Fail(body.place,
                fmt::format("the signature of %{} says it returns {}, but its root %{} is {}",
                            body.name, ToString(*body.result), root.name, ToString(root.shape)));
  }
  id = {static_cast<uint32_t>(module_.computations.size())};
  module_.computations.push_back(std::move(computation));
  return true;
}

// Parameters carry the numbers 0..n-1, in any order.
bool Parser::CheckParameters(Body& body) {
  Computation& computation = body.computation;
  const auto count = static_cast<int64_t>(body.parameters.size());
  std::vector<bool> seen(body.parameters.size(), false);
  computation.parameters.resize(body.parameters.size());
  for (const auto& [number, id] : body.parameters) {
    const Instr& instr = computation[id];
    if (number < 0 || number >= count) {
      return Fail(source_.PlaceOf(instr.loc),
                  fmt::format("found parameter number {} in %{} with {} parameter{}, "
                              "expected the numbers 0 to {} without holes",
                              number, body.name, count, count == 1 ? "" : "s", count - 1));
    }
    if (seen[static_cast<size_t>(number)]) {
      return Fail(source_.PlaceOf(instr.loc),
                  fmt::format("found a second parameter({}) in %{}; the first is %{}", number,
                              body.name, computation[computation.parameters[number]].name));
    }
    seen[static_cast<size_t>(number)] = true;
    computation.parameters[static_cast<size_t>(number)] = id;
  }
  return true;
}

// Nested operands are named when all written names are known: "<opcode>.<n>".
void Parser::NameUnnamed(Body& body) {
  uint32_t next = 1;
  std::unordered_set<std::string> taken;
  for (const Instr& instr : body.computation.instrs) taken.insert(instr.name);
  for (Instr& instr : body.computation.instrs) {
    if (!instr.name.empty()) continue;
    do {
      instr.name = fmt::format("{}.{}", OpName(instr.op), next++);
    } while (!taken.insert(instr.name).second);
  }
}

bool Parser::InlineComputation(std::string_view base_name, ComputationId& id) {
  Body body;
  body.place = lex_.pos();
  body.name = base_name;
  if (!ComputationBody(body) || !FinishBody(body, id)) return false;
  inline_names_.emplace_back(id.index, base_name);
  return true;
}

// Inline bodies get a name that no written computation has.
void Parser::NameInlineComputations() {
  std::unordered_set<std::string> taken;
  if (inline_names_.empty()) return;
  for (auto& [index, name] : inline_names_) module_.computations[index].name.clear();
  for (const Computation& computation : module_.computations) taken.insert(computation.name);
  uint32_t next = 1;
  for (auto& [index, name] : inline_names_) {
    std::string unique = name;
    while (!taken.insert(unique).second) unique = fmt::format("{}.{}", name, next++);
    module_.computations[index].name = std::move(unique);
  }
}

}  // namespace fusemark
