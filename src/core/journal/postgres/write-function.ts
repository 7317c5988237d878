import { runStates } from "../../lifecycle/index.ts";

// Every transaction of the journal is one database function and one statement, so a commit takes one round trip, and a
// process that freezes or loses its connection holds no lock.
//
// READ COMMITTED is enough, because every decision reads rows under a lock that all writers of these rows take first:
//
// - The lock on the run's row (`FOR NO KEY UPDATE`) makes its commits, leases, messages and removal happen one after
//   another.
// - The lock on the account's row protects its totals, so that two writes that together exceed a cap cannot both pass.
// - Locks are taken in one order: new runs by id, then runs by key, then accounts by name.
//
// The run's row stores the id of its last write, so that a repeated call can tell that the first call was committed.
// `after_write` is the id of the run's previous write, as the writer knows it. With it, the database refuses a
// repetition that arrives late.
//
// `{version}` is the journal's version. The database refuses a program that opened an older version (SR001).
export const preamble = `
  IF p_version <> {version} THEN
    RAISE EXCEPTION 'journal version {version}' USING ERRCODE = 'SR001';
  END IF;`;

/** Makes the planner use indexes, even if it cached a plan when the tables were small. */
export const settings =
  "LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off";

const clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
export const databaseNow = `coalesce(p_now, ${clock})`;
export const writeNow = `coalesce((c ->> 'now')::bigint, ${clock})`;
const endedRuns = [...runStates.ended].map((status) => `'${status}'`).join(", ");

/**
 * Passes a webhook's message to the runs that have the job. Locks the delivery, then its runs. Commits lock in the
 * opposite order, but only deliveries for jobs that are new to their run, so a deadlock is impossible.
 */
export const deliverFunction = `
CREATE OR REPLACE FUNCTION {s}.deliver(
  p_version integer, p_account text, p_name text, p_job text, p_at bigint, p_before bigint, p_most bigint, p_channel text
) RETURNS TABLE (outcome text, run text) ${settings} AS $function$
#variable_conflict use_column
DECLARE
  d {s}.deliveries;
  j record;
BEGIN${preamble}
  DELETE FROM {s}.deliveries WHERE id IN (
    SELECT id FROM {s}.deliveries WHERE at < p_before ORDER BY at LIMIT 100 FOR UPDATE SKIP LOCKED);
  INSERT INTO {s}.deliveries (account, name, job_id, at, waiting) VALUES (p_account, p_name, p_job, p_at, true)
    ON CONFLICT (account, name) DO NOTHING;
  SELECT * INTO d FROM {s}.deliveries WHERE account = p_account AND name = p_name FOR UPDATE;
  IF NOT d.waiting THEN
    RETURN QUERY SELECT 'repeated', NULL;
    RETURN;
  END IF;
  DELETE FROM {s}.deliveries WHERE id IN (
    SELECT id FROM {s}.deliveries WHERE id <= d.id - p_most ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED);
  FOR j IN SELECT run_key, run_id, step, attempt FROM {s}.jobs JOIN {s}.runs USING (run_key)
      WHERE job_id = p_job AND account = p_account ORDER BY run_key LOOP
    PERFORM FROM {s}.runs WHERE run_key = j.run_key FOR NO KEY UPDATE;
    INSERT INTO {s}.inbox (run_key, at, message, sending)
      VALUES (j.run_key, p_at, jsonb_build_object('type', 'hint', 'step', j.step, 'attempt', j.attempt)::text, gen_random_uuid());
    UPDATE {s}.wakes SET at = p_at WHERE run_key = j.run_key AND (at IS NULL OR at > p_at);
    PERFORM pg_notify(p_channel, left(j.run_id, 2000));
    RETURN QUERY SELECT 'delivered', j.run_id;
  END LOOP;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'early', NULL;
    RETURN;
  END IF;
  UPDATE {s}.deliveries SET waiting = false WHERE id = d.id;
END $function$`;

