import type { AnyStateMachine } from "xstate";

/** The shape of a machine's configuration that the drawing reads. */
interface StateConfig {
  readonly type?: string;
  readonly initial?: string;
  readonly states?: { readonly [name: string]: StateConfig };
  readonly on?: { readonly [event: string]: string | { readonly target?: string; readonly guard?: unknown } };
}

/** A machine as a Mermaid state diagram: drawn from the definition, so that it cannot tell another story. */
export function mermaid(machine: AnyStateMachine): string {
  return ["stateDiagram-v2", ...region(machine.config as StateConfig, "", "  ")].join("\n");
}

function region(config: StateConfig, prefix: string, indent: string): string[] {
  const states = Object.entries(config.states ?? {});
  if (config.type === "parallel") {
    return states.flatMap(([name, state]) => [
      `${indent}state ${name} {`,
      ...region(state, prefix, `${indent}  `),
      `${indent}}`,
    ]);
  }
  const start = config.initial === undefined ? [] : [`${indent}[*] --> ${config.initial}`];
  return [...start, ...states.flatMap(([name, state]) => lines(name, state, prefix, indent))];
}

function lines(name: string, state: StateConfig, prefix: string, indent: string): string[] {
  const inner =
    state.states === undefined
      ? []
      : [`${indent}state ${name} {`, ...region(state, prefix, `${indent}  `), `${indent}}`];
  const arrows = Object.entries(state.on ?? {}).map(([event, to]) => {
    const target = typeof to === "string" ? to : (to.target ?? name);
    const guard = typeof to === "object" && typeof to.guard === "string" ? ` [${to.guard}]` : "";
    return `${indent}${name} --> ${target} : ${event}${guard}`;
  });
  return [...inner, ...arrows, ...(state.type === "final" ? [`${indent}${name} --> [*]`] : [])];
}
