import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

/** One picture a row; two cents each. */
const cards = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("cards", {
  input: z.object({
    slogan: z.string().min(3),
    size: z.number().int().max(9).default(1),
    style: z.object({ dark: z.boolean().default(false) }).default({ dark: false }),
    look: z.string().default("plain"),
  }),
  build({ input, job }) {
    const prompt = [input.slogan, input.size, input.style.dark, input.look].join(" ");
    return { card: job("card", "image-1", { prompt }) };
  },
});
`;

/** The prices of speech and film are known once there is a text, and a sound. */
const spoken = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("cards", {
  input: z.object({ slogan: z.string() }),
  build({ input, chat, job }) {
    const text = chat("text", "chat-1", { prompt: "Five long sentences about " + input.slogan }, { maxCost: "0.02" });
    const audio = job("voice", "speech-1", { text, voice_id: "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01" });
    const start_image = job("face", "image-1", { prompt: input.slogan });
    return { film: job("film", "avatar-1", { start_image, audio, prompt: "speaks", aspect_ratio: "1:1", resolution: "720p" }) };
  },
});
`;

let service: Service;
beforeAll(async () => {
  service = await startService(["--stub"]);
});
afterAll(() => service?.stop());

let options: { readonly cwd: string; readonly env: Service["env"] };
beforeEach(() => {
  options = { cwd: emptyFolder(), env: service.env };
  writeFileSync(join(options.cwd, "cards.ts"), cards);
});

const jobsCreated = async () => {
  const stats = await fetch(new URL("/_local/stats", service.env.SHOWRUNNER_BASE_URL));
  return ((await stats.json()) as { readonly jobs_created: number }).jobs_created;
};
const csv = (text: string, name = "rows.csv") => writeFileSync(join(options.cwd, name), text);
const each = (...more: readonly string[]) => cli(["run", "cards.ts", "--each", "rows.csv", ...more], options);

