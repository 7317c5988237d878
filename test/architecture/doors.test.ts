import { globSync, readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { expect, test } from "vitest";

const src = resolve(import.meta.dirname, "../../src");

/** The local service is a building of its own, with a door of its own; the page runs in a browser. */
const sources = globSync("**/*.ts", { cwd: src })
  .map((path) => path.split(sep).join("/"))
  .filter((path) => !/^(local-service|studio\/dashboard\/page)\//.test(path))
  .map((path) => ({ path, text: readFileSync(join(src, path), "utf8").replace(/^\s*(\/?\*|\/\/).*$/gm, "") }));

/** Names of values that a text imports from modules, also at run time. */
function valuesFrom(text: string, modules: RegExp): readonly string[] {
  const found = [...text.matchAll(/import\s+(?!type\b)([^;]*?)\s+from\s+"([^"]+)"/g)]
    .filter(([, , module]) => modules.test(module!))
    .flatMap(([, names]) => names!.replace(/[{}]/g, "").split(","))
    .map((name) => name.trim())
    .filter((name) => name !== "" && !name.startsWith("type "));
  const later = [...text.matchAll(/\b(?:import|require|load|getBuiltinModule)\(\s*"([^"]+)"/g)].filter(([, one]) =>
    modules.test(one!),
  );
  return [...found, ...later.map(([all]) => all)];
}

test("only the door to the network opens connections, and the client by the dispatchers that it is given", () => {
  const users = sources.flatMap(({ path, text }) => {
    const connecting = valuesFrom(text, /^(node:)?(http|https|http2|net|tls|dns|dgram)(\/promises)?$|^undici$/)
      .filter((name) => !/^(createServer( as \w+)?|isIP|BlockList|STATUS_CODES|Socket)$/.test(name))
      .map((name) => `${path}: ${name}`);
    const calls = /(?<![.#\w])fetch\(|\bglobalThis\.fetch\b|\bnew (WebSocket|EventSource)\(/.test(text);
    const undici = /\bundici\(\)/.test(text);
    return [...connecting, ...(calls ? [`${path}: fetch`] : []), ...(undici ? [`${path}: undici()`] : [])];
  });
  expect(users.toSorted()).toEqual([
    "core/api/files/download.ts: undici()",
    "core/api/stream/stream.ts: undici()",
    // Passes on what the user's package asks of its provider, and looks at the answer.
    "core/engine/generate/ask-status.ts: fetch",
    "core/network/address-guard.ts: lookup as lookUp",
    "core/network/fetch.ts: fetch",
    'core/network/fetch.ts: getBuiltinModule("node:http"',
    'core/network/fetch.ts: getBuiltinModule("node:https"',
    'core/network/fetch.ts: import("undici"',
    'core/network/fetch.ts: load("undici"',
    "core/network/fetch.ts: undici()",
    // That of the page that loads it.
    "studio/browser/connect.ts: fetch",
    "testing/surroundings.ts: Agent",
  ]);
});

/** What in the folders that inputs pass through reads files by their path, and whose path that is. */
const READERS: Readonly<Record<string, string>> = {
  "core/catalog/fetch.ts": "the operator's catalog",
  "core/engine/effects/chat.ts": "the media store",
  "core/engine/media/bucket/s3-bucket.ts": "the media store",
  "core/engine/media/folder-store.ts": "the media store",
  "core/engine/media/whole.ts": "what the door opened, or the media store",
  "core/engine/media/media-files.ts":
    "the media store, and planned files, which go nowhere unless they are those that were measured",
  "core/engine/media/media-reader.ts": "the contents of small files, only to know them again",
  "core/engine/media/open-file.ts": "the door",
  "core/engine/media/place-file.ts": "the out folder",
  "core/engine/notify/notifications.ts": "the operator's key",
  "core/engine/provenance/provenance.ts": "the out folder",
  "core/engine/service/embedded-service.ts": "the folder of the local service",
};

test("only the door for files opens what an input names", () => {
  const reading = /^(open|openSync|openAsBlob|readFile|readFileSync|createReadStream|copyFile|copyFileSync)\b/;
  const readers = sources
    .filter(({ path }) => /^(core\/(define|plan|run|engine|catalog)|studio\/mcp)\//.test(path))
    .filter(({ text }) =>
      valuesFrom(text, /^(node:)?fs(\/promises)?$|\/kit\/files\.ts$/).some((name) => reading.test(name)),
    );
  expect(readers.map(({ path }) => path).toSorted()).toEqual(Object.keys(READERS).toSorted());
});

test("imports are seen in every form", () => {
  const text = `import { type A, get } from "node:http";\nimport type { B } from "node:http";\nimport {\n  request,\n} from "node:https";\nimport net from "node:net";\nconst x = await import("undici");\nconst y = process.getBuiltinModule("node:http");`;
  expect(valuesFrom(text, /^(node:(http|https|net)|undici)$/)).toEqual([
    "get",
    "request",
    "net",
    'import("undici"',
    'getBuiltinModule("node:http"',
  ]);
});
