import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { LocalService } from "showrunner-local";
import type { FamiliesOption } from "../../families/index.ts";
import { loadLocalService } from "../../load-local-service.ts";

/** The local service of a folder, whichever process it runs in. */
export interface SharedService {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Ends the service if it runs in this process; another process that uses it takes it over. */
  close(): Promise<void>;
}

/** Between two looks whether the process that runs the service is still there, milliseconds. */
const POLL_EVERY_MS = 500;
/** For so many looks a process that is starting may take until it answers. */
const MOST_LOOKS = 20;
/** Another process is just taking the folder, or still holds the port: looked at again. */
const TRANSIENT = new Set(["DATA_DIR_IN_USE", "PORT_IN_USE"]);

/**
 * Finds the folder's service, or starts it in this process. When the process that runs it ends, this one takes it over on
 * the same port, so that the address stays what it was for everybody who uses it.
 */
export async function shareLocalService(dataDir: string, families?: FamiliesOption): Promise<SharedService> {
  const options = { dataDir, ...(families !== undefined && { families }) };
  const { startLocalService, findLocalService } = await loadLocalService();
  let own: LocalService | null = null;
  let found = existsSync(dataDir) ? findLocalService(dataDir) : null;
  for (let polls = 1; found === null && own === null; polls++) {
    try {
      own = await startOnUsualPort(dataDir, (more) => startLocalService({ ...options, ...more }));
    } catch (error) {
      // Another process is just starting on the folder.
      if ((error as { readonly code?: string }).code !== "DATA_DIR_IN_USE" || polls === MOST_LOOKS) throw error;
      await delay(POLL_EVERY_MS);
      found = findLocalService(dataDir);
    }
  }
  const { baseUrl, apiKey, port } = (found ?? own)!;
  let taking: Promise<void> = Promise.resolve();
  let isTaking = false;
  const take = async () => {
    try {
      own = await startLocalService({ ...options, port });
    } catch (error) {
      if (!TRANSIENT.has((error as { readonly code?: string }).code ?? "")) clearInterval(watch);
    } finally {
      isTaking = false;
    }
  };
  const watch = setInterval(() => {
    if (own !== null || isTaking || findLocalService(dataDir) !== null) return;
    isTaking = true;
    taking = take();
  }, POLL_EVERY_MS);
  watch.unref();
  return {
    baseUrl,
    apiKey,
    close: async () => {
      clearInterval(watch);
      await taking;
      await own?.close();
    },
  };
}

/** On the port that the folder's service had before, where that is free: runs that wait for it go on. */
async function startOnUsualPort(
  dataDir: string,
  start: (options: { readonly port?: number }) => Promise<LocalService>,
): Promise<LocalService> {
  const usual = usualPort(dataDir);
  const started = await (usual === null ? start({}) : start({ port: usual }).catch(elsewhere));
  if (started.port !== usual) writeFileSync(join(dataDir, PORT_FILE), String(started.port));
  return started;

  function elsewhere(error: unknown): Promise<LocalService> {
    if ((error as { readonly code?: string }).code !== "PORT_IN_USE") throw error;
    return start({});
  }
}

const PORT_FILE = "port";

function usualPort(dataDir: string): number | null {
  try {
    const port = Number(readFileSync(join(dataDir, PORT_FILE), "utf8"));
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
  } catch {
    return null;
  }
}
