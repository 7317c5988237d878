import { randomBytes, randomUUID } from "node:crypto";

export const jobId = () => `job_${randomUUID()}`;
export const voiceId = () => `voice_${randomUUID()}`;
export const fileId = () => `file_${randomUUID()}`;
export const keyId = () => `key_${randomBytes(9).toString("hex")}`;
export const secret = () => randomBytes(24).toString("base64url");

const POOL_BYTES = 16 * 512;
let pool = Buffer.alloc(0);
let used = 0;

export function traceId(): string {
  if (used >= pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  used += 16;
  return pool.toString("hex", used - 16, used);
}

export const requestId = (): string => `req_${traceId()}`;
