import type { JsonSchema } from "../../catalog/model.ts";
import { pages } from "../schema.ts";
import { accountComponents } from "./account.ts";
import { catalogComponents } from "./catalog.ts";
import { chatComponents } from "./chat.ts";
import { errorComponents } from "./errors.ts";
import { eventComponents } from "./events.ts";
import { jobComponents } from "./jobs.ts";
import { requestComponents } from "./requests.ts";
import { streamComponents } from "./streams.ts";

/** Every shape that enters or leaves the service. Readers must expect more fields than these. */
export const COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  ...jobComponents,
  ...streamComponents,
  ...catalogComponents,
  ...accountComponents,
  ...eventComponents,
  ...chatComponents,
  ...errorComponents,
  ...requestComponents,
  ...pages("ModelSummary", "Voice", "JobSummary", "LogEvent", "ApiKey", "WebhookDelivery", "LogDrain"),
};
