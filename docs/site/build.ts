/**
 * Builds the site into docs/site/dist: the pages of docs/, the API from docstrings by typedoc, and search. VitePress fails on a dead link.
 * With GITHUB_REPOSITORY, links to sources lead there; without, they are shown as names of files.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { ENTRIES, GROUPS, namesByTask } from "./pages.ts";

const site = import.meta.dirname;
const root = join(site, "../..");
const pages = join(site, ".pages");
const repository = process.env.GITHUB_REPOSITORY;

/** Where a file of the tree stands in the site; null where it is no page. */
function placeOf(file: string): string | null {
  const named: Readonly<Record<string, string>> = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "recipes/README.md": "recipes.md",
  };
  const recipe = /^recipes\/((?:servers\/)?[\w-]+)\.ts$/.exec(file)?.[1];
  if (recipe !== undefined) return `recipes/${recipe.replace("/", "-")}.md`;
  return named[file] ?? (/^docs\/[\w-]+\.md$/.test(file) ? file.slice("docs/".length) : null);
}

rmSync(pages, { recursive: true, force: true });
mkdirSync(join(pages, "public"), { recursive: true });
writeApi();
arrangeApi();
mkdirSync(join(pages, "recipes"));
for (const file of globSync(["*.md", "docs/*.md", "recipes/README.md", "recipes/{,servers/}*.ts"], { cwd: root })) {
  const place = placeOf(file);
  if (place === null) continue;
  const source = readFileSync(join(root, file), "utf8");
  const text = file.endsWith(".ts") ? `# ${file}\n\n\`\`\`ts\n${source}\`\`\`\n` : linkedTo(file, source);
  writeFileSync(join(pages, place), withAnchors(text));
  writeTwin(place, text);
}
cpSync(join(root, "docs/pictures"), join(pages, "pictures"), { recursive: true });
cpSync(join(root, "docs/llms.txt"), join(pages, "public/llms.txt"));
writeFileSync(
  join(pages, "public/llms-full.txt"),
  GROUPS.flatMap(({ pages: of }) => of.map(([name]) => whole(name))).join("\n\n"),
);
run("node_modules/vitepress/bin/vitepress.js", "build");

function whole(name: string): string {
  return name.startsWith("api/") ? "" : readFileSync(join(pages, `${name}.md`), "utf8");
}

/** The page as plain Markdown, beside it: `/caps.md` is what `/caps` shows, for programs that read. */
function writeTwin(place: string, text: string): void {
  const twin = join(pages, "public", place);
  mkdirSync(dirname(twin), { recursive: true });
  writeFileSync(twin, text);
}

/** A page with its links as they have to be in the site. */
function linkedTo(file: string, text: string): string {
  return text.replaceAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (link, mark: string, label: string, target: string) => {
    if (/^([a-z]+:|#)/.test(target)) return link;
    const [path = "", anchor] = target.split("#");
    const aim = posix.normalize(posix.join(posix.dirname(file), path));
    const place = placeOf(aim) ?? (aim.startsWith("docs/pictures/") ? aim.slice("docs/".length) : null);
    if (place !== null) return `${mark}[${label}](./${place}${anchor === undefined ? "" : `#${anchor}`})`;
    return repository === undefined ? label : `[${label}](https://github.com/${repository}/blob/main/${aim})`;
  });
}

/** VitePress makes anchors of headings in its own way; the docs use GitHub's. */
function withAnchors(text: string): string {
  return text.replaceAll(/^(#{1,4}) (.+)$/gm, (line, marks: string, heading: string) =>
    insideCode(text, line) ? line : `${marks} ${heading} {#${anchorOf(heading)}}`,
  );
}

function insideCode(text: string, line: string): boolean {
  return (text.slice(0, text.indexOf(`${line}\n`)).match(/^```/gm)?.length ?? 0) % 2 === 1;
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** One page for each entry of the package, from its docstrings. */
function writeApi(): void {
  run(
    "node_modules/typedoc/bin/typedoc",
    ...["--plugin", "typedoc-plugin-markdown", "--tsconfig", join(root, "tsconfig.build.json"), "--skipErrorChecking"],
    ...[
      "--readme",
      "none",
      "--disableSources",
      "--hideBreadcrumbs",
      "--hidePageHeader",
      "--excludeInternal",
      "--excludePrivate",
    ],
    ...[
      "--router",
      "module",
      "--entryFileName",
      "index.md",
      "--logLevel",
      "Error",
      "--name",
      "API",
      "--out",
      join(pages, "api"),
    ],
    // What people call comes first, and what it takes and gives after it.
    ...["Functions", "Interfaces", "Type Aliases", "Variables", "Classes"].flatMap((group) => ["--groupOrder", group]),
    ...ENTRIES.map(([module]) => join(root, "src", `${module}.ts`)),
  );
}

/** Names the pages of the API as programs import them, and begins with what their names are for. */
function arrangeApi(): void {
  const folder = join(pages, "api");
  // Typedoc calls the main entry index-1, because of the page of all entries.
  const fileOf = (module: string) => (module === "index" ? "index-1.md" : `${module.replace("/index", "")}.md`);
  const places = new Map(ENTRIES.map(([module, name]) => [fileOf(module), `${name.replace("showrunner/", "")}.md`]));
  for (const [from, place] of places) {
    const name = place.slice(0, -".md".length);
    const title = name === "showrunner" ? name : `showrunner/${name}`;
    const text = readFileSync(join(folder, from), "utf8")
      .replace(/^# .*$/m, `# ${title}`)
      .replaceAll(/\]\(([\w./-]+\.md)/g, (link, file: string) => {
        const linked = places.get(posix.join(dirname(from), file));
        return linked === undefined ? link : `](${linked}`;
      });
    rmSync(join(folder, from));
    writeFileSync(join(folder, place), text);
    writeTwin(`api/${place}`, text);
  }
  const lines = [...namesByTask(readFileSync(join(root, "src/index.ts"), "utf8"))].flatMap(([task, names]) => {
    const links = names.map((name) => `[\`${name}\`](./showrunner.md#${name.toLowerCase()})`);
    return [`**${task}**: ${links.join(", ")}`, ""];
  });
  const entries = ENTRIES.map(
    ([, name, what]) => `| [\`${name}\`](./${name.replace("showrunner/", "")}.md) | ${what} |`,
  );
  const index = [
    "# API by task",
    "",
    "| Entry | For |",
    "|---|---|",
    ...entries,
    "",
    "## showrunner, by task",
    "",
    ...lines,
  ];
  writeFileSync(join(folder, "index.md"), index.join("\n"));
  writeTwin("api/index.md", index.join("\n"));
}

function run(program: string, ...args: readonly string[]): void {
  const file = join(site, program);
  if (!existsSync(file)) throw new Error(`${relative(root, dirname(file))} is not there: npm run site`);
  const { status } = spawnSync(process.execPath, [file, ...args], { cwd: site, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
