// Every file of the corpus parses, verifies, and survives printing: Parse(Print(m)) == m.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "compiler/text/text.h"

namespace fusemark {
namespace {

class CorpusTest : public testing::TestWithParam<const char*> {};

std::vector<std::string> FilesIn(const std::filesystem::path& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void ExpectRoundTrip(const std::string& path) {
  const auto module = ParseModuleFile(path);
  ASSERT_TRUE(module.ok()) << module.error().message;
  const std::string text = PrintModule(*module);
  const auto again = ParseModule(text, path + " (printed)");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(*again == *module) << path;
  EXPECT_EQ(PrintModule(*again), text) << path;
  // The canonical text is HLO as well, and canonical itself.
  PrintOptions canonical;
  canonical.canonical_names = true;
  const std::string names_gone = PrintModule(*module, canonical);
  const auto renamed = ParseModule(names_gone, path + " (canonical)");
  ASSERT_TRUE(renamed.ok()) << renamed.error().message;
  EXPECT_EQ(PrintModule(*renamed, canonical), names_gone) << path;
}

TEST_P(CorpusTest, RoundTrip) {
  const char* corpus = std::getenv("FUSEMARK_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "FUSEMARK_CORPUS does not name the corpus directory";
  const auto files = FilesIn(std::filesystem::path(corpus) / GetParam());
  ASSERT_FALSE(files.empty()) << "no .hlo files in " << corpus << "/" << GetParam();
  for (const std::string& file : files) ExpectRoundTrip(file);
}

INSTANTIATE_TEST_SUITE_P(Directories, CorpusTest, testing::Values("hlo", "jax", "lit", "ops"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace fusemark
