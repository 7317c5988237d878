import { accountComponents } from "./account.ts";
import { catalogComponents } from "./catalog.ts";
import { chatComponents } from "./chat.ts";
import { errorComponents } from "./errors.ts";
import { eventComponents } from "./events.ts";
import { jobComponents } from "./jobs.ts";

/** Every shape that leaves the service. Readers must expect more fields than these. */
export const COMPONENTS = {
  ...jobComponents,
  ...catalogComponents,
  ...accountComponents,
  ...eventComponents,
  ...chatComponents,
  ...errorComponents,
};
