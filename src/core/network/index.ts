export { type AddressGuard, createAddressGuard, ForbiddenAddressError, reachOf } from "./address-guard.ts";
export { codingsOf, decodedBody, UNCODED } from "./content-coding.ts";
export {
  createForwarder,
  type Forwarder,
  fetchForInput,
  fetchForOperator,
  MOST_REDIRECTS,
  redirectTarget,
} from "./fetch.ts";
export {
  createAgent,
  judgeBeforeProxy,
  namedProxy,
  noProxy,
  ProxyVariableError,
  proxyAgents,
  type Route,
  routeOf,
  shownProxy,
  withRoutes,
} from "./proxy.ts";
export { undici } from "./undici.ts";
