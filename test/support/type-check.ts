import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "../..");

/** Type-checks files and returns the compiler's messages; empty if there are none. `showrunner`: the module of that name. */
export async function typeCheck(
  files: Readonly<Record<string, string>>,
  showrunner = "src/core/define/index.ts",
): Promise<string> {
  const folder = mkdtempSync(join(root, "test", ".type-check-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const paths = {
      showrunner: [join(root, showrunner)],
      "showrunner/migrate": [join(root, "src/migrate/index.ts")],
    };
    const config = {
      extends: "../../tsconfig.json",
      compilerOptions: { paths },
      include: [],
      files: Object.keys(files),
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const checked = promisify(execFile)(join(root, "node_modules/.bin/tsc"), ["-p", folder, "--noEmit"], { cwd: root });
    const said = await checked.then(
      ({ stdout }) => stdout,
      (error: { readonly stdout: string }) => error.stdout,
    );
    return said.replaceAll(`${relative(root, folder)}/`, "");
  } finally {
    rmSync(folder, { recursive: true });
  }
}
