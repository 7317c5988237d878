import { existsSync } from "node:fs";
import { lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { markFile } from "../../../../src/core/marks/index.ts";
import { type LocalService, startLocalService } from "../../../../src/local-service/index.ts";
import { fastFolder } from "../../../../src/testing/surroundings.ts";
import { cli } from "../../../cli/support/cli.ts";
import { type Absence, describeNeeding } from "../../../support/absence.ts";
import { decodedHash, ffmpeg } from "../../../support/media-programs.ts";
import { makeAuthority } from "./authority.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const PACKAGES = join(import.meta.dirname, "node_modules");
const lacksPackage = (): Absence | null =>
  existsSync(join(PACKAGES, "@contentauth/c2pa-node"))
    ? null
    : {
        what: "@contentauth/c2pa-node",
        cure: "npm install --prefix test/core/marks/c2pa --no-save --no-package-lock --ignore-scripts",
      };

const TRAINED = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";
const COMPOSITE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia";
const PAIR = ["--cert", "chain.pem", "--key", "signer.key"] as const;

const picture = ["-f", "lavfi", "-i", "testsrc=s=66x34:r=10:d=0.5"];
const tone = ["-f", "lavfi", "-i", "sine=d=0.5"];
const film = [...picture, ...tone, "-c:v", "mpeg4", "-c:a", "aac"];
const one = ["-frames:v", "1"];
const kinds: Readonly<Record<string, readonly string[]>> = {
  png: [...picture, ...one],
  jpg: [...picture, ...one],
  webp: [...picture, ...one, "-c:v", "libwebp"],
  gif: [...picture, ...one],
  mp4: film,
  mov: film,
  m4a: [...tone, "-c:a", "aac"],
  wav: tone,
  mp3: tone,
  flac: tone,
};

const PIPELINE = `import { file, pipeline } from "showrunner";
import { copyFileSync } from "node:fs";
import { z } from "zod";

export default pipeline("card", {
  input: z.object({ photo: file("image").default("photo.png") }),
  build({ job, task, upload, input }) {
    const card = job("card", "image-1", { prompt: "a secret plan" });
    const shown = task("shown", { card, photo: upload("photo", input.photo) }, ({ card }, { file }) => copyFileSync(card.path, file("card")), { files: { card: "image" } });
    return { card, shown };
  },
});
`;

describeNeeding(lacksPackage())("content credentials", () => {
  let folder: string;
  let service: LocalService;
  const path = (name: string) => join(folder, name);
  const here = (...args: readonly string[]) =>
    cli(args, { cwd: folder, env: { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey } });
  async function marks(file: string, ...flags: readonly string[]) {
    const { code, stdout, stderr } = await here("marks", file, "--json", ...flags);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout)[0];
  }

  beforeAll(async () => {
    folder = await fastFolder("signed-");
    await symlink(PACKAGES, path("node_modules"));
    await makeAuthority(folder);
    service = await startLocalService({ renderer: "stub", speed: 50, balance: 25, dataDir: path("service") });
    for (const [kind, args] of Object.entries(kinds)) await ffmpeg(...args, path(`plain.${kind}`));
    await ffmpeg(...kinds.png!, path("photo.png"));
    await writeFile(path("card.ts"), PIPELINE);
    const { code, stderr } = await here("run", "card.ts", "--id", "c", "--budget", "5");
    expect(code, stderr).toBe(0);
  });
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });

  describe("of every kind", () => {
    /** What `marks` says of each file, by its name: all of them in one process. */
    type Said = ReadonlyMap<string, Awaited<ReturnType<typeof marks>>>;
    let unknown: Said;
    let trusted: Said;
    let other: Said;

    beforeAll(async () => {
      const names = Object.keys(kinds);
      const plain = names.map((kind) => `plain.${kind}`);
      const { code, stderr } = await here("sign", ...plain, ...PAIR, "--source-type", "trainedAlgorithmicMedia");
      expect(code, stderr).toBe(0);
      for (const kind of names) {
        const [before, bytes] = [await readFile(path(`plain.${kind}`)), await readFile(path(`plain.signed.${kind}`))];
        // A stretch of the picture or the sound, which signing moved but did not change.
        const part = before.subarray(Math.floor(before.length * 0.6)).subarray(0, 16);
        const at = bytes.indexOf(part);
        expect(at).toBeGreaterThan(0);
        bytes[at + 8]! ^= 1;
        await writeFile(path(`changed.${kind}`), bytes);
      }
      const files = names.flatMap((kind) => [`plain.signed.${kind}`, `changed.${kind}`]);
      const saidBy = async (...flags: readonly string[]): Promise<Said> => {
        const { code, stdout, stderr } = await here("marks", ...files, "--json", ...flags);
        expect(code, stderr).toBe(0);
        return new Map(JSON.parse(stdout).map((one: { readonly file: string }) => [one.file, one]));
      };
      unknown = await saidBy();
      trusted = await saidBy("--trust", "ca.pem");
      other = await saidBy("--trust", "other.pem");
    });

    test.each(Object.keys(kinds))(
      "a signed %s is valid, plays as before, and is found tampered when one byte changes",
      async (kind) => {
        const signed = `plain.signed.${kind}`;
        expect(await decodedHash(path(signed))).toBe(await decodedHash(path(`plain.${kind}`)));
        const said = { signer: "Ridge, Studio", digital_source_types: [TRAINED], ingredients: [] };
        expect(unknown.get(signed).signed).toEqual({
          state: "unknown-signer",
          ...said,
          failures: ["signingCredential.untrusted"],
        });
        expect(trusted.get(signed).signed).toEqual({ state: "trusted", ...said, failures: [] });
        expect(other.get(signed).signed.state).toBe("unknown-signer");
        expect(trusted.get(`changed.${kind}`).signed.state).toBe("tampered");
      },
    );
  });

  test("the manifest beside a file gives models, source type and what it was made from; prompts stay out", async () => {
    await mkdir(path("signed"));
    const { code, stderr, stdout } = await here(
      "sign",
      "out/c/card.png",
      "out/c/shown.png",
      ...PAIR,
      "--out",
      "signed",
    );
    expect(code, stderr).toBe(0);
    expect(stdout).toBe(`${path("signed/card.png")}\n${path("signed/shown.png")}\n`);
    expect((await marks("signed/card.png")).signed).toMatchObject({ digital_source_types: [TRAINED], ingredients: [] });
    const { signed } = await marks("signed/shown.png", "--trust", "ca.pem");
    expect(signed).toMatchObject({ state: "trusted", digital_source_types: [COMPOSITE] });
    expect(signed.ingredients.toSorted()).toEqual(["card", "photo.png"]);
    const bytes = await readFile(path("signed/shown.png"), "latin1");
    expect(bytes).toContain("Made by step shown of run c, pipeline card");
    expect(bytes).toContain("image-1");
    expect(bytes).not.toContain("secret plan");
    const shown = await here("marks", "signed/shown.png", "--trust", "ca.pem");
    expect(shown.stdout).toContain("valid, and signed by someone you trust; signer: Ridge, Studio");
  });

  test("a manifest of other bytes is not signed for, and without any word of how a file was made nothing is", async () => {
    const changed = path("out/c/card-2.png");
    await writeFile(changed, await readFile(path("plain.png")));
    await writeFile(`${changed}.json`, await readFile(path("out/c/card.png.json")));
    const silent = await here("sign", "out/c/card-2.png", ...PAIR);
    expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining("--source-type trainedAlgorithmicMedia")]);
    const told = await here("sign", "out/c/card-2.png", ...PAIR, "--source-type", "trainedAlgorithmicMedia");
    expect([told.code, told.stderr]).toEqual([
      0,
      expect.stringContaining("its Content Credentials list no models or ingredients"),
    ]);
    expect(await readFile(path("out/c/card-2.signed.png"), "latin1")).not.toContain("image-1");
  });

  test("a mark is kept by signing and names the source type; a signed file is neither marked nor signed again", async () => {
    await writeFile(path("marked.png"), await readFile(path("plain.png")));
    await markFile(path("marked.png"), { digitalSourceType: "compositeWithTrainedAlgorithmicMedia" });
    expect((await here("sign", "marked.png", ...PAIR, "--out", "both.png")).code).toBe(0);
    const both = await readFile(path("both.png"));
    expect(await marks("both.png")).toMatchObject({
      digital_source_type: COMPOSITE,
      signed: { digital_source_types: [COMPOSITE] },
    });
    expect(await markFile(path("both.png"), { digitalSourceType: "trainedAlgorithmicMedia" })).toMatchObject({
      status: "left",
    });
    for (const kind of ["png", "gif"]) {
      const file = kind === "png" ? "both.png" : "plain.signed.gif";
      const again = await here("sign", file, ...PAIR, "--source-type", "trainedAlgorithmicMedia");
      expect([again.code, again.stderr]).toEqual([2, expect.stringContaining(`${file} is already signed`)]);
    }
    expect((await readFile(path("both.png"))).equals(both)).toBe(true);
  });

  test("without the package, marks says that the signature was not checked", async () => {
    expect(
      (await here("sign", "plain.png", ...PAIR, "--source-type", "trainedAlgorithmicMedia", "--out", "far.png")).code,
    ).toBe(0);
    const { stdout } = await cli(["marks", path("far.png")]);
    expect(stdout).toContain("to check its signature, install @contentauth/c2pa-node");
  });

  test("--out follows no link and replaces no file of another kind, nor a folder's place; what stood there stays", async () => {
    const precious = await readFile(path("photo.png"));
    await symlink("photo.png", path("link.png"));
    await symlink("nowhere.png", path("dangling.png"));
    await writeFile(path("notes.txt"), "mine");
    const names = (await readdir(folder)).sort();
    const words = {
      "link.png": "a symbolic link",
      "dangling.png": "a symbolic link",
      "notes.txt": "has another format",
      "plain.jpg": "has another format",
    };
    for (const [out, word] of Object.entries(words)) {
      const end = await here("sign", "plain.png", ...PAIR, "--source-type", "trainedAlgorithmicMedia", "--out", out);
      expect([end.code, end.stderr]).toEqual([2, expect.stringContaining(word)]);
    }
    expect((await readdir(folder)).sort()).toEqual(names);
    expect((await readFile(path("photo.png"))).equals(precious)).toBe(true);
    expect((await lstat(path("link.png"))).isSymbolicLink()).toBe(true);
    expect(await readFile(path("notes.txt"), "utf8")).toBe("mine");
  });

  test("what cannot sign is named before anything is written, with what to do", async () => {
    const bad = {
      "The first certificate is a CA certificate": ["--cert", "ca.pem", "--key", "ca.key"],
      "does not match the first certificate": ["--cert", "chain.pem", "--key", "ca.key"],
      "is not readable PEM": ["--cert", "plain.png", "--key", "signer.key"],
      "cannot be read": ["--cert", "none.pem", "--key", "signer.key"],
      "sign needs --key": ["--cert", "chain.pem"],
    };
    for (const [word, flags] of Object.entries(bad)) {
      const end = await here(
        "sign",
        "plain.png",
        ...flags,
        "--source-type",
        "trainedAlgorithmicMedia",
        "--out",
        "bad.png",
      );
      expect([end.code, end.stderr]).toEqual([2, expect.stringContaining(word)]);
    }
    const text = await here("sign", "card.ts", ...PAIR, "--source-type", "trainedAlgorithmicMedia", "--out", "bad.png");
    expect([text.code, text.stderr]).toEqual([2, expect.stringContaining("is in a format that cannot be signed")]);
    expect(existsSync(path("bad.png"))).toBe(false);
  });
});

test("without the package, sign says how to get it and writes nothing", async () => {
  const folder = await fastFolder("unsigned-");
  await makeAuthority(folder);
  await ffmpeg(...kinds.png!, join(folder, "plain.png"));
  const flags = [...PAIR, "--source-type", "trainedAlgorithmicMedia"];
  const end = await cli(["sign", "plain.png", ...flags], { cwd: folder });
  expect([end.code, end.stderr]).toEqual([2, expect.stringContaining("npm install @contentauth/c2pa-node@0.8.0")]);
  expect((await readdir(folder)).filter((name) => name.includes("signed") || name.endsWith(".part"))).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});
