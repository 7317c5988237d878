/**
 * Builds both packages, with declarations and code bundled into few files, and the dashboard's page. `dist/local` is
 * a separate package: `npm pack ./dist/local`.
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";
import { build, type Plugin } from "vite";
import { buildPage } from "./dashboard-page.ts";
import { bundleDeclarations, emitDeclarations } from "./declarations.ts";
import { entriesOf, manifestOf, PUBLISHED, type Published, root } from "./published.ts";
import { sharedChunks } from "./shared-chunks.ts";
import { notices } from "./third-party-notices.ts";

const dist = join(root, "dist");
const local = join(dist, "local");
const types = join(dist, "types");
const sources = join(root, "src");
const [main, localService] = PUBLISHED as readonly [Published, Published];

/** Replaces `import.meta.url` in a bundle with the URL that the source file would have if tsc had compiled it. */
const ownUrls: Plugin = {
  name: "own-urls",
  enforce: "pre",
  transform(code, id) {
    if (!id.startsWith(sources)) return null;
    const file = relative(sources, id).replaceAll(sep, "/").replace(/ts$/, "js");
    // Skips a message that ends with these words.
    return code.replaceAll(/import\.meta\.url(?!")/g, `__ownUrl("${file}")`);
  },
  renderChunk(code, { fileName }) {
    return code.replaceAll(/__ownUrl\("(.+?)"\)/g, (_, file: string) => {
      const path = posix.relative(posix.dirname(fileName), file);
      return `new URL("${path.startsWith(".") ? path : `./${path}`}", import.meta.url).href`;
    });
  },
};

/** Bundles only the English messages of zod: our code uses no others, and all 60 languages take a third of its size. */
const onlyEnglish: Plugin = {
  name: "only-english",
  load(id) {
    return /zod\/v4\/locales\/index\.js$/.test(id) ? 'export { default as en } from "./en.js";' : null;
  },
};

rmSync(dist, { recursive: true, force: true });
emitDeclarations(types);
layOutLocalService();
writeFileSync(join(root, "THIRD_PARTY_NOTICES.md"), notices(main));
writeFileSync(join(local, "THIRD_PARTY_NOTICES.md"), notices(localService));
const entries = entriesOf(main);
await bundleDeclarations(types, entries, dist);
await bundleDeclarations(types, ["local-service/index"], local);
rmSync(types, { recursive: true });
// Pipelines import Zod from the dependency. Our own code bundles the parts it uses, which load in a third of the time.
await bundle(main, dist, [...entries, "cli/main", "core/engine/media/media-thread"], [...main.bundled, "zod"]);
const threads = globSync("local-service/render/**/{worker,*-thread}.ts", { cwd: sources });
const localEntries = ["local-service/index", ...threads.map((file) => file.replaceAll(sep, "/").replace(/\.ts$/, ""))];
await bundle(localService, local, localEntries, localService.bundled);
cpSync(join(sources, "cli", "skills"), join(dist, "cli", "skills"), { recursive: true });
await buildPage(join(dist, "studio", "dashboard", "page"));

/** Writes each entry next to its declarations, and shared or lazily loaded code to `chunks`. */
async function bundle(published: Published, outDir: string, entries: readonly string[], inside: readonly string[]) {
  const dependencies = Object.keys(manifestOf(published).dependencies);
  const optional = [
    "showrunner-local",
    "@opentelemetry/api",
    "pg",
    "pg-boss",
    "@restatedev/restate-sdk",
    "@aws-sdk/client-s3",
    "@aws-sdk/s3-request-presigner",
  ];
  const beside = [...dependencies, ...optional].filter((name) => !inside.includes(name));
  const unlisted = new Set<string>();
  const input = new Map(entries.map((entry) => [entry, join(sources, `${entry}.ts`)]));
  const shared = sharedChunks(input);
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    plugins: [ownUrls, onlyEnglish, shared.plugin],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      minify: false,
      target: "node22",
      rolldownOptions: {
        external: (id) => beside.some((name) => id === name || id.startsWith(`${name}/`)),
        input: Object.fromEntries(input),
        output: {
          entryFileNames: "[name].js",
          chunkFileNames: "chunks/[name]-[hash].js",
          codeSplitting: { groups: shared.groups },
          comments: false,
        },
        plugins: [
          {
            name: "list-packages",
            generateBundle(_options, files) {
              const ids = Object.values(files).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
              for (const id of ids) {
                const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1];
                if (name !== undefined && !inside.includes(name)) unlisted.add(name);
              }
            },
          },
        ],
      },
    },
  });
  if (unlisted.size > 0)
    throw new Error(`Bundled packages that scripts/published.ts does not list: ${[...unlisted].join(", ")}`);
}

/** Writes the local service's manifest, README, license and drawings to its package. */
function layOutLocalService(): void {
  mkdirSync(local);
  const folder = join(sources, "local-service");
  // In a clone, Node runs the sources; the package contains the build.
  const manifest = readFileSync(join(folder, "package.json"), "utf8").replace("./index.ts", "./local-service/index.js");
  writeFileSync(join(local, "package.json"), manifest);
  cpSync(join(folder, "README.md"), join(local, "README.md"));
  const figures = join("render", "draw", "figures");
  cpSync(join(folder, figures), join(local, "local-service", figures), { recursive: true });
  cpSync(join(root, "LICENSE"), join(local, "LICENSE"));
}
