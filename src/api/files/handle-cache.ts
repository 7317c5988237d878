import type { Clock } from "../clock.ts";
import type { UploadHandle } from "../wire/account.ts";

/** Upload handles by the hash of their bytes, for as long as the service takes them. */
export interface HandleCache {
  get(sha256: string, offsetMs: number): UploadHandle | null;
  set(sha256: string, handle: UploadHandle): void;
}

/** A handle this close to its end is not given out again: the submit it is for may have to wait its turn. */
const reserveMs = 5 * 60_000;
const capacity = 1_000;

export function createHandleCache(clock: Clock): HandleCache {
  const handles = new Map<string, UploadHandle>();
  return {
    get(sha256, offsetMs) {
      const handle = handles.get(sha256);
      if (handle === undefined) return null;
      if (Date.parse(handle.expiresAt) - reserveMs > clock.now() + offsetMs) return handle;
      handles.delete(sha256);
      return null;
    },
    set(sha256, handle) {
      handles.set(sha256, handle);
      if (handles.size > capacity) handles.delete(handles.keys().next().value ?? "");
    },
  };
}
