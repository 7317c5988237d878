/**
 * Maximum lines of each folder in `src` and `test`, from the table in docs/internal/architecture.md.
 * `node scripts/weights.ts` sets each maximum to the current number of lines; `node scripts/weights.ts 8` adds 8 %.
 */
import { globSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const page = join(root, "docs/internal/architecture.md");
const HEAD = "| Folder | Lines in `src` | Lines in `test` |\n|---|---:|---:|\n";

export interface Weight {
  readonly folder: string;
  readonly src: number;
  readonly test: number;
}

/** Current number of lines in each folder, and in the files directly in `src` and `test`. */
export function weights(): readonly Weight[] {
  const foldersOf = (kind: string) =>
    readdirSync(join(root, kind), { withFileTypes: true }).flatMap((one) =>
      one.isDirectory() && !one.name.startsWith(".") ? [one.name] : [],
    );
  const folders = [...new Set([...foldersOf("src"), ...foldersOf("test")])].toSorted();
  const weighed = folders.map((folder) => ({
    folder,
    src: linesOf(`src/${folder}/**/*`),
    test: linesOf(`test/${folder}/**/*`),
  }));
  return [...weighed, { folder: "single files", src: linesOf("src/*"), test: linesOf("test/*") }];
}

function linesOf(pattern: string): number {
  const files = globSync(`${pattern}.{ts,tsx,mjs,css}`, { cwd: root, exclude: ["**/{node_modules,generated}/**"] });
  return files.reduce((sum, file) => sum + readFileSync(join(root, file), "utf8").split("\n").length - 1, 0);
}

/** The maximum numbers of lines in the page's table. */
export function mostWeights(): readonly Weight[] {
  const [, rows = ""] = readFileSync(page, "utf8").split(HEAD);
  return [...rows.split("\n\n")[0]!.matchAll(/^\| (?:`([\w-]+)`|(single files)) \| ([\d,]+) \| ([\d,]+) \|$/gm)].map(
    ([, name, single, src, test]) => ({ folder: name ?? single!, src: numberOf(src), test: numberOf(test) }),
  );
}

const numberOf = (text = "") => Number(text.replaceAll(",", ""));

export function rowOf({ folder, src, test }: Weight): string {
  const name = folder.includes(" ") ? folder : `\`${folder}\``;
  return `| ${name} | ${src.toLocaleString("en")} | ${test.toLocaleString("en")} |`;
}

if (import.meta.main) {
  const room = 1 + Number(process.argv[2] ?? 0) / 100;
  const rows = weights().map(({ folder, src, test }) =>
    rowOf({ folder, src: Math.ceil(src * room), test: Math.ceil(test * room) }),
  );
  const [before = "", after = ""] = readFileSync(page, "utf8").split(HEAD);
  writeFileSync(page, `${before}${HEAD}${rows.join("\n")}\n\n${after.replace(/^(?:\|.*\n)*\n/, "")}`);
}
