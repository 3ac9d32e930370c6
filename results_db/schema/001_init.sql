-- Schema version 1. Applied in one transaction by results_db/db.cpp, which then sets user_version.
-- Rules of every migration: STRICT tables, times in int64 ns (suffix _ns), dates as UTC ISO 8601
-- text, hashes as lower-case hex, rows are added and never rewritten (decision.state excepted).
-- A published migration is never edited: a change is a new file NNN_name.sql.

-- A machine, stable over reboots. Decisions are shared by machines of one class (same CPU model,
-- instruction sets, caches, core count); raw times belong to one machine.
CREATE TABLE machine (
  id            INTEGER PRIMARY KEY,
  fingerprint   TEXT NOT NULL UNIQUE,        -- hash of class and host identity
  class         TEXT NOT NULL,               -- hash of what decides speed
  cpu_model     TEXT NOT NULL,
  arch          TEXT NOT NULL,
  isa           TEXT NOT NULL,               -- instruction set names, sorted, comma separated
  cores         INTEGER NOT NULL CHECK (cores > 0),
  l1d_bytes     INTEGER NOT NULL,
  l2_bytes      INTEGER NOT NULL,
  l3_bytes      INTEGER NOT NULL,
  memory_bytes  INTEGER NOT NULL,
  details_json  TEXT NOT NULL                -- kernel, governor, hypervisor: may change over time
) STRICT;
CREATE INDEX machine_by_class ON machine (class);

-- The program that measured. `git_sha` is never empty: a build outside git stores "source-<hash>".
CREATE TABLE build (
  id            INTEGER PRIMARY KEY,
  version       TEXT NOT NULL,
  git_sha       TEXT NOT NULL CHECK (git_sha <> ''),
  dirty         INTEGER NOT NULL CHECK (dirty IN (0, 1)),
  build_type    TEXT NOT NULL,
  compiler      TEXT NOT NULL,
  flags         TEXT NOT NULL,
  llvm_version  TEXT NOT NULL,
  library_versions TEXT NOT NULL,
  UNIQUE (version, git_sha, dirty, build_type, compiler, flags, llvm_version, library_versions)
) STRICT;

-- One graph. The same name with another graph is another workload.
CREATE TABLE workload (
  id            INTEGER PRIMARY KEY,
  name          TEXT NOT NULL,
  module_hash   TEXT NOT NULL,               -- hash of the printed module
  source        TEXT NOT NULL,               -- path, or "built-in"
  items_per_run REAL NOT NULL,
  item_unit     TEXT NOT NULL,
  UNIQUE (name, module_hash, source, items_per_run, item_unit)
) STRICT;
CREATE INDEX workload_by_hash ON workload (module_hash);

-- One invocation of the program.
CREATE TABLE session (
  id            INTEGER PRIMARY KEY,
  machine_id    INTEGER NOT NULL REFERENCES machine (id),
  build_id      INTEGER NOT NULL REFERENCES build (id),
  command       TEXT NOT NULL,               -- run, check, tune
  arguments     TEXT NOT NULL,
  seed          INTEGER NOT NULL,
  options_json  TEXT NOT NULL,               -- settings in force, e.g. budget and strategy of tune
  started_utc   TEXT NOT NULL,
  ended_utc     TEXT,                        -- null while running and after a kill
  exit_code     INTEGER
) STRICT;

-- One workload on one engine in one session: one row of the result table.
CREATE TABLE run (
  id            INTEGER PRIMARY KEY,
  session_id    INTEGER NOT NULL REFERENCES session (id),
  workload_id   INTEGER NOT NULL REFERENCES workload (id),
  engine        TEXT NOT NULL,
  threads       INTEGER NOT NULL CHECK (threads > 0),
  residents     TEXT NOT NULL,               -- entry parameter numbers, comma separated
  config_source TEXT NOT NULL CHECK (config_source IN ('default', 'tuned', 'stale')),
  config_text   TEXT NOT NULL,               -- plan and schedules in force; '' where there is none
  status        TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'interrupted')),
  error_code    TEXT NOT NULL,               -- '' or a code name of compiler/support/result.h
  message       TEXT NOT NULL,
  steady        INTEGER NOT NULL CHECK (steady IN (0, 1)),
  numerics      TEXT NOT NULL CHECK (numerics IN ('pass', 'fail', 'unchecked')),
  numerics_reference TEXT NOT NULL,
  max_rel_err   REAL,
  started_utc   TEXT NOT NULL
) STRICT;
CREATE INDEX run_by_workload ON run (workload_id, engine, threads);
CREATE INDEX run_by_session ON run (session_id);

