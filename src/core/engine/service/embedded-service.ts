import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { LocalService } from "showrunner-local";
import { type Client, type ClientOptions, createClient } from "../../api/index.ts";
import type { FamiliesOption } from "../../families/index.ts";
import { chooseService, type HostedService, keyCommand, missingKey, type ServiceName } from "../../kit/deployments.ts";
import { LocalServiceMissingError, loadLocalService } from "../../kit/load-local-service.ts";
import { InvalidOptionError } from "../errors.ts";

/** The service that a Showrunner works with, and how to let go of it. */
export interface Service {
  readonly kind: "hosted" | "local";
  readonly client: Client;
  /** What runs are pinned to: stays the same when a local service comes back on another port. */
  readonly origin: string;
  /** Why it has no key, where it was opened without one. */
  readonly missingKey?: InvalidOptionError | null;
  close(): Promise<void>;
}

export interface ServiceOptions {
  /** An existing client, in place of an address and a key; it is not closed here. */
  readonly client?: Client | undefined;
  /** A hosted service by name, in place of its address. Default: environment SHOWRUNNER_SERVICE. */
  readonly service?: ServiceName | undefined;
  /** Address of any service. Default: environment SHOWRUNNER_BASE_URL, else the local service. */
  readonly baseUrl?: string | undefined;
  /** `<key_id>:<secret>`, or a token. Default: the named service's own variable, then environment SHOWRUNNER_API_KEY. */
  readonly apiKey?: string | undefined;
  /**
   * Opens a service even without a key, for services that publish their catalog. Plans have no prices, and no run is
   * started or resumed. Default false: a missing key is an error.
   */
  readonly keyOptional?: boolean | undefined;
  /** Use the local service, whatever the environment says. Default false. */
  readonly local?: boolean | undefined;
  /** Starts no local service: runs can be read, stopped and deleted; what needs a service throws. Default false. */
  readonly journalOnly?: boolean | undefined;
  /** Folder of the embedded local service. Default `.showrunner/local`. */
  readonly localDir?: string | undefined;
  /**
   * Knowledge about model families beyond their schemas, overriding what is built in: a JSON file, or its content.
   * Default: the file of environment SHOWRUNNER_FAMILIES, else none. Throws {@link FamiliesError}.
   */
  readonly families?: FamiliesOption | undefined;
  /** Read in place of the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Further options for the client that is created. */
  readonly clientOptions?: Partial<ClientOptions> | undefined;
}

/** The service by options, else by environment, else the local one, embedded in this process. */
export async function openService(options: ServiceOptions): Promise<Service> {
  const env = options.env ?? process.env;
  if (options.client !== undefined) {
    const { client } = options;
    return { kind: "hosted", client, origin: client.baseUrl, close: async () => {} };
  }
  const hosted = chooseService(options, env);
  if (hosted === null) return openLocal(options);
  if ("problem" in hosted) throw new InvalidOptionError(hosted.setting, hosted.problem);
  const { baseUrl, apiKey } = hosted;
  const missing = apiKey === null ? missingKeyError(hosted) : null;
  if (missing !== null && options.keyOptional !== true) throw missing;
  const client = createClient({ ...options.clientOptions, baseUrl, apiKey });
  return { kind: "hosted", client, origin: client.baseUrl, missingKey: missing, close: () => client.close() };
}

function missingKeyError(hosted: HostedService): InvalidOptionError {
  return new InvalidOptionError(hosted.keyFrom, missingKey(hosted), keyCommand(hosted));
}

async function openLocal(options: ServiceOptions): Promise<Service> {
  const dataDir = options.localDir ?? ".showrunner/local";
  const origin = `local:${dataDir}`;
  if (options.journalOnly === true) {
    const client = unusableClient(new InvalidOptionError("journalOnly", "is set, and this needs the service."));
    return { kind: "local", client, origin, close: async () => {} };
  }
  const shared = await shareLocalService(dataDir, options.families).catch(orMissing);
  if (shared instanceof LocalServiceMissingError) {
    return { kind: "local", client: unusableClient(shared), origin, close: async () => {} };
  }
  const { baseUrl, apiKey } = shared;
  const client = createClient({ ...options.clientOptions, baseUrl, apiKey });
  return {
    kind: "local",
    client,
    origin,
    close: async () => {
      await client.close();
      await shared.close();
    },
  };
}

/** What only reads the journal works all the same. */
function orMissing(error: unknown): LocalServiceMissingError {
  if (error instanceof LocalServiceMissingError) return error;
  throw error;
}

/** Every call of the API fails with `error`; what needs no service is there. */
function unusableClient(error: Error): Client {
  const client = createClient({ baseUrl: "http://localhost", apiKey: "local:none" });
  const own = new Set<string | symbol>(["keyId", "brand", "pace", "clockOffsetMs", "expectWebhooks", "notify"]);
  return new Proxy(client, {
    get(target, name) {
      if (own.has(name)) return Reflect.get(target, name);
      throw error;
    },
  });
}

/** The local service of a folder, whichever process it runs in. */
export interface SharedService {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Ends the service if it runs in this process; another process that uses it takes it over. */
  close(): Promise<void>;
}

/** Between two checks whether the process that runs the service is still there, milliseconds. */
const HOST_CHECK_EVERY_MS = 500;
/** For so many checks a process that is starting may take until it answers. */
const MOST_LOOKS = 20;
/** Another process is just taking the folder, or still holds the port: checked again. */
const TRANSIENT = new Set(["DATA_DIR_IN_USE", "PORT_IN_USE"]);

/**
 * Finds the folder's service, or starts it in this process. When the process that runs it ends, this one takes it over on
 * the same port, so that the address stays what it was for everybody who uses it.
 */
export async function shareLocalService(dataDir: string, families?: FamiliesOption): Promise<SharedService> {
  const options = { dataDir, ...(families !== undefined && { families }) };
  const { startLocalService, findLocalService } = await loadLocalService();
  let started: LocalService | null = null;
  let found = existsSync(dataDir) ? findLocalService(dataDir) : null;
  for (let polls = 1; found === null && started === null; polls++) {
    try {
      started = await startOnUsualPort(dataDir, (more) => startLocalService({ ...options, ...more }));
    } catch (error) {
      // Another process is just starting on the folder.
      if ((error as { readonly code?: string }).code !== "DATA_DIR_IN_USE" || polls === MOST_LOOKS) throw error;
      await delay(HOST_CHECK_EVERY_MS);
      found = findLocalService(dataDir);
    }
  }
  const { baseUrl, apiKey, port } = (found ?? started)!;
  let taking: Promise<void> = Promise.resolve();
  let isTaking = false;
  const take = async () => {
    try {
      started = await startLocalService({ ...options, port });
    } catch (error) {
      if (!TRANSIENT.has((error as { readonly code?: string }).code ?? "")) clearInterval(watch);
    } finally {
      isTaking = false;
    }
  };
  const watch = setInterval(() => {
    if (started !== null || isTaking || findLocalService(dataDir) !== null) return;
    isTaking = true;
    taking = take();
  }, HOST_CHECK_EVERY_MS);
  watch.unref();
  return {
    baseUrl,
    apiKey,
    close: async () => {
      clearInterval(watch);
      await taking;
      await started?.close();
    },
  };
}

/** On the port that the folder's service had before, where that is free: runs that wait for it continue. */
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
