type Labels = Readonly<Record<string, string>>;

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
}

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export class Counter {
  readonly family: MetricFamily;
  readonly #byLabels = new Map<string, { readonly labels: Labels; value: number }>();

  /**
   * With `starts`, reports 0 before the first increase, so that Prometheus sees this increase. Use it only without
   * labels.
   */
  constructor(name: string, help: string, { starts = false } = {}) {
    this.family = { name, help, type: "counter" };
    if (starts) this.add({}, 0);
  }

  add(labels: Labels = {}, by = 1): void {
    const key = JSON.stringify(labels);
    const found = this.#byLabels.get(key);
    if (found === undefined) this.#byLabels.set(key, { labels, value: by });
    else found.value += by;
  }

  samples(): readonly Sample[] {
    return [...this.#byLabels.values()];
  }
}

export function expositionText(metrics: readonly (readonly [MetricFamily, readonly Sample[]])[]): string {
  return metrics
    .filter(([, samples]) => samples.length > 0)
    .map(([{ name, help, type }, samples]) => {
      const lines = samples.map(({ labels, value }) => `${name}${labelText(labels)} ${value}`);
      return [
        `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
        `# TYPE ${name} ${type}`,
        ...lines,
        "",
      ].join("\n");
    })
    .join("");
}

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
    return `${name}="${escaped}"`;
  });
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}
