import type { HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import { authenticator } from "./access/authenticate.ts";
import { accessEndpoints } from "./access/endpoints.ts";
import { rateLimiter } from "./access/rate-limit.ts";
import { chatEndpoints } from "./chat/endpoints.ts";
import { faultInterceptor } from "./faults/interceptor.ts";
import { type Endpoint, endpoint } from "./http/call.ts";
import { createKernel, type KernelPorts } from "./http/kernel.ts";
import { jobEndpoints } from "./jobs/endpoints.ts";
import { submitHandler } from "./jobs/submit.ts";
import { mountDownloads } from "./media/download.ts";
import { uploadHandler } from "./media/upload.ts";
import { modelEndpoints } from "./models/endpoints.ts";
import { described, describedOperator } from "./openapi/endpoints.ts";
import { operatorEndpoints } from "./operator/endpoints.ts";
import type { ServiceContext } from "./service-context.ts";
import { usageEndpoints } from "./usage/endpoints.ts";

/** Every endpoint below `/v3`, in the order of the documentation. Each feature adds its own list here. */
export function apiEndpoints(service: ServiceContext): readonly Endpoint[] {
  return [
    ...modelEndpoints(service),
    endpoint("POST", "/models/{model}", "jobs:write", "Submit a job", submitHandler(service)),
    ...jobEndpoints(service),
    endpoint("POST", "/files", "files:write", "Upload an input file", uploadHandler(service)),
    ...usageEndpoints(service),
    ...accessEndpoints(service),
    ...service.webhooks.endpoints,
    ...chatEndpoints(service),
    ...service.drains.endpoints,
  ];
}

/** The HTTP application: API, operator endpoints and downloads. */
export function createServiceApp(service: ServiceContext): Hono<{ Bindings: HttpBindings }> {
  const { store, clock, options, metrics } = service;
  const ports: KernelPorts = {
    authenticate: authenticator(store, clock),
    limit: rateLimiter(options.rateLimit, clock),
    count: metrics.count,
    now: clock.now,
    onDefect: service.onDefect,
    strict: options.strict,
    interceptor: faultInterceptor(service.faultEngine, service),
  };
  const tables = {
    "/v3": described(apiEndpoints(service), service.catalog, options),
    "/_local": describedOperator(operatorEndpoints(service)),
  };
  const app = createKernel(tables, ports);
  mountDownloads(app, service);
  return app;
}
