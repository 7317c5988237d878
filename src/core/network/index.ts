export { type AddressGuard, createAddressGuard, ForbiddenAddressError, reachOf } from "./address-guard.ts";
export { codingsOf, decodedBody, UNCODED } from "./content-coding.ts";
export { fetchForInput, fetchForOperator, MOST_REDIRECTS, redirectTarget } from "./fetch.ts";
export { createForwarder, type Forwarder } from "./forward.ts";
export { undici } from "./undici.ts";
