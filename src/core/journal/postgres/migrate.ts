import { isNewerVersion, ownVersion } from "../../kit/own-version.ts";
import type { Row } from "../columns.ts";
import { JournalNewerVersionError, JournalNotDatabaseError } from "../errors.ts";
import { ON_TIME_MS } from "../store.ts";
import type { Database, Values } from "./database.ts";
import {
  databaseNow,
  deliverFunction,
  moveAccountFunction,
  writeNow as now,
  preamble,
  settings,
  writeFunction,
} from "./write-function.ts";

type Query = (sql: string, values?: Values) => Promise<Row[]>;

/** Migrates the schema in one transaction. Throws if the schema is newer or belongs to another program. */
export async function prepareSchema(db: Database, steps: readonly Migration[] = migrations): Promise<void> {
  const newest = steps.length;
  if ((await foundVersion(db, (sql, values) => db.query(sql, values), newest)) === newest) return;
  await db.transaction(async (query) => {
    await query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`showrunner journal ${db.settings.schema}`]);
    const from = await foundVersion(db, query, newest);
    if (from === newest) return;
    if (from === 0) await createSchema(db, query);
    for (const [index, { sql }] of steps.entries()) {
      if (index < from) continue;
      const version = index + 1;
      await query(sql);
      await query("INSERT INTO {s}.journal_versions (version, program) VALUES ($1, $2)", [version, ownVersion()]);
    }
    // An older version's functions may have other parameters or results.
    await query(dropFunctions);
    for (const sql of functionsOf(newest)) await query(sql);
  });
}

const dropFunctions = `DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = '{s}'::regnamespace LOOP
    EXECUTE 'DROP FUNCTION ' || f;
  END LOOP;
END $$`;

async function createSchema(db: Database, query: Query): Promise<void> {
  const [{ exists = false } = {}] = await query("SELECT to_regnamespace($1) IS NOT NULL AS exists", [
    db.settings.schema,
  ]);
  if (exists !== true) await query("CREATE SCHEMA {s}");
  // Every later version keeps this table, so that an older Showrunner can name the version to install.
  await query("CREATE TABLE {s}.journal_versions (version integer PRIMARY KEY, program text NOT NULL)");
}

/** Returns the version of the schema; 0 if the schema is missing or empty. */
async function foundVersion(db: Database, query: Query, newest: number): Promise<number> {
  const [found] = await query(
    "SELECT to_regclass($1) IS NOT NULL AS ours, EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace($2)) AS used",
    ["{s}.journal_versions".replace("{s}", db.settings.schema), db.settings.schema],
  );
  if (found?.ours !== true) {
    if (found?.used === true) throw notOurs(db);
    return 0;
  }
  const [row] = await query("SELECT version, program FROM {s}.journal_versions ORDER BY version DESC LIMIT 1");
  if (row === undefined) throw notOurs(db);
  const version = db.columns.integer(row, "version");
  if (version > newest) throw newer(db, version, newest, db.columns.text(row, "program").slice(0, 40));
  return version;
}

function notOurs({ place, settings }: Database): JournalNotDatabaseError {
  return new JournalNotDatabaseError(
    place,
    `The schema ${settings.schema} in ${place} contains another program's tables, so it is not a Showrunner journal. Nothing was changed. Choose another schema: ?schema=NAME at the end of the URL.`,
  );
}

function newer(
  { place, settings }: Database,
  version: number,
  newest: number,
  program: string,
): JournalNewerVersionError {
  const ownProgram = ownVersion();
  const what = isNewerVersion(program, ownProgram) ? `use Showrunner ${program} or later` : "update Showrunner";
  return new JournalNewerVersionError(
    place,
    `The journal ${place} (schema ${settings.schema}) is at version ${version}, written by Showrunner ${program}; this version of Showrunner (${ownProgram}) reads journals up to version ${newest}. Nothing was changed. To open this journal, ${what}; or choose another schema (?schema=NAME).`,
  );
}

