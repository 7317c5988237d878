import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import type { SliceOptions } from "../core/engine/index.ts";
import { isPostgresUrl } from "../core/kit/journal-location.ts";
import type { RestateEngineOptions } from "../fleet/restate/index.ts";
import type { Engine } from "../fleet/worker/index.ts";
import { type CliError, usageError } from "./cli-error.ts";
import { type Context, journalOf } from "./context.ts";
import { loadPipeline } from "./load/pipeline-file.ts";
import type { Flags } from "./program/flags.ts";
import { visible, visibleError } from "./text/escape.ts";

export async function openEngine(
  { io, output }: Context,
  flags: Pick<Flags["run"], "engine" | "engineUrl" | "journal">,
): Promise<Engine> {
  const onError = (error: unknown, what: string) =>
    output.say(`${visible(what)}: ${visibleError(error)} (will try again)`);
  const engineUrl = flags.engineUrl ?? io.env.SHOWRUNNER_ENGINE_URL;
  if (flags.engine === "restate") {
    const { createRestateEngine } = await import("../fleet/restate/index.ts");
    const options = restateOptions(engineUrl ?? "http://127.0.0.1:8080");
    return createRestateEngine({ ...options, token: io.env.SHOWRUNNER_ENGINE_TOKEN, onError });
  }
  if (flags.engine !== "pg-boss") {
    const { createTimersEngine } = await import("../fleet/worker/index.ts");
    return createTimersEngine({ onError });
  }
  const connectionString = engineUrl ?? journalOf(io, flags);
  if (!isPostgresUrl(connectionString)) {
    throw usageError(
      "--engine pg-boss needs a PostgreSQL database, but the journal is a file",
      "set SHOWRUNNER_JOURNAL=postgres://… to use one database for the journal and the engine, or pass --engine-url",
    );
  }
  const { createPgBossEngine } = await import("../fleet/pg-boss/index.ts");
  return createPgBossEngine({ connectionString, onError });
}

/** Returns a function that finds a run's code within `folder`. */
export function pipelinesIn(folder: string): NonNullable<SliceOptions["findPipeline"]> {
  return async ({ source, plan }) => {
    if (source === null) return null;
    const parts = source.file.split(/[\\/]/).filter((part) => part !== "" && part !== "." && part !== "..");
    const ends = parts.map((_, from) => join(folder, parts.slice(from).join(sep)));
    const file = ends.find((path) => existsSync(path));
    if (file === undefined) return null;
    const { pipeline } = await loadPipeline(`${file}#${source.exportName}`, folder);
    return pipeline.name === plan.pipeline ? pipeline : null;
  };
}

const KNOWN = new Set(["name", "listen", "address", "admin", "identity"]);

/** Parses an engine URL such as `http://restate:8080?listen=0.0.0.0:9080&address=http://workers:9080`. */
export function restateOptions(text: string): Pick<RestateEngineOptions, "ingress" | "name" | "endpoint"> {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw refused("the engine URL is not the HTTP address of Restate's ingress", "http://127.0.0.1:8080");
  }
  const params = url.searchParams;
  const unknown = [...params.keys()].find((key) => !KNOWN.has(key));
  if (unknown !== undefined) {
    throw refused(
      `the engine URL has an unknown parameter ${visible(unknown)}; use ${[...KNOWN].join(", ")}`,
      "?name=studio",
    );
  }
  const address = params.get("address");
  const identityKeys = params.getAll("identity");
  return {
    ingress: `${url.origin}${url.pathname}`,
    name: params.get("name") ?? undefined,
    endpoint: {
      ...listenOf(params.get("listen")),
      ...(address !== null && { address: address === "none" ? null : httpUrl("address", address) }),
      ...(params.has("admin") && { admin: httpUrl("admin", params.get("admin")!) }),
      ...(identityKeys.length > 0 && { identityKeys }),
    },
  };
}

function listenOf(text: string | null): { readonly host?: string; readonly port?: number } {
  if (text === null) return {};
  const [, host, port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw refused(`listen=${visible(text)} is neither a port nor HOST:PORT`, "listen=9080 or listen=0.0.0.0:9080");
  }
  return { ...(host !== undefined && { host: host.replace(/^\[(.+)\]$/, "$1") }), port: Number(port) };
}

function httpUrl(field: string, text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw refused(`${field}=${visible(text)} is not an HTTP URL`, `${field}=http://workers:9080`);
}

function refused(message: string, example: string): CliError {
  return usageError(`--engine restate: ${message}`, `write ${example}`);
}
