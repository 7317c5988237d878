export {
  type AddressGuard,
  createAddressGuard,
  ForbiddenAddressError,
  ForbiddenUrlError,
  reachOf,
} from "./address-guard.ts";
export { codeOf, environmentAdvice, isTunnelRefused, transportFailure, unreached, unreachedReason } from "./failure.ts";
export {
  codingsOf,
  createAgent,
  createForwarder,
  decodedBody,
  type Forwarder,
  fetchForInput,
  fetchForOperator,
  judgeBeforeProxy,
  MOST_REDIRECTS,
  proxyAgents,
  redirectTarget,
  UNCODED,
  undici,
  withRoutes,
} from "./fetch.ts";
