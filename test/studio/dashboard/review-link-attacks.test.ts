import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createReviewLink } from "../../../src/studio/dashboard/links/review-link.ts";
import { words } from "../../support/word-list.ts";
import { cookieOf, type Sent } from "./support/ask.ts";
import { Guest, linkTo, PUBLIC, plantQuestion, send } from "./support/review-links.ts";
import { type Served, serveDashboard, TOKEN } from "./support/serve.ts";

const ATTACKS = 1000;
const origin = `https://${PUBLIC}`;
const json = { origin, "content-type": "application/json" };
const runs = ["acme-1", "acme-2", "rival-1"];

/** What an attacker may have come by: links of their own and ended ones, and what these showed. */
interface Loot extends Readonly<Record<"mine" | "theirs" | "revoked" | "expired" | "cookie" | "host", string>> {
  readonly refs: Readonly<Record<"mine" | "theirs", readonly string[]>>;
  readonly files: Readonly<Record<"mine" | "theirs" | "ended", readonly string[]>>;
}

let served: Served;
let loot: Loot;

beforeAll(async () => {
  served = await serveDashboard({ publicUrl: origin });
  await plantQuestion(served, "acme-1", "acme", [10, 40]);
  await plantQuestion(served, "acme-2", "acme", [70, 100]);
  await plantQuestion(served, "rival-1", "rival", [130, 160]);
  const looted = async (client: string) => {
    const { id, token } = await linkTo(served, { scope: { tags: { client } } });
    const decisions = await new Guest(served, token).decisions();
    const files = decisions.flatMap(({ takes }) => takes.flatMap((take) => ("url" in take ? (take.url ?? []) : [])));
    return { id, token, refs: decisions.map(({ ref }) => ref), files };
  };
  const [mine, theirs, revoked] = [await looted("acme"), await looted("rival"), await looted("acme")];
  await served.journal.revokeReviewLink(revoked.id, Date.now());
  const ended = { scope: { runId: "acme-1" }, expiresMs: 60_000 };
  const { token: expired } = await createReviewLink(served.journal, ended, Date.now() - 120_000);
  const { host } = new URL(served.dashboard.origin);
  loot = {
    ...{ mine: mine.token, theirs: theirs.token, revoked: revoked.token, expired },
    ...{ cookie: await cookieOf(served.dashboard.url), host },
    refs: { mine: mine.refs, theirs: theirs.refs },
    files: { mine: mine.files, theirs: theirs.files, ended: revoked.files },
  };
});
afterAll(() => served[Symbol.asyncDispose]());

