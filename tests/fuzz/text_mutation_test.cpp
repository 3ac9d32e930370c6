// A bounded fuzz run of the text reader that needs no clang: every file of tests/fuzz/cases (finds
// of earlier runs and small modules of unusual form) as it is and damaged, and generated modules
// damaged. No crash, no hang, no broken round trip.
#include "tests/fuzz/text_mutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "compiler/support/file.h"
#include "compiler/text/text.h"
#include "tests/fuzz/hlo_generator.h"

namespace fusemark {
namespace {

std::vector<std::filesystem::path> CaseFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(FM_SOURCE_DIR) + "/tests/fuzz/cases"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string TextOf(const std::filesystem::path& path) {
  const auto text = ReadFile(path.string(), "a damaged text");
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *text : "";
}

// Of how many damaged texts are still modules.
int Damage(const std::string& text, int rounds, std::mt19937_64& random) {
  int modules = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& damaged :
         {DamageBytes(text, random), DamageTokens(text, random), DamageLines(text, random)}) {
      const TextVerdict verdict = CheckText(damaged);
      EXPECT_EQ(verdict.broken, "") << damaged;
      modules += verdict.is_module ? 1 : 0;
    }
  }
  return modules;
}

TEST(TextMutation, CasesKeepTheLaw) {
  const auto files = CaseFiles();
  EXPECT_GE(files.size(), 8U);
  for (const auto& path : files) EXPECT_EQ(CheckText(TextOf(path)).broken, "") << path;
}

TEST(TextMutation, DamagedCases) {
  std::mt19937_64 random(1);
  int modules = 0;
  for (const auto& path : CaseFiles()) modules += Damage(TextOf(path), 1000, random);
  EXPECT_GT(modules, 100);  // otherwise the damage is too heavy to test the printer
}

TEST(TextMutation, DamagedGeneratedModules) {
  std::mt19937_64 random(2);
  int modules = 0;
  for (uint64_t seed = 0; seed < 300; ++seed)
    modules += Damage(PrintModule(HloGenerator(seed).Make()), 30, random);
  EXPECT_GT(modules, 1000);
}

TEST(TextMutation, EveryPrefixOfACase) {
  for (const auto& path : CaseFiles()) {
    const std::string text = TextOf(path);
    for (size_t size = 0; size < std::min<size_t>(text.size(), 1500); ++size) {
      const TextVerdict verdict = CheckText(std::string_view(text).substr(0, size));
      EXPECT_EQ(verdict.broken, "") << path << ", first " << size << " bytes";
    }
  }
}

}  // namespace
}  // namespace fusemark
