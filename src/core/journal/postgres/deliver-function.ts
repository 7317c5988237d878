import { preamble, settings } from "./function-parts.ts";

/**
 * Locks the delivery, then the runs that know its job. A commit that brings the job locks its run first, and only then the
 * deliveries that wait for it: none of those is locked here with a run, because no other commit knows the job.
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

/** The part of a commit that brings jobs: what was delivered before is in the inbox of the run \`r\` from now on. */
export const writeJobs = `
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
