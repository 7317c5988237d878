import { ShowrunnerError } from "../../errors.ts";

/** The service answered with success, but the body is not what the description promises. Check the base URL first. */
export class MalformedResponseError extends ShowrunnerError {
  readonly code = "MALFORMED_RESPONSE";
  /** Where in the body, and what was expected there. */
  readonly issues: readonly string[];
  /** False when the body was no JSON at all: then a proxy or a login page may have answered. */
  readonly isJson: boolean;

  constructor(
    where: string,
    issues: readonly string[],
    options: { readonly isJson?: boolean; readonly cause?: unknown } = {},
  ) {
    super(
      `${where} answered with a body this client cannot read: ${issues.join("; ")}. Is the base URL a v3 service?`,
      { cause: options.cause },
    );
    this.issues = issues;
    this.isJson = options.isJson ?? true;
  }
}
