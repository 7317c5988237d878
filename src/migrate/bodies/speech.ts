import { own } from "../../core/kit/lookup.ts";
import type { Json } from "../../core/plan/plan.ts";
import { given } from "../body.ts";
import { json, shown } from "../expression.ts";
import type { Job } from "../fields/job.ts";
import { mediumAt, setMedia } from "../fields/media.ts";
import { type FieldView, slotField } from "../models/view.ts";
import { isTemplate, type JsonPath, pathText } from "../read/source.ts";

/** Language names that v2 accepts in addition to those in `Intl.DisplayNames`, with their codes. */
const ALIASES: Readonly<Record<string, string>> = {
  bengali: "bn",
  cantonese: "yue",
  farsi: "fa",
  filipino: "fil",
  flemish: "nl",
  haitian: "ht",
  mandarin: "zh",
  maori: "mi",
  tagalog: "tl",
  // Varieties that are written without the name of their language.
  nynorsk: "nn",
  bokmål: "nb",
  bokmal: "nb",
  yue: "yue",
};

/** Maps English language names in lower case to two-letter codes. Obsolete codes are omitted. */
function platformCodes(): ReadonlyMap<string, string> {
  const names = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  const current = codes.filter((code) => Intl.getCanonicalLocales(code)[0] === code);
  return new Map(current.flatMap((code) => [[names.of(code)?.toLowerCase() ?? code, code] as const]));
}

let codes: ReadonlyMap<string, string> | null = null;

const VARIETIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  zh: { yue: "yue", cantonese: "yue", wu: "wuu", shanghainese: "wuu", hakka: "hak", hokkien: "nan", "min nan": "nan" },
  no: { nynorsk: "nn", nn: "nn", bokmål: "nb", bokmal: "nb", nb: "nb" },
};

/**
 * Returns the code of a language, such as `pt` for `Portuguese (Brazil)`. Returns codes unchanged, and null for unknown
 * names.
 */
