export { AGENT_TAG, type AgentPipeline, AgentSession } from "./session.ts";
export { serveStdio, startHttp } from "./transports.ts";
