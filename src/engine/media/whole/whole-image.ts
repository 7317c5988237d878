import { type Bytes, lacking, UNJUDGED, WHOLE, type Whole, walk } from "./bytes.ts";

export function wholePng(file: Bytes): Whole {
  return walk(8, (at) => {
    const head = file.read(at, 8);
    if (head.length < 8) return lacking("the IEND chunk at its end");
    const end = at + 12 + head.readUInt32BE(0);
    const name = head.toString("latin1", 4, 8);
    if (end > file.size) return lacking(`a part of its ${name} chunk`);
    return name === "IEND" ? WHOLE : end;
  });
}

/** What follows a picture's end, such as a second picture of a phone, is no part of it. */
export function wholeJpeg(file: Bytes): Whole {
  return walk(2, (at) => {
    const head = file.read(at, 4);
    if (head.length < 2) return lacking("the marker at its end");
    const marker = head[1]!;
    if (head[0] !== 0xff || marker === 0xff || marker === 0) return nextMarker(file, at + 1);
    if (marker === 0xd9) return WHOLE;
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) return at + 2;
    return head.length < 4 ? file.size : at + 2 + head.readUInt16BE(2);
  });
}

function nextMarker(file: Bytes, from: number): number {
  for (let at = from; at < file.size; ) {
    const piece = file.read(at, 65_536);
    const found = piece.indexOf(0xff);
    if (found >= 0) return at + found;
    at += piece.length;
  }
  return file.size;
}

export function wholeGif(file: Bytes): Whole {
  const colors = (flags: number | undefined) => (flags !== undefined && flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  const cut = lacking("the trailer at its end");
  return walk(13 + colors(file.read(10, 1)[0]), (at) => {
    const block = file.read(at, 10);
    switch (block[0]) {
      case undefined:
        return cut;
      case 0x3b:
        return WHOLE;
      case 0x21:
        return afterSubBlocks(file, at + 2);
      case 0x2c:
        return block.length < 10 ? cut : afterSubBlocks(file, at + 11 + colors(block[9]));
      default:
        return UNJUDGED;
    }
  });
}

/** Where the file ends, where that is before the last of them. */
function afterSubBlocks(file: Bytes, from: number): number {
  for (let at = from; ; ) {
    const size = file.read(at, 1)[0] ?? 0;
    if (at >= file.size) return file.size;
    at += size + 1;
    if (size === 0) return at;
  }
}

export function wholeWebp(file: Bytes): Whole {
  const head = file.read(0, 8);
  if (head.length < 8) return lacking("its header");
  // Writers disagree on whether the padding of the last chunk is counted.
  return head.readUInt32LE(4) + 7 > file.size ? lacking("a part of its picture") : WHOLE;
}
