import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { thisHolder } from "../../../src/core/journal/host.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { pipeline } from "../../../src/index.ts";
import { startDashboard } from "../../../src/studio/dashboard/index.ts";
import { senderOf, Tries } from "../../../src/studio/dashboard/links/link-routes.ts";
import { createReviewLink, type NewReviewLink } from "../../../src/studio/dashboard/links/review-link.ts";
import type { SharedDecision } from "../../../src/studio/dashboard/views/document.ts";
import { expectAbsent } from "../../support/expect-absent.ts";
import { words } from "../../support/word-list.ts";
import { cookieOf } from "./support/ask.ts";
import { Guest, linkTo, PUBLIC, plantQuestion, send } from "./support/review-links.ts";
import { type Served, serveDashboard } from "./support/serve.ts";

const titles = pipeline("titles", {
  input: z.object({}),
  build({ task, approve }) {
    const words = task("words", {}, () => ({ title: "A calm sea", secret: "the recipe" }));
    const fine = approve("fine", words.value.at("title"), { message: "Is this title fine?" });
    return { loud: task("loud", { fine }, () => "done") };
  },
});

let served: Served;
beforeAll(async () => {
  const loadPipeline = async () => titles;
  served = await serveDashboard({ publicUrl: `https://${PUBLIC}`, loadPipeline });
  await plantQuestion(served, "acme-1", "acme", [10, 40]);
  await plantQuestion(served, "acme-2", "acme", [70, 100]);
  await plantQuestion(served, "rival-1", "rival", [130, 160]);
});
afterAll(() => served[Symbol.asyncDispose]());

const acme = { scope: { tags: { client: "acme" } } };
const guestOf = async (scope: NewReviewLink["scope"]) => new Guest(served, (await linkTo(served, { scope })).token);
/** Somebody with a link to a run of titles, which waits to be decided. */
async function guestOfTitles(id: string): Promise<Guest> {
  const source = { file: "/titles.ts", exportName: "default" };
  const run = await served.show.run(titles, {}, { id, source, tags: { client: id } });
  expect((await run.result()).status).toBe("paused");
  return guestOf({ tags: { client: id } });
}
/** The address of the first file of a decision. */
function urlOf({ takes: [take] }: SharedDecision): string {
  return take !== undefined && "url" in take ? take.url! : "";
}
const refusal = ({ status, body }: { status: number; body: Buffer }) => ({
  status,
  ...(JSON.parse(String(body)) as { error: { code: string; message: string } }).error,
});

describe("what a link shows", () => {
  test("is the waiting decisions of its runs with what is to be decided, and nothing else of them", async () => {
    const { token } = await linkTo(served, acme);
    const answer = await new Guest(served, token).ask();
    const { decisions, more } = JSON.parse(String(answer.body));
    expect(more).toBe(0);
    expect(decisions.map(({ title }: { title: string }) => title)).toEqual(["acme-2", "acme-1"]);
    const url = expect.stringMatching(/^\/shared\/file\/[\w-]{22}\/[\w-]{22}\/\d{13}\/[\w-]{43}$/);
    const size = { width: null, height: null, durationMs: null };
    expect(decisions[0]).toEqual({
      ...{ ref: expect.stringMatching(/^[\w-]{22}$/), title: "acme-2", question: "Which look for acme?" },
      ...{ choose: true, takes: Array(2).fill({ kind: "image", url, urlEndsAt: expect.any(Number), ...size }) },
      ...{ status: "waiting", pick: null, note: null, name: null, decidedAt: null, comments: [] },
    });
    const hidden = ["rival", "secret recipe", "Micros", "asset_", '"job_', "draft", token.split(".")[1]!];
    expectAbsent(String(answer.body), hidden);
  });

  test("may be one run, or one step of it", async () => {
    for (const [more, count] of [
      [{}, 1],
      [{ step: "look" }, 0],
      [{ tags: { client: "acme" } }, 0],
    ] as const)
      expect(await (await guestOf({ runId: "rival-1", ...more })).decisions()).toHaveLength(count);
  });

  test("files come whole or in part, without the token and not to be stored", async () => {
    const { token } = await linkTo(served, acme);
    const [first] = await new Guest(served, token).decisions();
    const path = urlOf(first!);
    const whole = await send(served, { path });
    const part = await send(served, { path, headers: { range: "bytes=1-3" } });
    expect(whole).toMatchObject({ status: 200, headers: { "content-type": "image/png" } });
    expect(part).toMatchObject({ status: 206, body: whole.body.subarray(1, 4) });
    expect(whole.headers["cache-control"]).toBe("private, no-store");
  });

  test("every answer keeps out frames, search engines, referrers and foreign script", async () => {
    const { token } = await linkTo(served, acme);
    const paths = ["/shared", "/shared/api/decisions", "/shared/nowhere"];
    for (const path of paths) {
      const { headers } = await send(served, { path, headers: { authorization: `Bearer ${token}` } });
      expect(headers).toMatchObject({
        "x-robots-tag": "noindex, nofollow, noarchive",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
        "cache-control": "no-store",
      });
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
      expect(headers["content-security-policy"]).not.toMatch(/unsafe|https?:|\*/);
      expect(headers["set-cookie"]).toBeUndefined();
    }
  });
});

