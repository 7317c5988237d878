import { z } from "zod";
import { type CleanText, cleanText } from "../../kit/clean-text.ts";
import { findC2pa, OFFLINE, signableType } from "./c2pa-package.ts";

export interface Credentials {
  /**
   * `trusted`: the manifest matches the file, and the signer's certificate chains to one in `trust`. `unknown-signer`:
   * it matches, but anyone may have signed it. `tampered`: the file or the manifest was changed after signing.
   * `invalid`: the check fails for another reason, which `failures` contains.
   */
  readonly state: "trusted" | "unknown-signer" | "tampered" | "invalid";
  /** The name in the signer's certificate. It is verified only if the state is `trusted`. */
  readonly signer: CleanText | null;
  readonly digitalSourceTypes: readonly CleanText[];
  readonly ingredients: readonly CleanText[];
  readonly failures: readonly CleanText[];
}

/**
 * Reads a file's content credentials; `unread` if the package for this is not installed. `trust`: certificates as PEM.
 */
export async function readCredentials(
  path: string,
  { folder, trust }: { readonly folder: string; readonly trust?: string },
): Promise<Credentials | "unread" | null> {
  const mimeType = await signableType(path);
  if (mimeType === null) return null;
  const c2pa = await findC2pa(folder);
  if (c2pa === null) return "unread";
  const settings = {
    verify: { ...OFFLINE, verify_trust: true },
    ...(trust !== undefined && { trust: { user_anchors: trust, verify_trust_list: true } }),
  };
  try {
    const reader = await c2pa.Reader.fromAsset({ path, mimeType }, settings);
    return reader === null ? null : credentialsIn(storeSchema.parse(reader.json()));
  } catch (error) {
    const failures = [cleanText(error instanceof Error ? error.message : String(error))];
    return { state: "invalid", signer: null, digitalSourceTypes: [], ingredients: [], failures };
  }
}

const action = z.object({ digitalSourceType: z.string().optional() });
const storeSchema = z.object({
  active_manifest: z.string().nullish(),
  manifests: z
    .record(
      z.string(),
      z.object({
        signature_info: z.object({ common_name: z.string().nullish(), issuer: z.string().nullish() }).nullish(),
        ingredients: z.array(z.object({ title: z.string().nullish() })).nullish(),
        assertions: z.array(z.object({ label: z.string(), data: z.unknown() })).nullish(),
      }),
    )
    .nullish(),
  validation_state: z.string().nullish(),
  validation_status: z.array(z.object({ code: z.string() })).nullish(),
});

function credentialsIn(store: z.output<typeof storeSchema>): Credentials {
  const manifest = store.manifests?.[store.active_manifest ?? ""];
  const { common_name: name, issuer } = manifest?.signature_info ?? {};
  const signer = [name, issuer].filter((part) => part != null && part !== "").join(", ");
  const failures = (store.validation_status ?? []).map(({ code }) => code);
  const types = (manifest?.assertions ?? [])
    .filter(({ label }) => label.startsWith("c2pa.actions"))
    .flatMap(({ data }) => z.object({ actions: z.array(action) }).safeParse(data).data?.actions ?? [])
    .flatMap(({ digitalSourceType }) => digitalSourceType ?? []);
  return {
    state: stateOf(store.validation_state, failures),
    signer: signer === "" ? null : cleanText(signer),
    digitalSourceTypes: [...new Set(types)].map((type) => cleanText(type)),
    ingredients: (manifest?.ingredients ?? []).map(({ title }) => cleanText(title ?? "untitled")),
    failures: failures.map((failure) => cleanText(failure)),
  };
}

function stateOf(state: string | null | undefined, failures: readonly string[]): Credentials["state"] {
  if (state === "Trusted") return "trusted";
  if (state === "Valid") return "unknown-signer";
  return failures.some((code) => code.endsWith(".mismatch")) ? "tampered" : "invalid";
}