/** Records the jobs of a commit, and moves deliveries that arrived before them to the run's inbox. */
const writeJobs = `
    IF c ? 'jobs' THEN
      INSERT INTO {s}.jobs (run_key, step, attempt, job_id)
        SELECT r.run_key, n.step, n.attempt, n.job FROM jsonb_to_recordset(c -> 'jobs') AS n (step text, attempt integer, job text)
        ON CONFLICT (run_key, step, attempt) DO UPDATE SET job_id = excluded.job_id;
      WITH early AS (
        UPDATE {s}.deliveries d SET waiting = false
          FROM jsonb_to_recordset(c -> 'jobs') AS n (step text, attempt integer, job text)
          WHERE d.waiting AND d.job_id = n.job AND d.account = r.account RETURNING n.step, n.attempt)
      INSERT INTO {s}.inbox (run_key, at, message, sending) SELECT r.run_key, (c ->> 'at')::bigint,
        jsonb_build_object('type', 'hint', 'step', step, 'attempt', attempt)::text, gen_random_uuid() FROM early;
      IF FOUND THEN
        UPDATE {s}.wakes SET at = (c ->> 'at')::bigint WHERE run_key = r.run_key AND (at IS NULL OR at > (c ->> 'at')::bigint);
      END IF;
    END IF;`;

/** SQL for the fields of a ledger entry after the change `n`. `l` is the row before the change. */
const held = "coalesce(n.held, l.held_micros, 0)";
const settled = "coalesce(n.settled, l.settled_micros, 0)";
const charged =
  "CASE n.charged WHEN 'cleared' THEN NULL WHEN 'marked' THEN v_mark WHEN 'kept' THEN l.charged ELSE coalesce(l.charged, v_mark) END";
const slot =
  "coalesce(CASE n.slot WHEN 'kept' THEN l.slot WHEN 'marked' THEN (c ->> 'slot')::bigint ELSE coalesce(l.slot, (c ->> 'slot')::bigint) END, 0)";
const was = "coalesce(l.held_micros, 0) + coalesce(l.settled_micros, 0)";
const changes = `jsonb_to_recordset(c -> 'ledger') AS n (step text, attempt integer, held bigint, settled bigint, charged text, slot text)
        LEFT JOIN {s}.ledger l ON l.run_key = r.run_key AND l.step = n.step AND l.attempt = n.attempt`;

/** SQL for a run's tags, including the empty tag, which stands for all runs. */
const tagsOf = (run: string) =>
  `(SELECT '' AS tag UNION ALL SELECT key || '=' || value FROM jsonb_each_text(${run}.tags::jsonb)) t`;
const addSpending = `ON CONFLICT (account, tag, slot) DO UPDATE
        SET held_micros = s.held_micros + excluded.held_micros, settled_micros = s.settled_micros + excluded.settled_micros`;

