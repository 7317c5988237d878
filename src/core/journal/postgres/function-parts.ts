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
// `after_write` is the previous write that the writer knows. With it, the database refuses late repetitions.
//
// `{version}` is the journal's version. A program opened on an older one is refused (SR001).
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
export const endedRuns = [...runStates.ended].map((status) => `'${status}'`).join(", ");
