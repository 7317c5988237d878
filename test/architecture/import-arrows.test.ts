import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const src = join(root, "src");

/** Single files that every folder may import; they import nothing of ours. */
const leaves = [
  "errors",
  "money",
  "duration",
  "byte-size",
  "shell-word",
  "durable-file",
  "clean-text",
  "load-local-service",
];

/**
 * The arrows allowed between the folders of `src`; a folder may always import itself and the leaves. What is not listed
 * here is forbidden, so a new folder needs a decision.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  answers: [],
  money: [],
  duration: [],
  "byte-size": [],
  "shell-word": [],
  "clean-text": [],
  "durable-file": [],
  "load-local-service": [],
  // What is known of families of models: data, and how it is read. What follows from it is judged on each side alone.
  families: [],
  define: ["plan"],
  plan: ["families"],
  lifecycle: [],
  run: ["define", "plan", "lifecycle", "journal"],
  journal: ["define", "plan", "lifecycle", "run"],
  catalog: ["api", "define", "families", "plan"],
  api: ["answers"],
  "local-service": ["families"],
  engine: ["answers", "define", "plan", "lifecycle", "run", "journal", "catalog", "api", "families"],
  migrate: ["define", "plan", "catalog", "api", "families"],
  index: ["answers", "define", "plan", "lifecycle", "run", "journal", "catalog", "api", "engine", "families"],
  report: ["index"],
  cli: ["index", "migrate", "dashboard", "report", "api/index"],
  dashboard: ["index"],
};

/** Folders without I/O, time or chance, whole or by file. */
const pure = [
  /^answers\//,
  /^define\//,
  /^plan\//,
  /^lifecycle\//,
  /^run\//,
  /^journal\/(fold|replan|overcharge|state|took|event-text|events|events\/.*)\.ts$/,
];

interface Source {
  /** Relative to `src`, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

const sources = globSync("**/*.ts", { cwd: src })
  .map((path) => path.split(sep).join("/"))
  .filter((path) => !path.startsWith("dashboard/page/"))
  .map((path): Source => {
    const text = readFileSync(join(src, path), "utf8");
    return { path, text, imports: importsOf(text) };
  });

describe("import arrows", () => {
  test("the sources are found", () => {
    expect(sources.length).toBeGreaterThan(50);
  });

  test("every folder imports only what it may", () => {
    expect(sources.flatMap(forbiddenImports)).toEqual([]);
  });

  test("no two folders import each other at run time", () => {
    expect(folderCycles(sources)).toEqual([]);
  });

  test("command line and dashboard reach other folders only through their index", () => {
    const sides = sources.filter(({ path }) => /^(cli|dashboard)\//.test(path));
    const deep = sides.flatMap(({ path, imports }) =>
      targets(path, imports)
        .filter(({ target }) => folderOf(target) !== folderOf(path) && !/(^|\/)index\.ts$/.test(target))
        .filter(({ target }) => !leaves.includes(target.replace(/\.ts$/, "")))
        .map(({ target }) => `${path} → ${target}`),
    );
    expect(deep).toEqual([]);
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
        .filter(({ specifier }) => specifier.startsWith("node:"))
        .filter(() => !/^import \{ hash \} from "node:crypto";$/m.test(text))
        .map(({ specifier }) => `${path} → ${specifier}`),
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
    expect(importsOf(text).map(({ specifier, typeOnly }) => `${specifier}${typeOnly ? " (type)" : ""}`)).toEqual([
      "./a.ts",
      "./b.ts (type)",
      "./c.ts",
      "./d.ts",
      "./e.ts",
      "./f.ts",
      "./g.ts (type)",
    ]);
  });

  test("finds a forbidden arrow and a cycle", () => {
    const one = { path: "api/x.ts", text: "", imports: [{ specifier: "../engine/y.ts", typeOnly: false }] };
    const two = { path: "engine/y.ts", text: "", imports: [{ specifier: "../api/x.ts", typeOnly: false }] };
    expect(forbiddenImports(one)).toEqual(["api/x.ts → engine/y.ts"]);
    expect(folderCycles([one, two])).toEqual(["api → engine → api"]);
  });
});

function importsOf(source: string): Import[] {
  const text = withoutComments(source);
  const found: (Import & { readonly at: number })[] = [];
  const statement = /\b(import|export)\s+(type\s+)?(?:[\w*\s{},$]*?\s*from\s*)?["']([^"']+)["']/g;
  for (const match of text.matchAll(statement)) {
    found.push({ specifier: match[3] ?? "", typeOnly: match[2] !== undefined, at: match.index });
  }
  for (const match of text.matchAll(/(:\s*|<\s*|\|\s*|typeof\s+)?import\(\s*["']([^"']+)["']\s*\)/g)) {
    found.push({ specifier: match[2] ?? "", typeOnly: match[1] !== undefined, at: match.index });
  }
  return found.toSorted((a, b) => a.at - b.at).map(({ specifier, typeOnly }) => ({ specifier, typeOnly }));
}

/** Comments blanked; good enough for sources that keep `//` out of their strings or have it after `:`. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|[^:"'`\\])\/\/.*$/gm, "$1");
}

/** Files of `src` that the imports name. */
function targets(path: string, imports: readonly Import[]): { readonly target: string; readonly typeOnly: boolean }[] {
  return imports
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier, typeOnly }) => ({
      target: relative(src, resolve(dirname(join(src, path)), specifier))
        .split(sep)
        .join("/"),
      typeOnly,
    }))
    .filter(({ target }) => target !== "../package.json");
}

function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : path.replace(/\.ts$/, "");
}

function forbiddenImports({ path, imports }: Source): string[] {
  const from = folderOf(path);
  const allowed = [from, ...leaves, ...(mayImport[from] ?? [])];
  return targets(path, imports)
    .filter(({ target }) => !allowed.includes(folderOf(target)) && !allowed.includes(target.replace(/\.ts$/, "")))
    .map(({ target }) => `${path} → ${target}`);
}

/** Types cost nothing at run time and may point back; code may not. */
function folderCycles(all: readonly Source[]): string[] {
  const edges = new Map<string, Set<string>>();
  for (const { path, imports } of all) {
    for (const { target, typeOnly } of targets(path, imports)) {
      const [from, to] = [folderOf(path), folderOf(target)];
      if (from === to || typeOnly) continue;
      edges.set(from, (edges.get(from) ?? new Set()).add(to));
    }
  }
  const cycles = new Set<string>();
  const walk = (folder: string, trail: readonly string[]) => {
    const at = trail.indexOf(folder);
    if (at >= 0) {
      const loop = trail.slice(at);
      if (loop[0] === loop.toSorted()[0]) cycles.add([...loop, folder].join(" → "));
      return;
    }
    for (const next of edges.get(folder) ?? []) walk(next, [...trail, folder]);
  };
  for (const folder of edges.keys()) walk(folder, []);
  return [...cycles];
}
