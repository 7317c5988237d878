import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CredentialsError } from "./credentials-error.ts";

const NAME = "@contentauth/c2pa-node";
/** Version 0.9.8 asks for a package that npm does not have. */
const INSTALL = `npm install ${NAME}@0.8.0`;

interface Asset {
  readonly path: string;
  readonly mimeType?: string;
}

/** What is used of the package. */
export interface C2pa {
  readonly Builder: {
    withJson(claim: object, settings: object): { sign(signer: object, from: Asset, to: Asset): unknown };
  };
  readonly LocalSigner: { newSigner(certificate: Buffer, key: Buffer, algorithm: string): object };
  readonly Reader: { fromAsset(asset: Asset, settings: object): Promise<{ json(): unknown } | null> };
}

/** Nothing is fetched on a file's word. */
export const OFFLINE = { remote_manifest_fetch: false, ocsp_fetch: false } as const;

/** The package, from `folder` where a project has it, else from beside ours; null where it is not installed. */
export async function findC2pa(folder: string): Promise<C2pa | null> {
  for (const place of [join(folder, "package.json"), import.meta.url]) {
    const path = resolved(place);
    if (path === null) continue;
    try {
      return (await import(/* @vite-ignore */ pathToFileURL(path).href)) as C2pa;
    } catch (cause) {
      throw new CredentialsError(`${NAME} is installed but does not load: ${String(cause)}.`, INSTALL, { cause });
    }
  }
  return null;
}

/** @throws CredentialsError where it is not installed */
export async function loadC2pa(folder: string): Promise<C2pa> {
  const found = await findC2pa(folder);
  if (found === null) throw new CredentialsError(`Signing needs the package ${NAME}, which is not installed.`, INSTALL);
  return found;
}

function resolved(place: string): string | null {
  try {
    return createRequire(place).resolve(NAME);
  } catch {
    return null;
  }
}
