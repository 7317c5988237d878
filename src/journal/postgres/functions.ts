import { ON_TIME_MS } from "../wakes.ts";
import { commitFunction, moveAccountFunction } from "./commit-function.ts";
import { deliverFunction } from "./deliver-function.ts";
import { databaseNow as now, preamble, settings } from "./function-parts.ts";
import { sharePaceFunction } from "./pace.ts";

const createRun = `
CREATE OR REPLACE FUNCTION {s}.create_run(
  p_version integer, p_run text, p_pipeline text, p_account text, p_at bigint, p_event_version integer, p_body text,
  p_media text[], p_wakes boolean, p_wake_at bigint, p_memo text, p_repeated boolean, p_tags text
) RETURNS boolean ${settings} AS $function$
DECLARE
  v_key bigint;
BEGIN${preamble}
  INSERT INTO {s}.runs (run_id, pipeline, account, created_at, updated_at, last_seq, snapshot_seq, status, epoch,
    lease_expires_at, held_micros, settled_micros, tags)
  VALUES (p_run, p_pipeline, p_account, p_at, p_at, 1, 0, 'planned', 0, 0, 0, 0, p_tags)
  ON CONFLICT (run_id) DO NOTHING RETURNING run_key INTO v_key;
  IF v_key IS NULL THEN
    -- The plan has a random part, so that only the caller's own run has this first event.
    RETURN p_repeated AND EXISTS (
      SELECT FROM {s}.runs r JOIN {s}.events e USING (run_key) WHERE r.run_id = p_run AND e.seq = 1 AND e.body = p_body);
  END IF;
  INSERT INTO {s}.events (run_key, seq, at, version, body) VALUES (v_key, 1, p_at, p_event_version, p_body);
  INSERT INTO {s}.run_tags (tag, run_key) SELECT key || '=' || value, v_key FROM jsonb_each_text(p_tags::jsonb);
  INSERT INTO {s}.media (run_key, sha256) SELECT v_key, m FROM unnest(p_media) m ON CONFLICT DO NOTHING;
  IF p_wakes THEN
    INSERT INTO {s}.wakes (run_key, account, at, memo) VALUES (v_key, p_account, p_wake_at, p_memo);
  END IF;
  RETURN true;
END $function$`;

/** The event is `p_head`, the epoch, where it applies `parked`, `p_tail`; the memo is handed out once. A lease that is held is taken only where its holder, of `p_dead_epoch`, is dead. */
const takeLease = `
CREATE OR REPLACE FUNCTION {s}.take_lease(
  p_version integer, p_run text, p_write uuid, p_holder text, p_at bigint, p_ttl bigint, p_now bigint,
  p_event_version integer, p_head text, p_tail text, p_dead_epoch bigint
) RETURNS TABLE (acquired boolean, epoch bigint, last_seq bigint, lease_holder text, lease_left bigint, memo text) ${settings} AS $function$
#variable_conflict use_column
DECLARE
  r {s}.runs;
  v_now bigint;
  v_memo text;
  v_due_at bigint;
BEGIN${preamble}
  SELECT * INTO r FROM {s}.runs WHERE run_id = p_run FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  v_now := ${now};
  IF r.last_write IS NOT DISTINCT FROM p_write THEN
    RETURN QUERY SELECT true, r.epoch, r.last_seq, r.lease_holder, r.lease_expires_at - v_now, NULL;
    RETURN;
  END IF;
  IF r.lease_holder IS NOT NULL AND v_now <= r.lease_expires_at AND r.epoch IS DISTINCT FROM p_dead_epoch THEN
    RETURN QUERY SELECT false, r.epoch, r.last_seq, r.lease_holder, r.lease_expires_at - v_now, NULL;
    RETURN;
  END IF;
  SELECT memo, at INTO v_memo, v_due_at FROM {s}.wakes WHERE run_key = r.run_key;
  INSERT INTO {s}.events (run_key, seq, at, version, body)
    VALUES (r.run_key, r.last_seq + 1, p_at, p_event_version, p_head || (r.epoch + 1)
      || CASE WHEN v_memo <> 'null' AND p_at <= v_due_at + ${ON_TIME_MS} THEN ',"parked":true' ELSE '' END || p_tail);
  UPDATE {s}.runs SET last_seq = r.last_seq + 1, updated_at = p_at, epoch = r.epoch + 1, lease_holder = p_holder,
    lease_expires_at = v_now + p_ttl, last_write = p_write WHERE run_key = r.run_key;
  IF v_memo <> 'null' THEN
    UPDATE {s}.wakes SET memo = 'null' WHERE run_key = r.run_key;
  END IF;
  RETURN QUERY SELECT true, r.epoch + 1, r.last_seq + 1, p_holder, p_ttl, v_memo;
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
  -- Also one that was read meanwhile: its row stays, without the message.
  SELECT id INTO v_id FROM {s}.inbox WHERE run_key = v_key AND sending = p_sending;
  IF FOUND THEN
    RETURN v_id;
  END IF;
  INSERT INTO {s}.inbox (run_key, at, message, sending) VALUES (v_key, p_at, p_message, p_sending) RETURNING id INTO v_id;
  -- It makes a run due that an engine drives.
  UPDATE {s}.wakes SET at = p_at WHERE run_key = v_key AND (at IS NULL OR at > p_at);
  PERFORM pg_notify(p_channel, left(p_run, 2000));
  RETURN v_id;
END $function$`;

const tablesOfRun = "events snapshots wakes inbox ledger jobs media results charges notices progress runs".split(" ");

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
  IF r.lease_holder IS NOT NULL AND ${now} <= r.lease_expires_at THEN
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

/** What a journal of a version has beside its tables. A newer version replaces them; older programs are then refused. */
export function functionsOf(version: number): readonly string[] {
  const all = [
    ...[createRun, takeLease, sendMessage, deliverFunction, removeRun, moveAccountFunction],
    ...[commitFunction, sharePaceFunction],
  ];
  return all.map((sql) => sql.replaceAll("{version}", String(version)));
}
