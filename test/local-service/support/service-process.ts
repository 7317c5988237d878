import { type Renderer, startLocalService } from "../../../src/local-service/index.ts";

/*
 * A service in a process of its own, to be killed. Its renderer never finishes, so every accepted job is unfinished when
 * the process dies. Arguments: data folder. Prints one line of JSON when it is ready.
 */
const never: Renderer = { render: () => new Promise(() => undefined), close: () => Promise.resolve() };
const [dataDir = ""] = process.argv.slice(2);
const service = await startLocalService({ dataDir, renderer: never, speed: 1e6, maxRunning: 2 });
process.stdout.write(`${JSON.stringify({ baseUrl: service.baseUrl, apiKey: service.apiKey })}\n`);
