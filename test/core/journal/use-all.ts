import type { JournalStore } from "../../../src/core/journal/store.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { account, holder, nobodyIsDead, planned, started, takeLease } from "./samples.ts";

/** Uses all methods of a journal, so that each of its SQL statements is executed. */
export async function useAllOf(journal: JournalStore): Promise<void> {
  await journal.createRun("r", { ...planned(), tags: { a: "b" } }, 1);
  const taking = { at: 1, ttlMs: 1_000, isDead: nobodyIsDead };
  const lease = await takeLease(journal, "r", { at: 1 });
  await journal.takeLease("r", holder("b"), taking);
  await journal.renewLease(lease, { at: 1, ttlMs: 1_000 });
  await journal.deliver({ account, id: "early", jobId: "j", at: 1 });
  const message = await journal.send("r", { type: "stop" }, 1);
  await journal.commit({
    ...{ lease, afterSeq: 2, at: 1, status: "running", inbox: [message] },
    events: [
      started("a"),
      { type: "job.submitted", step: "a", attempt: 1, jobId: "j", model: "m", replayed: false },
      { type: "upload.stored", step: "a", sha256: "aa", sizeBytes: 1, contentType: ownText("image/png") },
      { type: "run.account.moved", baseUrl: "https://new.test/v3", keyId: "key_9", jobId: null },
    ],
    ledger: [{ type: "hold", step: "a", attempt: 1, amountMicros: 5 }],
    guard: {
      caps: [{ tag: "a=b", sinceAt: 1, capMicros: 100 }],
      wallet: { balanceMicros: 100, mark: 0, floorMicros: 0 },
    },
    snapshot: { foldVersion: 1, seq: 6, state: "{}" },
    results: [
      { step: "a", fingerprint: "f", model: "m" },
      { step: "b", fingerprint: "g", model: null },
    ],
    notices: [{ seq: 3, event: "run.failed", body: "{}" }],
  });
  await journal.setProgress("r", { step: "a", fraction: 0.5, estimatedCompletionAt: null });
  await journal.putHandle({ sha256: "aa", account, url: "u", contentType: "image/png", expiresAt: 9 });
  const link = { id: "l", secretHash: "h", scope: { runId: "r" }, createdAt: 1, expiresAt: 9, revokedAt: null };
  await journal.addReviewLink({ ...link, uses: 0, maxUses: 1 });
  await Promise.all([journal.reviewLink("l"), journal.reviewLinks(), journal.useReviewLink("l", 2)]);
  await journal.revokeReviewLink("l", 3);
  await journal.issueQuote({ id: "q", account, basis: {}, expiresAt: 9 }, 1);
  await Promise.all([journal.issuedQuote("q"), journal.useQuote("q", "r", 2)]);
  await journal.runs({ limit: 5, before: 9 });
  await journal.runs({ tags: { a: "b" } });
  await Promise.all([journal.run("r"), journal.read("r"), journal.snapshot("r"), journal.inbox("r")]);
  await Promise.all([journal.ledger("r"), journal.accountLedger(account), journal.progress("r"), journal.mediaInUse()]);
  for (const by of [{ fingerprint: "f" }, { model: "m" }]) await journal.results({ account, ...by });
  await journal.results({ runId: "r" });
  await Promise.all([journal.handle("aa", account), journal.dropHandles(5), journal.notices()]);
  await journal.claimNotices({ at: 9, untilAt: 10, limit: 1 });
  await journal.resolveNotice("r", 3, { delivered: false, dueAt: 9, error: "e" });
  await journal.resolveNotice("r", 3, { delivered: true });
  const ours = { account: `key_9@https://new.test/v3`, id: "d", jobId: "j", at: 1 };
  await journal.deliver(ours);
  await journal.deliver(ours);
  const hints = (await journal.inbox("r")).map(({ id }) => id);
  const ledger = [{ type: "release", step: "a", attempt: 1 }] as const;
  const wake = { at: 5, memo: null };
  await journal.commit({
    lease,
    afterSeq: 6,
    at: 1,
    events: [],
    ledger,
    status: "running",
    park: true,
    wake,
    inbox: hints,
  });
  await journal.dueRuns({ account, at: 5, limit: 9 });
  const again = await takeLease(journal, "r", { by: holder("b"), at: 1 });
  await journal.commit({ lease: again, afterSeq: 7, at: 1, events: [], status: "running", park: true });
  await journal.releaseLease(lease);
  await journal.removeRun("r", 1);
}
