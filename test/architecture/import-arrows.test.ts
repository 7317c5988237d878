import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const src = join(root, "src");

/** Folders without I/O, time or chance, whole or by file. */
const pure = [
  /^core\/(answers\.ts$|(define|plan|lifecycle|run|view)\/)/,
  /^core\/journal\/(state|events|events\/.*)\.ts$/,
];

interface Source {
  /** Relative to `src`, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Specifiers, as they are written. */
  readonly imports: readonly string[];
}

const sources = readSources("**/*.ts").filter(({ path }) => !path.startsWith("studio/dashboard/page/"));

describe("no circle", () => {
  const graph = importGraph(readSources("**/*.{ts,tsx}"));

  test("of files that import each other, in any folder, imports of types included", () => {
    expect(graph.size).toBeGreaterThan(500);
    expect(inCircles(graph)).toEqual([]);
  });
});

describe.each([
  { heading: "Folder of `src/`", base: "" },
  ...["core/", "core/engine/", "fleet/", "studio/"].map((base) => ({ heading: `Folder of \`src/${base}\``, base })),
])("the table of docs/internal/architecture.md, $heading", ({ heading, base }) => {
  const table = rowsOf(readFileSync(join(root, "docs/internal/architecture.md"), "utf8"), heading);
  const names = table.map(({ name }) => name);

  test("has one row for each", () => {
    expect(names.toSorted()).toEqual(foldersIn(base));
  });

  test("names exactly what each imports", () => {
    expect(table.map(({ name, imports }) => ({ name, imports: imports.toSorted() }))).toEqual(
      names.map((name) => ({ name, imports: arrowsOf(name, base, sources) })),
    );
  });

  test("has what each imports in rows above it", () => {
    const upward = table.flatMap(({ name, imports }, row) =>
      imports
        .filter((one) => !names.slice(0, row).some((above) => `${one}/`.startsWith(`${above}/`)))
        .map((one) => `${name} → ${one}`),
    );
    expect(upward).toEqual([]);
  });
});

describe("import arrows", () => {
  test("command line, studio, fleet and testing reach the core and other wings only through an index", () => {
    const sides = sources.filter(({ path }) => /^(cli|studio|fleet|testing)\//.test(path));
    const deep = sides.flatMap((file) =>
      targetsOf(file)
        .filter(
          (target) =>
            folderOf(target) !== folderOf(file.path) && !/^(core\/[^/]+\/|(?!core\/).*\/)?index\.ts$/.test(target),
        )
        .filter((target) => !target.startsWith("core/kit/"))
        .map((target) => `${file.path} → ${target}`),
    );
    expect(deep).toEqual([]);
  });

  test("the local service has nothing of the client but what judges inputs and addresses; what records has", () => {
    const service = sources.filter(({ path }) => /^local-service\/(?!recording\/)/.test(path));
    expect(service.length).toBeGreaterThan(80);
    const outside = service.flatMap(targetsOf).filter((target) => !target.startsWith("local-service/"));
    const folders = new Set(outside.map((target) => target.split("/").slice(0, 2).join("/")));
    expect([...folders].toSorted()).toEqual(["core/catalog", "core/families", "core/kit", "core/network"]);
  });

  test("no server listens on all addresses because nobody named one", () => {
    const calls = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/[sS]erver\)?(?:\.once\([^)]*\))?\.listen\(([^)]*)/g)].map(([, given]) => ({
        path,
        given: given!,
      })),
    );
    expect(calls.length).toBeGreaterThanOrEqual(6);
    expect(calls.filter(({ given }) => !/host|"127\.0\.0\.1"/i.test(given))).toEqual([]);
  });

  test("only the command line's main sets the exit code", () => {
    const setters = sources.filter(({ text }) => /process\.exitCode\s*=[^=]/.test(text)).map(({ path }) => path);
    expect(setters).toEqual(["cli/main.ts"]);
  });
});

