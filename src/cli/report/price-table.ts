import type { RerunScope } from "../../core/engine/index.ts";
import { formatDuration } from "../../core/kit/duration.ts";
import { dollars, openSteps, priceText } from "../../core/kit/money.ts";
import type { Quote } from "../../index.ts";
import { visible } from "../text/escape.ts";
import { type Column, counted, firstLines, table } from "../text/table.ts";

const MOST_RISKS = 8;

export function forecastLines({ risks, forecastMs }: Pick<Quote, "risks" | "forecastMs">): readonly string[] {
  // Outputs with a local copy are uploaded again for free, so they need no action.
  const lost = risks.filter(({ heals }) => !heals);
  const loss = ({ why }: (typeof lost)[number]) =>
    `An output may expire before it is used: ${visible(why)}; that output would have to be generated and paid for again`;
  return [
    forecastMs === null
      ? "No time estimate yet: some models in the longest chain of steps have never run here"
      : `Expected to take about ${formatDuration(forecastMs)}`,
    ...firstLines(lost, MOST_RISKS, loss, "more that may expire"),
  ];
}

export function offerLines({ id, maximumUsd, expiresAt, prices }: Quote): readonly string[] {
  if (id === null || maximumUsd === null || expiresAt === null) return [];
  const open = openSteps(prices).slice(0, MOST_RISKS).map(visible);
  const asks = open.length === 0 ? "" : `; the run pauses and asks before it starts ${open.join(", ")}`;
  return [
    `Quote ${id}: at most ${dollars(maximumUsd, Math.ceil)}${asks}; valid until ${new Date(expiresAt).toISOString()}`,
  ];
}

export function rerunTable(rerunScope: RerunScope, width?: number): string {
  const { stale, prices, committedMicros, budgetMicros, seeds, seenThroughFirst, unanswered } = rerunScope;
  if (stale.length === 0) return "No steps need to be rerun.";
  const lines = [
    table(prices, columns, width),
    "",
    `To rerun: ${counted(stale.length, "step")}, ${totalText(rerunScope)}, in addition to ${dollars(committedMicros)}${budgetMicros === null ? "" : ` of the ${dollars(budgetMicros)} budget`} already spent or reserved`,
  ];
  if (seeds.length > 0) {
    const replaced = seeds.map(({ step, before, after }) => `${visible(step)} ${before} → ${after}`);
    lines.push(`New ${seeds.length === 1 ? "seed" : "seeds"}: ${replaced.join(", ")}`);
  }
  const atService = seenThroughFirst.filter((path) => !unanswered.some(({ step }) => step === path));
  if (atService.length > 0) lines.push(`Already paid for, so these finish first: ${atService.map(visible).join(", ")}`);
  for (const { step, holdMicros } of unanswered) {
    lines.push(
      `The request for ${visible(step)} was never answered. After about a minute, the run looks for the job on the service. If the job exists, the run waits for its result, which is already paid for. If no job exists, the run sends the changed request. If the run cannot tell, it sends the old request again with the same key, for at most ${dollars(holdMicros, Math.ceil)}.`,
    );
  }
  return lines.join("\n");
}

type Price = Quote["prices"][number];

const columns: readonly Column<Price>[] = [
  { title: "step", value: (price) => visible(price.step), flexible: true },
  { title: "model", value: (price) => visible(price.model ?? "–"), flexible: true },
  { title: "price", value: amount, align: "money" },
  { title: "", value: remark, flexible: true },
];

function amount(price: Price): string {
  if (price.basis === "free" || price.basis === "reused") return price.basis;
  return price.costMicros === null ? "?" : dollars(price.costMicros);
}

function remark(price: Price): string {
  const second = price.insteadOf === undefined ? [] : [`only if ${visible(price.insteadOf)} has no result`];
  return [...second, ownRemark(price)].filter((part) => part !== "").join("; ");
}

function ownRemark(price: Price): string {
  switch (price.basis) {
    case "provisional": {
      const when = price.anew === undefined ? "provisional: quoted again once its inputs are ready" : "provisional";
      const { mostMicros } = price;
      const isMore = mostMicros !== null && dollars(mostMicros, Math.ceil) !== amount(price);
      const most = mostMicros === null ? "no maximum" : isMore ? `at most ${dollars(mostMicros, Math.ceil)}` : null;
      return [most, when, price.anew, price.reason].flatMap((part) => (part == null ? [] : visible(part))).join("; ");
    }
    case "unquotable": {
      const cap = price.maxCostMicros === null ? "" : `at most ${dollars(price.maxCostMicros, Math.ceil)}: `;
      return `${cap}${visible(price.reason ?? "cannot be quoted in advance")}`;
    }
    case "reused":
      return visible(price.reason ?? "");
    default:
      return price.anew === undefined ? "" : visible(price.anew);
  }
}

export function priceTable(quote: Quote, width?: number): string {
  const lines = [table(quote.prices, columns, width), "", [`Total ${totalText(quote)}`, ...means(quote)].join(" · ")];
  if (quote.criticalPath.length > 0) lines.push(`Longest chain: ${quote.criticalPath.map(visible).join(" → ")}`);
  for (const { step, message } of quote.warnings) lines.push(`Warning: ${visible(step)} ${visible(message)}`);
  return lines.join("\n");
}

function means({ budgetMicros, balanceMicros, totalMicros }: Quote): readonly string[] {
  const short = balanceMicros === null ? 0 : totalMicros.min - balanceMicros;
  const isLess = budgetMicros !== null && (totalMicros.max === null || budgetMicros < totalMicros.max);
  return [
    ...(budgetMicros === null
      ? []
      : [`budget ${dollars(budgetMicros)}${isLess ? " (the run may reach it and pause)" : ""}`]),
    ...(balanceMicros === null
      ? []
      : [`wallet ${dollars(balanceMicros)}${short > 0 ? `, ${dollars(short)} short` : ""}`]),
  ];
}

export function totalText({ totalMicros, prices }: Pick<Quote, "totalMicros" | "prices">): string {
  return visible(priceText(totalMicros, prices, dollars));
}