/** Another text of the same length, and some that are not: a letter changed, cut off, added, cases turned. */
const spoilt = (text: string): fc.Arbitrary<string> =>
  fc
    .oneof(
      fc
        .tuple(fc.nat(text.length - 1), fc.constantFrom(..."Aa0_-Zz9"))
        .map(([at, letter]) => text.slice(0, at) + letter + text.slice(at + 1)),
      fc.nat(text.length - 1).map((length) => text.slice(0, length)),
      fc.constantFrom(text.toUpperCase(), text.toLowerCase(), text.replace(".", "%2e")),
      fc.constantFrom(...words(`${text}A A${text} ${text}= ${text}%00`)),
    )
    .filter((one) => one !== text);

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const list = (token: string): Sent => ({ path: "/shared/api/decisions", headers: bearer(token) });
const decide = (token: string, body: unknown, headers: object = json): Sent => ({
  method: "POST",
  path: "/shared/api/decide",
  headers: { ...bearer(token), ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
/** A body for each value that a field may not have. */
const odds = (fields: Readonly<Record<string, readonly unknown[]>>): object[] =>
  Object.entries(fields).flatMap(([name, values]) => values.map((value) => ({ [name]: value })));
const verdict = (ref: string) => ({ ref, approved: true, pick: 0, take: 0, name: "Eve", text: "hello" });
const asComment = (one: Sent): Sent => ({ ...one, path: one.path.replace("/decide", "/comment") });

/** Tokens that are none: guessed, spoilt, put together from two, of links that are over, the dashboard's own. */
const badToken = (): fc.Arbitrary<string> => {
  const [id, secret] = loot.mine.split(".") as [string, string];
  const [otherId, otherSecret] = loot.theirs.split(".") as [string, string];
  const swapped = words(
    `${id}.${otherSecret} ${otherId}.${secret} ${secret}.${id} ${id} ${secret} ${loot.mine}.${secret}`,
  );
  const guessed = fc.tuple(
    fc.string({ unit: fc.constantFrom(..."AZaz09_-"), minLength: 22, maxLength: 22 }),
    fc.string({ unit: fc.constantFrom(..."AZaz09_-"), minLength: 32, maxLength: 32 }),
  );
  return fc.oneof(
    spoilt(loot.mine),
    fc.constantFrom(...swapped, loot.revoked, loot.expired, TOKEN, loot.cookie.split("=")[1]!),
    fc.constantFrom("null", "undefined", "' OR 1=1--"),
    guessed.map((parts) => parts.join(".")),
  );
};

/** Addresses of files with a part changed or taken from another, and ways around the path. */
const badFile = (): fc.Arbitrary<string> => {
  const { mine, theirs, ended } = loot.files;
  const parts = (path: string) => path.split("/");
  const mixed = fc
    .tuple(fc.constantFrom(...mine), fc.constantFrom(...theirs, ...ended), fc.integer({ min: 3, max: 6 }))
    .map(([one, other, at]) => parts(one).with(at, parts(other)[at]!).join("/"))
    .filter((path) => !mine.includes(path) && !theirs.includes(path));
  const later = fc.constantFrom(...mine).map((path) => parts(path).with(5, "9999999999999").join("/"));
  const changed = fc
    .tuple(fc.constantFrom(...mine), fc.integer({ min: 3, max: 6 }))
    .chain(([path, at]) =>
      spoilt(parts(path)[at]!).map((part) => parts(path).with(at, encodeURIComponent(part)).join("/")),
    )
    .filter((path) => !mine.includes(decodeURIComponent(path)));
  const around = fc.constantFrom(
    "/shared\\..\\api\\runs",
    ...words(`
      /shared/../api/runs /shared/%2e%2e/api/runs /shared/file/../../api/runs /shared/assets/..%2f..%2findex.html
      /shared/assets/%2e%2e%2findex.html /shared/assets/index.html /shared//api/decisions //shared/api/decisions
      /SHARED/api/decisions /shared%2fapi%2fdecisions /shared/api/decisions/ /shared/api/runs
      /shared/api/review-links /shared;/api/decisions
    `),
  );
  return fc.oneof(mixed, later, changed, fc.constantFrom(...ended), around);
};

const operators = () => {
  const media = runs.map((run) => `/media/${run}/look/0`);
  const pages = `
    / /api/runs /api/runs/acme-1 /api/gauges /api/live /api/review-links /download/acme-1 /login /api/visitor
    /runs/acme-1 /costs
  `;
  return fc.constantFrom(...words(pages), ...media);
};

/** The operator's side with what belongs to a link, and by the public name even with what opens it. */
const crossing = (): fc.Arbitrary<Sent> =>
  fc.oneof(
    operators().map((path): Sent => ({ path, headers: { cookie: loot.cookie } })),
    operators().map((path): Sent => ({ path: `${path}?token=${TOKEN}` })),
    operators().map((path): Sent => ({ path, headers: { host: loot.host, ...bearer(loot.mine) } })),
    operators().map(
      (path): Sent => ({
        path: `${path}?token=${loot.mine}`,
        headers: { host: loot.host, cookie: `${loot.cookie.split("=")[0]}=${loot.mine}` },
      }),
    ),
    fc.constantFrom("approve", "reject", "resume", "stop").map(
      (what): Sent => ({
        method: "POST",
        path: `/api/runs/acme-1/${what}`,
        headers: { ...json, host: loot.host, origin: `http://${loot.host}`, ...bearer(loot.mine) },
        body: JSON.stringify({ step: "best", pick: 0, goOn: true }),
      }),
    ),
    fc.constant<Sent>({ path: "/shared/api/decisions", headers: { cookie: loot.cookie } }),
    fc.constant<Sent>({ path: `/shared/api/decisions?token=${TOKEN}` }),
    fc.constant<Sent>({ path: `/shared/api/decisions?token=${loot.mine}` }),
  );

/** What browsers would send for other sites, and names that are not ours. */
const forged = (): fc.Arbitrary<Sent> => {
  const ref = loot.refs.mine[0]!;
  const hosts = words(
    `evil.test ${PUBLIC}.evil.test evil.${PUBLIC} ${PUBLIC}:8443 ${PUBLIC}:80 localhost ${PUBLIC},127.0.0.1`,
  );
  const origins = words(
    `https://evil.test null https://${PUBLIC}.evil.test https://${PUBLIC}:444 file:// https://evil.test#${PUBLIC}`,
  );
  return fc.oneof(
    fc.constantFrom(...hosts).map((host): Sent => ({ ...list(loot.mine), headers: { ...bearer(loot.mine), host } })),
    fc.constantFrom(...origins).map((from) => decide(loot.mine, verdict(ref), { ...json, origin: from })),
    fc.constant(decide(loot.mine, verdict(ref), { "content-type": "application/json" })),
    fc
      .constantFrom("cross-site", "same-site", "none")
      .map((site) => decide(loot.mine, verdict(ref), { ...json, "sec-fetch-site": site })),
    fc.constantFrom("cors", "no-cors").map(
      (mode): Sent => ({
        ...list(loot.mine),
        headers: { ...bearer(loot.mine), "sec-fetch-site": "cross-site", "sec-fetch-mode": mode },
      }),
    ),
  );
};

/** Decisions that are not the link's, bodies that are none, and methods that mean nothing. */
const malformed = (): fc.Arbitrary<Sent> => {
  const ref = loot.refs.mine[0]!;
  const bodies = [
    ...words(`[] null { {"__proto__":{"ref":"x"}} {"ref":${JSON.stringify(ref)}}`),
    ...["", "x".repeat(20_000), JSON.stringify({ ...verdict(ref), note: "n".repeat(17_000) })],
  ];
  const wrongRefs = [ref.slice(1), `x${ref.toLowerCase()}`, "__proto__", "../best"];
  const foreign = [...loot.refs.theirs, ...runs, "best", "look", ...wrongRefs];
  const odd = [
    ...odds({ approved: ["yes", null], pick: ["0", 1e9, -1, 0.5], name: ["", 7, ["Eve"], "\u202e"] }),
    ...odds({ note: [{}], ref: [[ref], null] }),
  ];
  return fc.oneof(
    fc
      .constantFrom(...foreign)
      .map((one) => decide(loot.mine, { ...verdict(one), run: "rival-1", step: "best", runId: "rival-1" })),
    fc.constantFrom(...bodies).map((body) => decide(loot.mine, body)),
    fc.constantFrom(...odd).map((part) => decide(loot.mine, { ...verdict(ref), ...part })),
    fc
      .constantFrom("text/plain", "multipart/form-data", "application/x-www-form-urlencoded")
      .map((type) => decide(loot.mine, verdict(ref), { origin, "content-type": type })),
    fc
      .tuple(
        fc.constantFrom("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "GET"),
        fc.constantFrom("/shared/api/decide", "/shared/api/revoke"),
      )
      .map(([method, path]): Sent => ({ method, path, headers: { ...bearer(loot.mine), ...json } })),
    fc.constantFrom("DELETE", "PUT", "POST").map(
      (method): Sent => ({
        ...list(loot.mine),
        method,
        headers: { ...bearer(loot.mine), ...json, "x-http-method-override": "GET" },
      }),
    ),
  );
};

/** Comments on what is not the link's, and comments that are none. */
const foreignComment = (): fc.Arbitrary<Sent> => {
  const ref = loot.refs.mine[0]!;
  const odd = odds({ text: ["", 7, "t".repeat(2001)], take: [2, -1, "0"], timeMs: [-1, "1"], name: [""] });
  return fc
    .oneof(
      fc.tuple(badToken(), fc.constantFrom(...loot.refs.mine)).map(([token, one]) => decide(token, verdict(one))),
      fc.constantFrom(...loot.refs.theirs, ...runs, "best").map((one) => decide(loot.mine, verdict(one))),
      fc.constantFrom(...odd).map((part) => decide(loot.mine, { ...verdict(ref), ...part })),
    )
    .map(asComment);
};

const attack = (): fc.Arbitrary<Sent> =>
  fc.oneof(
    badToken().map(list),
    fc
      .tuple(badToken(), fc.constantFrom(...loot.refs.mine, ...loot.refs.theirs))
      .map(([token, ref]) => decide(token, verdict(ref))),
    badFile().map((path): Sent => ({ path, headers: bearer(loot.mine) })),
    crossing(),
    forged(),
    forged().map(asComment),
    malformed(),
    foreignComment(),
  );

test(`${ATTACKS} attacks on review links: none gets an answer, and nothing of any run changes`, async () => {
  const before = await Promise.all(runs.map((run) => served.journal.run(run)));
  const statuses = new Map<number, number>();
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(attack(), async (one) => {
      // Each from an address of its own, or the first twenty would be all that is heard.
      const headers = { "x-forwarded-for": `198.51.${sent >> 8}.${sent & 255}`, ...one.headers };
      sent += 1;
      const { status, body } = await send(served, { ...one, headers });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      expect(status, JSON.stringify(one)).toBeGreaterThanOrEqual(400);
      expect(status, String(body)).toBeLessThan(500);
      for (const run of runs) expect(String(body)).not.toContain(run);
    }),
    { numRuns: ATTACKS },
  );
  expect([...statuses.keys()].toSorted()).toEqual(expect.arrayContaining([400, 401, 403, 404, 410, 413, 415]));
  for (const run of runs) expect(await served.journal.inbox(run)).toEqual([]);
  expect(await Promise.all(runs.map((run) => served.journal.run(run)))).toEqual(before);
  for (const { uses } of await served.journal.reviewLinks()) expect(uses).toBe(0);
  expect(served.defects).toEqual([]);
  expect(await new Guest(served, loot.mine).decisions()).toHaveLength(2);
});