/** SQL function that performs writes to several runs. Each write succeeds or fails independently of the others. */
export const writeFunction = `
CREATE OR REPLACE FUNCTION {s}.write_runs(p_version integer, p_event_version integer, p_repeated boolean, p_writes jsonb)
RETURNS TABLE (outcome text, last_seq bigint, tail bigint, lease_left bigint, committed text, unseen_micros bigint,
  epoch bigint, lease_holder text, memo text, has_mail boolean, parked boolean)
${settings} AS $function$
#variable_conflict use_column
DECLARE
  c jsonb;
  r {s}.runs;
  a {s}.accounts;
  v_accounts text[];
  v_mark bigint;
  v_seq bigint;
  v_snapshot_seq bigint;
  v_held bigint;
  v_settled bigint;
  v_uncharged bigint;
  v_wallet_mark bigint;
  v_cap jsonb;
  v_committed bigint;
  v_all_committed bigint[];
  v_is_over boolean;
BEGIN${preamble}
  FOR c IN SELECT e FROM jsonb_array_elements(p_writes) e WHERE e ? 'pipeline' LOOP
    outcome := {s}.create_run(c, p_event_version, p_repeated);
    RETURN NEXT;
  END LOOP;
  PERFORM FROM {s}.runs WHERE run_id IN (SELECT e ->> 'run' FROM jsonb_array_elements(p_writes) e WHERE NOT e ? 'pipeline')
    ORDER BY run_key FOR NO KEY UPDATE;
  SELECT array_agg(DISTINCT account ORDER BY account) INTO v_accounts FROM (
    SELECT account FROM jsonb_array_elements(p_writes) e JOIN {s}.runs ON run_id = e ->> 'run' WHERE e ? 'ledger' OR e ? 'moved_to'
    UNION ALL SELECT e ->> 'moved_to' FROM jsonb_array_elements(p_writes) e WHERE e ? 'moved_to') needed;
  IF v_accounts IS NOT NULL THEN
    INSERT INTO {s}.accounts (account, held_micros, settled_micros, uncharged_micros, mark)
      SELECT n, 0, 0, 0, 0 FROM unnest(v_accounts) n WHERE NOT EXISTS (SELECT FROM {s}.accounts WHERE account = n)
      ON CONFLICT DO NOTHING;
    PERFORM FROM {s}.accounts WHERE account = ANY (v_accounts) ORDER BY account FOR NO KEY UPDATE;
  END IF;

  FOR c IN SELECT e FROM jsonb_array_elements(p_writes) e WHERE NOT e ? 'pipeline' LOOP
    outcome := NULL; last_seq := NULL; tail := NULL; lease_left := NULL; committed := NULL; unseen_micros := NULL;
    epoch := NULL; lease_holder := NULL; memo := NULL; has_mail := NULL; parked := NULL;
    SELECT * INTO r FROM {s}.runs WHERE run_id = c ->> 'run';
    IF NOT FOUND THEN
      outcome := 'unknown';
    ELSIF c ? 'ttl' THEN
      SELECT * INTO outcome, epoch, last_seq, lease_holder, lease_left, memo, has_mail, parked FROM {s}.take_lease(r, c, p_event_version);
      tail := last_seq - r.snapshot_seq;
      RETURN NEXT;
      CONTINUE;
    ELSIF r.last_write IS NOT DISTINCT FROM (c ->> 'write')::uuid THEN
      outcome := 'committed'; last_seq := r.last_seq; tail := r.last_seq - r.snapshot_seq;
    ELSIF r.lease_holder IS NULL OR r.epoch <> (c ->> 'epoch')::bigint OR r.last_seq <> (c ->> 'after_seq')::bigint
        OR r.last_write IS DISTINCT FROM coalesce((c ->> 'after_write')::uuid, r.last_write) THEN
      outcome := 'fenced';
    ELSIF (c ->> 'park')::boolean AND EXISTS (SELECT FROM {s}.inbox WHERE run_key = r.run_key
        AND message IS NOT NULL AND id NOT IN (SELECT e::bigint FROM jsonb_array_elements_text(c -> 'inbox') e)) THEN
      outcome := 'inbox';
    END IF;
    IF outcome IS NOT NULL THEN
      lease_left := r.lease_expires_at - ${writeNow};
      RETURN NEXT;
      CONTINUE;
    END IF;

    v_held := 0; v_settled := 0; v_uncharged := 0;
    IF c ? 'ledger' THEN
      SELECT * INTO a FROM {s}.accounts WHERE account = r.account;
      v_mark := a.mark + (c ->> 'charges')::integer;
      v_wallet_mark := (c ->> 'wallet_mark')::bigint;
      SELECT sum(${held} - coalesce(l.held_micros, 0)), sum(${settled} - coalesce(l.settled_micros, 0)),
          sum(CASE WHEN ${charged} IS NULL THEN ${held} + ${settled} ELSE 0 END
            - CASE WHEN l.charged IS NULL THEN ${was} ELSE 0 END),
          sum(CASE WHEN ${charged} <= v_wallet_mark THEN 0 ELSE ${held} + ${settled} END
            - CASE WHEN l.charged <= v_wallet_mark THEN 0 ELSE ${was} END)
        INTO v_held, v_settled, v_uncharged, unseen_micros
        FROM ${changes};
      v_all_committed := '{}';
      v_is_over := false;
      FOR v_cap IN SELECT e FROM jsonb_array_elements(coalesce(c -> 'caps', '[]')) e LOOP
        IF v_cap ->> 'tag' IS NULL AND v_cap ->> 'slot' IS NULL THEN
          v_committed := a.held_micros + a.settled_micros + v_held + v_settled;
        ELSE
          SELECT coalesce(sum(held_micros + settled_micros), 0) INTO v_committed FROM {s}.spending
            WHERE account = r.account AND tag = coalesce(v_cap ->> 'tag', '')
              AND slot >= coalesce((v_cap ->> 'slot')::bigint, -9007199254740991);
          IF v_cap ->> 'tag' IS NULL OR EXISTS (SELECT FROM ${tagsOf("r")} WHERE t.tag = v_cap ->> 'tag') THEN
            SELECT v_committed + sum(CASE WHEN ${slot} >= coalesce((v_cap ->> 'slot')::bigint, ${slot}) THEN ${held} + ${settled} ELSE 0 END
                - CASE WHEN l.slot >= coalesce((v_cap ->> 'slot')::bigint, l.slot) THEN ${was} ELSE 0 END)
              INTO v_committed FROM ${changes};
          END IF;
        END IF;
        v_all_committed := v_all_committed || v_committed;
        v_is_over := v_is_over OR v_committed > (v_cap ->> 'cap')::bigint;
      END LOOP;
      IF v_wallet_mark IS NOT NULL THEN
        unseen_micros := unseen_micros + a.uncharged_micros + (SELECT coalesce(sum(held_micros + settled_micros), 0)
          FROM {s}.ledger WHERE account = r.account AND charged > v_wallet_mark);
      END IF;
      committed := to_json(v_all_committed)::text;
      IF v_is_over OR unseen_micros > (c ->> 'most_unseen')::bigint THEN
        outcome := 'money';
        RETURN NEXT;
        CONTINUE;
      END IF;
      INSERT INTO {s}.spending AS s (account, tag, slot, held_micros, settled_micros)
        SELECT r.account, t.tag, d.slot, sum(d.held), sum(d.settled) FROM (
          SELECT ${slot} AS slot, ${held} AS held, ${settled} AS settled FROM ${changes}
          UNION ALL SELECT l.slot, -l.held_micros, -l.settled_micros FROM ${changes} WHERE l.slot IS NOT NULL) d,
          ${tagsOf("r")} GROUP BY t.tag, d.slot
        ${addSpending};
      INSERT INTO {s}.ledger AS l (run_key, step, attempt, account, held_micros, settled_micros, charged, slot)
        SELECT r.run_key, n.step, n.attempt, r.account, ${held}, ${settled}, ${charged}, ${slot} FROM ${changes}
        ON CONFLICT (run_key, step, attempt) DO UPDATE
          SET held_micros = excluded.held_micros, settled_micros = excluded.settled_micros, charged = excluded.charged,
            slot = excluded.slot;
      UPDATE {s}.accounts SET held_micros = a.held_micros + v_held, settled_micros = a.settled_micros + v_settled,
        uncharged_micros = a.uncharged_micros + v_uncharged, mark = v_mark WHERE account = r.account;
    END IF;

    v_seq := r.last_seq + (c ->> 'count')::integer;
    v_snapshot_seq := coalesce((c ->> 'snapshot_seq')::bigint, r.snapshot_seq);
    IF v_seq > r.last_seq THEN
      INSERT INTO {s}.events (run_key, seq, at, version, body)
        VALUES (r.run_key, v_seq, (c ->> 'at')::bigint, p_event_version, c ->> 'body');
    END IF;
    UPDATE {s}.runs SET last_seq = v_seq, updated_at = (c ->> 'at')::bigint, status = c ->> 'status',
      resume_at = (c ->> 'resume_at')::bigint,
      snapshot_seq = v_snapshot_seq, held_micros = r.held_micros + v_held, settled_micros = r.settled_micros + v_settled,
      lease_holder = CASE WHEN (c ->> 'park')::boolean THEN NULL ELSE r.lease_holder END, last_write = (c ->> 'write')::uuid
      WHERE run_key = r.run_key;
    IF jsonb_array_length(c -> 'inbox') > 0 THEN
      -- The row stays while the run continues, so that a repeated send is recognized.
      UPDATE {s}.inbox SET message = NULL WHERE run_key = r.run_key AND message IS NOT NULL
        AND id IN (SELECT e::bigint FROM jsonb_array_elements_text(c -> 'inbox') e);
    END IF;
    IF c ->> 'status' IN (${endedRuns}) THEN
      DELETE FROM {s}.inbox WHERE run_key = r.run_key AND message IS NULL;
    END IF;
    IF c ? 'memo' THEN
      INSERT INTO {s}.wakes (run_key, account, at, memo) VALUES (r.run_key, r.account, (c ->> 'wake_at')::bigint, c ->> 'memo')
        ON CONFLICT (run_key) DO UPDATE SET at = excluded.at, memo = excluded.memo;
    ELSIF (c ->> 'park')::boolean THEN
      -- The run is idle: it is due at its next message.
      UPDATE {s}.wakes SET at = NULL, memo = 'null' WHERE run_key = r.run_key;
    END IF;
    IF c ? 'media' THEN
      INSERT INTO {s}.media (run_key, sha256) SELECT r.run_key, e FROM jsonb_array_elements_text(c -> 'media') e
        ON CONFLICT DO NOTHING;
    END IF;
    IF c ? 'results' THEN
      INSERT INTO {s}.results (run_key, step, fingerprint, model, at, took_ms)
        SELECT r.run_key, n.step, n.fingerprint, n.model, (c ->> 'at')::bigint, n.took_ms
        FROM jsonb_to_recordset(c -> 'results') AS n (step text, fingerprint text, model text, took_ms bigint)
        ON CONFLICT (run_key, step) DO UPDATE SET fingerprint = excluded.fingerprint, model = excluded.model, at = excluded.at,
          took_ms = excluded.took_ms;
    END IF;
    IF c ? 'moved_to' THEN
      PERFORM {s}.move_account(r.run_key, r.account, c ->> 'moved_to');
    END IF;
    IF c ? 'notices' THEN
      INSERT INTO {s}.notices (run_key, seq, event, body, attempts, due_at)
        SELECT r.run_key, n.seq, n.event, n.body, 0, (c ->> 'at')::bigint
        FROM jsonb_to_recordset(c -> 'notices') AS n (seq bigint, event text, body text);
    END IF;
    IF c ? 'snapshot_seq' THEN
      INSERT INTO {s}.snapshots (run_key, fold_version, seq, state)
        VALUES (r.run_key, (c ->> 'fold_version')::integer, v_snapshot_seq, c ->> 'state')
        ON CONFLICT (run_key) DO UPDATE SET fold_version = excluded.fold_version, seq = excluded.seq, state = excluded.state;
    END IF;
${writeJobs.slice(1)}
    outcome := 'committed'; last_seq := v_seq; tail := v_seq - v_snapshot_seq;
    lease_left := r.lease_expires_at - ${writeNow};
    RETURN NEXT;
  END LOOP;
END $function$`;

