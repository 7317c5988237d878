/** What a provider's own documentation says, by which more may be promised than that a request is sent once. */
export interface DeclaredProvider {
  /** It makes a request with the same value in this header once. Only of what starts work that is then asked for. */
  readonly startKey?: { readonly header: string; readonly source: string };
  /** Where its answer says what it charged: keys within `providerMetadata`, leading to US dollars. */
  readonly cost?: { readonly at: readonly string[]; readonly source: string };
}

/**
 * By the first part of AI SDK's provider name. Of a provider that is not here, or says nothing, nothing is assumed: no
 * header is sent where none is documented, since it would look safe and not be.
 */
export const DECLARED: { readonly [provider: string]: DeclaredProvider } = {
  gateway: {
    startKey: {
      header: "idempotency-key",
      source: "https://github.com/vercel/ai/releases/tag/@ai-sdk%2Fgateway@4.0.44",
    },
    cost: {
      at: ["gateway", "cost"],
      source: "https://vercel.com/docs/ai-gateway",
    },
  },
};
