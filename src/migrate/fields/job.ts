import type { Json } from "../../core/plan/plan.ts";
import { type Body, given, type Shift } from "../body.ts";
import { type Expression, json, shown } from "../expression.ts";
import { type EntryDetails, isWork } from "../field-report.ts";
import type { MigrationContext } from "../migration-context.ts";
import { type FieldView, type ModelView, type Slot, slotField } from "../models/view.ts";
import { isTemplate, type JsonPath, pathText } from "../read/source.ts";
import { coerce } from "./coerce.ts";

export const FILLED_BY_FLOW = "values that the flow fills in become inputs of the pipeline";

export class Job {
  readonly context: MigrationContext;
  readonly body: Body;
  readonly view: ModelView;
  readonly step: string;
  readonly input = new Map<string, Expression>();
  shift: Shift | null = null;
  levelOfSlug: { readonly quality: string; readonly path: JsonPath } | null = null;
  readonly #origins = new Map<string, JsonPath[]>();

  constructor(context: MigrationContext, body: Body, view: ModelView, step: string) {
    this.context = context;
    this.body = body;
    this.view = view;
    this.step = step;
  }

  to(field: string): string {
    return `${this.step}: ${field}`;
  }

  originsOf(field: string): readonly JsonPath[] {
    return this.#origins.get(field) ?? [];
  }

  set(field: string, value: Expression, from: JsonPath | null): void {
    this.input.set(field, value);
    if (from !== null) this.#origins.set(field, [...this.originsOf(field), from]);
  }

  add(field: FieldView, value: Expression, from: JsonPath | null): void {
    this.set(field.name, field.isList ? { is: "list", items: [...this.itemsOf(field), value] } : value, from);
  }

  itemsOf({ name }: FieldView): readonly Expression[] {
    const value = this.input.get(name);
    return value?.is === "list" ? value.items : value === undefined ? [] : [value];
  }

  sent(field: string): Json | undefined {
    const value = this.input.get(field);
    return value?.is === "json" ? value.value : undefined;
  }

  reportChange(field: string, at: string, value: Json, why: string): void {
    const details = { to: this.to(field), newValue: value, why };
    const [origin] = this.originsOf(field);
    if (origin === undefined) this.body.fieldReport.add(at, "defaulted", details);
    else this.body.fieldReport.amend(origin, "converted", details);
  }

  leaveOut(field: string, because: string, choices: readonly string[]): void {
    this.input.delete(field);
    for (const path of this.originsOf(field))
      this.body.fieldReport.amend(path, "decision", { why: `left out for now: ${because}`, choices });
  }

  /**
   * Copies a v2 value to the first field in `names` that the model has. Without `names`, copies it to the field with
   * the same name as in v2.
   */
  plain(path: JsonPath, ...names: readonly string[]): void {
    const value = given(this.body, ...path);
    if (value === undefined) return;
    const allowed = names.length === 0 ? [String(path.at(-1))] : names;
    const field = this.plainField(allowed);
    if (field === null) {
      const why = `${this.view.id} has no ${allowed.join(" or ")} field`;
      if (!isWork(pathText(path), value as Json)) return this.drop(path, why);
      return this.decide(path, why, ["leave it out", "choose a model that accepts it"]);
    }
    if (isTemplate(value)) return this.#filledByFlow(path, field);
    this.value(path, field, value as Json);
  }

  plainField(names: readonly string[]): FieldView | null {
    const fields = names.map((name) => this.view.fields.get(name));
    return fields.find((field) => field !== undefined && field.takes.what === "json") ?? null;
  }

  /** Sets a field to the nearest value that it accepts, or adds a decision if none fits. */
  value(path: JsonPath, field: FieldView, value: Json, why: string | null = null): void {
    const fitted = coerce(field, value);
    if (!fitted.fits) {
      const choices = ["leave it out", ...fitted.choices.filter((choice) => choice !== "leave it out")];
      return this.decide(path, fitted.why, choices);
    }
    this.set(field.name, json(fitted.value), path);
    this.carried(path, field.name, fitted.value, why ?? fitted.why);
  }

  /** Fills in a text field. Text that the model rejects becomes an input of the pipeline. */
  text(path: JsonPath, slot: Slot): void {
    const value = given(this.body, ...path);
    if (typeof value !== "string") return;
    const field = slotField(this.view, slot);
    if (field === null) return this.drop(path, `${this.view.id} has no field for this text`);
    if (isTemplate(value)) {
      const why = `a value that the flow inserts into the field ${pathText(path)}`;
      const expression = this.context.template(this.body, value, why);
      this.set(field.name, expression, path);
      return this.convert(path, field.name, shown(expression), FILLED_BY_FLOW);
    }
    const fitted = coerce(field, value);
    if (fitted.fits) return this.value(path, field, value);
    const expression = this.textInput(field, `${pathText(path)} ${fitted.why}`);
    this.set(field.name, expression, path);
    this.decide(path, fitted.why, fitted.choices, { to: this.to(field.name), newValue: shown(expression) });
  }

  textInput(field: FieldView, why: string): Expression {
    const maxLength = Number.isFinite(field.maxLength) ? field.maxLength : null;
    const key = `${this.step} ${field.name}`;
    return this.context.input(key, `${this.step}-${field.name}`, why, { is: "text", maxLength });
  }

  /** Records that a v2 value was migrated. `target` is the value's place in the input, if not `field` itself. */
  carried(path: JsonPath, field: string, value: Json, why: string | null, target = field): void {
    const old = given(this.body, ...path) as Json;
    const isSame = JSON.stringify(old) === JSON.stringify(value);
    if (!isSame) return this.convert(path, target, value, why ?? "in the form that v3 expects");
    const outcome = path.at(-1) === field ? "carried" : "renamed";
    this.body.fieldReport.note(path, outcome, { to: this.to(target), newValue: value });
  }

  convert(path: JsonPath, field: string, newValue: Json, why: string): void {
    this.body.fieldReport.note(path, "converted", { to: this.to(field), newValue, why });
  }

  drop(path: JsonPath, why: string): void {
    this.body.fieldReport.note(path, "dropped", { why });
  }

  dropUnused(path: JsonPath, why: string): void {
    this.body.fieldReport.note(path, "dropped", { why, isUnusedByV2: true });
  }

  decide(path: JsonPath, why: string, choices: readonly string[], more: EntryDetails = {}): void {
    this.body.fieldReport.note(path, "decision", { why, choices, ...more });
  }

  /** Sets a field to its v2 default explicitly, because v3 has a different default. */
  preset(v2Field: string, field: string, value: Json, why: string): void {
    this.set(field, json(value), null);
    this.body.fieldReport.add(v2Field, "defaulted", { to: this.to(field), newValue: value, why });
  }

  #filledByFlow(path: JsonPath, { name }: FieldView): void {
    const why = `the flow fills in this value at run time, but ${name} must be known when the source code is generated`;
    this.decide(path, why, [`leave ${name} out`, `set ${name} to a fixed value in the source code`]);
  }
}
