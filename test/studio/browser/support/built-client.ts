import { join } from "node:path";
import { build, type Rollup } from "vite";

const root = join(import.meta.dirname, "../../../..");

/** Bundles the browser client, or another entry of a page. */
export async function builtClient(
  entry = join(root, "src/studio/browser/index.ts"),
  alias: Readonly<Record<string, string>> = {},
): Promise<string> {
  const built = (await build({
    root,
    configFile: false,
    logLevel: "silent",
    publicDir: false,
    resolve: { alias: { "showrunner/browser": join(root, "src/studio/browser/index.ts"), ...alias } },
    define: { "process.env.NODE_ENV": '"production"' },
    oxc: { jsx: { runtime: "automatic", development: false } },
    build: { write: false, minify: true, target: "es2024", lib: { entry, formats: ["es"], fileName: "client" } },
  })) as Rollup.RollupOutput[];
  const chunks = built.flatMap(({ output }) => output);
  if (chunks.length !== 1)
    throw new Error(`one file was expected: ${chunks.map(({ fileName }) => fileName).join(", ")}`);
  return (chunks[0] as Rollup.OutputChunk).code;
}
