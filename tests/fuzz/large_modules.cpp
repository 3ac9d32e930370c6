#include "tests/fuzz/large_modules.h"

#include <fmt/format.h>

namespace fusemark {
namespace {

std::string Layers(int instructions) {
  std::string text =
      "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b) }\n"
      "ENTRY main {\n  x0 = f32[32,64] parameter(0)\n  w = f32[64,64] parameter(1)\n"
      "  b = f32[64] parameter(2)\n  zero = f32[] constant(0)\n";
  const int layers = instructions / 8;
  for (int i = 0; i < layers; ++i) {
    text += fmt::format(
        "  d{0} = f32[32,64] dot(x{0}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        "  s{0} = f32[32,64] broadcast(b), dimensions={{1}}\n"
        "  a{0} = f32[32,64] add(d{0}, s{0})\n"
        "  z{0} = f32[32,64] broadcast(zero), dimensions={{}}\n"
        "  m{0} = f32[32,64] maximum(a{0}, z{0})\n"
        "  r{0} = f32[32] reduce(m{0}, zero), dimensions={{1}}, to_apply=add\n"
        "  q{0} = f32[32,64] broadcast(r{0}), dimensions={{0}}\n"
        "  x{1} = f32[32,64] subtract(m{0}, q{0})\n",
        i, i + 1);
  }
  return text + fmt::format("  ROOT r = f32[32,64] negate(x{})\n}}\n", layers);
}

std::string Chain(int instructions) {
  std::string text = "ENTRY main {\n  v0 = f32[128] parameter(0)\n";
  const char* ops[] = {"negate", "exponential", "tanh", "abs"};
  for (int i = 1; i < instructions; ++i)
    text += fmt::format("  {}v{} = f32[128] {}(v{})\n", i + 1 == instructions ? "ROOT " : "", i,
                        ops[i % 4], i - 1);
  return text + "}\n";
}

std::string Shared(int instructions) {
  std::string text = "ENTRY main {\n  v0 = f32[128] parameter(0)\n  v1 = f32[128] parameter(1)\n";
  const char* ops[] = {"add", "multiply", "maximum"};
  for (int i = 2; i < instructions; ++i)
    text += fmt::format("  {}v{} = f32[128] {}(v{}, v{})\n", i + 1 == instructions ? "ROOT " : "",
                        i, ops[i % 3], i - 1, i - 2);
  return text + "}\n";
}

std::string Joined(const char* prefix, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", prefix, i);
  return text;
}

std::string Fan(int instructions) {
  std::string text = "ENTRY main {\n  p = f32[128] parameter(0)\n", types;
  const int branches = instructions / 2;
  for (int i = 0; i < branches; ++i) {
    text += fmt::format("  a{0} = f32[128] sine(p)\n  v{0} = f32[128] add(a{0}, p)\n", i);
    types += i == 0 ? "f32[128]" : ", f32[128]";
  }
  return text + fmt::format("  ROOT t = ({}) tuple({})\n}}\n", types, Joined("v", branches));
}

std::string Parameters(int instructions) {
  std::string text = "ENTRY main {\n", types;
  const int count = instructions / 5;
  for (int i = 0; i < count; ++i) {
    text += fmt::format(
        "  p{0} = (f32[4], s32[]) parameter({0})\n"
        "  e{0} = f32[4] get-tuple-element(p{0}), index=0\n"
        "  i{0} = s32[] get-tuple-element(p{0}), index=1\n"
        "  n{0} = f32[4] negate(e{0})\n"
        "  v{0} = (s32[], f32[4]) tuple(i{0}, n{0})\n",
        i);
    types += i == 0 ? "(s32[], f32[4])" : ", (s32[], f32[4])";
  }
  return text + fmt::format("  ROOT t = ({}) tuple({})\n}}\n", types, Joined("v", count));
}

std::string Calls(int instructions) {
  constexpr int kDepth = 50;
  std::string text;
  const int count = instructions / 3 / kDepth * kDepth;
  for (int i = 0; i < count; ++i) {
    text += fmt::format("c{} {{ p = f32[4] parameter(0)\n  ", i);
    if (i % kDepth == 0) {
      text += "ROOT n = f32[4] sine(p) }\n";
    } else {
      text +=
          fmt::format("s = f32[4] sine(p)\n  ROOT c = f32[4] call(s), to_apply=c{} }}\n", i - 1);
    }
  }
  text += "ENTRY main {\n  v0 = f32[4] parameter(0)\n";
  for (int i = 0; i < count / kDepth; ++i)
    text += fmt::format("  v{} = f32[4] call(v{}), to_apply=c{}\n", i + 1, i, (i + 1) * kDepth - 1);
  return text + fmt::format("  ROOT r = f32[4] negate(v{})\n}}\n", count / kDepth);
}

std::string Moves(int instructions) {
  std::string text = "ENTRY main {\n  v0 = f32[8,16] parameter(0)\n";
  const int rounds = instructions / 5;
  for (int i = 0; i < rounds; ++i) {
    text += fmt::format(
        "  a{0} = f32[8,8] slice(v{0}), slice={{[0:8], [0:8]}}\n"
        "  b{0} = f32[8,8] slice(v{0}), slice={{[0:8], [8:16]}}\n"
        "  c{0} = f32[16,8] concatenate(b{0}, a{0}), dimensions={{0}}\n"
        "  t{0} = f32[8,16] transpose(c{0}), dimensions={{1,0}}\n"
        "  v{1} = f32[8,16] add(t{0}, v{0})\n",
        i, i + 1);
  }
  return text + fmt::format("  ROOT r = f32[8,16] negate(v{})\n}}\n", rounds);
}

}  // namespace

const char* LargeFormName(LargeForm form) {
  switch (form) {
    case LargeForm::kLayers: return "Layers";
    case LargeForm::kChain: return "Chain";
    case LargeForm::kShared: return "Shared";
    case LargeForm::kFan: return "Fan";
    case LargeForm::kParameters: return "Parameters";
    case LargeForm::kCalls: return "Calls";
    case LargeForm::kMoves: return "Moves";
  }
  return "";
}

std::string LargeModuleText(LargeForm form, int instructions) {
  const std::string header = "HloModule large\n";
  switch (form) {
    case LargeForm::kLayers: return header + Layers(instructions);
    case LargeForm::kChain: return header + Chain(instructions);
    case LargeForm::kShared: return header + Shared(instructions);
    case LargeForm::kFan: return header + Fan(instructions);
    case LargeForm::kParameters: return header + Parameters(instructions);
    case LargeForm::kCalls: return header + Calls(instructions);
    case LargeForm::kMoves: return header + Moves(instructions);
  }
  return header;
}

}  // namespace fusemark
