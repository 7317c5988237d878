/** Migrates a journal by one version. */
export interface Migration {
  readonly sql: string;
  /** Converts an event from the previous version. Absent if no event changed. */
  readonly event?: (event: StoredBody) => StoredBody;
}

export type StoredBody = { readonly type: string } & { readonly [field: string]: unknown };

/**
 * The journal's migrations, one per version. Every row of a run contains the run's numeric key, which makes it fast to
 * remove the run.
 */
export const migrations: readonly Migration[] = [
  {
    sql: `
  CREATE TABLE runs (
    run_key INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    pipeline TEXT NOT NULL,
    account TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    -- Number of the newest event in the snapshot; 0 if there is no snapshot.
    snapshot_seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    lease_holder TEXT,
    lease_expires_at INTEGER NOT NULL,
    held_micros INTEGER NOT NULL,
    settled_micros INTEGER NOT NULL,
    tags TEXT NOT NULL,
    -- When a paused run may continue without a person.
    resume_at INTEGER,
    title TEXT
  ) STRICT;
  CREATE INDEX runs_newest ON runs (created_at DESC, run_key DESC);
  CREATE TABLE run_tags (
    tag TEXT NOT NULL,
    run_key INTEGER NOT NULL,
    PRIMARY KEY (tag, run_key)
  ) STRICT, WITHOUT ROWID;
  -- Text that a search of runs reads. It is large, so it has its own table.
  CREATE TABLE run_texts (
    run_key INTEGER PRIMARY KEY,
    text TEXT NOT NULL
  ) STRICT;
  -- One row for each commit, with the number of its last event. The body is the JSON of one event or an array of events;
  -- a large body is deflated.
  CREATE TABLE events (
    run_key INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body ANY NOT NULL,
    PRIMARY KEY (run_key, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE snapshots (
    run_key INTEGER PRIMARY KEY,
    fold_version INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    state ANY NOT NULL
  ) STRICT;
  -- Runs that an engine drives: when each is due (NULL: at its next message), and data from one driver for the next.
  CREATE TABLE wakes (
    run_key INTEGER PRIMARY KEY,
    at INTEGER,
    memo TEXT NOT NULL
  ) STRICT;
  CREATE INDEX wakes_due ON wakes (at) WHERE at IS NOT NULL;
  CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_key INTEGER NOT NULL,
    at INTEGER NOT NULL,
    message TEXT NOT NULL
  ) STRICT;
  CREATE INDEX inbox_by_run ON inbox (run_key, id);
  CREATE TABLE ledger (
    run_key INTEGER NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    held_micros INTEGER NOT NULL,
    settled_micros INTEGER NOT NULL,
    -- The account's mark when the charge became known. Until then, the wallet's balance may not include the charge.
    charged INTEGER,
    -- The quarter of an hour in which the money was reserved.
    slot INTEGER NOT NULL,
    PRIMARY KEY (run_key, step, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ledger_charged ON ledger (charged);
  CREATE TABLE accounts (
    account TEXT PRIMARY KEY,
    held_micros INTEGER NOT NULL,
    settled_micros INTEGER NOT NULL,
    mark INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  -- Sums of the ledger for each quarter of an hour, removed runs included. Tag '': all runs.
  CREATE TABLE spending (
    account TEXT NOT NULL,
    tag TEXT NOT NULL,
    slot INTEGER NOT NULL,
    held_micros INTEGER NOT NULL,
    settled_micros INTEGER NOT NULL,
    PRIMARY KEY (account, tag, slot)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE media (
    run_key INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run_key, sha256)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE progress (
    run_key INTEGER NOT NULL,
    step TEXT NOT NULL,
    fraction REAL,
    estimated_completion_at INTEGER,
    PRIMARY KEY (run_key, step)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE handles (
    sha256 TEXT NOT NULL,
    account TEXT NOT NULL,
    url TEXT NOT NULL,
    content_type TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (sha256, account)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX handles_expiry ON handles (expires_at);
  -- The result cache: finished steps by the identity of their request.
  CREATE TABLE results (
    run_key INTEGER NOT NULL,
    step TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    model TEXT,
    at INTEGER NOT NULL,
    took_ms INTEGER,
    PRIMARY KEY (run_key, step)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX results_by_fingerprint ON results (fingerprint, at DESC, run_key DESC, step);
  CREATE INDEX results_by_model ON results (model, at DESC, run_key DESC, step) WHERE model IS NOT NULL;
  -- Outbox of notifications. A row stays until its notification is delivered.
  CREATE TABLE notices (
    run_key INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    body TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    last_error TEXT,
    PRIMARY KEY (run_key, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX notices_due ON notices (due_at);
  -- A webhook finds the run of its job here.
  CREATE TABLE jobs (
    run_key INTEGER NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    job_id TEXT NOT NULL,
    PRIMARY KEY (run_key, step, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX jobs_by_id ON jobs (job_id);
  -- Webhooks of the last day whose job no run knows yet.
  CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    job_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    UNIQUE (account, name)
  ) STRICT;
  CREATE INDEX deliveries_age ON deliveries (at);
  CREATE INDEX deliveries_waiting ON deliveries (job_id) WHERE waiting = 1;
  -- Results of local functions of one commit, as an array of [step, fingerprint]. They become rows of \`results\` when
  -- such results are first searched.
  CREATE TABLE unsorted_results (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_key INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX unsorted_results_by_run ON unsorted_results (run_key, id);
  -- The scope is JSON. Only the hash of a link's secret is stored.
  CREATE TABLE review_links (
    id TEXT PRIMARY KEY,
    secret_hash TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    uses INTEGER NOT NULL,
    max_uses INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX review_links_newest ON review_links (created_at DESC, id);
  CREATE INDEX review_links_expiry ON review_links (expires_at);
  -- Quotes that a run can be started with. The basis is JSON.
  CREATE TABLE quotes (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    basis TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    used_by TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX quotes_expiry ON quotes (expires_at);
  -- Every later version keeps this table: an older Showrunner reads here which version can read the file.
  CREATE TABLE migrations (
    version INTEGER PRIMARY KEY,
    program TEXT NOT NULL
  ) STRICT;
  `,
  },
];
