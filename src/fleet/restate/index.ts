export { createRestateEngine, type RestateEndpointOptions, type RestateEngineOptions } from "./engine.ts";
