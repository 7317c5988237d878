import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { LocalService } from "showrunner-local";
import { type Client, type ClientOptions, createClient } from "../../api/index.ts";
import type { FamiliesOption } from "../../families/index.ts";
import { chooseService, type HostedService, keyCommand, missingKey, type ServiceName } from "../../kit/deployments.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { LocalServiceMissingError, loadLocalService } from "../../kit/load-local-service.ts";

export interface Service {
  readonly kind: "hosted" | "local";
  readonly client: Client;
  /** The origin that identifies the service in runs. It stays the same if a local service restarts on another port. */
  readonly origin: string;
  readonly missingKey?: InvalidOptionError | null;
  /** Thrown by every call that needs the service. Set only if the options make the service unusable. */
  readonly unusable?: InvalidOptionError;
  close(): Promise<void>;
}

export interface ServiceOptions {
  /**
   * An existing client to use, instead of a URL and a key. Closing the Showrunner instance does not close this client.
   */
  readonly client?: Client | undefined;
  /** Name of a hosted service, instead of its URL. Default: the environment variable `SHOWRUNNER_SERVICE`. */
  readonly service?: ServiceName | undefined;
  /** Base URL of the service. Default: the environment variable `SHOWRUNNER_BASE_URL`, otherwise a local service. */
  readonly baseUrl?: string | undefined;
  /**
   * The API key, as `<key_id>:<secret>`, or a token. Default: the environment variable of the hosted service, such as
   * `HEDRA_API_KEY`, otherwise `SHOWRUNNER_API_KEY`.
   */
  readonly apiKey?: string | undefined;
  /**
   * Set to true to allow a missing key if the service publishes its catalog. Without a key, plans have no prices, and
   * runs cannot be started or resumed. Default false: a missing key is an error.
   */
  readonly keyOptional?: boolean | undefined;
  /** Set to true to use the local service and ignore the environment. Default false. */
  readonly local?: boolean | undefined;
  /**
   * If true, no local service is started and nothing is sent to a hosted one, so no key is needed. You can read, stop
   * and delete runs, and approve or reject steps; calls that need the service throw {@link InvalidOptionError}. Default
   * false.
   */
  readonly journalOnly?: boolean | undefined;
  /** Folder for the embedded local service. Default `.showrunner/local`. */
  readonly localDir?: string | undefined;
  /**
   * Model families that override the built-in ones: a path to a JSON file, or the parsed JSON. Throws
   * {@link FamiliesError} if they are invalid. Default: the file named by the environment variable
   * `SHOWRUNNER_FAMILIES`, if set.
   */
  readonly families?: FamiliesOption | undefined;
  /** Environment variables to use instead of the process's own. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Additional options for the client. */
  readonly clientOptions?: Partial<ClientOptions> | undefined;
}

export async function openService(options: ServiceOptions): Promise<Service> {
  const env = options.env ?? process.env;
  if (options.client !== undefined) return hostedService(options, { client: options.client, close: async () => {} });
  const hosted = chooseService(options, env);
  if (hosted === null) return openLocal(options);
  if ("problem" in hosted) throw new InvalidOptionError(hosted.setting, hosted.problem);
  const { baseUrl, apiKey } = hosted;
  const missing = apiKey === null ? missingKeyError(hosted) : null;
  const needsKey = options.keyOptional !== true && options.journalOnly !== true;
  if (missing !== null && needsKey) throw missing;
  const client = createClient({ ...options.clientOptions, baseUrl, apiKey });
  return hostedService(options, { client, missingKey: missing, close: () => client.close() });
}

/**
 * Returns a hosted service. With `journalOnly`, its client sends nothing but still identifies the account that the runs
 * belong to.
 */
function hostedService({ journalOnly }: ServiceOptions, of: Omit<Service, "kind" | "origin">): Service {
  const service = { ...of, kind: "hosted", origin: of.client.baseUrl } as const;
  if (journalOnly !== true) return service;
  const unusable = notInJournalOnly();
  return { ...service, unusable, client: refusing(of.client, unusable, ["baseUrl"]) };
}

function notInJournalOnly(): InvalidOptionError {
  return new InvalidOptionError("journalOnly", "is set, but this call needs the service.");
}

function missingKeyError(hosted: HostedService): InvalidOptionError {
  return new InvalidOptionError(hosted.keyFrom, missingKey(hosted), keyCommand(hosted));
}

async function openLocal(options: ServiceOptions): Promise<Service> {
  const dataDir = options.localDir ?? ".showrunner/local";
  const origin = `local:${dataDir}`;
  if (options.journalOnly === true) {
    const unusable = notInJournalOnly();
    return { kind: "local", client: unusableClient(unusable), origin, unusable, close: async () => {} };
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

/**
 * Returns the error if it means that the local service is not installed, so that the journal can still be read.
 * Rethrows any other error.
 */
function orMissing(error: unknown): LocalServiceMissingError {
  if (error instanceof LocalServiceMissingError) return error;
  throw error;
}

function unusableClient(error: Error): Client {
  return refusing(createClient({ baseUrl: "http://localhost", apiKey: "local:none" }), error);
}

const SENDS_NOTHING = ["keyId", "brand", "pace", "clockOffsetMs", "expectWebhooks", "notify"];

function refusing(client: Client, error: Error, alsoKeeps: readonly string[] = []): Client {
  const own = new Set<string | symbol>([...SENDS_NOTHING, ...alsoKeeps]);
  return new Proxy(client, {
    get(target, name) {
      if (own.has(name)) return Reflect.get(target, name);
      throw error;
    },
  });
}

export interface SharedService {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Stops the service if it runs in this process. Another process that uses it then takes over. */
  close(): Promise<void>;
}

const HOST_CHECK_EVERY_MS = 500;
const MOST_LOOKS = 20;
/** Startup errors to retry. Another process is opening the folder or still using the port. */
const TRANSIENT = new Set(["DATA_DIR_IN_USE", "PORT_IN_USE"]);

/**
 * Connects to the local service that uses the folder, or starts one in this process. If the service's process exits,
 * this process takes over on the same port.
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

/**
 * Starts the service on the port that it last used for this folder, if possible, because waiting runs expect it there.
 */
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
