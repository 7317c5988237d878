import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Pipeline, type ResumeOptions, text } from "../../../src/index.ts";
import { during, isFull, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

/** How a line of a film comes to its captions, who looks at them, and what else says it. */
const line = fc.record({
  captions: fc.constantFrom("its own literal", "the speech's input", "a template of that"),
  isReviewed: fc.boolean(),
  isOnPoster: fc.boolean(),
  isInExpansion: fc.boolean(),
});
type Line = typeof line extends fc.Arbitrary<infer T> ? T : never;

/** No text is a part of another one. */
const words = (at: number, version: number) => `Words ${"abc"[at]} as of day ${version}.`;

function film(lines: readonly Line[]): Pipeline {
  return pipelineOf("film", ({ job, task, approve, expand }) => {
    const captions = lines.map((how, at) => {
      const said = words(at, 0);
      const speech = job(`speech-${at}`, models.speech, { text: said, voice_id: "voice_f9b70f7b" });
      const own = how.captions === "its own literal" ? said : speech.input("text");
      const shown = how.captions === "a template of that" ? text`${speech.input("text")} (${at})` : own;
      const written = task(
        `captions-${at}`,
        { shown },
        async (given, { file }) => {
          await writeFile(file("srt"), `1\n00:00:00,000 --> 00:00:02,000\n${given.shown}\n`);
          return given.shown;
        },
        { files: { srt: "text" } },
      );
      if (how.isOnPoster) job(`poster-${at}`, models.image, { prompt: `A poster that says: ${said}` });
      if (how.isInExpansion) {
        const cards = task(`words-${at}`, { shown }, (given) => [given.shown]);
        expand(
          `cards-${at}`,
          cards,
          (all, within) => (all as string[]).map((one) => within.job("card", models.image, { prompt: one })),
          { maxSteps: 1 },
        );
      }
      if (how.isReviewed) approve(`fine-${at}`, written);
      return written;
    });
    const all = task(
      "all",
      { shown: captions.map(({ value }) => value) },
      (given, { file }) => writeFile(file("srt"), given.shown.join("\n")),
      { files: { srt: "text" } },
    );
    return { all, ...Object.fromEntries(captions.map((written, at) => [`line${at}`, written])) };
  });
}

/** What all files in a folder say. */
async function textIn(folder: string): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = files.filter((one) => one.isFile()).map((one) => readFile(join(one.parentPath, one.name), "utf8"));
  return (await Promise.all(texts)).join("\n");
}

test(
  "after any edits of lines no file says an old one, whatever writes the captions and whoever looks at them",
  async () => {
    const edits = fc.array(fc.record({ at: fc.nat(2), isDecided: fc.boolean() }), { minLength: 1, maxLength: 4 });
    const lists = fc.array(line, { minLength: 1, maxLength: 3 });
    let edited = 0;
    await fc.assert(
      fc.asyncProperty(lists, edits, async (lines, sequence) => {
        const { clock, show, outDir, resume } = await openFakeShow();
        const of = film(lines);
        /** Until it has ended, with all that is shown approved. */
        const ended = async (how: ResumeOptions | null) => {
          const starting = how === null ? show.run(of, {}, { id: "x", outDir }) : show.resume("x", how);
          let result = await during(clock, (await during(clock, starting)).result());
          while (result.pause?.reason === "approval") {
            for (const { step } of await show.waiting()) await show.approve("x", step);
            result = await resume({ pipeline: of, compare: false });
          }
          expect(result.status).toBe("succeeded");
        };
        await ended(null);
        const versions = lines.map(() => 0);
        for (const { at: any, isDecided } of sequence) {
          const at = any % lines.length;
          const version = versions[at]! + 1;
          const how = { pipeline: of, acceptChanges: true, edit: { [`speech-${at}`]: { text: words(at, version) } } };
          const undecided = isDecided ? null : await ended(how).catch((error: { code: string }) => error);
          if (undecided !== undefined) {
            // What a local function would still say has to be decided.
            if (undecided !== null) expect(undecided).toMatchObject({ code: "INVALID_OPTION" });
            await ended({ ...how, everywhere: true });
          }
          versions[at] = version;
          edited += 1;
          const said = await textIn(outDir);
          for (const [one, last] of versions.entries()) {
            expect(said).toContain(words(one, last));
            for (let old = 0; old < last; old++) expect(said).not.toContain(words(one, old));
          }
        }
        await show.close();
      }),
      { numRuns: isFull ? 100 : 5 },
    );
    if (isFull) expect(edited).toBeGreaterThanOrEqual(200);
  },
  isFull ? 600_000 : 120_000,
);
