import { expect, test } from "vitest";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import { linkOfToken } from "../../src/studio/dashboard/links/review-link.ts";
import { planned } from "../core/journal/samples.ts";
import { beginCli, cli, emptyFolder } from "./support/cli.ts";

const PUBLIC = "https://review.example.test";

test("review-link makes a link whose secret is nowhere else, lists it and ends it", async () => {
  const cwd = emptyFolder();
  const env = { SHOWRUNNER_PUBLIC_URL: PUBLIC };
  const made = await cli(["review-link", "--tag", "client=acme", "--expires", "12h", "--json"], { cwd, env });
  expect(made.code, made.stderr).toBe(0);
  const { id, url, ...rest } = JSON.parse(made.stdout);
  expect(rest).toMatchObject({
    tags: ["client=acme"],
    run: null,
    step: null,
    status: "active",
    uses: 0,
    max_uses: 500,
  });
  const token = new URL(url).hash.slice(1);
  expect(url).toBe(`${PUBLIC}/shared#${token}`);
  expect(made.stderr).toContain(`showrunner dashboard --public-url ${PUBLIC}`);
  expect(made.stderr).toContain("No run has this tag yet");
  await using journal = await opened(`${cwd}/.showrunner/journal.db`);
  expect(await linkOfToken(journal.store, token)).toMatchObject({ id, revokedAt: null });
  const listed = await cli(["review-link", "--list"], { cwd });
  expect(listed.stdout).toContain(id);
  expect(listed.stdout).not.toContain(token.split(".")[1]);
  expect((await cli(["review-link", "--revoke", id], { cwd })).code).toBe(0);
  expect(await linkOfToken(journal.store, token)).toMatchObject({ revokedAt: expect.any(Number) });
});

test("review-link names the address of the dashboard of its journal while that runs", async () => {
  const cwd = emptyFolder();
  await using journal = await opened(`${cwd}/.showrunner/journal.db`);
  await journal.store.close();
  const link = async () => (await cli(["review-link", "--tag", "client=acme"], { cwd })).stdout;
  const dashboard = beginCli(["dashboard", "--port", "0", "--local"], { cwd });
  const { origin } = new URL((await dashboard.printed).trim());
  expect(await link()).toContain(`${origin}/shared#`);
  await dashboard.stop();
  expect(await link()).toContain("http://127.0.0.1:8788/shared#");
});

test.each([
  [["review-link"], "--tag: specify a tag or a run"],
  [["review-link", "r9"], 'argument run-id: run "r9" does not exist'],
  [["review-link", "r1", "b"], 'argument step: run "r1" has no step "b"'],
  [["review-link", "--tag", "acme"], "--tag acme is not KEY=VALUE"],
  [["review-link", "r1", "--expires", "soon"], "--expires soon is not a duration"],
  [["review-link", "r1", "--expires", "91d"], "--expires: must be from one minute to 90 days"],
  [["review-link", "r1", "--max-uses", "many"], "--max-uses many is not a whole number from 1 to"],
  [["review-link", "r1", "--max-uses", "1000000"], "--max-uses: must be from 1 to"],
  [["review-link", "r1", "--public-url", "http://review.test"], "--public-url: must be an https URL without a path"],
  [["review-link", "--revoke", "x"], "--revoke x: this link does not exist"],
])("%j is refused with what to do next, and nothing is made", async (args, message) => {
  const cwd = emptyFolder();
  await using journal = await opened(`${cwd}/.showrunner/journal.db`);
  await journal.store.createRun("r1", planned(), 1);
  const { code, stderr } = await cli(args, { cwd });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  expect(stderr).toContain("Next:");
  expect(await journal.store.reviewLinks()).toEqual([]);
});

async function opened(path: string) {
  const store = await openSqliteJournal(path);
  return { store, [Symbol.asyncDispose]: () => store.close() };
}