/** Creates a run. `c` is a `WireCreate`. */
const createRun = `
CREATE OR REPLACE FUNCTION {s}.create_run(c jsonb, p_event_version integer, p_repeated boolean) RETURNS text
LANGUAGE plpgsql AS $function$
DECLARE
  v_key bigint;
BEGIN
  INSERT INTO {s}.runs (run_id, pipeline, title, account, created_at, updated_at, last_seq, snapshot_seq, status, epoch,
    lease_expires_at, held_micros, settled_micros, tags)
  VALUES (c ->> 'run', c ->> 'pipeline', c ->> 'title', c ->> 'account', (c ->> 'at')::bigint, (c ->> 'at')::bigint, 1, 0, 'planned', 0, 0,
    0, 0, c ->> 'tags')
  ON CONFLICT (run_id) DO NOTHING RETURNING run_key INTO v_key;
  IF v_key IS NULL THEN
    -- The plan has a random part, so only the caller's own run has this first event.
    RETURN CASE WHEN p_repeated AND EXISTS (SELECT FROM {s}.runs r JOIN {s}.events e USING (run_key)
      WHERE r.run_id = c ->> 'run' AND e.seq = 1 AND e.body = c ->> 'body') THEN 'created' ELSE 'exists' END;
  END IF;
  INSERT INTO {s}.events (run_key, seq, at, version, body) VALUES (v_key, 1, (c ->> 'at')::bigint, p_event_version, c ->> 'body');
  INSERT INTO {s}.run_texts (run_key, text) VALUES (v_key, c ->> 'text');
  IF c ->> 'tags' <> '{}' THEN
    INSERT INTO {s}.run_tags (tag, run_key) SELECT key || '=' || value, v_key FROM jsonb_each_text((c ->> 'tags')::jsonb);
  END IF;
  IF c ? 'media' THEN
    INSERT INTO {s}.media (run_key, sha256) SELECT v_key, m FROM jsonb_array_elements_text(c -> 'media') m ON CONFLICT DO NOTHING;
  END IF;
  IF c ? 'memo' THEN
    INSERT INTO {s}.wakes (run_key, account, at, memo) VALUES (v_key, c ->> 'account', (c ->> 'wake_at')::bigint, c ->> 'memo');
  END IF;
  RETURN 'created';
END $function$`;

/**
 * SQL function that takes a run's lease. `c` is a `WireTake` as JSON. An unexpired lease is taken only if its epoch is
 * `dead_epoch`.
 */
const takeLease = `
CREATE OR REPLACE FUNCTION {s}.take_lease(r {s}.runs, c jsonb, p_event_version integer,
  OUT outcome text, OUT epoch bigint, OUT last_seq bigint, OUT lease_holder text, OUT lease_left bigint, OUT memo text,
  OUT has_mail boolean, OUT parked boolean) LANGUAGE plpgsql AS $function$
#variable_conflict use_variable
DECLARE
  v_now bigint := ${now};
BEGIN
  epoch := r.epoch; last_seq := r.last_seq; lease_holder := r.lease_holder; lease_left := r.lease_expires_at - v_now;
  has_mail := EXISTS (SELECT FROM {s}.inbox i WHERE i.run_key = r.run_key AND i.message IS NOT NULL);
  IF r.last_write IS NOT DISTINCT FROM (c ->> 'write')::uuid THEN
    -- A repeated call: the memo was in the lost response.
    outcome := 'taken';
    SELECT position(',"parked":true' IN e.body) > 0 INTO parked FROM {s}.events e WHERE e.run_key = r.run_key AND e.seq = r.last_seq;
    RETURN;
  END IF;
  IF r.lease_holder IS NOT NULL AND v_now <= r.lease_expires_at AND r.epoch IS DISTINCT FROM (c ->> 'dead_epoch')::bigint THEN
    outcome := 'held';
    RETURN;
  END IF;
  outcome := 'taken'; epoch := r.epoch + 1; last_seq := r.last_seq + 1; lease_left := (c ->> 'ttl')::bigint;
  SELECT w.memo, w.memo <> 'null' AND (c ->> 'at')::bigint <= w.at + ${ON_TIME_MS} INTO memo, parked
    FROM {s}.wakes w WHERE w.run_key = r.run_key;
  INSERT INTO {s}.events (run_key, seq, at, version, body) VALUES (r.run_key, last_seq, (c ->> 'at')::bigint, p_event_version,
    (c ->> 'head') || epoch || CASE WHEN parked THEN ',"parked":true' ELSE '' END || (c ->> 'tail'));
  UPDATE {s}.runs u SET last_seq = take_lease.last_seq, updated_at = (c ->> 'at')::bigint, epoch = take_lease.epoch,
    lease_holder = c ->> 'holder', lease_expires_at = v_now + take_lease.lease_left, last_write = (c ->> 'write')::uuid
    WHERE u.run_key = r.run_key;
  IF memo <> 'null' THEN
    UPDATE {s}.wakes w SET memo = 'null' WHERE w.run_key = r.run_key;
  END IF;
END $function$`;

