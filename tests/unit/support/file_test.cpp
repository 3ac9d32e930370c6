#include "compiler/support/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace fusemark {
namespace {

std::string Path(const std::string& name) {
  return testing::TempDir() + "fusemark_file_test_" + name;
}

TEST(ReadFile, GivesEveryByte) {
  std::string bytes(200'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  std::ofstream(Path("bytes"), std::ios::binary) << bytes;
  const auto read = ReadFile(Path("bytes"), "bytes");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, bytes);
  std::filesystem::remove(Path("bytes"));
}

TEST(ReadFile, GivesNothingOfAnEmptyFile) {
  std::ofstream(Path("empty")).flush();
  const auto read = ReadFile(Path("empty"), "bytes");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, "");
  std::filesystem::remove(Path("empty"));
}

TEST(ReadFile, ReadsPipesToTheirEnd) {
  const std::string path = Path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << std::string(100'000, 'x'); });
  const auto read = ReadFile(path, "bytes");
  writer.join();
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->size(), 100'000U);
  std::filesystem::remove(path);
}

TEST(ReadFile, SaysWhatIsWrong) {
  const auto missing = ReadFile("/nowhere/x.hlo", "a file of HLO text");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kIo);
  EXPECT_EQ(missing.error().message,
            "/nowhere/x.hlo: No such file or directory, expected a file of HLO text");
  const auto folder = ReadFile("/", "a golden file");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message, "/: is a directory, expected a golden file");
}

}  // namespace
}  // namespace fusemark
