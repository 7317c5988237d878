import { startLocalService } from "../../../src/local-service/index.ts";
import { reportHealth } from "../../support/report-health.ts";

/* A service in a process of its own that can be asked how it is. */
const defects: string[] = [];
const { apiKey, port, baseUrl } = await startLocalService({
  renderer: "stub",
  balance: 1_000_000,
  rateLimit: { requests: 1e9, windowMs: 60_000 },
  onDefect: (error) => defects.push(String(error)),
});
reportHealth({ apiKey, baseUrl, port: String(port) }, () => defects);
