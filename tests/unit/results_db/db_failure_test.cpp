// Everything that can be wrong with a database file: each has its own message, none damages the
// file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "results_db/migrations.h"
#include "results_db/queries.h"
#include "tests/unit/results_db/fixture.h"

namespace fusemark {
namespace {

using ::testing::HasSubstr;

class DbFailureTest : public DbTest {
 protected:
  void ExpectRefused(const std::string& message, DbOptions options = {.busy_timeout_ms = 50}) {
    Result<std::unique_ptr<Db>> db = Db::Open(path_, options);
    ASSERT_FALSE(db.ok());
    EXPECT_EQ(db.error().code, Code::kIo);
    EXPECT_THAT(db.error().message, HasSubstr(message));
  }
  void Write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  void Sql(const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
};

TEST_F(DbFailureTest, CreatesFileAndDirectories) {
  path_ = directory_ + "/a/b/results.db";
  auto db = Open();
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(Must(db->SchemaVersion()), static_cast<int64_t>(Migrations().size()));
  EXPECT_EQ(Must(db->QueryInt("PRAGMA foreign_keys")), 1);
  Must(db->CheckIntegrity());
}

TEST_F(DbFailureTest, DirectoryIsNamed) {
  std::filesystem::create_directory(path_);
  ExpectRefused("is a directory");
}

TEST_F(DbFailureTest, ParentIsAFile) {
  std::ofstream(directory_ + "/file") << "x";
  path_ = directory_ + "/file/results.db";
  ExpectRefused("cannot create directory");
}

TEST_F(DbFailureTest, MissingFileForReading) {
  ExpectRefused("does not exist", {.read_only = true});
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DbFailureTest, OtherContentIsNotADatabase) {
  for (const size_t size : {20u, 600u, 8192u}) {
    const std::string text = std::string(size, 'x');
    Write(text);
    ExpectRefused("not a database");
    ExpectRefused("not a database", {.read_only = true});
    std::ifstream in(path_, std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
  }
}

TEST_F(DbFailureTest, OtherProgramsDatabaseIsLeftAlone) {
  Sql("CREATE TABLE theirs (x)");
  ExpectRefused("another program");
  Sql("SELECT x FROM theirs");
}

TEST_F(DbFailureTest, NewerSchemaIsRefusedUntouched) {
  Open();
  Sql("PRAGMA user_version = 99");
  ExpectRefused("schema version 99");
  ExpectRefused("schema version 99", {.read_only = true});
  Sql("PRAGMA user_version = " + std::to_string(Migrations().size()));
  Must(Open()->CheckIntegrity());
}

TEST_F(DbFailureTest, TruncatedFileIsCorrupt) {
  {
    auto db = Open();
    const int64_t session = SomeSession(*db);
    for (int i = 0; i < 50; ++i) Must(StoreRun(*db, SomeRun(*db, session)));
  }
  ASSERT_EQ(truncate(path_.c_str(), 4096 * 3), 0);
  Result<std::unique_ptr<Db>> db = Db::Open(path_);
  const Result<void> usable = db.ok() ? (*db)->CheckIntegrity() : Result<void>(db.error());
  ASSERT_FALSE(usable.ok());
  EXPECT_EQ(usable.error().code, Code::kIo);
  EXPECT_THAT(usable.error().message, HasSubstr("corrupt"));
}

TEST_F(DbFailureTest, OverwrittenPagesAreCorrupt) {
  int64_t schema_pages = 0;
  {
    auto db = Open();
    schema_pages = Must(db->QueryInt("PRAGMA page_count"));
    const int64_t session = SomeSession(*db);
    for (int i = 0; i < 50; ++i) Must(StoreRun(*db, SomeRun(*db, session)));
  }
  {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4096 * schema_pages);  // behind it, so that opening succeeds
    const std::string noise(4096 * 20, '\xa5');
    file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
  }
  auto db = Open({.read_only = true});
  ASSERT_NE(db, nullptr);
  const Result<void> usable = db->CheckIntegrity();
  ASSERT_FALSE(usable.ok());
  EXPECT_THAT(usable.error().message, HasSubstr("corrupt"));
  int damaged = 0;
  for (int64_t run = 1; run <= 50; ++run) {
    const Result<std::vector<int64_t>> samples = ReadSamples(*db, run, "timed");
    if (samples.ok()) continue;
    ++damaged;
    EXPECT_EQ(samples.error().code, Code::kIo);
    EXPECT_THAT(samples.error().message, HasSubstr("corrupt"));
  }
  EXPECT_GT(damaged, 0);
}

TEST_F(DbFailureTest, LockedByAnotherWriter) {
  auto holder = Open();
  {
    const Result<Transaction> transaction = Transaction::Begin(*holder);
    ASSERT_TRUE(transaction.ok());
    auto db = Open({.busy_timeout_ms = 50});  // up to date: opening needs no write lock
    const Result<int64_t> stored = StoreMachine(*db, SomeMachine());
    ASSERT_FALSE(stored.ok());
    EXPECT_EQ(stored.error().code, Code::kIo);
    EXPECT_THAT(stored.error().message, HasSubstr("locked by another process"));
  }
  Must(StoreMachine(*holder, SomeMachine()));
}

TEST_F(DbFailureTest, LockedWhileNew) {
  Sql("PRAGMA user_version = 0");
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  ExpectRefused("locked by another process");
  sqlite3_close(handle);
  Must(Open()->CheckIntegrity());
}

// Root may write everything, so the test acts as somebody else where it has to.
TEST_F(DbFailureTest, ReadOnlyFile) {
  Open();
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  const bool root = geteuid() == 0;
  ASSERT_EQ(seteuid(root ? 65534 : geteuid()), 0);
  ExpectRefused("read-only");
  ASSERT_EQ(seteuid(root ? 0 : geteuid()), 0);
}

TEST_F(DbFailureTest, ReadOnlyDirectory) {
  path_ = directory_ + "/sub/results.db";
  std::filesystem::create_directory(directory_ + "/sub");
  ASSERT_EQ(chmod((directory_ + "/sub").c_str(), 0555), 0);
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  const bool root = geteuid() == 0;
  ASSERT_EQ(seteuid(root ? 65534 : geteuid()), 0);
  Result<std::unique_ptr<Db>> db = Db::Open(path_);
  ASSERT_EQ(seteuid(root ? 0 : geteuid()), 0);
  ASSERT_FALSE(db.ok());
  EXPECT_EQ(db.error().code, Code::kIo);
  EXPECT_THAT(db.error().message, HasSubstr("cannot open"));
  ASSERT_EQ(chmod((directory_ + "/sub").c_str(), 0755), 0);
}

TEST_F(DbFailureTest, FullWhileCreating) {
  ExpectRefused("disk is full", {.max_bytes = 8192});
  Must(Open()->CheckIntegrity());  // with room again the same file works
}

TEST_F(DbFailureTest, FullWhileWritingKeepsWhatWasThere) {
  int64_t stored = 0;
  {
    auto db = Open({.max_bytes = 300 * 1024});
    const int64_t session = SomeSession(*db);
    RunRecord run = SomeRun(*db, session);
    run.timed_ns.clear();
    for (int64_t i = 0; i < 5000; ++i) run.timed_ns.push_back((i * 7919) % 100003);
    Result<int64_t> id = StoreRun(*db, run);
    for (; id.ok() && stored < 1000; id = StoreRun(*db, run)) ++stored;
    ASSERT_FALSE(id.ok());
    EXPECT_EQ(id.error().code, Code::kIo);
    EXPECT_THAT(id.error().message, HasSubstr("disk is full"));
    EXPECT_GT(stored, 0);
    // The connection stays usable for reading.
    EXPECT_EQ(static_cast<int64_t>(Must(ReadRuns(*db, "", 1000)).size()), stored);
  }
  auto db = Open();
  Must(db->CheckIntegrity());
  EXPECT_EQ(static_cast<int64_t>(Must(ReadRuns(*db, "", 1000)).size()), stored);
}

// A real write error: the process may not grow files any further.
TEST_F(DbFailureTest, FileSizeLimitOfTheSystem) {
  Open();
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64 * 1024, 64 * 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    Result<std::unique_ptr<Db>> db = Db::Open(path_);
    if (!db.ok()) _exit(db.error().message.find("disk may be full") != std::string::npos ? 0 : 1);
    for (int i = 0; i < 1000; ++i) {
      MachineRecord machine = SomeMachine();
      machine.fingerprint = std::string(1000, 'a') + std::to_string(i);
      Result<int64_t> id = StoreMachine(**db, machine);
      if (!id.ok()) _exit(id.error().message.find("disk may be full") != std::string::npos ? 0 : 2);
    }
    _exit(3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Must(Open()->CheckIntegrity());
}

TEST_F(DbFailureTest, KilledInTheMiddleOfATransaction) {
  Open();
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      Result<std::unique_ptr<Db>> db = Db::Open(path_);
      if (!db.ok()) _exit(1);
      const int64_t session = SomeSession(**db);
      for (;;) (void)StoreRun(**db, SomeRun(**db, session));
    }
    usleep(static_cast<useconds_t>(5000 + round * 1700));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  auto db = Open();
  Must(db->CheckIntegrity());
  // Whole runs only: every run has its two metrics and its samples.
  EXPECT_EQ(Must(db->QueryInt("SELECT count(*) FROM run WHERE id NOT IN (SELECT run_id FROM sample "
                              "WHERE phase = 'timed')")),
            0);
  EXPECT_EQ(Must(db->QueryInt("SELECT count(*) FROM metric")),
            2 * Must(db->QueryInt("SELECT count(*) FROM run")));
}

TEST_F(DbFailureTest, ConcurrentWritersLoseNothing) {
  constexpr int kWriters = 4, kRuns = 25;
  pid_t children[kWriters];
  for (pid_t& child : children) {
    child = fork();
    if (child == 0) {  // also races to create and migrate the file
      Result<std::unique_ptr<Db>> db = Db::Open(path_, {.busy_timeout_ms = 60000});
      if (!db.ok()) _exit(1);
      const int64_t session = SomeSession(**db);
      for (int i = 0; i < kRuns; ++i) {
        if (!StoreRun(**db, SomeRun(**db, session)).ok()) _exit(2);
      }
      _exit(::testing::Test::HasFailure() ? 3 : 0);
    }
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  auto db = Open();
  Must(db->CheckIntegrity());
  EXPECT_EQ(Must(db->QueryInt("SELECT count(*) FROM run")), kWriters * kRuns);
  EXPECT_EQ(Must(db->QueryInt("SELECT count(*) FROM machine")), 1);
  EXPECT_EQ(Must(db->QueryInt("SELECT count(*) FROM session")), kWriters);
}

// Every published schema version opens and ends at the newest.
TEST_F(DbFailureTest, EveryOldSchemaMigrates) {
  for (size_t version = 0; version <= Migrations().size(); ++version) {
    path_ = directory_ + "/v" + std::to_string(version) + ".db";
    for (size_t i = 0; i < version; ++i) Sql(std::string(Migrations()[i].sql));
    if (version > 0) Sql("PRAGMA application_id = " + std::to_string(0x46534d4b));
    Sql("PRAGMA user_version = " + std::to_string(version));
    if (version < Migrations().size()) ExpectRefused("schema version", {.read_only = true});
    auto db = Open();
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(Must(db->SchemaVersion()), static_cast<int64_t>(Migrations().size()));
    Must(StoreRun(*db, SomeRun(*db, SomeSession(*db))));
    Must(db->CheckIntegrity());
  }
}

TEST_F(DbFailureTest, OpensALargeDatabaseQuickly) {
  {
    auto db = Open();
    SomeSession(*db);
    Must(db->Execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
        "INSERT INTO trial (session_id, scope, key, threads, regime, config_hash, config_text, "
        "knob_version, status, compile_ns, median_ns, n, message, created_utc) "
        "SELECT 1, 'plan', 'k', 1, 'warm', 'h' || i, 'c', 1, 'ok', 1, i, 10, '', 'now' FROM n"));
  }
  const auto start = std::chrono::steady_clock::now();
  auto db = Open();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace fusemark
