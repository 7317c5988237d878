import { readFile } from "node:fs/promises";
import { namedProxy, noProxy, shownProxy } from "../../core/kit/proxy-route.ts";
import type { Io } from "../io.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";
import { type Finding, failed, fine } from "./storage.ts";

/** What the environment says of the network: proxies, exceptions from them, further certificate authorities. */
export async function networkFindings({ env }: Io): Promise<readonly Finding[]> {
  return [proxies(env), ...(await authorities(env))];
}

function proxies(env: Io["env"]): Finding {
  try {
    const [https, http] = [namedProxy("https:", env), namedProxy("http:", env)];
    if (https === null && http === null) return fine("proxy", "none: neither HTTPS_PROXY nor HTTP_PROXY is set");
    const exceptions = noProxy(env);
    const parts = [
      `https ${https === null ? "straight" : `by ${shownProxy(https)}`}`,
      `http ${http === null ? "straight" : `by ${shownProxy(http)}`}`,
      exceptions === null
        ? "this machine straight"
        : `this machine and ${exceptions.value} straight (${exceptions.variable})`,
    ];
    return fine("proxy", visible(parts.join(", ")));
  } catch (error) {
    return failed("proxy", visible((error as Error).message));
  }
}

async function authorities({ NODE_EXTRA_CA_CERTS: file }: Io["env"]): Promise<readonly Finding[]> {
  if (!file) return [];
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => error);
  const cure = "set NODE_EXTRA_CA_CERTS to a file of certificates in PEM; Node continues without it";
  if (text instanceof Error) return [failed("authority", `${visible(file)} cannot be read (${text.code})`, cure)];
  const count = text.split("-----BEGIN CERTIFICATE-----").length - 1;
  const shown = `${counted(count, "certificate")} in ${visible(file)} (NODE_EXTRA_CA_CERTS)`;
  return [count > 0 ? fine("authority", shown) : failed("authority", shown, cure)];
}
