/** Generates TypeScript declarations, and bundles them into a file per entry. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { root } from "./published.ts";

/** Writes a declaration file for every file in `src` to a folder. */
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
 * Bundles the declarations into one file per entry, which contains only what its exports need, and `chunks` for shared
 * types. A user's compiler then reads few files, and internal types stay hidden.
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
    // Declares the types for `await using`, which the `lib` of a user's project may lack.
    if (file.type !== "chunk" || !/\bAsyncDisposable\b|\basyncDispose\b/.test(file.code)) continue;
    writeFileSync(join(outDir, file.fileName), `/// <reference lib="esnext.disposable" />\n${file.code}`);
  }
}