describe("pure folders", () => {
  const pureSources = sources.filter(({ path }) => pure.some((pattern) => pattern.test(path)));

  test("are found", () => {
    expect(pureSources.length).toBeGreaterThan(10);
  });

  test("import no Node module, but for hashing", () => {
    const found = pureSources.flatMap(({ path, imports, text }) =>
      imports
        .filter((specifier) => specifier.startsWith("node:"))
        .filter(() => !/^import \{ hash \} from "node:crypto";$/m.test(text))
        .map((specifier) => `${path} → ${specifier}`),
    );
    expect(found).toEqual([]);
  });

  test.each([
    ["time", /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bset(?:Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/],
    ["chance", /\bMath\.random\b|\bcrypto\./],
    ["the process", /\bprocess\.|\bglobalThis\b/],
    ["the console", /\bconsole\./],
    ["the network", /\bfetch\(|\bWebSocket\b/],
  ])("touch no %s", (_name, pattern) => {
    const found = pureSources.filter(({ text }) => pattern.test(withoutComments(text))).map(({ path }) => path);
    expect(found).toEqual([]);
  });
});

describe("the test itself", () => {
  test("sees imports of every form", () => {
    const text = `import a from "./a.ts";\nimport type { B } from "./b.ts";\nexport * from "./c.ts";\nexport {\n  d,\n} from "./d.ts";\nconst e = await import("./e.ts");\nimport "./f.ts";\nconst g: import("./g.ts").G = 1;\n// import "./no.ts"`;
    expect(importsOf(text)).toEqual(["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.ts", "./f.ts", "./g.ts"]);
  });

  test("finds arrows and circles", () => {
    const files = [
      { path: "engine/a/x.ts", text: "", imports: ["../b/y.ts", "./z.ts", "../../api/x.ts"] },
      { path: "engine/b/y.ts", text: "", imports: ["../a/x.ts"] },
      { path: "engine/a/z.ts", text: "", imports: [] },
    ];
    expect(arrowsOf("engine", "", files)).toEqual(["api"]);
    expect(arrowsOf("a", "engine/", files)).toEqual(["b"]);
    expect(inCircles(importGraph(files))).toEqual(["engine/a/x.ts", "engine/b/y.ts"]);
  });

  test("reads a table", () => {
    const text = "| Folder | Holds | Imports |\n|---|---|---|\n| `a` | `x` | – |\n| `b` | y | `a`, `c` |\n\n| `d` |";
    expect(rowsOf(text, "Folder")).toEqual([
      { name: "a", imports: [] },
      { name: "b", imports: ["a", "c"] },
    ]);
  });
});

function readSources(pattern: string): Source[] {
  return globSync(pattern, { cwd: src })
    .map((path) => path.split(sep).join("/"))
    .map((path) => {
      const text = readFileSync(join(src, path), "utf8");
      return { path, text, imports: importsOf(text) };
    });
}

/** First and last column of the table whose first column has this heading. */
function rowsOf(page: string, heading: string): { readonly name: string; readonly imports: readonly string[] }[] {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`)) + 2;
  const rows = lines.slice(
    start,
    lines.findIndex((line, index) => index > start && !line.startsWith("|")),
  );
  return rows.map((row) => {
    const cells = row.split("|").map((cell) => cell.trim());
    const imports = [...(cells.at(-2) ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? "");
    return { name: cells[1]?.replaceAll("`", "") ?? "", imports };
  });
}

/** Folders directly under `base`, sorted; a single file stands for itself. */
function foldersIn(base: string): string[] {
  const inside = sources.filter(({ path }) => path.startsWith(base)).map(({ path }) => folderOf(path, base));
  return [...new Set(inside)].toSorted();
}

/** Other folders of `base` that the folder's files import, sorted; those of the core by name, but for its kit, which is everybody's. */
function arrowsOf(folder: string, base: string, files: readonly Source[]): string[] {
  const isOwn = ({ path }: Source) => path.startsWith(base) && folderOf(path, base) === folder;
  const inside = files
    .filter(isOwn)
    .flatMap(targetsOf)
    .filter((target) => target.startsWith(base));
  const others = inside.filter((target) => folderOf(target, base) !== folder && !target.startsWith("core/kit/"));
  const nameOf = (target: string) =>
    base === "" && target.startsWith("core/") ? `core/${folderOf(target, "core/")}` : folderOf(target, base);
  return [...new Set(others.map(nameOf))].toSorted();
}

/** Files of `src`, with those that each imports. */
function importGraph(files: readonly Source[]): Map<string, Set<string>> {
  return new Map(files.map((file) => [file.path, new Set(targetsOf(file))]));
}

/** Files that import themselves through others, and those between two such circles. */
function inCircles(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const left = new Map([...graph].map(([path, imports]) => [path, new Set(imports)]));
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    const imported = new Set([...left.values()].flatMap((imports) => [...imports]));
    for (const [path, imports] of left) {
      const isFree = !imported.has(path) || ![...imports].some((target) => left.has(target));
      if (isFree) left.delete(path);
    }
  }
  return [...left.keys()].toSorted();
}

function withoutEnding(path: string): string {
  return path.replace(/\.ts$/, "");
}

/** Specifiers of every form of import, those of types too, in their order. */
function importsOf(source: string): string[] {
  const text = withoutComments(source);
  const statement =
    /\b(?:import|export)\s+(?:type\s+)?(?:[\w*\s{},$]*?\s*from\s*)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/g;
  return [...text.matchAll(statement)].map(([, declared, called]) => declared ?? called ?? "");
}

/** Comments blanked; good enough for sources that keep `//` out of their strings or have it after `:`. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|[^:"'`\\])\/\/.*$/gm, "$1");
}

/** Files of `src` that a file imports. */
function targetsOf({ path, imports }: Pick<Source, "path" | "imports">): string[] {
  return imports
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) =>
      relative(src, resolve(dirname(join(src, path)), specifier))
        .split(sep)
        .join("/"),
    )
    .filter((target) => target !== "../package.json");
}

function folderOf(path: string, base = ""): string {
  return withoutEnding(path.slice(base.length).split("/")[0] ?? "");
}
