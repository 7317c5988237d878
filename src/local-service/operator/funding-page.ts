import { readBody } from "../http/body.ts";
import type { Answer, Call } from "../http/call.ts";
import { invalid, problem } from "../http/refusal.ts";
import { usd } from "../money/micros.ts";
import { balanceOf } from "../money/wallet.ts";
import { FIRST_WORKSPACE } from "../options.ts";
import type { ServiceContext } from "../service-context.ts";

const MOST_DOLLARS = 1_000_000;
const MAX_ID_LENGTH = 100;
const MAX_FORM_BYTES = 10_000;

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
  "X-Frame-Options": "DENY",
};

const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

function page(workspaceId: string, balanceMicros: number): Answer {
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Add funds</title>
<body style="font: 16px/1.5 system-ui; max-width: 30em; margin: 4em auto">
<h1>Add funds</h1>
<p>The wallet of <b>${escaped(workspaceId)}</b> holds <b>$${usd(balanceMicros).toFixed(2)}</b> of play money.</p>
<form method="post"><label>Dollars <input name="dollars" type="number" min="0.01" step="0.01" value="25" required></label>
<button>Add</button></form></body></html>`;
  return { is: "text", status: 200, body, headers: HEADERS };
}

/** The page behind `billing.funding_url`, for a person with a browser. */
export function fundingPage({ store }: ServiceContext, fund: (dollars: number, workspaceId: string) => Promise<void>) {
  const workspaceOf = (call: Call) => {
    const id = call.query("workspace_id") ?? FIRST_WORKSPACE;
    if (id.length <= MAX_ID_LENGTH) return id;
    throw invalid([problem("workspace_id", `has more than ${MAX_ID_LENGTH} characters`, "maxLength")]);
  };
  const show = (workspaceId: string) => page(workspaceId, balanceOf(store.workspaces.get(workspaceId)));

  return {
    show: (call: Call) => show(workspaceOf(call)),
    async add(call: Call): Promise<Answer> {
      const form = new URLSearchParams((await readBody(call.incoming, { maxBytes: MAX_FORM_BYTES })).toString("utf8"));
      const dollars = Number(form.get("dollars") ?? Number.NaN);
      if (!(dollars > 0 && dollars <= MOST_DOLLARS)) throw invalid([problem("dollars", "must be above 0", "minimum")]);
      await fund(dollars, workspaceOf(call));
      return show(workspaceOf(call));
    },
  };
}
