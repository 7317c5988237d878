import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimOf, readManifest } from "../../src/cli/commands/marks.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { fastFolder } from "../../src/testing/surroundings.ts";
import { exiftool } from "../support/media-programs.ts";
import { cli } from "./support/cli.ts";

const PIPELINE = `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("card", {
  input: z.object({}),
  build({ job }) {
    return { card: job("card", "image-1", { prompt: "a card" }) };
  },
});
`;

let service: LocalService;
let folder: string;
const here = (...args: readonly string[]) =>
  cli(args, { cwd: folder, env: { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey } });

beforeAll(async () => {
  folder = await fastFolder("marks-");
  service = await startLocalService({ renderer: "stub", speed: 50, balance: 25, dataDir: join(folder, "service") });
  await writeFile(join(folder, "card.ts"), PIPELINE);
  for (const [id, ...flags] of [["marked", "--marks"], ["plain"]] as const) {
    const { code, stderr } = await here("run", "card.ts", "--id", id, "--budget", "5", ...flags);
    expect(code, stderr).toBe(0);
  }
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

describe("marks, on the command line", () => {
  test("a run with --marks returns files that say a machine made them, which exiftool reads; one without does not", async () => {
    const { stdout } = await here("marks", "--json", "out/marked/card.png", "out/plain/card.png");
    const source = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";
    const manifest = { step: "card", models: ["image-1"], matches: true };
    expect(JSON.parse(stdout)).toEqual([
      {
        file: "out/marked/card.png",
        content_type: "image/png",
        digital_source_type: source,
        content_credentials: null,
        problem: null,
        manifest: { run: "marked", ...manifest },
        signed: null,
      },
      expect.objectContaining({ digital_source_type: null, manifest: { run: "plain", ...manifest } }),
    ]);
    const [marked, plain] = await exiftool(join(folder, "out/marked/card.png"), join(folder, "out/plain/card.png"));
    expect(marked?.["XMP-iptcExt:DigitalSourceType"]).toBe(source);
    expect(plain?.["XMP-iptcExt:DigitalSourceType"]).toBeUndefined();
  });

  test("a claim has the source type of the run; a mark that the file had before says more about it", async () => {
    const manifest = (await readManifest(join(folder, "out/marked/card.png")))!;
    expect(claimOf(manifest)).toMatchObject({ digitalSourceType: "trainedAlgorithmicMedia", models: ["image-1"] });
    const kept = {
      status: "kept",
      digital_source_type: "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia",
    };
    expect(claimOf({ ...manifest, mark: kept as never }).digitalSourceType).toBe(
      "compositeWithTrainedAlgorithmicMedia",
    );
    expect(await readManifest(join(folder, "card.ts"))).toBeNull();
  });

  test("a changed file no longer fits its manifest; a file that is none says so", async () => {
    await writeFile(join(folder, "out/plain/card.png"), await readFile(join(folder, "out/marked/card.png")));
    const changed = await here("marks", "out/plain/card.png");
    expect(changed.stdout).toContain("run plain, step card, made with image-1; the file has changed since");
    const text = await here("marks", "card.ts");
    expect(text.stdout).toContain("Its marks cannot be read: it is not a PNG, JPEG, WebP, MP4, MOV, WAV or MP3 file.");
    const none = await here("marks", "none.png");
    expect(none.code).toBe(2);
    expect(none.stderr).toContain("none.png cannot be read");
  });
});