describe("a decision by a link", () => {
  test("goes the way of every other, with the name that was typed; the next is told what was decided", async () => {
    const { id, token } = await linkTo(served, acme);
    const guest = new Guest(served, token);
    const { ref } = (await guest.decisions()).find(({ title }) => title === "acme-1")!;
    const answers = await Promise.all([
      guest.decide({ ref, pick: 1, note: "warmer", name: " Ann " }),
      guest.decide({ ref, approved: false, name: "Bob" }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 409]);
    const decided = { status: "approved", pick: 1, note: "warmer", name: "Ann" };
    expect(JSON.parse(String(answers[0]!.body))).toMatchObject(decided);
    const message =
      "This decision was already made: approved by Ann (take 2). Ask the sender of the link to change it.";
    expect(refusal(answers[1]!)).toMatchObject({ code: "DECIDED", message });
    const by = { name: "Ann", verified: false, link: id };
    const chosen = { step: "look", index: 1 };
    const sent = (await served.journal.inbox("acme-1")).map((one) => one.message);
    expect(sent).toEqual([{ type: "approve", step: "best", pick: 1, chosen, note: "warmer", by }]);
    const others = await (await guestOf(acme.scope)).decisions();
    const other = others.find(({ title }) => title === "acme-1");
    expect(other).toMatchObject({ status: "approved", note: null, name: null });
  });

  test("continues a run that no process drives, and stands in its journal, its report and its manifest's words", async () => {
    const guest = await guestOfTitles("titles");
    const [open] = await guest.decisions();
    expect(open!.takes).toEqual([{ kind: "text", value: "A calm sea" }]);
    expect((await guest.decide({ ref: open!.ref })).status).toBe(200);
    await expect.poll(async () => (await served.show.show("titles")).status).toBe("succeeded");
    const { steps } = await served.show.show("titles");
    expect(steps.find(({ path }) => path === "fine")?.approval).toMatchObject({
      approved: true,
      by: { name: "Ann", verified: false },
    });
    expect(await guest.decisions()).toMatchObject([{ status: "approved", name: "Ann", decidedAt: expect.any(Number) }]);
    expect(served.defects).toEqual([]);
  });

  test("may be a comment on a take, at a time code: in the journal, with nothing decided; once decided, no more", async () => {
    await plantQuestion(served, "heard", "talks", [3, 5]);
    const { id, token } = await linkTo(served, { scope: { tags: { client: "talks" } } });
    const guest = new Guest(served, token);
    const { ref } = (await guest.decisions())[0]!;
    const said = { ref, text: " too loud ", name: "Ann", take: 1, timeMs: 12_300 };
    const shown = { text: "too loud", name: "Ann", take: 1, timeMs: 12_300, at: expect.any(Number) };
    const answer = JSON.parse(String((await guest.comment(said)).body));
    expect(answer).toMatchObject({ status: "waiting", comments: [shown] });
    const by = { name: "Ann", verified: false, link: id };
    const comment = { text: "too loud", take: { step: "look", index: 1 }, timeMs: 12_300, by };
    const [sent] = await served.journal.inbox("heard");
    expect(sent?.message).toMatchObject({ type: "comment", step: "best", comment });
    const elsewhere = await guestOf({ tags: { client: "talks" } });
    expect(await elsewhere.decisions()).toMatchObject([{ comments: [] }]);
    for (const wrong of [{ text: " " }, { take: 2 }, { timeMs: -1 }, { name: "" }]) {
      expect((await guest.comment({ ...said, ...wrong })).status).toBe(400);
    }
    expect(await served.journal.reviewLink(id)).toMatchObject({ uses: 1 });
    expect((await guest.decide({ ref, pick: 0 })).status).toBe(200);
    expect(refusal(await guest.comment(said))).toMatchObject({ status: 409, code: "DECIDED" });
  });

  test("that is a comment reaches the journal of a run that no process drives, which waits on", async () => {
    const guest = await guestOfTitles("remarks");
    const [open] = await guest.decisions();
    expect((await guest.comment({ ref: open!.ref, text: "shorter, please", name: "Ann" })).status).toBe(200);
    await expect.poll(async () => (await served.show.show("remarks")).status).toBe("paused");
    const types = async () => (await served.journal.read("remarks")).map(({ event }) => event.type);
    await expect.poll(types).toContain("comment.added");
    await expect.poll(async () => (await served.show.show("remarks")).pause?.reason).toBe("approval");
    const comments = [{ text: "shorter, please", name: "Ann" }];
    expect(await guest.decisions()).toMatchObject([{ status: "waiting", comments }]);
    expect(served.defects).toEqual([]);
  });

  test("is recorded and continues nothing, where the house has stopped the run", async () => {
    const guest = await guestOfTitles("stopped");
    const lastSeq = async () => (await served.journal.run("stopped"))!.lastSeq;
    const at = { at: Date.now(), ttlMs: 9_999, isDead: () => true };
    const taken = await served.journal.takeLease("stopped", thisHolder("test"), at);
    if (!taken.acquired) throw new Error("the run is held");
    const events = [{ type: "run.paused", reason: "stopped", message: ownText("stopped on request") }] as const;
    const commit = { lease: taken.lease, afterSeq: await lastSeq(), at: Date.now(), events, status: "paused" };
    expect(await served.journal.commit(commit)).toMatchObject({ committed: true });
    await served.journal.releaseLease(taken.lease);
    const before = await lastSeq();
    const [open] = await guest.decisions();
    expect((await guest.decide({ ref: open!.ref })).status).toBe(200);
    expect(await guest.decisions()).toMatchObject([{ status: "approved", name: "Ann" }]);
    expect(await lastSeq()).toBe(before);
  });

  test("needs a name and, where it asks for one, a take that is shown; neither costs a use", async () => {
    const { id, token } = await linkTo(served, acme);
    const guest = new Guest(served, token);
    const { ref } = (await guest.decisions()).find(({ title }) => title === "acme-2")!;
    const names = [{ name: " " }, { name: "x".repeat(61) }];
    for (const wrong of [...names, { pick: 2 }, { pick: -1 }, {}, { approved: 1 as never }])
      expect((await guest.decide({ ref, ...wrong })).status).toBe(400);
    expect(await served.journal.reviewLink(id)).toMatchObject({ uses: 0 });
    expect(await served.journal.inbox("acme-2")).toEqual([]);
  });

  test("is refused when the link is used up, however many come at once", async () => {
    for (const name of ["many-1", "many-2", "many-3", "many-4"]) await plantQuestion(served, name, "many", [1, 2]);
    const { id, token } = await linkTo(served, { scope: { tags: { client: "many" } }, maxUses: 2 });
    const guest = new Guest(served, token);
    const open = await guest.decisions();
    const answers = await Promise.all(open.map(({ ref }) => guest.decide({ ref, pick: 0 })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 403, 403]);
    expect(await served.journal.reviewLink(id)).toMatchObject({ uses: 2 });
  });
});

describe("a link ends", () => {
  test("for its page and its files, as soon as it is revoked by any process", async () => {
    const { id, token } = await linkTo(served, acme);
    const guest = new Guest(served, token);
    const [first] = await guest.decisions();
    await served.journal.revokeReviewLink(id, Date.now());
    expect(refusal(await guest.ask())).toMatchObject({ status: 410, code: "LINK_REVOKED" });
    expect((await send(served, { path: urlOf(first!) })).status).toBe(410);
    expect((await guest.decide({ ref: first!.ref, pick: 0 })).status).toBe(410);
  });

  test("with its time", async () => {
    const { token } = await createReviewLink(served.journal, { ...acme, expiresMs: 60_000 }, Date.now() - 60_001);
    expect(refusal(await new Guest(served, token).ask())).toMatchObject({ status: 410, code: "LINK_EXPIRED" });
  });
});

describe("wrong tokens", () => {
  const verdictOf = (tries: Tries, address: string, now = 0) => {
    try {
      tries.wrong(address, now);
      return "counted";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const counted = (tries: Tries, addresses: readonly string[]) =>
    addresses.filter((address) => verdictOf(tries, address) === "counted").length;

  test("are counted by address and in all, until the window is over", () => {
    const tries = new Tries();
    expect(counted(tries, Array(25).fill("198.51.100.1"))).toBe(20);
    const bots = Array.from({ length: 3000 }, (_, n) => `bot ${n}`);
    expect(counted(tries, bots)).toBe(980);
    expect(verdictOf(tries, "new")).toBe("TOO_MANY_TRIES");
    expect(verdictOf(tries, "new", 600_000)).toBe("counted");
  });

  test("of one network of IPv6 are one sender's, in whatever form its addresses are written", () => {
    const ofOne = ["2001:db8:0:7::1", "2001:DB8::7:ffff:1:2:3", "2001:0db8:0000:0007:8::", "2001:db8:0:7:1:2:3.4.5.6"];
    expect(new Set(ofOne.map(senderOf))).toEqual(new Set(["2001:db8:0:7::/64"]));
    const others = words("2001:db8:0:8::1 ::1 ::ffff:198.51.100.1 ::ffff:198.51.100.2 198.51.100.1 fe80::1%eth0");
    expect(new Set(others.map(senderOf)).size).toBe(others.length);
    const tries = new Tries();
    const senders = Array.from({ length: 1_100 }, (_, n) => `2001:db8::${n.toString(16)}`);
    expect(counted(tries, senders)).toBe(20);
  });

  test("lock nobody out who holds a link, from whatever address they come [shares of tries]", async () => {
    const { token } = await linkTo(served, acme);
    const statuses = new Set<number>();
    const guess = async (n: number) => {
      const guesser = new Guest(served, `${"A".repeat(22)}.${"B".repeat(32)}`, `2001:db8:${n.toString(16)}::1`);
      statuses.add((await guesser.ask()).status);
    };
    for (let from = 0; from < 1_050; from += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, n) => guess(from + n)));
    }
    expect(statuses).toEqual(new Set([404, 429]));
    const before = await new Guest(served, token, "2001:db8:1::1").decisions();
    expect(before.length).toBeGreaterThan(0);
    expect((await new Guest(served, token, "203.0.113.99").ask()).status).toBe(200);
    expect((await send(served, { path: urlOf(before[0]!) })).status).toBe(200);
  });
});

