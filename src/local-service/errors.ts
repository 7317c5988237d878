/**
 * - `PORT_IN_USE`: another program listens on the requested port.
 * - `DATA_DIR_IN_USE`: another running service uses the same folder.
 * - `DATA_DIR_UNUSABLE`: the folder is not writable, or its database is damaged or from a newer version.
 * - `OPTION_INVALID`: an option of `startLocalService` is invalid.
 * - `CATALOG_INVALID`: the catalog file is not an array of models.
 * - `FAMILIES_INVALID`: the file of model families is invalid.
 * - `RECORDING_UNUSABLE`: the folder does not contain a valid recording.
 */
export type LocalServiceErrorCode =
  | "PORT_IN_USE"
  | "DATA_DIR_IN_USE"
  | "DATA_DIR_UNUSABLE"
  | "OPTION_INVALID"
  | "CATALOG_INVALID"
  | "FAMILIES_INVALID"
  | "RECORDING_UNUSABLE";

/** Thrown if the local service cannot start. The message says what is wrong, where, and what to do next. */
export class LocalServiceError extends Error {
  readonly code: LocalServiceErrorCode;

  constructor(code: LocalServiceErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "LocalServiceError";
    this.code = code;
  }
}

export function systemCode(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
