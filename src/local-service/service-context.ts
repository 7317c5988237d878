import type { Drains } from "./drains/drains.ts";
import type { Runner } from "./runner/runner.ts";
import type { ServiceParts } from "./service-parts.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

/** Everything that endpoints need: the parts of the service, and the runner, webhooks and drains built from them. */
export interface ServiceContext extends ServiceParts {
  readonly runner: Runner;
  readonly webhooks: Webhooks;
  readonly drains: Drains;
}
