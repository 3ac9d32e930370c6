// Reads the values of an instruction's attributes, which the parser has only delimited so far.
// Every function that takes a name marks the attribute as used; what stays unused is kept as text.
// Private to compiler/text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/text/parser.h"

namespace fusemark {

enum class Need : uint8_t { kRequired, kOptional };

class AttrReader {
 public:
  // `place` is where a missing attribute is reported.
  AttrReader(Parser& parser, Instr& instr, std::vector<RawAttr>& attrs, const char* place)
      : parser_(parser), instr_(instr), attrs_(attrs), place_(place) {}

  Instr& instr() { return instr_; }
  bool Has(std::string_view name) const;

  bool Dims(std::string_view name, fusemark::Dims& dims, Need need);
  // `dimensions={3}` and the like, where exactly one number makes sense, or a bare number.
  bool OneDim(std::string_view name, int64_t& dim, Need need);
  bool Int(std::string_view name, int64_t& value, Need need);
  bool Bool(std::string_view name, bool& value);
  bool Double(std::string_view name, double& value, Need need);
  // The value as written; quotes are taken off.
  bool Text(std::string_view name, std::string& value, Need need);
  // One of the words; `index` is its position.
  bool OneOf(std::string_view name, const std::vector<std::string_view>& words, size_t& index,
             Need need);
  // A computation's name, or its body in braces; appended to instr().called.
  bool Called(std::string_view name, Need need);
  bool CalledList(std::string_view name, Need need);
  bool Slices(std::string_view name, SliceAttrs& slice);
  bool Padding(std::string_view name, PadAttrs& pad);
  // `rank` entries of defaults if absent.
  bool Window(std::string_view name, fusemark::Window& window, bool& present);
  bool DimLabels(std::string_view name, ConvAttrs& conv);

  bool Fail(std::string message);

 private:
  // Puts the parser's cursor on the value. False if the attribute is absent, which is an error if
  // it is required.
  bool Open(std::string_view name, Need need, bool& ok);
  // The value must be used up.
  bool Close(std::string_view name);
  bool WindowField(std::string_view key, std::string_view text, fusemark::Window& window);

  Parser& parser_;
  Instr& instr_;
  std::vector<RawAttr>& attrs_;
  const char* place_;
};

}  // namespace fusemark
