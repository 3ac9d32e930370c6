// Prints one module; private to compiler/text (text.h has the functions to call).
#pragma once

#include <string>
#include <string_view>

#include "compiler/text/text.h"

namespace fusemark {

class Printer {
 public:
  Printer(const Module& module, const PrintOptions& options) : module_(module), options_(options) {}

  void PrintAll();
  void PrintOne(const Computation& computation, InstrId id);
  std::string Take() { return std::move(text_); }

 private:
  void Header();
  void Body(const Computation& computation);
  void InstrName(const Computation& computation, InstrId id);
  void ComputationName(ComputationId id);
  void Operands(const Computation& computation, const Instr& instr);
  void Called(const Computation& computation, const Instr& instr);
  void CalledList(std::string_view name, const Instr& instr);
  void CalledOne(std::string_view name, const Instr& instr, size_t index);

  const Module& module_;
  const PrintOptions& options_;
  std::string text_;
};

// ", dimensions={0}": the attributes that ir/attrs.h holds, in a fixed order. print_attributes.cpp
void AppendAttributes(const Instr& instr, std::string& text);

}  // namespace fusemark
