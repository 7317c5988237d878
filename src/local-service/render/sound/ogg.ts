import { OggVorbisDecoder } from "@wasm-audio-decoders/ogg-vorbis";
import { FilePathSource, Input, OGG } from "mediabunny";
import type { WindowedFile } from "../probe/windowed-file.ts";
import { copies, unpackFlac } from "./flac.ts";
import { unpackOpus } from "./opus.ts";
import { type Keep, no, type Unpacked, unpack } from "./unpack.ts";

const PAGE_HEADER_BYTES = 27;
const MAX_PAGES = 1_000_000;

/** Decodes Vorbis, Opus or FLAC within Ogg. */
export async function unpackOgg(file: WindowedFile, keep: Keep): Promise<Unpacked> {
  const fault = await pageFault(file);
  if (fault !== null) return no(fault);
  const view = await file.read({ at: 0, size: 64 });
  const head = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  if (head.includes("OpusHead")) return withTrack(file, keep);
  if (head.includes("\u0001vorbis")) return unpack(new OggVorbisDecoder(), copies(file), keep);
  if (head.includes("\u007fFLAC")) return unpackFlac(file, keep);
  return no("its sound is not Vorbis, Opus or FLAC");
}

async function withTrack(file: WindowedFile, keep: Keep): Promise<Unpacked> {
  using input = new Input({
    source: new FilePathSource(file.path, { handleUnhandledError: () => undefined }),
    formats: [OGG],
  });
  const track = await input.getPrimaryAudioTrack();
  return track === null ? no("it has no track of sound") : await unpackOpus(track, keep);
}

/** Why the pages, one after the other, do not end where the file ends; null when they do. */
async function pageFault({ size: total, read }: WindowedFile): Promise<string | null> {
  let at = 0;
  for (let pages = 0; at < total; pages++) {
    if (pages === MAX_PAGES) return `it has more than ${MAX_PAGES} pages`;
    const page = await read({ at, size: PAGE_HEADER_BYTES + 255 });
    if (page.byteLength < PAGE_HEADER_BYTES) return "it is cut short";
    if (page.getUint32(0) !== 0x4f676753) return `there is no page at byte ${at}`;
    const segments = page.getUint8(26);
    if (page.byteLength < PAGE_HEADER_BYTES + segments) return "it is cut short";
    at += PAGE_HEADER_BYTES + segments;
    for (let i = 0; i < segments; i++) at += page.getUint8(PAGE_HEADER_BYTES + i);
  }
  return at === total ? null : "it is cut short";
}
