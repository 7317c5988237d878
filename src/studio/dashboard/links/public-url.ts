import { InvalidOptionError } from "../../../core/kit/errors.ts";
import { allowedHosts, ownNames, proxiedHosts } from "../http/visitor.ts";
import type { DashboardOptions } from "../options.ts";

export function originOf(publicUrl: string): string {
  const url = URL.canParse(publicUrl) ? new URL(publicUrl) : null;
  if (url?.protocol === "https:" && `${url.origin}/` === url.href) return url.origin;
  throw new InvalidOptionError("publicUrl", "use https and no path, as in https://review.example.com.");
}

export function publicPlace({
  publicUrl,
  host = "",
  allowHosts = [],
}: Pick<DashboardOptions, "publicUrl" | "host" | "allowHosts">) {
  if (publicUrl === undefined) return null;
  const origin = originOf(publicUrl);
  const { host: named, hostname, port } = new URL(origin);
  const own = allowedHosts({ host: host || "127.0.0.1", port: 0, allowed: allowHosts, own: ownNames() });
  if (!own.some((one) => one.replace(/:\d+$/, "") === hostname)) {
    return { origin, hosts: port === "" ? proxiedHosts([hostname]) : [named] };
  }
  const why = `the dashboard itself uses ${hostname}`;
  throw new InvalidOptionError("publicUrl", `${why}; choose another host name for review links.`);
}
