import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { LOCAL_STARTER, starterSource } from "../../src/cli/project/choose-models.ts";
import { isFull } from "../support/sample.ts";
import { install, packages, root } from "./support/packed.ts";

vi.setConfig({ testTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), "showrunner-compilers-"));

/** A program of a user's that touches every entry and the types that people write down. */
const PROGRAM = `import { file, openShowrunner, type Pipeline, pipeline, PlanProblemsError, type RunResult, text } from "showrunner";
import { createClient } from "showrunner/client";
import { migrateV2 } from "showrunner/migrate";
import { startLocalService } from "showrunner-local";
import { z } from "zod";
import film from "./film.ts";

export const ad = pipeline("ad", {
  input: z.object({ lines: z.array(z.string()), sample: file("audio") }),
  build({ input, job, upload, chat, task, approve, takes }) {
    const idea = chat("idea", "chat-1", { prompt: "An idea" }, { schema: z.object({ line: z.string() }), maxCost: "0.1" });
    const voice = job("voice", "voice-clone-1", { audio: upload("sample", input.sample), name: "host" });
    const speech = job("speech", "speech-1", { text: text\`So: \${idea.at("line")}\`, voice_id: voice });
    const look = takes("look", "image-1", { prompt: "A look" }, { count: 3, choose: "person" });
    const checked = approve("checked", look);
    const words = task("words", { idea }, ({ idea }) => idea.line.split(" ").length);
    return { speech, checked, words };
  },
});

const service = await startLocalService();
const show = await openShowrunner({ baseUrl: service.baseUrl, apiKey: service.apiKey });
const run = await show.run(film, {}, { id: "x", budget: "1", signal: AbortSignal.timeout(1000) });
const result = await run.result();
export const status: RunResult["status"] = result.status;
export const pipelines: readonly Pipeline[] = [film, ad];
export const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
export const names = [migrateV2, PlanProblemsError, result.status];
await service.close();
`;

const compilers = [
  { name: "TypeScript 5.9", file: join(folder, "node_modules/typescript/lib/tsc.js") },
  { name: "TypeScript 7", file: join(root, "node_modules/typescript/bin/tsc") },
];
/** Types of Node are there or not; without them the platform's own come from the standard library. */
const nodeTypes = { types: ["node"], lib: ["es2022"] };
const settings = [
  { isOften: false, module: "nodenext", types: [] },
  { isOften: true, module: "nodenext", ...nodeTypes },
  { isOften: false, module: "node20", types: [] },
  { isOften: false, module: "node16", types: [] },
  { isOften: false, module: "preserve", types: [] },
  { isOften: false, module: "preserve", ...nodeTypes },
  { isOften: true, module: "esnext", moduleResolution: "bundler", types: [] },
];

beforeAll(async () => {
  const both = await packages();
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  writeFileSync(join(folder, "film.ts"), starterSource(LOCAL_STARTER));
  writeFileSync(join(folder, "program.ts"), PROGRAM);
  install(folder, ...[...both.values()].map(({ file }) => file), "typescript@5.9.3");
});

describe.each(compilers)("$name, strict, with exactOptionalPropertyTypes and without skipLibCheck", ({ file }) => {
  // The older one takes three times as long; a full check has it for all of them.
  const some = file === compilers[0]!.file && !isFull ? settings.filter(({ isOften }) => isOften) : settings;
  test.each(some.map(({ isOften: _, ...setting }) => setting))("module $module, types $types", async (setting) => {
    const config = join(folder, "tsconfig.json");
    const compilerOptions = {
      ...setting,
      ...{ target: "es2022", noEmit: true, strict: true },
      ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
      ...{ isolatedModules: true, noImplicitOverride: true, noPropertyAccessFromIndexSignature: true },
      ...{ erasableSyntaxOnly: true, allowImportingTsExtensions: true, skipLibCheck: false },
      typeRoots: [join(root, "node_modules/@types")],
    };
    writeFileSync(config, JSON.stringify({ compilerOptions, files: ["film.ts", "program.ts"] }));
    expect(await compile(file, config)).toBe("");
  });
});

function compile(compiler: string, config: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, [compiler, "-p", config], { cwd: folder }, (error, stdout) =>
    resolve(error === null || stdout !== "" ? stdout : error.message),
  );
  return promise;
}
