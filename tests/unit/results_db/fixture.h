// A directory of its own for each test, and rows to fill a database with.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "results_db/db.h"
#include "results_db/runs.h"

namespace fusemark {

class DbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/fusemark_db_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/results.db";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Db> Open(const DbOptions& options = {}) {
    Result<std::unique_ptr<Db>> db = Db::Open(path_, options);
    EXPECT_TRUE(db.ok()) << db.error().message;
    return db.ok() ? std::move(db).value() : nullptr;
  }

  std::string directory_, path_;
};

template <class T>
T Must(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.error().message;
  if (!result.ok()) return T();
  return std::move(result).value();
}

inline void Must(const Result<void>& result) {
  EXPECT_TRUE(result.ok()) << result.error().message;
}

inline MachineRecord SomeMachine() {
  MachineRecord machine;
  machine.fingerprint = "f00d";
  machine.machine_class = "c1a55";
  machine.cpu_model = "Test CPU";
  machine.arch = "x86_64";
  machine.isa = "avx2,fma";
  machine.cores = 2;
  return machine;
}

inline BuildRecord SomeBuild() {
  BuildRecord build;
  build.version = "0.1.0";
  build.git_sha = "0123abcd";
  return build;
}

// A session with its machine and build.
inline int64_t SomeSession(Db& db) {
  SessionRecord session;
  session.machine_id = Must(StoreMachine(db, SomeMachine()));
  session.build_id = Must(StoreBuild(db, SomeBuild()));
  session.command = "run";
  return Must(StartSession(db, session));
}

inline RunRecord SomeRun(Db& db, int64_t session) {
  RunRecord run;
  run.session_id = session;
  run.workload_id = Must(StoreWorkload(db, {"mlp", "abcd", "built-in", 8, "items"}));
  run.engine = "on";
  run.started_utc = UtcNow();
  run.metrics = {{"latency_p50", "ns", 1000, 990, 1010, 400, ""},
                 {"latency_p99", "ns", {}, {}, {}, 400, "too few"}};
  for (int64_t i = 0; i < 400; ++i) run.timed_ns.push_back(1000 + i % 7 - i % 3);
  return run;
}

}  // namespace fusemark