/**
 * Moves a run's recorded costs and reservations to another account. Treats charges already made as included in the new
 * account's balance.
 */
export const moveAccountFunction = `
CREATE OR REPLACE FUNCTION {s}.move_account(p_key bigint, p_from text, p_to text) RETURNS void ${settings} AS $function$
DECLARE
  r {s}.runs;
  v_uncharged bigint;
BEGIN
  SELECT * INTO r FROM {s}.runs WHERE run_key = p_key;
  SELECT coalesce(sum(held_micros + settled_micros) FILTER (WHERE charged IS NULL), 0) INTO v_uncharged
    FROM {s}.ledger WHERE run_key = p_key;
  UPDATE {s}.accounts SET held_micros = held_micros - r.held_micros, settled_micros = settled_micros - r.settled_micros,
    uncharged_micros = uncharged_micros - v_uncharged WHERE account = p_from;
  UPDATE {s}.accounts SET held_micros = held_micros + r.held_micros, settled_micros = settled_micros + r.settled_micros,
    uncharged_micros = uncharged_micros + v_uncharged WHERE account = p_to;
  INSERT INTO {s}.spending AS s (account, tag, slot, held_micros, settled_micros)
    SELECT w.account, t.tag, l.slot, sum(w.sign * l.held_micros), sum(w.sign * l.settled_micros)
    FROM {s}.ledger l, (VALUES (p_from, -1), (p_to, 1)) AS w (account, sign), ${tagsOf("r")}
    WHERE l.run_key = p_key GROUP BY w.account, t.tag, l.slot
    ${addSpending};
  UPDATE {s}.ledger SET account = p_to, charged = CASE WHEN charged IS NULL THEN NULL ELSE 0 END WHERE run_key = p_key;
  UPDATE {s}.wakes SET account = p_to WHERE run_key = p_key;
  UPDATE {s}.runs SET account = p_to WHERE run_key = p_key;
END $function$`;
