import type { RestateEngineOptions } from "../restate/index.ts";
import { CliError } from "./cli-error.ts";
import { visible } from "./text/escape.ts";

const KNOWN = new Set(["name", "listen", "address", "admin", "identity"]);

/** `http://restate:8080?listen=0.0.0.0:9080&address=http://workers:9080&…` */
export function restateOptions(text: string): Pick<RestateEngineOptions, "ingress" | "name" | "endpoint"> {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw refused("the engine's URL is not where Restate takes calls", "http://127.0.0.1:8080");
  }
  const params = url.searchParams;
  const unknown = [...params.keys()].find((key) => !KNOWN.has(key));
  if (unknown !== undefined) {
    throw refused(
      `the engine's URL has ${visible(unknown)}, which is none of ${[...KNOWN].join(", ")}`,
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
    throw refused(`listen=${visible(text)} is no port of this machine`, "listen=9080 or listen=0.0.0.0:9080");
  }
  return { ...(host !== undefined && { host: host.replace(/^\[(.+)\]$/, "$1") }), port: Number(port) };
}

function httpUrl(field: string, text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw refused(`${field}=${visible(text)} is no http address`, `${field}=http://workers:9080`);
}

function refused(message: string, example: string): CliError {
  return new CliError("USAGE", `--engine restate: ${message}`, { next: `write ${example}` });
}