export function languageCode(name: string): string | null {
  const plain = name.trim().toLowerCase();
  const whole = codeOf(plain);
  if (whole !== null) return whole;
  const [first = "", ...rest] = plain.split(/[\s(),/]+/).filter(Boolean);
  const language = codeOf(first);
  if (language === null) return /^[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*$/.test(plain) ? plain : null;
  const varieties = Object.hasOwn(VARIETIES, language) ? VARIETIES[language] : undefined;
  const variety = [rest.join(" "), ...rest]
    .map((word) => own(varieties ?? {}, word))
    .find((code) => code !== undefined);
  if (variety !== undefined) return variety;
  return rest.some((word) => (codeOf(word) ?? language) !== language) ? null : language;
}

function codeOf(name: string): string | null {
  codes ??= platformCodes();
  return own(ALIASES, name) ?? codes.get(name) ?? null;
}

export function fillSpeech(job: Job, prefix: JsonPath): void {
  const at = (name: string): JsonPath => [...prefix, name];
  job.text(at("text"), "text");
  fillVoice(job, at("voice_id"));
  fillStability(job, at("stability"));
  fillSpeed(job, at("speed"));
  fillLanguage(job, at("language"));
}

/**
 * Fills in the voice if the model accepts one: the voice that a migrated step clones, the entry for it in the option
 * `map`, or a v3 voice id as given. Otherwise, a person must choose a voice.
 */
export function fillVoice(job: Job, path: JsonPath): void {
  const { context, body, view } = job;
  const field = slotField(view, "voice");
  const id = given(body, ...path);
  if (typeof id !== "string") return;
  if (field === null) return job.drop(path, `${view.id} accepts no voice`);
  const link = context.link(body, id);
  const converted = link.to === "body" ? context.converted.get(link.index) : undefined;
  const [step] = converted?.yields === "voice" ? converted.outputs : [];
  if (step !== undefined && field.takes.what === "voice") {
    job.set(field.name, { is: "step", step }, path);
    return job.convert(path, field.name, shown({ is: "step", step }), `the voice that ${step} clones`);
  }
  const mapped = context.options.map.get(id) ?? (id.startsWith("voice_") ? id : undefined);
  if (mapped !== undefined && (field.values === null || field.values.includes(mapped))) {
    job.set(field.name, json(mapped), path);
    return job.carried(path, field.name, mapped, "as mapped");
  }
  askForVoice(job, path, field, link.to === "outside" ? link.key : id);
}

const CHOOSE_LATER = "choose the voice when the pipeline is run";

function askForVoice(job: Job, path: JsonPath, field: FieldView, key: string): void {
  const { context, body, view } = job;
  const stock = (context.options.voices.get(view.id) ?? []).map(({ id, name }) =>
    name === null ? id : `${id} (${name})`,
  );
  const isChosenLater = key.startsWith("template ");
  const why = isChosenLater ? "a voice that the flow chooses" : `v2 voice ${key}`;
  const origin = `${why}; first used by ${body.source.at}`;
  const values = field.values?.map(String) ?? null;
  const expression =
    values === null
      ? context.input(key, "voice", origin, { is: "voice" })
      : context.input(`${field.name} ${key}`, "voice", origin, { is: "choice", choices: values });
  job.set(field.name, expression, path);
  const lack = isChosenLater ? "the flow chooses the voice" : "v3 does not have this v2 voice";
  const question = `${lack}; choose a voice of ${view.id}`;
  const details = { to: job.to(field.name), newValue: shown(expression) };
  job.decide(path, question, [CHOOSE_LATER, ...(values ?? stock)], details);
}

/** Fills in the stability. The scale is inverted: 1 in v2 is 0 in v3. */
function fillStability(job: Job, path: JsonPath): void {
  const field = job.plainField(["stability"]);
  const old = given(job.body, ...path);
  if (old === undefined) {
    if (field === null || job.body.fieldReport.has(path)) return;
    return job.preset(pathText(path), field.name, 0, "v2's default is 1, which is 0 on v3's inverted scale");
  }
  if (typeof old !== "number" || field === null) return job.plain(path, "stability");
  // Avoids floating-point error: 1 - 0.9 is 0.1.
  job.value(path, field, Number((1 - old).toFixed(12)), "v3 inverts the scale: 1 minus v2's value");
}

function fillSpeed(job: Job, path: JsonPath): void {
  const field = job.plainField(["speed"]);
  if (given(job.body, ...path) !== undefined) return job.plain(path, "speed");
  if (field !== null) job.preset(pathText(path), field.name, 1, "v2's default, written explicitly");
}

function fillLanguage(job: Job, path: JsonPath): void {
  const name = given(job.body, ...path);
  if (typeof name !== "string" || isTemplate(name)) return job.plain(path, "language");
  const field = job.plainField(["language", "language_code"]);
  if (field === null) return job.drop(path, `${job.view.id} has no language field`);
  if (/^\s*auto(?:matic)?\s*$/i.test(name)) {
    return job.drop(path, "v3 uses the model's default language if none is given");
  }
  const code = languageCode(name);
  const choices = ["leave it out", ...(field.values ?? []).map(String)];
  if (code === null) return job.decide(path, "is not a known language; v3 expects a language code", choices);
  const found = codeIn(field, code);
  if (found !== null) return job.value(path, field, found, "v3 expects a language code");
  job.decide(path, `${job.view.id} does not support ${code}`, [...choices, "choose a model that supports it"]);
}

/** Finds the value for a language code. `pt` matches `pt-BR`, and `zh-cn` matches `zh`. */
function codeIn(field: FieldView, code: string): Json | null {
  if (field.values === null) return code;
  const codes = field.values.map((value) => [value, String(value).toLowerCase().replace("_", "-")] as const);
  const requested = code.replace("_", "-");
  const root = (text: string) => text.split("-")[0];
  const found = codes.find(([, one]) => one === requested) ?? codes.find(([, one]) => root(one) === root(requested));
  return found?.[0] ?? null;
}

export function fillSound(job: Job, path: JsonPath): void {
  const { context, body, view } = job;
  if (given(body, ...path) === undefined) return;
  const field = slotField(view, "audio");
  setMedia(job, field, [mediumAt(context, body, path, "audio", "sample")], "audio");
}
