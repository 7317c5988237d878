/**
 * How long the type checker takes over a pipeline of 200 typed steps of every kind, against the declarations that a user installs:
 * `node bench/plan-types.ts`. The same file without steps tells what is the pipeline's own. Fails at two seconds for the
 * whole check.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const tsc = join(root, "node_modules", ".bin", "tsc");
const declarations = mkdtempSync(join(root, "bench", ".plan-types-"));
const STEPS = 200;
const ROUNDS = 5;

/** Ten steps a shot, of every kind. */
function source(steps: number): string {
  const lines = Array.from({ length: steps / 10 }, (_, shot) => {
    const before =
      shot === 0 ? "" : `, images: [face${shot - 1}, ...(input.look === "" ? [] : [face${shot - 1}.output(0)])]`;
    return `
    const voice${shot} = job("voice-${shot}", models.voiceClone, { audio: upload("sample-${shot}", input.sample), name: "n" });
    const story${shot} = chat("story-${shot}", "chat-1", { prompt: text\`about \${input.look}\` }, { schema: z.object({ title: z.string(), scenes: z.array(z.object({ prompt: z.string() })) }) });
    const speech${shot} = job("speech-${shot}", models.speech, { text: story${shot}.at("title"), voice_id: voice${shot} });
    const face${shot} = job("face-${shot}", models.image, { prompt: story${shot}.at("scenes").at(0).at("prompt"), quality: "pro", num_outputs: 2${before} });
    const video${shot} = job("video-${shot}", models.avatar, {
      start_image: face${shot}.output(1), audio: speech${shot}, prompt: "talks", aspect_ratio: "9:16", resolution: "720p",
    });
    const seen${shot} = approve("seen-${shot}", choose("which-${shot}", face${shot}.outputs(), { by: "person" }));
    const best${shot} = takes("best-${shot}", models.image, { prompt: "x", images: [seen${shot}] }, { count: 1, choose: (one) => one.sizeBytes });
    const shots${shot} = expand("shots-${shot}", story${shot}.at("scenes"), (scenes, b) => scenes.map(({ prompt }, n) => b.job(\`s-\${n}\`, models.image, { prompt })), { maxSteps: 9 });
    const film${shot} = task("film-${shot}", { video: video${shot}, shots: shots${shot}, best: best${shot}, title: story${shot}.at("title") }, async ({ shots, title }) => ({ title, count: shots.length }), { files: { film: "video" } });`;
  });
  const names = lines.map((_, shot) => `film${shot}, story${shot}`).join(", ");
  return `import { file, pipeline, text, type ResultOf } from "showrunner";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
export const long = pipeline("long", {
  input: z.object({ script: z.string(), look: z.string(), sample: file("audio") }),
  build({ input, approve, chat, choose, expand, job, takes, task, upload }) {
    void [input, approve, chat, choose, expand, job, takes, task, upload, models, text];${lines.join("")}
    return { ${names} };
  },
});
export type Result = ResultOf<ReturnType<typeof long.build>>;
`;
}

/** Median wall time of tsc over one file of so many steps, and the memory and instantiations that it reports. */
function check(steps: number): { readonly ms: number; readonly said: string } {
  const folder = mkdtempSync(join(root, "bench", ".plan-types-"));
  try {
    writeFileSync(join(folder, "long.ts"), source(steps));
    const paths = { showrunner: [join(declarations, "index.d.ts")] };
    const config = { extends: "../../tsconfig.json", compilerOptions: { paths }, include: [], files: ["long.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    let said = "";
    const times = Array.from({ length: ROUNDS }, () => {
      const started = performance.now();
      said = execFileSync(tsc, ["-p", folder, "--extendedDiagnostics"], { encoding: "utf8" });
      return performance.now() - started;
    });
    return { ms: times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]!, said };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

execFileSync(tsc, ["-p", join(root, "tsconfig.build.json"), "--emitDeclarationOnly", "--outDir", declarations]);
const empty = check(0);
const full = check(STEPS);
rmSync(declarations, { recursive: true });
const line = (name: string) => full.said.split("\n").find((text) => text.startsWith(name)) ?? "";
console.log(`whole check with ${STEPS} steps ${full.ms.toFixed(0)} ms, without them ${empty.ms.toFixed(0)} ms`);
console.log(`the steps alone ${(full.ms - empty.ms).toFixed(0)} ms`);
for (const name of ["Check time", "Instantiations", "Memory used"]) console.log(line(name));
process.exitCode = full.ms < 2000 ? 0 : 1;
