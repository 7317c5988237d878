import type { IncomingHttpHeaders } from "node:http";
import { PassThrough, pipeline, type Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from "node:zlib";

type Coding = "gzip" | "br" | "deflate" | "zstd";

/** Requests a body without encoding, which some servers ignore. */
export const UNCODED = { "accept-encoding": "identity" } as const;

export function codingsOf(headers: IncomingHttpHeaders): readonly Coding[] {
  const names = String(headers["content-encoding"] ?? "")
    .toLowerCase()
    .split(",");
  return names.flatMap((name): readonly Coding[] => {
    const coding = name.trim().replace(/^x-(?=gzip$)/, "");
    return isCoding(coding) ? [coding] : [];
  });
}

function isCoding(name: string): name is Coding {
  return name === "gzip" || name === "br" || name === "deflate" || name === "zstd";
}

/** Decodes a body. The reader must limit the size, because a small body may decode to any amount of data. */
export function decodedBody(body: Readable, codings: readonly Coding[]): Readable {
  return codings.toReversed().reduce((coded, coding) => {
    const decoded = new PassThrough();
    pipeline(
      coded,
      (bytes: AsyncIterable<Buffer>) => decode(bytes, coding),
      decoded,
      () => {},
    );
    return decoded;
  }, body);
}

const MAGIC_BYTES = 4;

async function* decode(bytes: AsyncIterable<Buffer>, coding: Coding): AsyncGenerator<Buffer> {
  const rest = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let isOver = false;
  while (head.length < MAGIC_BYTES && !isOver) {
    const next = await rest.next();
    isOver = next.done === true;
    if (!isOver) head = Buffer.concat([head, next.value]);
  }
  const all = async function* () {
    if (head.length > 0) yield head;
    if (!isOver) yield* { [Symbol.asyncIterator]: () => rest };
  };
  const decoder = decoderFor(coding, head);
  if (decoder === null) yield* all();
  else yield* pipeline(all, decoder, () => {}) as AsyncIterable<Buffer>;
}

/** Returns null if the bytes are not encoded, because a proxy may decode the body but keep the header. */
function decoderFor(coding: Coding, head: Buffer): Transform | null {
  switch (coding) {
    case "gzip":
      return head[0] === 0x1f && head[1] === 0x8b ? createGunzip() : null;
    case "zstd":
      return head.length >= MAGIC_BYTES && head.readUInt32LE() === 0xfd2fb528 ? createZstdDecompress() : null;
    case "br":
      return createBrotliDecompress();
    case "deflate": {
      // Many servers omit the zlib header that the standard requires.
      const isWrapped = head.length > 1 && (head[0]! & 0x0f) === 8 && head.readUInt16BE() % 31 === 0;
      return isWrapped ? createInflate() : createInflateRaw();
    }
    default:
      return coding satisfies never;
  }
}
