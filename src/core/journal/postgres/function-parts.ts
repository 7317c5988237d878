import { runStates } from "../../lifecycle/index.ts";

/**
 * The transactions of the journal as functions in the database: each is one statement, so that a commit is one round trip,
 * and a process that is frozen, or cut off, in the middle of one holds no lock that others wait for.
 *
 * Isolation. Every function runs at READ COMMITTED, where each of its statements sees all that was committed before that
 * statement began. It is right because everything that decides is read under a lock that all who change it take first:
 *
 * - The row of a run (`FOR NO KEY UPDATE`) guards its events, lease, inbox, snapshot, results and ledger entries. Commits,
 *   takings of the lease, sendings, and the removal of one run therefore happen one after another, so that epoch, last event
 *   and inbox are what they are when the events are written: nobody writes between the check and the change. A message is
 *   either seen by the parking commit, or waits for it.
 * - The row of an account guards its totals and all its entries of the ledger: who changes an entry holds it, so that the
 *   sum which the guard checks holds every hold of every process, and two that would break the cap only together do not
 *   pass together.
 * - Locks are taken in one order: new runs by id, then runs by key, then accounts by name. Those who lock one run and then its
 *   account fit into it.
 *
 * A write carries a name that the run's row keeps. Whoever lost the answer repeats the call: it waits for the row if the first
 * one is still under way, and finds the name if that was committed. `after_write` is the name that the writer knows to be the
 * last one, so that a call which was repeated, and arrives late after all, is refused even when it has no events.
 *
 * `{version}` is the version of the journal: a program that was opened on an older one is refused (SR001).
 */
export const preamble = `
  IF p_version <> {version} THEN
    RAISE EXCEPTION 'journal version {version}' USING ERRCODE = 'SR001';
  END IF;`;

/**
 * Settings that make the planner use indexes row by row. Arguments are always far smaller than the journal, but cached
 * plans outlive the small tables they were made for, and lists of unknown length are assumed to be long.
 */
export const settings =
  "LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off";

/** The database's clock in epoch milliseconds; tests pass a time in a field of the write `c`. */
const clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
export const databaseNow = `coalesce(p_now, ${clock})`;
export const writeNow = `coalesce((c ->> 'now')::bigint, ${clock})`;
/** Statuses of finished runs, for `IN (…)`. */
export const endedRuns = [...runStates.ended].map((status) => `'${status}'`).join(", ");
