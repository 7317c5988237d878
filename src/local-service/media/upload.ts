import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy } from "@fastify/busboy";
import { HOUR_MS } from "../../core/kit/duration.ts";
import { type Answer, type Call, created } from "../http/call.ts";
import { invalid, problem } from "../http/refusal.ts";
import { shortfall } from "../money.ts";
import type { AnnouncedMedia, ProbeResult } from "../render/contract.ts";
import type { ServiceContext } from "../service-context.ts";
import { fileId as newFileId } from "../store/rows.ts";

/** How long an upload's URL can be used as an input. */
const HANDLE_LIFETIME_MS = HOUR_MS;

const bad = (text: string, reason: string) => invalid([problem("file", text, reason)]);

const reasonOf = (probed: ProbeResult) => (probed.ok ? null : probed.reason);

/** Writes an uploaded file to `target`, and returns its size in bytes. */
async function receive(incoming: IncomingMessage, target: string, maxBytes: number): Promise<number> {
  const parser = openParser(incoming, maxBytes);
  let writing: Promise<number> | null = null;
  parser.on("file", (name: string, part: Readable & { truncated?: boolean }) => {
    if (name !== "file" || writing) {
      part.resume();
      return;
    }
    writing = store(part, target, maxBytes);
    // Prevents an unhandled rejection, because the parser may be awaited first.
    writing.catch(() => undefined);
  });
  try {
    await pipeline(incoming, parser);
  } catch {
    throw bad("the multipart body is malformed or truncated", "multipart");
  }
  const received = await (writing as Promise<number> | null);
  if (received === null) throw bad('is required as a multipart part named "file"', "required");
  return received;
}

function openParser(incoming: IncomingMessage, maxBytes: number) {
  const contentType = incoming.headers["content-type"] ?? "";
  if (!/^multipart\/form-data/i.test(contentType)) throw bad("must be sent as multipart/form-data", "content_type");
  try {
    const limits = { fileSize: maxBytes, files: 4, fields: 32, fieldSize: 65_536, parts: 40, headerPairs: 32 };
    return new Busboy({ headers: { ...incoming.headers, "content-type": contentType }, limits });
  } catch {
    throw bad("the Content-Type header contains no multipart boundary", "multipart");
  }
}

async function store(part: Readable & { truncated?: boolean }, target: string, maxBytes: number): Promise<number> {
  const file = createWriteStream(target, { flags: "wx", mode: 0o600 });
  await pipeline(part, file);
  if (part.truncated) throw bad(`is larger than ${maxBytes} bytes`, "max_file_size_bytes");
  if (file.bytesWritten === 0) throw bad("is empty", "minLength");
  return file.bytesWritten;
}

/** Returns the handler for uploads. It also stores files that cannot be decoded, but jobs that read them fail. */
export function uploadHandler(service: ServiceContext) {
  const { store: db, clock, dataDir, presigner, probe } = service;

  function remember(call: Call, fileId: string, media: AnnouncedMedia, fault: string | null, sizeBytes: number) {
    const { workspaceId, ownerId } = call.principal;
    const createdAt = clock.now();
    const expiresAt = createdAt + HANDLE_LIFETIME_MS;
    const url = presigner.sign(`/uploads/${fileId}`, expiresAt);
    const { kind, contentType, width, height, durationMs } = media;
    const path = dataDir.uploadPath(fileId);
    const row = { fileId, workspaceId, ownerId, url, path, kind, contentType, width, height, durationMs, fault };
    return db.write(() => {
      db.files.insert({ ...row, sizeBytes, createdAt, expiresAt });
      return { url, content_type: contentType, expires_at: new Date(expiresAt).toISOString() };
    });
  }

  /** Refuses the request while the workspace is paused, because too many requests in a row were refused for lack of funds. @throws Refusal 402 */
  function assertNotPaused(workspaceId: string): void {
    const wallet = db.workspaces.get(workspaceId);
    const isPaused = service.options.asOf !== "3.9" && service.refusals.isPaused(wallet);
    const refused = isPaused ? shortfall(wallet, Infinity, false, service.fundingUrl(workspaceId)) : null;
    if (refused) throw refused;
  }

  return async (call: Call): Promise<Answer> => {
    assertNotPaused(call.principal.workspaceId);
    const fileId = newFileId();
    const incoming = dataDir.incoming(fileId);
    try {
      const sizeBytes = await receive(call.incoming, incoming, service.options.maxUploadBytes);
      const probed = await probe(incoming);
      const media = probed.ok ? probed : probed.announced;
      if (!media) throw bad(`cannot be used: ${reasonOf(probed)}`, "media");
      await dataDir.moveTo(dataDir.uploadPath(fileId), incoming);
      return created(await remember(call, fileId, media, reasonOf(probed), sizeBytes));
    } finally {
      await rm(incoming, { force: true });
    }
  };
}