-- Long form, so that a new metric needs no migration. A metric that cannot be stated honestly has
-- value null and says why.
CREATE TABLE metric (
  run_id        INTEGER NOT NULL REFERENCES run (id),
  name          TEXT NOT NULL,
  unit          TEXT NOT NULL,
  value         REAL,
  low           REAL,                        -- 95 % interval, where one exists
  high          REAL,
  n             INTEGER NOT NULL,
  why_not       TEXT NOT NULL,
  CHECK ((value IS NULL) = (why_not <> '')),
  PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

-- Raw times of a run, in order: deltas, zigzag, LEB128 (results_db/samples.h).
CREATE TABLE sample (
  run_id        INTEGER NOT NULL REFERENCES run (id),
  phase         TEXT NOT NULL CHECK (phase IN ('warmup', 'timed')),
  n             INTEGER NOT NULL,
  data          BLOB NOT NULL,
  PRIMARY KEY (run_id, phase)
) STRICT;

-- One candidate of a tuning session, failures included. `key` is a task id (scope task) or the
-- hash of the canonical module (scope plan).
CREATE TABLE trial (
  id            INTEGER PRIMARY KEY,
  session_id    INTEGER NOT NULL REFERENCES session (id),
  scope         TEXT NOT NULL CHECK (scope IN ('task', 'plan')),
  key           TEXT NOT NULL,
  threads       INTEGER NOT NULL CHECK (threads > 0),
  regime        TEXT NOT NULL,               -- warm, cold-weights, cold-all
  config_hash   TEXT NOT NULL,
  config_text   TEXT NOT NULL,
  knob_version  INTEGER NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('ok', 'compile_fail', 'compile_timeout', 'run_fail',
                                                'run_timeout', 'wrong', 'illegal', 'duplicate')),
  compile_ns    INTEGER NOT NULL,
  median_ns     INTEGER,                     -- null unless status is ok
  mad_ns        INTEGER,
  n             INTEGER NOT NULL,
  max_error     REAL,
  message       TEXT NOT NULL,
  created_utc   TEXT NOT NULL,
  CHECK ((median_ns IS NULL) = (status <> 'ok')),
  UNIQUE (session_id, scope, key, threads, regime, config_hash)
) STRICT;
CREATE INDEX trial_by_key ON trial (scope, key, threads);

-- Knob values of a trial for queries. This schema knows no knob by name; a knob absent here had its
-- default.
CREATE TABLE trial_knob (
  trial_id      INTEGER NOT NULL REFERENCES trial (id),
  name          TEXT NOT NULL,
  value         TEXT NOT NULL,
  PRIMARY KEY (trial_id, name)
) STRICT, WITHOUT ROWID;

-- What tuning concluded. At most one confirmed decision per (scope, key, class, threads); the
-- others are its history.
CREATE TABLE decision (
  id            INTEGER PRIMARY KEY,
  scope         TEXT NOT NULL CHECK (scope IN ('task', 'plan')),
  key           TEXT NOT NULL,
  machine_class TEXT NOT NULL,
  threads       INTEGER NOT NULL CHECK (threads > 0),
  config_hash   TEXT NOT NULL,
  config_text   TEXT NOT NULL,
  baseline_ns   INTEGER NOT NULL,
  tuned_ns      INTEGER NOT NULL,
  speedup       REAL NOT NULL,
  speedup_low   REAL NOT NULL,               -- 95 % interval of the confirming comparison
  speedup_high  REAL NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('candidate', 'confirmed', 'stale', 'revoked')),
  reason        TEXT NOT NULL,               -- why it is stale or revoked
  build_id      INTEGER NOT NULL REFERENCES build (id),
  session_id    INTEGER NOT NULL REFERENCES session (id),
  created_utc   TEXT NOT NULL,
  updated_utc   TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX decision_in_force ON decision (scope, key, machine_class, threads)
  WHERE state = 'confirmed';
CREATE INDEX decision_by_key ON decision (scope, key, machine_class, threads, state);