describe("whoever makes links", () => {
  test("is told what is wrong with one, before it is made", async () => {
    const make = (link: Parameters<typeof createReviewLink>[1]) => createReviewLink(served.journal, link, 0);
    for (const [link, message] of [
      [{ scope: {} }, "tag: specify a tag or a run"],
      [{ scope: { tags: {} } }, "tag: specify a tag or a run"],
      [{ scope: { ...acme.scope, step: "best" } }, "step: also specify the run that contains the step"],
      [{ scope: { runId: "nope" } }, 'run: run "nope" does not exist'],
      [{ ...acme, expiresMs: 1 }, "expires: must be from one minute to 90 days"],
      [{ ...acme, maxUses: 0 }, "maxUses: must be from 1 to"],
    ] as const)
      await expect(make(link)).rejects.toThrow(message);
  });

  test("may do so in the dashboard, where a link's secret is shown once; a viewer may not", async () => {
    const { origin, url } = served.dashboard;
    const own = { host: new URL(origin).host, origin, cookie: await cookieOf(url) };
    const headers = { ...own, "content-type": "application/json" };
    const post = async (path: string, body: object) =>
      JSON.parse(String((await send(served, { method: "POST", path, headers, body: JSON.stringify(body) })).body));
    const made = await post("/api/review-links", { tags: ["client=acme"], expiresMs: 3_600_000 });
    expect(made.url).toMatch(new RegExp(`^https://${PUBLIC}/shared#${made.id}\\.[\\w-]{32}$`));
    const listed = String((await send(served, { path: "/api/review-links", headers })).body);
    expect(listed).toContain(made.id);
    expect(listed).not.toContain(made.url.split(".").at(-1));
    expect(await post("/api/review-links/revoke", { id: made.id })).toMatchObject({ status: "revoked" });
    const unclear = await post("/api/review-links", { tags: ["acme"] });
    expect(unclear).toMatchObject({ error: { message: expect.stringContaining("acme") } });
  });

  test("names a public address of https that the dashboard itself does not answer to", async () => {
    const { show, journal, media } = served;
    for (const publicUrl of words(`
      http://review.test https://review.test/x https://u:p@review.test review.test https://127.0.0.1
      https://STUDIO.test
    `)) {
      const starting = startDashboard({ show, journal, media, publicUrl, allowHosts: ["studio.test"] });
      await expect(starting).rejects.toThrow("publicUrl: ");
    }
  });
});
