/** Loaded with `--import`: names of hosts resolve for npm's registry and this machine only; others are written down. */
import dns from "node:dns";
import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const { TEST_REGISTRY, TEST_REFUSED } = process.env;
const allowed = new Set(["localhost", "127.0.0.1", "::1", new URL(TEST_REGISTRY).hostname]);
const { lookup } = dns;

dns.lookup = (host, ...rest) => {
  if (allowed.has(host)) return lookup(host, ...rest);
  appendFileSync(TEST_REFUSED, `${host}\n`);
  const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND", hostname: host });
  rest.at(-1)(error);
};
syncBuiltinESMExports();
