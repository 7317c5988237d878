export {
  type AddressGuard,
  createAddressGuard,
  ForbiddenAddressError,
  ForbiddenUrlError,
  reachOf,
} from "./address-guard.ts";
export { codingsOf, decodedBody, UNCODED } from "./content-coding.ts";
export { codeOf, environmentAdvice, isTunnelRefused, transportFailure, unreached, unreachedReason } from "./failure.ts";
export {
  createForwarder,
  type Forwarder,
  fetchForInput,
  fetchForOperator,
  MOST_REDIRECTS,
  redirectTarget,
} from "./fetch.ts";
export { createAgent, judgeBeforeProxy, proxyAgents, withRoutes } from "./proxy.ts";
export { undici } from "./undici.ts";