const sendMessage = `
CREATE OR REPLACE FUNCTION {s}.send_message(
  p_version integer, p_run text, p_at bigint, p_message text, p_sending uuid, p_channel text
) RETURNS bigint ${settings} AS $function$
DECLARE
  v_key bigint;
  v_id bigint;
BEGIN${preamble}
  SELECT run_key INTO v_key FROM {s}.runs WHERE run_id = p_run FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  -- A message that was read meanwhile still has its row, so it is found too.
  SELECT id INTO v_id FROM {s}.inbox WHERE run_key = v_key AND sending = p_sending;
  IF FOUND THEN
    RETURN v_id;
  END IF;
  INSERT INTO {s}.inbox (run_key, at, message, sending) VALUES (v_key, p_at, p_message, p_sending) RETURNING id INTO v_id;
  -- A run that an engine drives becomes due.
  UPDATE {s}.wakes SET at = p_at WHERE run_key = v_key AND (at IS NULL OR at > p_at);
  PERFORM pg_notify(p_channel, left(p_run, 2000));
  RETURN v_id;
END $function$`;

const tablesOfRun = "events snapshots wakes inbox ledger jobs media results notices progress run_texts runs".split(" ");

const removeRun = `
CREATE OR REPLACE FUNCTION {s}.remove_run(p_version integer, p_run text, p_now bigint)
RETURNS text ${settings} AS $function$
DECLARE
  r {s}.runs;
  v_uncharged bigint;
BEGIN${preamble}
  SELECT * INTO r FROM {s}.runs WHERE run_id = p_run FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 'unknown';
  END IF;
  IF r.lease_holder IS NOT NULL AND ${databaseNow} <= r.lease_expires_at THEN
    RETURN 'leased';
  END IF;
  IF r.held_micros > 0 THEN
    RETURN 'holds';
  END IF;
  PERFORM FROM {s}.accounts WHERE account = r.account FOR NO KEY UPDATE;
  SELECT coalesce(sum(held_micros + settled_micros) FILTER (WHERE charged IS NULL), 0) INTO v_uncharged
    FROM {s}.ledger WHERE run_key = r.run_key;
  UPDATE {s}.accounts SET settled_micros = settled_micros - r.settled_micros, uncharged_micros = uncharged_micros - v_uncharged
    WHERE account = r.account;
  DELETE FROM {s}.run_tags WHERE run_key = r.run_key
    AND tag IN (SELECT key || '=' || value FROM jsonb_each_text(r.tags::jsonb));
${tablesOfRun.map((table) => `  DELETE FROM {s}.${table} WHERE run_key = r.run_key;`).join("\n")}
  RETURN 'removed';
END $function$`;

function functionsOf(version: number): readonly string[] {
  const all = [createRun, takeLease, sendMessage, deliverFunction, removeRun, moveAccountFunction, writeFunction];
  return all.map((sql) => sql.replaceAll("{version}", String(version)));
}

/** Migrates a journal by one version. In `sql`, `{s}` stands for the schema's name. */
interface Migration {
  readonly sql: string;
}

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

export const newestVersion = migrations.length;
