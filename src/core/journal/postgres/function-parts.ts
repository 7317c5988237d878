import { runStates } from "../../lifecycle/index.ts";

/**
 * The journal's transactions are functions in the database. Each is one statement, so a commit takes one round trip,
 * and a process that freezes or loses its connection holds no lock.
 *
 * They run at READ COMMITTED, where each statement sees what was committed before it began. That is enough, because
 * every decision reads rows under a lock that all writers of these rows take first:
 *
 * - The run's row (`FOR NO KEY UPDATE`) guards its events, lease, inbox, snapshot, results and ledger entries, so
 *   commits, leases, messages and the removal of one run happen one after another. A parking commit sees a message, or
 *   the message waits for it.
 * - The account's row guards its totals and its ledger entries. The guard's sum therefore includes every process's
 *   holds, and two writes that only together exceed a cap cannot both pass.
 * - Locks are taken in one order: new runs by id, then runs by key, then accounts by name.
 *
 * The run's row stores the name of its last write. A writer that got no response repeats the call; if the first call
 * was committed, the repetition finds the write's name. `after_write` is the previous write that the writer knows, so
 * that a repetition that arrives late is refused, even without events.
 *
 * `{version}` is the journal's version: a program opened on an older one is refused (SR001).
 */
export const preamble = `
  IF p_version <> {version} THEN
    RAISE EXCEPTION 'journal version {version}' USING ERRCODE = 'SR001';
  END IF;`;

/**
 * Settings that make the planner use indexes row by row. Arguments are always far smaller than the journal, but cached
 * plans outlive the small tables that they were made for, and the planner assumes lists of unknown length to be long.
 */
export const settings =
  "LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off";

/** The database's clock in epoch milliseconds. Tests pass another time in a field of the write `c`. */
const clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
export const databaseNow = `coalesce(p_now, ${clock})`;
export const writeNow = `coalesce((c ->> 'now')::bigint, ${clock})`;
export const endedRuns = [...runStates.ended].map((status) => `'${status}'`).join(", ");
