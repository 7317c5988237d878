import { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Span } from "@opentelemetry/api";

export interface OpenSpan {
  set(attributes: Attributes): void;
  /** Ends the span. Records the error's code, but not its message. */
  end(error?: unknown): void;
}

/** Creates spans for the stages of a job. Does nothing if OpenTelemetry is not installed. */
export interface Telemetry {
  open(name: SpanName, attributes: Attributes): Promise<OpenSpan>;
  span<T>(name: SpanName, attributes: Attributes, work: (span: OpenSpan) => Promise<T>): Promise<T>;
}

export type SpanName = "showrunner.submit" | "showrunner.follow" | "showrunner.upload" | "showrunner.download";

type OpenTelemetry = typeof import("@opentelemetry/api");

let loading: Promise<OpenTelemetry | null> | null = null;

function loadApi(): Promise<OpenTelemetry | null> {
  loading ??= import("@opentelemetry/api").catch(() => null);
  return loading;
}

const noSpan: OpenSpan = { set: () => {}, end: () => {} };

const ofRuns = new AsyncLocalStorage<true>();

/** Runs `work` without creating spans, because a run's trace is built from its journal. */
export function inRun<T>(work: () => T): T {
  return ofRuns.run(true, work);
}

async function tracingApi(): Promise<OpenTelemetry | null> {
  return ofRuns.getStore() === true ? null : loadApi();
}

export const telemetry: Telemetry = {
  async open(name, attributes) {
    const api = await tracingApi();
    if (api === null) return noSpan;
    return openSpan(api, api.trace.getTracer("showrunner").startSpan(name, { attributes }));
  },
  async span(name, attributes, work) {
    const api = await tracingApi();
    if (api === null) return work(noSpan);
    return api.trace.getTracer("showrunner").startActiveSpan(name, { attributes }, async (active) => {
      const span = openSpan(api, active);
      try {
        const result = await work(span);
        span.end();
        return result;
      } catch (error) {
        span.end(error);
        throw error;
      }
    });
  },
};

function openSpan(api: OpenTelemetry, span: Span): OpenSpan {
  let over = false;
  return {
    set: (attributes) => void span.setAttributes(attributes),
    end(error) {
      if (over) return;
      over = true;
      if (error !== undefined) {
        span.setAttribute("error.type", errorType(error));
        span.setStatus({ code: api.SpanStatusCode.ERROR, message: errorType(error) });
      }
      span.end();
    },
  };
}

function errorType(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code;
  if (typeof code === "string") return code;
  return error instanceof Error ? error.name : "unknown";
}
