export { startHttp } from "./http.ts";
export type { AgentPipeline } from "./options.ts";
export { AGENT_TAG, AgentSession } from "./session.ts";
export { serveStdio } from "./stdio.ts";
