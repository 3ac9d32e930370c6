#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/verify.h"
#include "compiler/support/strings.h"
#include "compiler/text/parser.h"

namespace fusemark {
namespace {

std::string OpSuggestion(std::string_view word) {
  constexpr Op kOps[] = {
#define FM_OP(enumerator, name, arity, klass) Op::enumerator,
#include "compiler/ir/ops.def"
#undef FM_OP
  };
  if (word.size() > 40) return "";
  Op best = kOps[0];
  size_t best_distance = 3;  // further away is no suggestion
  for (Op op : kOps) {
    const size_t distance = EditDistance(word, OpName(op));
    if (distance < best_distance && distance < word.size()) {
      best = op;
      best_distance = distance;
    }
  }
  return best_distance < 3 ? fmt::format(" (did you mean {}?)", OpName(best)) : "";
}

// "dot-start" -> dot, start.
std::optional<std::pair<Op, Op>> AsyncSugar(std::string_view word) {
  constexpr std::pair<std::string_view, Op> kSuffixes[] = {
      {"-start", Op::kAsyncStart}, {"-update", Op::kAsyncUpdate}, {"-done", Op::kAsyncDone}};
  for (const auto& [suffix, op] : kSuffixes) {
    if (!word.ends_with(suffix)) continue;
    const auto wrapped = OpFromName(word.substr(0, word.size() - suffix.size()));
    if (wrapped) return std::pair{op, *wrapped};
  }
  return std::nullopt;
}

}  // namespace

// [ROOT] [name =] [shape] opcode(operands), attributes
bool Parser::Instruction(Body& body) {
  lex_.Skip();
  const char* start = lex_.pos();
  bool is_root = lex_.TakeWord("ROOT");
  if (is_root && lex_.Peek() == '=') {  // an instruction called ROOT
    lex_.Rewind(start);
    is_root = false;
  }
  lex_.Skip();
  const char* place = lex_.pos();
  std::string_view name = lex_.TakeName();
  if (name.empty() && !(body.bare && lex_.Peek() == '(')) {
    return Expected(fmt::format("an instruction or '}}' to end %{}", body.name));
  }
  if (name.empty() || !lex_.Take('=')) {
    if (!body.bare) return Expected(fmt::format("'=' after the instruction name {}", name));
    lex_.Rewind(place);
    name = {};
  }
  Instr instr;
  instr.loc = Loc(place);
  instr.name = name;
  if (!InstructionAfterName(body, instr, place)) return false;
  InstrId id;
  if (!Add(body, std::move(instr), name, place, id)) return false;
  if (!is_root) return true;
  if (body.root) {
    return Fail(place, fmt::format("found a second ROOT in %{}; the first is %{}", body.name,
                                   body.computation[*body.root].name));
  }
  body.root = id;
  return true;
}

bool Parser::Add(Body& body, Instr&& instr, std::string_view name, const char* place, InstrId& id) {
  auto& instrs = body.computation.instrs;
  id = {static_cast<uint32_t>(instrs.size())};
  if (name.empty()) {
    body.has_unnamed = true;
  } else if (!body.names->Insert(name, id.index)) {
    const Instr& earlier = instrs[*body.names->Lookup(name)];
    return Fail(place, fmt::format("%{} is defined twice in %{}; the first definition is at {}:{}",
                                   name, body.name, earlier.loc.line, earlier.loc.column));
  }
  instr.name = name;
  if (instr.op == Op::kParameter) {
    body.parameters.emplace_back(instr.As<ParameterAttrs>().number, id);
  }
  instrs.push_back(std::move(instr));
  return true;
}

// A tuple shape, or an element type directly followed by '['. Names may equal a type.
bool Parser::AtShape() {
  if (lex_.Peek() == '(') return true;
  const std::string_view word = lex_.PeekWord();
  if (word.empty() || word.size() > 16) return false;
  const char after = lex_.After(static_cast<int>(word.size()));
  return (after == '[' && DTypeFromName(word)) || (word == "b" && after == '(');
}

bool Parser::OpCode(Instr& instr, bool& async_sugar, Op& wrapped) {
  lex_.Skip();
  const char* place = lex_.pos();
  const std::string_view word = lex_.TakeWord();
  if (word.empty()) return Expected("an opcode such as add");
  if (const auto op = OpFromName(word)) {
    instr.op = *op;
    return true;
  }
  if (const auto sugar = AsyncSugar(word)) {
    instr.op = sugar->first;
    wrapped = sugar->second;
    async_sugar = true;
    return true;
  }
  if (lex_.Here() == '[') {
    return Fail(place, fmt::format("found the unknown element type '{}', expected one such as f32",
                                   word.substr(0, 60)));
  }
  return Fail(place, fmt::format("found the unknown opcode '{}', expected an HLO opcode{}",
                                 word.substr(0, 60), OpSuggestion(word)));
}

bool Parser::InstructionAfterName(Body& body, Instr& instr, const char* place) {
  const bool shape_written = AtShape();
  if (shape_written && !ParseShape(instr.shape)) return false;
  bool async_sugar = false;
  Op wrapped = Op::kAdd;
  if (!OpCode(instr, async_sugar, wrapped)) return false;
  if (!Arguments(body, instr, shape_written, place)) return false;
  std::vector<RawAttr> attrs;
  if (!CollectAttrs(attrs)) return false;
  const Lexer after = lex_;
  const bool wrap = async_sugar && instr.op == Op::kAsyncStart;
  if (wrap ? !WrapAsync(body, instr, wrapped, attrs, place)
           : !ReadAttrs(body, instr, attrs, place)) {
    return false;
  }
  lex_ = after;
  return shape_written || InferResult(body, instr, place);
}

// ( parameter number | literal | operands )
bool Parser::Arguments(Body& body, Instr& instr, bool shape_written, const char* place) {
  if (!Need('(', fmt::format("after {}", OpName(instr.op)))) return false;
  if (instr.op == Op::kConstant) {
    return shape_written ? ConstantBody(instr)
                         : Fail(place, "found a constant without a shape, expected one");
  }
  if (instr.op != Op::kParameter) return Operands(body, instr);
  ParameterAttrs attrs;
  if (lex_.TakeInt(attrs.number) != Lexer::IntStatus::kOk) return Expected("a parameter number");
  instr.attrs = attrs;
  return Need(')', "after the parameter number");
}

// Infers the shape where the text leaves it out.
bool Parser::InferResult(Body& body, Instr& instr, const char* place) {
  auto inferred = InferShape(module_, body.computation, instr);
  if (!inferred.ok()) return Fail(place, inferred.error().message);
  if (!inferred->has_value()) {
    return Fail(place, fmt::format("found {} without a result shape, expected one: it does not "
                                   "follow from the operands",
                                   OpName(instr.op)));
  }
  instr.shape = std::move(**inferred);
  return true;
}

bool Parser::Operands(Body& body, Instr& instr) {
  if (lex_.Take(')')) return true;
  do {
    InstrId id;
    if (!Operand(body, id)) return false;
    instr.operands.push_back(id);
  } while (lex_.Take(','));
  return Need(')', "or ',' after an operand");
}

bool Parser::Operand(Body& body, InstrId& id) {
  std::optional<Shape> type;
  if (AtShape()) {
    type.emplace();
    if (!ParseShape(*type)) return false;
  }
  lex_.Skip();
  const char* place = lex_.pos();
  const std::string_view name = lex_.TakeName();
  if (name.empty()) return Expected("an operand");
  if (lex_.Peek() == '(' && *place != '%') {
    lex_.Rewind(place);
    return NestedOperand(body, type, id);
  }
  return OperandByName(body, name, place, type, id) && ElementSuffix(body, id);
}

bool Parser::OperandByName(Body& body, std::string_view name, const char* place,
                           const std::optional<Shape>& type, InstrId& id) {
  if (const uint32_t* index = body.names->Lookup(name)) {
    id = {*index};
    const Instr& found = body.computation[id];
    // With a #element suffix the written type is the element's; the verifier checks that one.
    if (!type || SameType(*type, found.shape) || lex_.Peek() == '#') return true;
    return Fail(place, fmt::format("found operand %{} with type {}, but it is {} at {}:{}", name,
                                   ToString(*type), ToString(found.shape), found.loc.line,
                                   found.loc.column));
  }
  if (!body.bare) {
    return Fail(place, fmt::format("found the unknown operand %{}, expected an instruction defined "
                                   "above in %{}",
                                   name, body.name));
  }
  if (!type) {
    return Fail(place, fmt::format("found the unknown operand %{} without a type, which a "
                                   "parameter of a bare instruction needs",
                                   name));
  }
  Instr parameter;
  parameter.op = Op::kParameter;
  parameter.shape = *type;
  parameter.loc = Loc(place);
  parameter.attrs = ParameterAttrs{static_cast<int64_t>(body.parameters.size())};
  return Add(body, std::move(parameter), name, place, id);
}

// add(maximum(a, b), c): an instruction in operand position, without attributes.
bool Parser::NestedOperand(Body& body, const std::optional<Shape>& type, InstrId& id) {
  if (++depth_ > kMaxDepth) {
    return Fail(lex_.pos(), fmt::format("nested operands are deeper than {}", kMaxDepth));
  }
  const char* place = lex_.pos();
  Instr instr;
  instr.loc = Loc(place);
  bool async_sugar = false;
  Op wrapped = Op::kAdd;
  if (!OpCode(instr, async_sugar, wrapped)) return false;
  if (async_sugar) return Fail(place, "an async operation cannot stand inside an instruction");
  if (type) instr.shape = *type;
  if (!Arguments(body, instr, type.has_value(), place)) return false;
  std::vector<RawAttr> none;
  const Lexer after = lex_;
  if (!ReadAttrs(body, instr, none, place)) return false;
  lex_ = after;
  if (!type && !InferResult(body, instr, place)) return false;
  --depth_;
  return Add(body, std::move(instr), {}, place, id);
}

// %x#0#1: elements of a tuple.
bool Parser::ElementSuffix(Body& body, InstrId& id) {
  while (lex_.Take('#')) {
    const char* place = lex_.pos();
    TupleIndexAttrs attrs;
    if (lex_.TakeInt(attrs.index) != Lexer::IntStatus::kOk) return Expected("a tuple index");
    const Shape& tuple = body.computation[id].shape;
    if (!tuple.is_tuple || attrs.index < 0 ||
        attrs.index >= static_cast<int64_t>(tuple.elements.size())) {
      return Fail(place, fmt::format("found element {} of {}, expected an index inside the tuple",
                                     attrs.index, ToString(tuple)));
    }
    Instr element;
    element.op = Op::kGetTupleElement;
    element.shape = tuple.elements[static_cast<size_t>(attrs.index)];
    element.operands = {id};
    element.loc = Loc(place);
    element.attrs = attrs;
    if (!Add(body, std::move(element), {}, place, id)) return false;
  }
  return true;
}

// Values are only delimited here; ReadAttrs knows which of them mean something.
bool Parser::CollectAttrs(std::vector<RawAttr>& attrs) {
  while (lex_.Take(',')) {
    RawAttr attr;
    attr.name = lex_.TakeWord();
    if (attr.name.empty()) return Expected("the name of an attribute");
    if (!Need('=', fmt::format("after the attribute name {}", attr.name))) return false;
    const char* value_place = (lex_.Skip(), lex_.pos());
    if (!lex_.TakeValue(attr.value)) {
      return Fail(value_place, fmt::format("the value of {} is never closed", attr.name));
    }
    if (attr.value.empty()) return Expected(fmt::format("a value for {}", attr.name));
    for (const RawAttr& other : attrs) {
      if (other.name != attr.name) continue;
      return Fail(attr.name.data(), fmt::format("the attribute {} is given twice", attr.name));
    }
    attrs.push_back(attr);
    if (attrs.size() > kMaxAttrs) {
      return Fail(attr.name.data(), fmt::format("more than {} attributes", kMaxAttrs));
    }
  }
  return true;
}

// `dot-start(a, b), ...` is async-start of a computation that holds the dot.
bool Parser::WrapAsync(Body& body, Instr& instr, Op wrapped, const std::vector<RawAttr>& attrs,
                       const char* place) {
  if (!instr.shape.is_tuple || instr.shape.elements.size() < 2) {
    return Fail(place, fmt::format("found {} as the result of {}-start, expected ((operands), "
                                   "result, state...)",
                                   ToString(instr.shape), OpName(wrapped)));
  }
  Body inner;
  inner.name = "async_computation";
  inner.place = place;
  Instr operation;
  operation.op = wrapped;
  operation.shape = instr.shape.elements[1];
  operation.loc = instr.loc;
  for (size_t i = 0; i < instr.operands.size(); ++i) {
    Instr parameter;
    parameter.op = Op::kParameter;
    parameter.shape = body.computation[instr.operands[i]].shape;
    parameter.name = fmt::format("param_{}", i);
    parameter.loc = instr.loc;
    parameter.attrs = ParameterAttrs{static_cast<int64_t>(i)};
    inner.parameters.emplace_back(static_cast<int64_t>(i), InstrId{static_cast<uint32_t>(i)});
    operation.operands.push_back({static_cast<uint32_t>(i)});
    inner.computation.instrs.push_back(std::move(parameter));
  }
  std::vector<RawAttr> inner_attrs;
  for (const RawAttr& attr : attrs) {
    if (attr.name == "async_execution_thread") {
      instr.extra.emplace_back(attr.name, attr.value);
    } else {
      inner_attrs.push_back(attr);
    }
  }
  if (!ReadAttrs(inner, operation, inner_attrs, place)) return false;
  operation.name = OpName(wrapped);
  inner.computation.instrs.push_back(std::move(operation));
  ComputationId id;
  if (!FinishBody(inner, id)) return false;
  inline_names_.emplace_back(id.index, inner.name);
  instr.called = {id};
  return true;
}

}  // namespace fusemark
