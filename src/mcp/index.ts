export { startHttp } from "./http.ts";
export type { AgentPipeline } from "./options.ts";
export { AgentSession } from "./session.ts";
export { serveStdio } from "./stdio.ts";
