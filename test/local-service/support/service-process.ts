import { type Renderer, startLocalService } from "../../../src/local-service/index.ts";

/*
 * A service in a process of its own, to be killed. Its renderer never finishes, so every accepted job is unfinished when
 * the process dies; with `stub` jobs finish all the time. Arguments: data folder, mode. Prints one line of JSON when it is ready.
 */
const never: Renderer = { render: () => new Promise(() => undefined), close: () => Promise.resolve() };
const [dataDir = "", mode = "never"] = process.argv.slice(2);
const renderer = mode === "stub" ? "stub" : never;
const service = await startLocalService({ dataDir, renderer, speed: 1e6, maxRunning: 2, balance: 1000 });
process.stdout.write(`${JSON.stringify({ baseUrl: service.baseUrl, apiKey: service.apiKey })}\n`);
