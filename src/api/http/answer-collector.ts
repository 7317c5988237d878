import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Exchange } from "./exchange.ts";

/** Largest JSON answer that is read; the description has nothing near it. */
const maxAnswerBytes = 64 * 1024 * 1024;

/**
 * Takes one answer off the wire as it comes. Answers are small and many, so they are gathered here without a stream
 * and an iterator each, which would cost more memory than the answers.
 */
export class AnswerCollector implements Dispatcher.DispatchHandler {
  readonly #settle: (result: Exchange) => void;
  readonly #mayLeave: () => boolean;
  readonly #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #sent = false;
  #over = false;
  #controller: Dispatcher.DispatchController | null = null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  constructor(settle: (result: Exchange) => void, mayLeave: () => boolean) {
    this.#settle = settle;
    this.#mayLeave = mayLeave;
  }

  /** Ends the wait for whatever reason the caller has; the connection is given up. */
  stop(result: (sent: boolean) => Exchange): void {
    this.#finish(result(this.#sent));
    this.#controller?.abort(new Error("nobody waits for this answer any more"));
  }

  fail(cause: unknown): void {
    this.#finish({ kind: "lost", sent: this.#sent, timedOut: false, cause });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Stopped while it waited for a connection: nothing of it shall leave any more.
    if (this.#over) controller.abort(new Error("the request was stopped before it was sent"));
    // A machine that slept while the connection was made wakes here.
    else if (!this.#mayLeave()) controller.abort(new Error("it became too late to send the request"));
    else this.#sent = true;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes > maxAnswerBytes)
      controller.abort(new Error(`the answer is larger than ${maxAnswerBytes} bytes`));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const text = Buffer.concat(this.#chunks).toString("utf8");
    this.#finish({ kind: "answer", status: this.#status, headers: this.#headers, text });
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.fail(cause);
  }

  #finish(result: Exchange): void {
    if (this.#over) return;
    this.#over = true;
    this.#settle(result);
  }
}
