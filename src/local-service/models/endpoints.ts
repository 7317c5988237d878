import type { Principal } from "../access/authenticate.ts";
import type { CompiledModel } from "../catalog/catalog.ts";
import { OWN_CHAT_MODEL } from "../chat/models.ts";
import { chatBody } from "../chat/request.ts";
import {
  type Answer,
  type Call,
  cursorOf,
  type Endpoint,
  endpoint,
  newestFirst,
  ok,
  pageRequest,
  readChoice,
  readLimit,
} from "../http/call.ts";
import { invalid, problem, refuse } from "../http/refusal.ts";
import { type PreparedWork, workPreparer } from "../jobs/submit.ts";
import { usd } from "../money.ts";
import { chatDocument, modelDocument, modelNames } from "../openapi/document.ts";
import { bodyOf } from "../openapi/operation.ts";
import type { ServiceContext } from "../service-context.ts";

const UNQUOTABLE = "This model cannot be quoted before its inputs are measured.";
const MODALITIES = ["image", "video", "audio", "text"] as const;

function summary({ entry }: CompiledModel) {
  const { input_schema: _input, output_schema: _output, ...rest } = entry;
  return rest;
}

interface ListedVoice {
  readonly id: string;
  readonly name: string;
  readonly preview_url: null;
  readonly labels: Readonly<Record<string, string>>;
}

const MOST_FOUND = 50;

function rankOf({ name, labels }: ListedVoice, q: string): number | null {
  const [wanted, known] = [q.toLowerCase(), name.toLowerCase()];
  if (known === wanted) return 0;
  if (known.startsWith(wanted)) return 1;
  if (known.includes(wanted)) return 2;
  const words = [...known.split(/\s+/), ...Object.values(labels).map((label) => label.toLowerCase())];
  return wanted.split(/\s+/).every((part) => words.includes(part)) ? 3 : null;
}

function unmeasured({ media }: PreparedWork): string | null {
  const [field] =
    Object.entries(media).find(([, files]) =>
      files.some(({ kind, durationMs }) => kind !== "image" && durationMs === null),
    ) ?? [];
  return field === undefined ? null : `The duration of input.${field} cannot be measured.`;
}

export function modelEndpoints(service: ServiceContext): readonly Endpoint[] {
  const { catalog, store, views, options } = service;
  const prepare = workPreparer(service);
  const use = (call: Call) => catalog.use(call.param("model"));
  const names = modelNames(catalog.list(null).map(({ entry }) => entry.id));

  async function estimate(call: Call): Promise<Answer> {
    const body = await call.json();
    const model = use(call);
    const input = typeof body === "object" && body !== null && "input" in body ? body.input : undefined;
    const work = prepare(model, input, call.principal);
    const quote = { model: model.entry.id, cost: usd(model.priceMicros(work)), currency: "USD" };
    const reason = model.unquotable ?? unmeasured(work);
    if (reason === null) return ok(quote);
    if (options.unquotableCost === "refuse") throw refuse("FAILED_PRECONDITION", UNQUOTABLE);
    const { cost: _, ...unquoted } = { ...quote, quotable: false, reason };
    const { unquotableCost } = options;
    return ok(unquotableCost === "omit" ? unquoted : { ...unquoted, cost: unquotableCost === "zero" ? 0 : null });
  }

  const areChatsListed = options.asOf !== "3.9";
  const listedChat = (call: Call) => (areChatsListed ? catalog.chat(call.param("model")) : undefined);
  // With a catalog file, the built-in language model answers but is not listed.
  const isBeside = options.catalog !== null && catalog.chats[0] === OWN_CHAT_MODEL;

  function listed(call: Call): Answer {
    const modality = readChoice(call, "modality", MODALITIES);
    const media = modality === "text" ? [] : catalog.listed(modality).map(summary);
    const isMeant = modality === "text" || (modality === null && !isBeside);
    const chats = isMeant && areChatsListed ? catalog.chats : [];
    return ok({ data: [...media, ...chats.map(({ input_schema: _, ...chat }) => chat)], next_cursor: null });
  }

  function detail(call: Call): Answer {
    const chat = listedChat(call);
    return ok(chat ? { input_schema: bodyOf(chatBody), ...chat } : use(call).entry);
  }

  function jobs(call: Call): Answer {
    const modelId = call.param("model");
    const chat = catalog.chat(modelId);
    if (!catalog.find(modelId) && !chat) use(call);
    const id = chat?.id ?? modelId;
    const read = (before: number, count: number) => store.jobs.pageOfModel(call.principal, id, before, count);
    return newestFirst(call, read, views.summary);
  }

  function voicesOf({ voices }: CompiledModel, { workspaceId, ownerId }: Principal): readonly ListedVoice[] {
    const stock = voices.map(({ voiceId, name, labels }) => ({ id: voiceId, name, preview_url: null, labels }));
    const mine = voices.length === 0 ? [] : store.voices.ofOwner(workspaceId, ownerId);
    const own = mine.map(({ voiceId, name }) => ({ id: voiceId, name, preview_url: null, labels: { kind: "cloned" } }));
    return [...stock, ...own];
  }

  function searchVoices(call: Call): Answer {
    const model = use(call);
    const q = call.query("q")?.trim() ?? "";
    if (q === "") throw invalid([problem("q", "is required", "required")]);
    if (q.length > 200) throw invalid([problem("q", "has more than 200 characters", "maxLength")]);
    const limit = readLimit(call, MOST_FOUND);
    const wanted = { gender: readChoice(call, "gender", ["male", "female"]), language: call.query("language") };
    if ((wanted.language?.length ?? 0) > 8)
      throw invalid([problem("language", "has more than 8 characters", "maxLength")]);
    const found = voicesOf(model, call.principal).flatMap((voice) => {
      const fits = Object.entries(wanted).every(([label, value]) => value === null || voice.labels[label] === value);
      const rank = fits ? rankOf(voice, q) : null;
      return rank === null ? [] : [{ voice, rank }];
    });
    const ranked = found.toSorted((a, b) => a.rank - b.rank).map(({ voice }) => voice);
    return ok({ data: ranked.slice(0, limit), next_cursor: null });
  }

  function voices(call: Call): Answer {
    const model = use(call);
    const { limit, after } = pageRequest(call);
    const all = voicesOf(model, call.principal);
    const isPaged = call.query("limit") !== null || call.query("cursor") !== null;
    const start = after ?? 0;
    const end = isPaged ? start + limit : all.length;
    return ok({ data: all.slice(start, end), next_cursor: end < all.length ? cursorOf(call, end) : null });
  }

  function document(call: Call): Answer {
    const chat = listedChat(call);
    if (chat) return ok(chatDocument(chat));
    const { entry } = use(call);
    return ok(modelDocument(entry, names.get(entry.id)!));
  }

  const open = (path: string, summary: string, handle: Endpoint["handle"]): Endpoint => {
    const row = endpoint("GET", path, "models:read", summary, handle);
    return options.openCatalog ? { ...row, isOpen: true } : row;
  };
  const search = open("/models/{model}/voices/search", "Search voices by name or label", searchVoices);
  return [
    open("/models", "The available models, language models last", listed),
    open("/models/{model}", "A model with its schemas", detail),
    open("/models/{model}/openapi.json", "A model's submit operation as OpenAPI 3.1", document),
    endpoint("POST", "/models/{model}/estimate", "models:read", "What a job would cost", estimate),
    endpoint("GET", "/models/{model}/jobs", "jobs:read", "Your jobs for a model", jobs),
    open("/models/{model}/voices", "Voices of a model", voices),
    ...(options.asOf === "3.9" ? [] : [search]),
  ];
}
