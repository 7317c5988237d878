/** Why a file can take or show no mark: a clause such as `it ends too early`. Never leaves this folder. */
export class UnmarkableError extends Error {}
