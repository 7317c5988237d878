import { startLocalService } from "../../src/local-service/index.ts";

/** A service in a process of its own, for the benches. Prints where it is; ends with its standard input. */
const service = await startLocalService({
  renderer: "stub",
  balance: 1_000_000,
  rateLimit: { requests: 1e9, windowMs: 60_000 },
  ...JSON.parse(process.argv[2] ?? "{}"),
});
process.stdout.write(`${JSON.stringify({ baseUrl: service.baseUrl, apiKey: service.apiKey, pid: process.pid })}\n`);
process.stdin.on("end", () => void service.close().then(() => process.exit(0))).resume();
