import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { root } from "./support/cli.ts";
import { Stranger } from "./support/stranger.ts";

/** Many processes one after the other, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

const hourMs = 3_600_000;
let me: Stranger;

function walk(pipeline: string, options: Parameters<typeof Stranger.arrives>[0], steps: () => void): void {
  describe(`${pipeline}, through ordinary failures, reading only the screen`, () => {
    beforeAll(async () => {
      me = await Stranger.arrives(options);
    });
    afterAll(() => me[Symbol.asyncDispose]());
    steps();
  });
}

walk("a storyboard of 12 shots", {}, () => {
  const begin = "showrunner run storyboard.ts --id film --budget 6";

  test("a story that moderation refuses: nothing is bought, and the steps and the field are named", async () => {
    await me.types(`${begin} -i 'story=A moderation-refused story'`, 2);
    expect(me.screen).toMatch(/hero\/1 +input\.prompt: .*moderation/);
    expect(me.service.stats().jobs_created).toBe(0);
  });

  test("a terminal that is closed in mid-run: `runs` shows interrupted, and the command below it continues the run", async () => {
    let close = () => {};
    let sent = 0;
    me.trouble = (method, path) => {
      if (method !== "POST" || !path.endsWith("/models/image-1") || ++sent < 2) return "none";
      close();
      return "cut after";
    };
    await me.types(begin, null, (shell) => {
      close = () => shell.kill();
    });
    me.trouble = () => "none";
    await me.types("showrunner runs", 0);
    expect(me.screen).toContain("film  interrupted");
    await me.pastes(/resume/, 3);
    expect(me.screen).toContain("Waiting for a decision on hero/pick");
    expect(me.service.stats().jobs_by_model["image-1"]).toBe(2);
  });

  test("a take that is rejected: the run fails for that reason, and the command below it requests the approval again", async () => {
    await me.types(me.copies(/see the results with: (.*)\)/), 3);
    await me.pastes(/^showrunner reject film hero\/pick/, 1);
    expect(me.screen).toContain("hero/pick failed: rejected");
    await me.pastes(/--rerun-failed/, 2);
    expect(me.screen).toMatch(/To rerun: .* in addition to/);
    await me.pastes(/--rerun-failed --yes/, 3);
    await me.pastes(/--pick/, 3);
    expect(me.screen).toContain("Waiting for a decision on frames-ok");
    expect(me.service.stats().jobs_by_model["image-1"]).toBe(2 + 12);
  });

  test("changed code: the first command shows what differs, and the commands below it rerun exactly that", async () => {
    const file = join(me.cwd, "storyboard.ts");
    writeFileSync(file, readFileSync(file, "utf8").replace("input.ink}`", "input.ink} on ivory`"));
    await me.types(begin, 2);
    expect(me.screen).toMatch(/frames\/frame-1 changed \(input\.prompt\)/);
    await me.pastes(/--accept-changes/, 2);
    expect(me.screen).toMatch(/in ink" → .*in ink on ivory"/);
    await me.pastes(/--accept-changes --yes/, 3);
    expect(me.screen).toContain("Waiting for a decision on frames-ok");
    expect(me.service.stats().jobs_by_model["image-1"]).toBe(2 + 12 + 12);
  });

  test("assets that expired while the run waited: the approval continues from the local copies, and nothing is bought again", async () => {
    await me.service.clock.advance(49 * hourMs);
    me.service.faults([{ kind: "error", code: "INTERNAL", route: "POST /models/{model}", count: 5 }]);
    await me.pastes(/approve film frames-ok/, 0);
    expect(me.screen).toContain("hero/1: output 0 expired on the service");
    expect(me.service.stats().jobs_by_model["image-1"]).toBe(2 + 12 + 12);
  });

  test("a service that answers 500: the same requests are sent again, and the film is there, each clip paid once", async () => {
    expect(me.service.stats().requests["POST /models/{model}"]?.["500"]).toBe(5);
    expect(me.screen).toContain("succeeded: run film");
    expect(me.service.stats().jobs_by_model["video-1"]).toBe(12);
  });
});

walk("50 ads from a CSV", { balance: 0.3 }, () => {
  const begin = "showrunner run ads.ts --id ads --budget 2 --give-up-after 2s";

  test("a file that is not there or holds wrong rows: it is named, or the row and the field, and nothing is bought", async () => {
    await me.types(`${begin} -i rows=adverts.csv`, 2);
    expect(me.screen).toContain("adverts.csv");
    expect(me.screen).not.toContain("async");
    writeFileSync(join(me.cwd, "ads.csv"), "sku,slogan\nSKU-1,Good\nSKU 2,\n");
    await me.types(begin, 2);
    expect(me.screen).toContain("input.rows[1].sku: ");
    expect(me.screen).toContain("input.rows[1].slogan: ");
    const rows = Array.from({ length: 50 }, (_, at) => `SKU-${at + 1},Number ${at + 1} floats`);
    writeFileSync(join(me.cwd, "ads.csv"), `${["sku,slogan", ...rows].join("\n")}\n`);
  });

  test("a wallet that is too small: the run does not start, and shows what is missing and how to go as far as it lasts", async () => {
    await me.types(begin, 2);
    expect(me.screen).toMatch(/holds 0\.30 USD: 0\.70 USD short\. Nothing was submitted/);
    expect(me.service.stats().jobs_created).toBe(0);
  });

  test("a network that fails: the run pauses, and the command below it continues without paying twice", async () => {
    let sent = 0;
    me.trouble = (method, path) => {
      if (method === "POST" && path.endsWith("/models/image-1")) sent += 1;
      return sent > 5 ? "cut before" : "none";
    };
    await me.pastes(/--start-anyway/, 3);
    expect(me.screen).toMatch(/^ {2}unreachable: .*Nothing is lost or paid for twice/m);
    me.trouble = () => "none";
    await me.pastes(/resume ads/, 3);
  });

  test("a wallet that is empty in mid-run: the screen has the address to add funds at", async () => {
    expect(me.service.stats().charged_micros).toBe(300_000);
    const address = me.copies(/Add funds: (\S+)/);
    expect(await (await fetch(address)).text()).toContain('name="dollars"');
    expect((await fetch(address, { method: "POST", body: new URLSearchParams({ dollars: "5" }) })).status).toBe(200);
  });

  test("a full disk: the run stops there, and the command below it continues once there is space", async () => {
    const { env } = me;
    const flags = `--import ${pathToFileURL(join(root, "test/cli/fixtures/full-disk.mjs")).href}`;
    const full = { SHOWRUNNER_TEST_FULL: "media", SHOWRUNNER_TEST_FREED: join(me.cwd, "freed") };
    me.env = { ...env, ...full, SHOWRUNNER_TEST_NODE_FLAGS: flags };
    await me.pastes(/--wait-for-funds/, 3);
    expect(me.screen).toMatch(/the disk is full[\s\S]*Nothing is lost/);
    me.env = env;
    await me.pastes(/resume ads/, 0);
    expect(readdirSync(join(me.cwd, "out/ads")).filter((name) => name.endsWith(".png"))).toHaveLength(50);
    expect(me.service.stats()).toMatchObject({ jobs_created: 50, charged_micros: 1_000_000 });
  });
});

walk("an avatar in five languages", {}, () => {
  const begin = "showrunner run avatar.ts --id five --budget 3";

  test("a wrong key: the variable is named, and doctor reports when it is right", async () => {
    const { env } = me;
    me.env = { ...env, SHOWRUNNER_API_KEY: "key:wrong" };
    await me.types(begin, 1);
    expect(me.screen).toContain("The credential is not valid");
    me.env = { ...env, [me.copies(/Next: check (\w+)/)]: me.service.apiKey };
    await me.types(me.copies(/then: (showrunner .*)/), 0);
  });

  test("an unknown voice: the most similar name is suggested, and with it the run ends in five films", async () => {
    await me.types(`${begin.replace("five", "stock")} -i voice=alen`, 2);
    const voice = me.copies(/did you mean (\S+?)[ ?]/);
    await me.types(`${begin.replace("five", "stock")} -i voice=${voice}`, 0);
    expect(me.service.stats().jobs_by_model).toEqual({ "image-1": 1, "speech-1": 5, "avatar-1": 5 });
  });

  test("a file of the wrong kind: it is named before anything is bought, and with a right one there are five films", async () => {
    writeFileSync(join(me.cwd, "letter.txt"), "Dear voice");
    await me.types(`${begin} -i sample=letter.txt`, 2);
    expect(me.screen).toMatch(/letter\.txt is .*, not audio/);
    expect(me.service.stats().jobs_by_model).not.toHaveProperty("voice-clone-1");
    await me.types(begin, 0);
    expect(readdirSync(join(me.cwd, "out/five")).filter((name) => name.endsWith(".mp4"))).toHaveLength(5);
    expect(me.service.stats().jobs_by_model).toMatchObject({ "voice-clone-1": 1, "avatar-1": 10 });
  });
});
