/** Callers get only fixed sentences and the messages of `CallerError`. */
export type Audience = "customer" | "agent" | "reviewer";

export type Sentences = { readonly customer: string; readonly agent: string };

export const both = (text: string): Sentences => ({ customer: text, agent: text });
export const said = (sentences: Sentences, audience: Audience) =>
  sentences[audience === "agent" ? "agent" : "customer"];

export const PERSON = "the person who started this server";
export const OPERATOR: Sentences = { customer: "the operator of this server", agent: PERSON };
