import { ShowrunnerError } from "../../kit/errors.ts";

/** A file cannot be signed, or what signs it is missing or unfit: package, certificate, key. Nothing was written. */
export class CredentialsError extends ShowrunnerError {
  readonly code = "CREDENTIALS";
  /** A command that mends it, where one does. */
  readonly next: string | null;

  constructor(message: string, next: string | null, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.next = next;
  }
}
