-- Schema version 2: what the machine was measured to be able to, beside the runs measured on it.

-- One measuring of the limits, by one build with one and with `threads` threads. A session takes a
-- young one of the same machine, build and thread count instead of measuring again.
CREATE TABLE limits (
  id            INTEGER PRIMARY KEY,
  machine_id    INTEGER NOT NULL REFERENCES machine (id),
  build_id      INTEGER NOT NULL REFERENCES build (id),
  threads       INTEGER NOT NULL CHECK (threads > 0),
  measured_utc  TEXT NOT NULL
) STRICT;
CREATE INDEX limits_by_machine ON limits (machine_id, build_id, threads);

-- Names and meanings: `fusemark roofline`. What a CPU does not have has no row. By rowid they are
-- in the order they were measured, from the level nearest to the core outwards.
CREATE TABLE limit_value (
  limits_id     INTEGER NOT NULL REFERENCES limits (id),
  name          TEXT NOT NULL,               -- fma_f32, read_l1, copy_stream_dram, ...
  unit          TEXT NOT NULL,               -- FLOP/s, OP/s, B/s, ns
  threads       INTEGER NOT NULL CHECK (threads > 0),
  value         REAL NOT NULL CHECK (value > 0),
  PRIMARY KEY (limits_id, name, threads)
) STRICT;

-- Null: sessions of schema version 1, commands that need no limits, and where measuring failed.
ALTER TABLE session ADD COLUMN limits_id INTEGER REFERENCES limits (id);
