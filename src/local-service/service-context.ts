import type { Drains } from "./drains/drains.ts";
import type { Runner } from "./runner/runner.ts";
import type { ServiceParts } from "./service-parts.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

export interface ServiceContext extends ServiceParts {
  readonly runner: Runner;
  readonly webhooks: Webhooks;
  readonly drains: Drains;
}
