import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { fastFolder } from "../../src/testing/surroundings.ts";
import { cli, startCli } from "./support/cli.ts";

const PIPELINE = `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("cards", {
  input: z.object({}),
  build({ job, approve }) {
    const revise = (input, note) => ({ prompt: input.prompt + ", " + note });
    const card = job("card", "image-1", { prompt: "a card" }, { revise });
    const plain = job("plain", "image-1", { prompt: "plain" });
    return { fine: approve("fine", card), also: approve("also", plain) };
  },
});
`;

let service: LocalService;
let folder: string;
const env = () => ({ SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey });
const here = (...args: readonly string[]) => cli(args, { cwd: folder, env: env() });
/** With a person on the terminal, who says yes to all questions, and to the first one when `meanwhile` has happened. */
function asking(args: readonly string[], meanwhile: () => Promise<unknown> = async () => {}) {
  let happened: Promise<unknown> | undefined;
  const ask = async () => {
    happened ??= meanwhile();
    await happened;
    return "y";
  };
  return cli(args, { cwd: folder, env: env(), ask });
}

beforeAll(async () => {
  folder = await fastFolder("redo-");
  service = await startLocalService({ renderer: "stub", speed: 50, balance: 25, dataDir: join(folder, "service") });
  await writeFile(join(folder, "cards.ts"), PIPELINE);
  const { code, stderr } = await here("run", "cards.ts", "--id", "c", "--budget", "5");
  expect(code, stderr).toBe(3);
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

/** The prompts of `card`, in the order in which they were submitted. */
async function submitted(): Promise<readonly unknown[]> {
  const journal = await openSqliteJournal(join(folder, ".showrunner/journal.db"));
  const events = await journal.read("c");
  await journal.close();
  return events.flatMap(({ event }) =>
    event.type === "job.submit.intended" && event.step === "card"
      ? [(event.input as { readonly prompt: string }).prompt]
      : [],
  );
}

describe("redo with a note, on the command line", () => {
  test("shows what the note changes and costs, and changes nothing without a yes", async () => {
    const { code, stderr } = await here("resume", "c", "--redo", "fine", "--note", "warmer");
    expect(code, stderr).toBe(3);
    expect(stderr).toContain('input.prompt: "a card" → "a card, warmer"');
    expect(stderr).toContain("Nothing was spent or changed.");
    expect(stderr).toContain("showrunner resume c --redo fine --note warmer --accept-changes --yes");
    expect(await submitted()).toEqual(["a card"]);
  });

  test("killed while it submits: typed again it goes on with the same, pays once, and asks anew", async () => {
    const before = service.stats().jobs_created;
    service.faults([{ kind: "delay", route: "POST /models/{model}", delay_ms: 600_000 }]);
    const line = ["resume", "c", "--redo", "fine", "--note", "warmer", "--yes"];
    const { child, end } = startCli(line, { cwd: folder, env: env() });
    await expect.poll(submitted).toHaveLength(2);
    child.kill("SIGKILL");
    await end;
    service.faults([]);
    const { code, stderr } = await here(...line);
    expect(code, stderr).toBe(3);
    expect(stderr).toContain("fine is already in progress; the run continues");
    expect((await submitted()).at(-1)).toBe("a card, warmer");
    expect(service.stats().jobs_created).toBe(before + 1);
    expect((await here("approve", "c")).stderr).toContain("fine");
  });

  test("without `revise` the same is asked for once more, and it is said", async () => {
    const before = service.stats().jobs_created;
    const { code, stderr } = await here("resume", "c", "--redo", "also", "--note", "warmer", "--yes");
    expect(code, stderr).toBe(3);
    expect(stderr).toContain(
      "plain has no `revise` function, so the note has no effect: the same request is sent again",
    );
    expect(service.stats().jobs_created).toBe(before + 1);
  });

  test("with a request id the note is applied once, however often the command is repeated [G11]", async () => {
    const before = service.stats().jobs_created;
    const line = ["resume", "c", "--redo", "fine", "--note", "brighter", "--request-id", "brighter-1", "--yes"];
    const first = await here(...line);
    expect(first.code, first.stderr).toBe(3);
    expect((await submitted()).at(-1)).toMatch(/, brighter$/);
    const again = await here(...line);
    expect(again.code, again.stderr).toBe(3);
    expect(again.stderr).toContain("Nothing new was started.");
    expect((await submitted()).at(-1)).not.toContain("brighter, brighter");
    expect(service.stats().jobs_created).toBe(before + 1);
  });

  test("a yes on the terminal is to the quote that was shown: what became another meanwhile is refused with the quote of it [G21]", async () => {
    const edit = ["resume", "c", "--edit", "plain:prompt=sober"];
    const before = service.stats().jobs_created;
    const refused = await asking(edit, () => here("resume", "c", "--rerun", "card", "--yes"));
    expect(refused.code, refused.stderr).toBe(2);
    const [, shown] = /To accept exactly this quote: .* --quote (quote_[0-9a-f]+)/.exec(refused.stderr) ?? [];
    expect(refused.stderr).toContain(`Quote ${shown} is for a different plan or input`);
    expect(refused.stderr).toMatch(/Current quote: quote_[0-9a-f]+, at most/);
    expect(service.stats().jobs_created).toBe(before + 1);
    const done = await asking(edit);
    expect(done.code, done.stderr).toBe(3);
    expect(service.stats().jobs_created).toBe(before + 2);
  });

  test("each command that is suggested for a change is accepted as printed", async () => {
    const suggested = (stderr: string, lead: string) =>
      new RegExp(`^${lead}(?:npx )?showrunner (.*?)(?: {2,}.*)?$`, "m").exec(stderr)?.[1]?.split(" ") ?? [];
    const before = service.stats().jobs_created;
    const refused = await here("resume", "c", "--rerun", "plain");
    expect(refused.code).toBe(2);
    const rerun = await here(...suggested(refused.stderr, "To accept exactly this quote: "));
    expect(rerun.code, rerun.stderr).toBe(3);
    const shown = await here("resume", "c", "--edit", "plain:prompt=gaudy");
    expect(shown.code, shown.stderr).toBe(3);
    const edited = await here(...suggested(shown.stderr, "Next: "));
    expect(edited.code, edited.stderr).toBe(3);
    const declined = cli(["resume", "c", "--edit", "plain:prompt=dull"], {
      cwd: folder,
      env: env(),
      ask: async (question) => (question.startsWith("Apply") ? "y" : "n"),
    });
    const quoted = suggested((await declined).stderr, "To accept exactly this quote: ");
    expect(quoted).toContain("--accept-changes");
    expect((await here(...quoted)).code).toBe(3);
    expect(service.stats().jobs_created).toBe(before + 3);
  });

  test("an edit with problems is refused without an empty list of changes", async () => {
    const { code, stderr } = await here("resume", "c", "--edit", "plain:nothing=x");
    expect(code, stderr).toBe(2);
    expect(stderr).not.toContain("These requests differ");
    expect(stderr).toContain("nothing");
  });

  test("stop --json prints the run's id and status", async () => {
    const { stdout } = await here("stop", "c", "--json");
    expect(JSON.parse(stdout)).toEqual({ id: "c", status: "paused" });
  });

  test("made again beside changed code, it is agreed to by the quote of both", async () => {
    await writeFile(join(folder, "cards.ts"), PIPELINE.replace('"a card"', '"a card", aspect_ratio: "16:9"'));
    const redo = ["resume", "c", "--redo", "also", "--note", "warmer"];
    const before = service.stats().jobs_created;
    const refused = await asking(redo, () => here("resume", "c", "--rerun", "card", "--yes"));
    expect(refused.code, refused.stderr).toBe(2);
    expect(refused.stderr).toMatch(/Current quote: quote_[0-9a-f]+, at most/);
    expect(service.stats().jobs_created).toBe(before + 1);
    const done = await asking(redo);
    expect(done.code, done.stderr).toBe(3);
    expect(done.stderr).toContain("To rerun: 4 steps");
    expect(service.stats().jobs_created).toBe(before + 3);
  });

  test.each([
    [["--redo", "fine"], "--redo needs a note"],
    [["--note", "warmer"], "--note has no effect without --redo, --rerun, --rerun-failed, or --edit"],
    [["--redo", "fine", "--note", "warmer", "--rerun", "card"], "--redo cannot be combined with other changes"],
    [["--quote", "quote_00"], "--quote: there is nothing to accept"],
    [["--everywhere"], "--everywhere has no effect without --edit or --redo"],
    [["--no-everywhere", "--rerun", "card"], "--no-everywhere has no effect without --edit or --redo"],
    [["--same-seed"], "--same-seed has no effect without --rerun, --rerun-failed, --redo, or --edit"],
    [["--redo", "nothing", "--note", "warmer"], "has no step nothing"],
    [["--redo", "fine", "--note", " "], "note: is empty"],
  ])("resume c %j says what is wrong with it", async (flags, message) => {
    const { code, stderr } = await here("resume", "c", ...flags);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain(message);
  });
});
