import { badRequest, type Call, Refusal, type Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";
import type { Operator } from "../service/operator.ts";
import type { ServiceView } from "../views/action-wire.ts";

const MOST_DOLLARS = 1_000_000;
const MOST_RULES = 100;

/** The service behind the runs, and the operator's side of a local one. */
export function serviceRoutes(context: DashboardContext): readonly Route[] {
  const { gauges } = context;

  const status = async (): Promise<ServiceView> => {
    const operator = await context.operator();
    const { show } = context;
    return {
      kind: operator === null ? "hosted" : "local",
      baseUrl: show.service.baseUrl,
      keyId: show.client.keyId ?? null,
      local: (await operator?.status()) ?? null,
    };
  };

  const needed = async (): Promise<Operator> => {
    const operator = await context.operator();
    if (operator === null) throw new Refusal(409, "NO_LOCAL_SERVICE", "Only a local service can be changed from here.");
    return operator;
  };

  const fund = async ({ json }: Call) => {
    const { dollars } = await json();
    if (typeof dollars !== "number" || !(dollars > 0 && dollars <= MOST_DOLLARS)) {
      throw badRequest("dollars must be a number above 0.");
    }
    await (await needed()).fund(dollars);
    gauges.forgetBalance();
    return {};
  };

  const setFaults = async ({ json }: Call) => {
    const { rules } = await json();
    if (!Array.isArray(rules) || rules.length > MOST_RULES) throw badRequest("rules must be a list.");
    await (await needed()).setFaults(rules);
    return {};
  };

  return [
    { method: "GET", path: "/api/service", handle: status },
    { method: "GET", path: "/api/gauges", handle: () => gauges.read() },
    { method: "POST", path: "/api/service/funds", handle: fund },
    { method: "POST", path: "/api/service/faults", handle: setFaults },
  ];
}
