export { type AddressGuard, createAddressGuard, ForbiddenAddressError } from "./address-guard.ts";
export { fetchForInput, fetchForOperator, MOST_REDIRECTS, redirectTarget } from "./fetch.ts";
export { reachOf } from "./reach.ts";
export { undici } from "./undici.ts";
