/** Migrates a journal by one version. In `sql`, `{s}` stands for the schema's name. */
export interface Migration {
  readonly sql: string;
}

/** The tables are those of the SQLite journal, with a few additions. */
export const migrations: readonly Migration[] = [
  {
    sql: `
  CREATE TABLE {s}.runs (
    run_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL UNIQUE,
    pipeline text NOT NULL,
    account text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_seq bigint NOT NULL,
    -- Number of the newest event in the snapshot; 0 if there is no snapshot.
    snapshot_seq bigint NOT NULL,
    status text NOT NULL,
    epoch bigint NOT NULL,
    lease_holder text,
    -- Time of the database's clock.
    lease_expires_at bigint NOT NULL,
    held_micros bigint NOT NULL,
    settled_micros bigint NOT NULL,
    -- Name of the last commit, or of the last time that the lease was taken.
    last_write uuid,
    tags text NOT NULL,
    -- When a paused run may continue without a person.
    resume_at bigint,
    title text
  ) WITH (fillfactor = 60);
  CREATE INDEX runs_newest ON {s}.runs (created_at DESC, run_key DESC);
  CREATE TABLE {s}.run_tags (
    tag text COLLATE "C" NOT NULL,
    run_key bigint NOT NULL,
    PRIMARY KEY (tag, run_key)
  );
  -- Text that a search of runs reads. It is large, so it has its own table.
  CREATE TABLE {s}.run_texts (
    run_key bigint PRIMARY KEY,
    text text COLLATE "C" NOT NULL
  );
  -- One row for each commit, with the number of its last event. The body is the JSON of one event or an array of events.
  CREATE TABLE {s}.events (
    run_key bigint NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    version integer NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (run_key, seq)
  );
  CREATE TABLE {s}.snapshots (
    run_key bigint PRIMARY KEY,
    fold_version integer NOT NULL,
    seq bigint NOT NULL,
    state text NOT NULL
  );
  -- Runs that an engine drives: when each is due (NULL: at its next message), and data from one driver for the next.
  CREATE TABLE {s}.wakes (
    run_key bigint PRIMARY KEY,
    account text COLLATE "C" NOT NULL,
    at bigint,
    memo text NOT NULL
  );
  CREATE INDEX wakes_due ON {s}.wakes (account, at, run_key) WHERE at IS NOT NULL;
  -- The message is NULL once it was read. The row stays with the run, so that a repeated send adds no second message.
  CREATE TABLE {s}.inbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    run_key bigint NOT NULL,
    at bigint NOT NULL,
    message text,
    -- Name of the send.
    sending uuid NOT NULL,
    PRIMARY KEY (run_key, sending)
  );
  CREATE INDEX inbox_unread ON {s}.inbox (run_key, id) WHERE message IS NOT NULL;
  CREATE TABLE {s}.ledger (
    run_key bigint NOT NULL,
    step text COLLATE "C" NOT NULL,
    attempt integer NOT NULL,
    account text COLLATE "C" NOT NULL,
    held_micros bigint NOT NULL,
    settled_micros bigint NOT NULL,
    -- The account's mark when the charge became known. Until then, the wallet's balance may not include the charge.
    charged bigint,
    -- The quarter of an hour in which the money was reserved.
    slot bigint NOT NULL,
    PRIMARY KEY (run_key, step, attempt)
  ) WITH (fillfactor = 80);
  CREATE INDEX ledger_charged ON {s}.ledger (account, charged) WHERE charged IS NOT NULL;
  CREATE TABLE {s}.accounts (
    account text COLLATE "C" PRIMARY KEY,
    held_micros bigint NOT NULL,
    settled_micros bigint NOT NULL,
    -- Reserved and settled amounts of entries that may not have been charged.
    uncharged_micros bigint NOT NULL,
    mark bigint NOT NULL
  ) WITH (fillfactor = 20);
  -- Sums of the ledger for each quarter of an hour, removed runs included. Tag '': all runs.
  CREATE TABLE {s}.spending (
    account text COLLATE "C" NOT NULL,
    tag text COLLATE "C" NOT NULL,
    slot bigint NOT NULL,
    held_micros bigint NOT NULL,
    settled_micros bigint NOT NULL,
    PRIMARY KEY (account, tag, slot)
  ) WITH (fillfactor = 60);
  CREATE TABLE {s}.media (
    run_key bigint NOT NULL,
    sha256 text COLLATE "C" NOT NULL,
    PRIMARY KEY (run_key, sha256)
  );
  CREATE TABLE {s}.progress (
    run_key bigint NOT NULL,
    step text COLLATE "C" NOT NULL,
    fraction double precision,
    estimated_completion_at bigint,
    PRIMARY KEY (run_key, step)
  ) WITH (fillfactor = 60);
  CREATE TABLE {s}.handles (
    sha256 text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    url text NOT NULL,
    content_type text NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (sha256, account)
  );
  CREATE INDEX handles_expiry ON {s}.handles (expires_at);
  -- The result cache: finished steps by the identity of their request.
  CREATE TABLE {s}.results (
    run_key bigint NOT NULL,
    step text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    model text COLLATE "C",
    at bigint NOT NULL,
    took_ms bigint,
    PRIMARY KEY (run_key, step)
  );
  CREATE INDEX results_by_fingerprint ON {s}.results (fingerprint, at DESC, run_key DESC, step);
  CREATE INDEX results_by_model ON {s}.results (model, at DESC, run_key DESC, step) WHERE model IS NOT NULL;
  -- Outbox of notifications. A row stays until its notification is delivered.
  CREATE TABLE {s}.notices (
    run_key bigint NOT NULL,
    seq bigint NOT NULL,
    event text NOT NULL,
    body text NOT NULL,
    attempts integer NOT NULL,
    due_at bigint NOT NULL,
    last_error text,
    PRIMARY KEY (run_key, seq)
  );
  CREATE INDEX notices_due ON {s}.notices (due_at, run_key, seq);
  -- A webhook finds the run of its job here.
  CREATE TABLE {s}.jobs (
    run_key bigint NOT NULL,
    step text COLLATE "C" NOT NULL,
    attempt integer NOT NULL,
    job_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (run_key, step, attempt)
  );
  CREATE INDEX jobs_by_id ON {s}.jobs (job_id);
  -- Webhooks of the last day whose job no run knows yet.
  CREATE TABLE {s}.deliveries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    job_id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    waiting boolean NOT NULL,
    UNIQUE (account, name)
  ) WITH (fillfactor = 80);
  CREATE INDEX deliveries_age ON {s}.deliveries (at);
  CREATE INDEX deliveries_waiting ON {s}.deliveries (job_id) WHERE waiting;
  -- The scope is JSON. Only the hash of a link's secret is stored. \`last_use\` names the last use, so that a repeated call
  -- counts once.
  CREATE TABLE {s}.review_links (
    id text COLLATE "C" PRIMARY KEY,
    secret_hash text NOT NULL,
    scope text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    revoked_at bigint,
    uses bigint NOT NULL,
    max_uses bigint NOT NULL,
    last_use uuid
  ) WITH (fillfactor = 80);
  CREATE INDEX review_links_newest ON {s}.review_links (created_at DESC, id);
  CREATE INDEX review_links_expiry ON {s}.review_links (expires_at);
  -- Quotes that a run can be started with. The basis is JSON.
  CREATE TABLE {s}.quotes (
    id text COLLATE "C" PRIMARY KEY,
    account text COLLATE "C" NOT NULL,
    basis text NOT NULL,
    expires_at bigint NOT NULL,
    used_by text COLLATE "C"
  );
  CREATE INDEX quotes_expiry ON {s}.quotes (expires_at);
  `,
  },
];
