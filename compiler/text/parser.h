// The HLO parser: one forward pass, recursive descent, split by theme:
//   parse_module.cpp       header, debug tables, computations, bare instructions
//   parse_instruction.cpp  one instruction and its operands
//   parse_attributes.cpp   which attributes each opcode reads
//   parse_values.cpp       the syntax of attribute values (dims, windows, slices, ...)
//   parse_shape.cpp        shapes and layouts
//   parse_literal.cpp      constants
// Private to compiler/text; everybody else uses text.h.
//
// Functions return false after Fail(), which keeps the first error; the caller just returns too.
// Recursion (tuple shapes, nested operands, inline computations) is bounded by kMaxDepth.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/name_table.h"
#include "compiler/text/lexer.h"

namespace fusemark {

// Text place -> line and column, and the source excerpt of a message. Asking in text order is
// linear in total.
class SourceMap {
 public:
  explicit SourceMap(std::string_view text) : text_(text), counted_(text.data()) {}

  SourceLoc LocOf(const char* place);
  // The pointer to a line and column that LocOf gave.
  const char* PlaceOf(SourceLoc loc) const;
  // The line around `place` (a window of it, if it is long) and a caret below.
  std::string Excerpt(const char* place) const;

 private:
  std::string_view text_;
  const char* counted_;  // newlines before here are in line_
  const char* line_start_ = text_.data();
  uint32_t line_ = 1;
};

struct RawAttr {
  std::string_view name;
  std::string_view value;
  bool used = false;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view source_name)
      : text_(text), source_name_(source_name), lex_(text), source_(text) {}

  Result<Module> Run();

 private:
  friend class AttrReader;
  static constexpr int kMaxDepth = 100;
  static constexpr size_t kMaxAttrs = 64;
  static constexpr size_t kMaxRank = 32;

  // A computation under construction.
  struct Body {
    Computation computation;
    NameTable* names = nullptr;
    std::optional<InstrId> root;
    std::vector<std::pair<int64_t, InstrId>> parameters;  // number, instruction
    std::string_view name;
    const char* place = nullptr;
    bool bare = false;            // no computation around it: unknown typed operands are parameters
    bool has_unnamed = false;     // nested operands get their names last
    std::optional<Shape> result;  // from the signature
  };

  // ---- errors ----
  bool Fail(const char* place, std::string message);
  // "found X, expected `what`", X being what stands at the cursor.
  bool Expected(std::string_view what);
  std::string Found();
  bool Need(char c, std::string_view context);
  // The error with file name, source line and caret.
  Error MakeError(const Error& error) const;
  SourceLoc Loc(const char* place) { return source_.LocOf(place); }

  // ---- parse_module.cpp ----
  bool CheckText();
  bool File();
  bool Header();
  bool HeaderAttribute(std::string_view name, const char* place);
  bool EntryComputationLayout();
  bool InputOutputAlias();
  bool TupleIndex(std::vector<int64_t>& index);
  bool DebugTables();
  bool LooksLikeComputation();
  bool TopLevelComputation(bool& is_entry, ComputationId& id);
  bool Signature(Body& body);
  bool ComputationBody(Body& body);
  bool BareInstructions();
  bool FinishBody(Body& body, ComputationId& id);
  bool CheckParameters(Body& body);
  void NameUnnamed(Body& body);
  bool InlineComputation(std::string_view base_name, ComputationId& id);
  void NameInlineComputations();

  // ---- parse_instruction.cpp ----
  bool Instruction(Body& body);
  bool InstructionAfterName(Body& body, Instr& instr, const char* place);
  bool AtShape();
  bool OpCode(Instr& instr, bool& async_sugar, Op& wrapped);
  bool Arguments(Body& body, Instr& instr, bool shape_written, const char* place);
  bool Operands(Body& body, Instr& instr);
  bool Operand(Body& body, InstrId& id);
  bool OperandByName(Body& body, std::string_view name, const char* place,
                     const std::optional<Shape>& type, InstrId& id);
  bool NestedOperand(Body& body, const std::optional<Shape>& type, InstrId& id);
  bool ElementSuffix(Body& body, InstrId& id);
  bool CollectAttrs(std::vector<RawAttr>& attrs);
  bool InferResult(Body& body, Instr& instr, const char* place);
  bool WrapAsync(Body& body, Instr& instr, Op wrapped, const std::vector<RawAttr>& attrs,
                 const char* place);
  bool Add(Body& body, Instr&& instr, std::string_view name, const char* place, InstrId& id);

  // ---- parse_attributes.cpp ----
  bool ReadAttrs(const Body& body, Instr& instr, std::vector<RawAttr>& attrs, const char* place);
  bool ComputationRef(std::string_view base_name, ComputationId& id);

  // ---- parse_shape.cpp ----
  bool ParseShape(Shape& shape);
  bool ArrayShapeText(Shape& shape);
  bool Dimension(Shape& shape);
  bool LayoutText(Shape& shape);

  // ---- parse_literal.cpp ----
  bool ConstantBody(Instr& instr);
  bool ParseLiteral(const Shape& shape, Literal& literal, bool& elided);
  bool DenseLiteral(const Shape& shape, Literal& literal, bool& elided);
  bool LoneElement(const Shape& shape, int64_t total, std::vector<std::byte>& bytes);
  bool Element(DType dtype, std::vector<std::byte>& bytes);
  bool IntegerElement(DType dtype, std::vector<std::byte>& bytes);
  bool PredElement(std::vector<std::byte>& bytes);
  bool FloatElement(DType dtype, std::vector<std::byte>& bytes);
  bool NanElement(DType dtype, bool negative, const char* place, uint64_t& bits);
  bool FiniteElement(DType dtype, std::string_view token, uint64_t& bits);
  bool ComplexElement(DType dtype, std::vector<std::byte>& bytes);

  std::string_view text_;
  std::string_view source_name_;
  Lexer lex_;
  SourceMap source_;
  Module module_;
  NameTable computations_;
  std::deque<NameTable> tables_;  // one per depth of inline computations
  size_t open_bodies_ = 0;
  std::vector<std::pair<uint32_t, std::string>> inline_names_;  // computation, wanted name
  std::string_view open_name_;                                  // the computation being read
  int depth_ = 0;
  bool has_error_ = false;
  Error error_;
};

// Number tokens -> double, rounded once; an exponent too small gives 0. False on overflow.
bool ParseDouble(std::string_view token, double& value);

}  // namespace fusemark
