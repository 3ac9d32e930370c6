#include "compiler/calls/legacy.h"

#include "compiler/support/strings.h"

namespace fusemark {
namespace {

struct Row {
  RealAndComplex name;
  std::string_view operands;
  RealAndComplex results;
};

const Row kLapackRows[] = {
    {"getrf", "b m n 0", "0 1 2"},
    {"geqrf", "b m n _ 0", "0 1 info _"},
    {{"orgqr", "ungqr"}, "b m n p _ 0 1", "0 info _"},
    {"potrf", "lower b n 0", "0 1"},
    {"gesdd", "full uv b m n _ 0", {"0 1 2 3 4 _ _", "0 1 2 3 4 _ _ _"}},
    {{"syevd", "heevd"}, "lower b n 0", {"0 1 2 _ _", "0 1 2 _ _ _"}},
    {{"sytrd", "hetrd"}, "n lower _ b _ 0", "0 1 2 3 4 _"},
    {"geev", "b n left_vectors right_vectors 0", {"_ _ _ 0 1 2 3 4", "_ _ 0 1 2 3"}},
    {"geev", "b n 0", {"_ _ _ 0 1 2 3 4", "_ _ 0 1 2 3"}},  // before it could leave vectors out
    {"gees", "b n schur_vectors sort 0", {"0 2 3 1 4 5", "0 _ 2 1 3 4"}},
    {"gehrd", "n low high _ b _ 0", "0 1 2 _"},
};

const Row kBlasRows[] = {{"trsm", "left lower transpose unit m n b alpha 0 1", "0"}};

// A number chooses one of the letters; without letters it is the attribute's value.
struct Option {
  std::string_view name, attribute, letters;
};

constexpr Option kOptions[] = {
    {"lower", "uplo", "UL"},
    {"left", "side", "RL"},
    {"transpose", "trans_x", "NTC"},
    {"unit", "diag", "NU"},
    {"full", "mode", "SA"},
    {"left_vectors", "compute_left", ""},
    {"right_vectors", "compute_right", ""},
    {"schur_vectors", "mode", ""},
    {"sort", "sort", ""},
    {"low", "low", ""},
    {"high", "high", ""},
};

template <size_t kRows>
std::optional<LegacyCall> Find(const Row (&rows)[kRows], std::string_view typed_name,
                               size_t operands) {
  const auto lapack = FindLapackRoutine(typed_name);
  if (!lapack) return std::nullopt;
  for (const Row& row : rows) {
    if (row.name.Of(lapack->element) != typed_name.substr(1)) continue;
    LegacyCall call{*lapack, Split(row.operands, ' '), Split(row.results.Of(lapack->element), ' ')};
    if (call.operands.size() == operands) return call;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LegacyCall> FindLegacyCall(std::string_view target, size_t operands) {
  constexpr std::string_view kLapack = "lapack_", kBlas = "blas_";
  if (target.starts_with(kLapack))
    return Find(kLapackRows, target.substr(kLapack.size()), operands);
  if (target.starts_with(kBlas)) return Find(kBlasRows, target.substr(kBlas.size()), operands);
  return std::nullopt;
}

CallAttributes LegacyDefaults() {
  return {{"mode", 'V'}, {"compute_left", 'V'}, {"compute_right", 'V'}};
}

void SetOption(std::string_view name, int64_t value, CallAttributes& attributes) {
  if (name == "uv") {  // comes after `full`
    if (value == 0) attributes["mode"] = 'N';
    return;
  }
  for (const Option& option : kOptions) {
    if (option.name != name) continue;
    const auto count = static_cast<int64_t>(option.letters.size());
    // Of two letters any number but zero is the second.
    if (count == 2) value = value != 0 ? 1 : 0;
    if (count > 2 && (value < 0 || value >= count)) value = 0;
    attributes[std::string(option.attribute)] =
        count == 0 ? value : option.letters[static_cast<size_t>(value)];
  }
}

}  // namespace fusemark