describe("showrunner run --each", () => {
  test("plan --each shows what each row costs, and all of them, and starts nothing; runs lists them under their totals", async () => {
    csv("name,slogan\nA name that is rather long,Good\nshort,Better\n");
    const before = await jobsCreated();
    const planned = await cli(["plan", "cards.ts", "--each", "rows.csv"], options);
    expect(planned.stdout).toMatch(
      /line +run +expected\n +2 +rows-A-name-that-is-rather-long-\w+ +\$0\.02\n +3 +rows-short-\w+ +\$0\.02\n/,
    );
    expect(planned.stdout).toContain("2 rows cost $0.04 at most");
    expect(planned.stderr).toContain("Next: showrunner run cards.ts --each rows.csv");
    const { stdout } = await cli(["plan", "cards.ts", "--each", "rows.csv", "--json"], options);
    const { rows, ...sums } = JSON.parse(stdout);
    expect(sums).toEqual({ ok: true, total: { expected: "0.04", max: "0.04" } });
    expect(rows[1]).toMatchObject({ line: 3, expected: "0.02", max: "0.02", open_steps: [], status: null });
    expect(await jobsCreated()).toBe(before);
    expect((await cli(["runs"], options)).stderr).toContain("No runs yet");

    const ran = await each("--budget", "5");
    for (const { id } of rows) expect(ran.stderr).toContain(`started: ${id}`);
    const listed = await cli(["runs"], { ...options, terminal: { isTTY: true, columns: 80 } });
    const [head, batch, ...members] = listed.stdout.trimEnd().split("\n");
    expect(head).toMatch(/^run +status +started$/);
    expect(batch).toBe("2 rows of cards: $0.04 of $5.00, 2 of 2 succeeded");
    for (const { id } of rows) expect(members.join("\n")).toMatch(new RegExp(`^  ${id} +succeeded +just now`, "m"));
    const shown = await cli(["show", rows[0].id], options);
    expect(shown.stdout).toContain("cost $0.02, quoted $0.02, shared budget $5.00");
    const again = await cli(["plan", "cards.ts", "--each", "rows.csv"], options);
    expect(again.stdout).toMatch(/rows-short-\w+ +\$0\.02 +succeeded/);
    const drawn = await cli(["plan", "cards.ts", "--each", "rows.csv", "--mermaid"], options);
    expect(drawn).toMatchObject({ code: 2, stderr: expect.stringContaining("--each prices many plans") });
  });

  test("runs one run a row, says how each went, and repeated starts nothing again", async () => {
    csv(
      '\uFEFFslogan,size,style.dark,tag:team,#note\n"Good, ""really""",3,true,video,x\n"two\nlines",,,,\nGood,,,,y\n',
    );
    const before = await jobsCreated();
    const ran = await each("--budget", "1", "--at-once", "2", "--json", "--tag", "batch=june");
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain("3 rows cost $0.06 at most");
    const lines = ran.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ line, status, cost, message }) => [line, status, cost, message]).sort()).toEqual([
      [2, "succeeded", "0.02", null],
      [3, "succeeded", "0.02", null],
      [5, "succeeded", "0.02", null],
    ]);
    expect(lines[0].id).toMatch(/^rows-[0-9a-f]{12}$/);
    const listed = await cli(["runs", "--json", "--tag", "team=video"], options);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ status: "succeeded", tags: { batch: "june", team: "video" } }]);
    expect(readdirSync(join(options.cwd, "out")).sort()).toEqual(lines.map(({ id }) => id).sort());

    const again = await each("--budget", "1", "--tag", "batch=june");
    expect(again.code, again.stderr).toBe(0);
    expect(again.stderr).toContain("3 already started");
    expect((await jobsCreated()) - before).toBe(3);
    csv(`${readFileSync(join(options.cwd, "rows.csv"), "utf8")}New one,,,,\n`);
    expect((await each("--budget", "1", "--tag", "batch=june")).code).toBe(0);
    expect((await jobsCreated()) - before).toBe(4);
  });

  test("rows are called by a column; called by another one, or found by a word, they are the same runs", async () => {
    csv("slogan,look,#name\nGood,plain,Wool scarf 16\nBetter,bold,Silk tie\n");
    const before = await jobsCreated();
    const ran = await each("--budget", "1");
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/^rows-Wool-scarf-16-[0-9a-f]{12}\tsucceeded/m)]);
    expect((await each("--budget", "1", "--id-column", "slogan")).stderr).toContain("2 already started");
    expect((await jobsCreated()) - before).toBe(2);
    const found = await cli(["runs", "--search", "BOLD tie"], options);
    expect(found.stdout).toMatch(/Silk tie/);
    expect(found.stdout).not.toMatch(/scarf|batch-of/);
    expect((await cli(["runs", "--search", "linen"], options)).stderr).toContain('No runs with "linen".');
    const wrong = await each("--budget", "1", "--id-column", "sku");
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining("set --id-column to one of slogan, look, #name"),
    ]);
  });

  test("40 rows under a budget for 25: 25 are made, and the budget that is advised makes the rest", async () => {
    csv(`slogan\n${Array.from({ length: 40 }, (_, n) => `slogan ${n}`).join("\n")}\n`);
    const before = await jobsCreated();
    const first = await each("--budget", "0.50");
    expect([first.code, first.stderr]).toEqual([3, expect.stringContaining("25 succeeded, 15 waiting")]);
    expect((await jobsCreated()) - before).toBe(25);
    expect(first.stderr).toContain("showrunner run cards.ts --each rows.csv --budget 0.80");
    const second = await each("--budget", "0.80");
    expect([second.code, second.stderr]).toEqual([0, expect.stringContaining("40 succeeded")]);
    expect((await jobsCreated()) - before).toBe(40);
  });

  test("rows whose prices rise as they run draw on what is left, and more budget continues those that paused", async () => {
    writeFileSync(join(options.cwd, "cards.ts"), spoken);
    csv("slogan\nGood\nBetter\n");
    const first = await each("--budget", "0.50");
    expect(first.code, first.stderr).toBe(3);
    expect(first.stderr).toMatch(/^\d+ (paused|waiting)|, \d+ (paused|waiting)/m);
    const second = await each("--budget", "5");
    expect([second.code, second.stderr]).toEqual([0, expect.stringContaining("2 succeeded")]);
  });

  test("lists every bad row with line and column, and starts none", async () => {
    const before = await jobsCreated();
    csv("slogan,size\nfine,1\nno,2\nwell,ten\nmore,12\ntoo,many,cells\nfine,1\nno,many\n,3\n");
    const { code, stderr, stdout } = await each("--budget", "1", "--json");
    expect(code).toBe(2);
    expect(stderr).toContain("8 mistakes in rows.csv; nothing was started:");
    expect(stderr).toMatch(/ {2}line(s 3, 8| 3), column slogan: /);
    expect(stderr).toContain('  line 4, column size: "ten" is not an integer');
    expect(stderr).toContain("  line 5, column size: ");
    expect(stderr).toContain("  line 6: has 3 cells, but the header has 2");
    expect(stderr).toContain("  line 7: repeats line 2; to tell the rows apart, add a column whose name begins with #");
    expect(stderr).toContain('  line 8, column size: "many" is not an integer');
    const { mistakes } = JSON.parse(stdout) as { mistakes: { line: number }[] };
    expect(mistakes.map(({ line }) => line)).toEqual([3, 4, 5, 6, 7, 8, 8, 9]);
    expect(await jobsCreated()).toBe(before);
  });

  test.each([
    ["slogan,sise\na b c,1\n", "line 1, column sise: is not a field of the input; did you mean size?"],
    ["slogan,slogan\na b c,1\n", "line 1, column slogan: occurs twice in the header"],
    ["slogan,#\nno,1\nno,2\nno,3\nfine,4\nno,5\n", "  lines 2 to 4, 6, column slogan: "],
    ["slogan,\na b c,1\n", "line 1, column 2: has no name in the header"],
    ["slogan\n", "line 1: has no rows"],
    ["", "line 1: has no header"],
    ['slogan\n"open\n', "line 2"],
    ["slogan,tag:a b\nabc,x\n", "is not a valid tag key"],
  ])("says what is wrong with %j", async (text, message) => {
    csv(text);
    const { code, stderr } = await each("--budget", "1");
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  test("rows that ask somebody are counted, and where to decide comes first of what is next", async () => {
    const asking = cards
      .replace("job })", "job, approve })")
      .replace("return { card: job(", 'return { card: approve("fine", job(');
    writeFileSync(join(options.cwd, "cards.ts"), asking.replace("{ prompt }) }", "{ prompt })) }"));
    csv("slogan\none\ntwo\n");
    const { code, stderr } = await each("--budget", "1");
    expect([code, stderr]).toEqual([3, expect.stringContaining("2 rows are waiting for a decision")]);
    expect(stderr).toMatch(/Next: showrunner approve\n.*\nNext: showrunner run /);
  });

  test("reads JSON lines, and names the row of the lines that are none", async () => {
    csv('{"slogan":"from JSON","style":{"dark":true}}\n\n{"slogan":"b c d","size":2}\n', "rows.jsonl");
    const args = ["run", "cards.ts", "--each", "rows.jsonl", "--budget", "1", "-i", "look=old"];
    const ran = await cli(args, options);
    expect([ran.code, ran.stdout.trim().split("\n").length], ran.stderr).toEqual([0, 2]);
    csv('{"slogan":"x y z"}\n{"slogan": }\n[1]\n{"slogn":"x y z"}\n', "rows.jsonl");
    const bad = await cli(args, options);
    expect(bad.stderr).toContain("line 2, column 12: is not valid JSON");
    expect(bad.stderr).toContain("line 3: is not a JSON object");
  });

  test("starts no more than the budget for all carries, and goes on with a higher one [G25]", async () => {
    csv(`slogan\n${Array.from({ length: 5 }, (_, index) => `slogan ${index}`).join("\n")}\n`);
    const before = await jobsCreated();
    const short = await each("--budget", "0.07", "--at-once", "4");
    expect(short.code, short.stderr).toBe(3);
    expect(short.stderr).toContain("3 succeeded, 2 waiting");
    expect(short.stderr).toContain(
      "cost 0.02 USD, but earlier rows have spent or reserved 0.06 USD of the budget of 0.07 USD",
    );
    expect((await jobsCreated()) - before).toBe(3);
    expect((await each("--budget", "0.1")).code).toBe(0);
    expect((await jobsCreated()) - before).toBe(5);
  });

  test("names the unfinished run of a row that was edited, with what it holds and the command that continues it", async () => {
    csv("slogan\nold words\n");
    expect((await each("--budget", "1", "--cap", "0.01/day")).code).toBe(3);
    csv("slogan\nnew words\n");
    const said = await each("--budget", "1");
    expect([said.code, said.stderr]).toEqual([0, expect.stringMatching(/replaced: its row was changed or removed/)]);
    const [, id] = /^Run (\S+) was replaced: .*d\. \$0\.00 charged, \$0\.00 reserved, 0 of 1 step/m.exec(said.stderr)!;
    expect(said.stderr).toContain(`Next: showrunner resume ${id}`);
    const printed = await each("--budget", "1", "--json");
    const lines = printed.stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line)).filter(({ status }) => status === "replaced")).toMatchObject([
      {
        line: null,
        id,
        cost: "0.00",
        held: "0.00",
        next: { command: expect.stringContaining(`showrunner resume ${id}`) },
      },
    ]);
    expect((await cli(["resume", id!], options)).code).toBe(0);
    expect((await each("--budget", "1")).stderr).not.toContain("replaced");
  });

  test("stops at a cap that the next row would meet too, and exits 3", async () => {
    csv(`slogan\n${Array.from({ length: 6 }, (_, index) => `capped ${index}`).join("\n")}\n`);
    const before = await jobsCreated();
    const met = await each("--budget", "1", "--at-once", "1", "--cap", "0.05/day");
    expect(met.code, met.stderr).toBe(3);
    expect(met.stderr).toContain("2 succeeded, 1 paused, 3 waiting");
    expect((await jobsCreated()) - before).toBe(2);
    const flags = ["--budget", "1", "--at-once", "0"];
    expect(await each(...flags)).toMatchObject({ code: 2, stderr: expect.stringContaining("--at-once 0") });
  });
});
