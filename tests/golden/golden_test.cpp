// Runs the text cases of tests/golden/*/*.test, each as a googletest of its own, with exact
// comparison. FM_BLESS=1 rewrites the expectations in place; `git diff` is the review.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/golden/case_file.h"
#include "tests/golden/directives.h"

namespace fusemark::golden {
namespace {

// "a\n" and "a" are the same expectation; the file always ends lines.
std::string WithNewline(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

class GoldenTest : public testing::Test {
 public:
  GoldenTest(std::string path, Case test) : path_(std::move(path)), case_(std::move(test)) {}

  void TestBody() override {
    const Directive* directive = FindDirective(case_.directive);
    ASSERT_NE(directive, nullptr) << path_ << ":" << case_.line + 1 << ": unknown directive '"
                                  << case_.directive << "', expected one of " << DirectiveNames();
    const Result<std::string> result = directive->run(case_);
    std::string verdict;
    if (!result.ok()) verdict = "error " + std::string(CodeName(result.error().code));
    const std::string output = WithNewline(result.ok() ? *result : result.error().message);
    if (std::getenv("FM_BLESS") != nullptr) {
      ASSERT_TRUE(BlessCase(path_, case_.name, verdict, output)) << "cannot write " << path_;
      return;
    }
    EXPECT_EQ(case_.verdict, verdict) << path_ << ":" << case_.line << "\n" << output;
    EXPECT_EQ(case_.expected, output) << path_ << ":" << case_.line;
  }

 private:
  std::string path_;
  Case case_;
};

// A file that cannot be read as cases fails as one test.
class BrokenFileTest : public testing::Test {
 public:
  BrokenFileTest(std::string path, std::string error)
      : path_(std::move(path)), error_(std::move(error)) {}
  void TestBody() override { FAIL() << path_ << ": " << error_; }

 private:
  std::string path_;
  std::string error_;
};

std::string Identifier(std::string_view text) {
  std::string name;
  for (char c : text) {
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (keep || (!name.empty() && name.back() != '_')) name += keep ? c : '_';
  }
  return name;
}

void RegisterFile(const std::filesystem::path& root, const std::filesystem::path& path) {
  const CaseFile file = ReadCaseFile(path.string());
  const std::string suite =
      Identifier(std::filesystem::relative(path, root).replace_extension().string());
  if (!file.error.empty()) {
    testing::RegisterTest(
        suite.c_str(), "file", nullptr, nullptr, __FILE__, __LINE__,
        [=]() -> testing::Test* { return new BrokenFileTest(file.path, file.error); });
    return;
  }
  for (const Case& test : file.cases) {
    testing::RegisterTest(
        suite.c_str(), Identifier(test.name).c_str(), nullptr, nullptr, file.path.c_str(),
        static_cast<int>(test.line),
        [path = file.path, test]() -> testing::Test* { return new GoldenTest(path, test); });
  }
}

int RegisterAll() {
  const std::filesystem::path root = std::filesystem::path(FM_SOURCE_DIR) / "tests" / "golden";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) RegisterFile(root, file);
  return static_cast<int>(files.size());
}

}  // namespace
}  // namespace fusemark::golden

int main(int argc, char** argv) {
  if (fusemark::golden::RegisterAll() == 0) return 1;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
