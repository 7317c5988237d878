/** Declarations of the sources, and what of them belongs to an entry. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { root } from "./published.ts";

/** Those of every file of `src`, one file each, below a folder. */
export function emitDeclarations(folder: string): void {
  const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
  const { status } = spawnSync(
    process.execPath,
    [join(typescript, "bin", "tsc"), "-p", "tsconfig.build.json", "--outDir", folder],
    { cwd: root, stdio: "inherit" },
  );
  if (status !== 0) process.exit(status ?? 1);
}

/**
 * One file for each entry, with no more than its exports need; what several need is in `chunks`. A compile of the user's reads
 * few files, and what is inside stays inside, foreign types too.
 */
export async function bundleDeclarations(folder: string, names: readonly string[], outDir: string): Promise<void> {
  const bundled = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(folder, `${name}.d.ts`)])),
    external: (id) => !/^[./]/.test(id),
    logLevel: "silent",
    plugins: [dts({ dtsInput: true, emitDtsOnly: true, tsconfig: false })],
  });
  const { output } = await bundled.write({
    dir: outDir,
    format: "es",
    chunkFileNames: "chunks/[name].d.ts",
    minifyInternalExports: false,
  });
  await bundled.close();
  for (const file of output) {
    // Whatever `lib` the user's compile has: what `await using` takes is known to it then.
    if (file.type !== "chunk" || !/\bAsyncDisposable\b|\basyncDispose\b/.test(file.code)) continue;
    writeFileSync(join(outDir, file.fileName), `/// <reference lib="esnext.disposable" />\n${file.code}`);
  }
}
