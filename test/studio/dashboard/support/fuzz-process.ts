import { reportHealth } from "../../../support/report-health.ts";
import { plantRun } from "./planted.ts";
import { serveDashboard } from "./serve.ts";

/* A dashboard in a process of its own that can be asked how it is. */
const served = await serveDashboard();
await plantRun(served.journal, { id: "night", end: "succeeded", steps: [{ path: "one" }] });
const { origin, url } = served.dashboard;
reportHealth({ origin, url }, () => served.defects.map(String));
