/**
 * What the ledger and the upload handles of a store are grouped by: one key at one service. The key's id is no secret.
 */
export function accountOf(run: { readonly baseUrl: string; readonly keyId: string }): string {
  return `${run.keyId}@${run.baseUrl}`;
}
