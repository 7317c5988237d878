export { type AddressGuard, createAddressGuard, ForbiddenAddressError, reachOf } from "./address-guard.ts";
export { fetchForInput, fetchForOperator, MOST_REDIRECTS, redirectTarget } from "./fetch.ts";
export { undici } from "./undici.ts";
