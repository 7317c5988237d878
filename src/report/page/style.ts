/** The style of the report: light and dark by the reader's own setting, and plain on paper. */
export const STYLE = `
:root { color-scheme: light dark; --paper: #faf9f6; --card: #fff; --ink: #1d1b20; --soft: #5c5865; --line: #e4e1da; --accent: #b93b0b;
  --good: #17703a; --good-ground: #e4f4ea; --bad: #b01e2e; --bad-ground: #fdeaec; --warn: #8a5200; --warn-ground: #fdf1dc; --live: #1c55b8; --live-ground: #e6effd; --idle: #5c5865; --idle-ground: #efedea;
  --queue: #c3bdb1; --render: #3b76d6; --download: #14a08d; --upload: #8a5cd6; --task: #c9940a; --chat: #d14b8f; --approval: #e2721b;
  --image: #eaf3ff; --video: #e9f8ec; --audio: #fff5e3; --voice: #f6eeff; --value: #f3f2ee; --box-ink: #1d1b20; --edge: #9a95a3 }
@media (prefers-color-scheme: dark) { :root { --paper: #121115; --card: #1b1a20; --ink: #eceaf0; --soft: #a9a5b3; --line: #302e37; --accent: #ff9257;
  --good: #6fd697; --good-ground: #16301f; --bad: #ff8f98; --bad-ground: #3a181c; --warn: #f3bd63; --warn-ground: #352710; --live: #8db8ff; --live-ground: #172643; --idle: #a9a5b3; --idle-ground: #27262c;
  --queue: #5b5763; --render: #5d93ee; --download: #2bbca6; --upload: #a27ceb; --task: #dba92a; --chat: #e76aa7; --approval: #f08a3c;
  --image: #1b2a40; --video: #183021; --audio: #33280f; --voice: #2a1f3c; --value: #25242a; --box-ink: #eceaf0; --edge: #6b6674 } }
* { box-sizing: border-box }
html { background: var(--paper); color: var(--ink); font: 15px/1.55 system-ui, "Segoe UI", sans-serif; -webkit-text-size-adjust: 100% }
body { margin: 0 auto; max-width: 1080px; padding: 0 24px 64px }
body::before { content: ""; display: block; height: 14px; margin: 0 -24px 40px; background: repeating-linear-gradient(90deg, transparent 0 10px, var(--line) 10px 20px); background-size: 100% 6px; background-position: 0 4px; background-repeat: no-repeat; border-bottom: 1px solid var(--line) }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere }
h1 { font-size: 38px; letter-spacing: -.02em; margin: 0 0 10px }
h2 { font-size: 21px; letter-spacing: -.01em; margin: 0 0 14px }
h3 { font-size: 14px; margin: 18px 0 6px }
section { margin-top: 52px; scroll-margin-top: 16px }
.contents ol { list-style: none; display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 28px 0 0; padding: 12px 0 0; border-top: 1px solid var(--line); font-size: 13.5px }
p { margin: 0 0 10px }
a { color: var(--accent); text-underline-offset: 2px }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px }
code { font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, monospace; overflow-wrap: anywhere }
.kicker { color: var(--accent); font-size: 12px; font-weight: 650; letter-spacing: .12em; text-transform: uppercase; margin: 0 0 6px }
.lead { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; margin-bottom: 16px; color: var(--soft) }
.sentence { font-size: 19px; line-height: 1.45; max-width: 42em; margin-bottom: 24px; overflow-wrap: anywhere }
.badge { display: inline-block; padding: 1px 9px; border-radius: 99px; font-size: 12.5px; font-weight: 600; white-space: nowrap; color: var(--idle); background: var(--idle-ground) }
.badge.good { color: var(--good); background: var(--good-ground) } .badge.bad { color: var(--bad); background: var(--bad-ground) }
.badge.warn { color: var(--warn); background: var(--warn-ground) } .badge.live { color: var(--live); background: var(--live-ground) }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 0 }
.tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 14px 16px }
.tiles dt { color: var(--soft); font-size: 12.5px; font-weight: 550 }
.tiles dd { margin: 0 } .figure { font-size: 26px; font-weight: 650; letter-spacing: -.02em; font-variant-numeric: tabular-nums } .tiles .note { color: var(--soft); font-size: 12.5px }
.callout { border-radius: 12px; padding: 16px 20px; margin: 0 0 24px; background: var(--warn-ground); border: 1px solid var(--line); overflow-wrap: anywhere }
.callout.bad { background: var(--bad-ground) } .callout h2 { font-size: 16px; margin-bottom: 6px } .callout p:last-child, .callout ul { margin-bottom: 0 } .callout ul { padding-left: 20px; margin-top: 0 }
.gallery { display: flex; flex-wrap: wrap; gap: 18px; align-items: flex-start }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 14px; overflow: hidden; break-inside: avoid }
figure.wide { flex: 1 1 400px; max-width: 550px } figure.upright { flex: 0 1 300px } figure.sound { flex: 0 1 400px } figure.plain { flex: 0 1 300px }
figure img, figure video { display: block; width: 100%; max-height: 520px; object-fit: contain; background: #0b0a0d }
figure audio { display: block; width: calc(100% - 24px); margin: 16px 12px 4px }
figcaption { padding: 12px 16px 14px; display: flex; flex-wrap: wrap; gap: 2px 12px; align-items: baseline; overflow-wrap: anywhere }
.facts, .hint, .empty, .why, .duration { color: var(--soft); font-size: 13px } figcaption a { font-size: 13px; margin-left: auto }
.strip { display: flex; gap: 12px; padding-bottom: 6px } .strip figure { flex: none; max-width: 320px } .strip img, .strip video { width: auto; max-width: 320px; height: 140px } .strip figcaption { padding: 6px 12px 8px; font-size: 13px; color: var(--soft) }
.gone { padding: 40px 16px; text-align: center; color: var(--soft); background: var(--idle-ground) }
.scroll { overflow-x: auto; position: relative } .breakable { overflow-wrap: anywhere }
.diagram { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 8px; max-height: 720px; overflow: auto }
.diagram svg { display: block; margin: auto } @media (min-width: 900px) { .fit svg { max-width: 100%; height: auto } }
.step rect { fill: var(--value); stroke: var(--edge); stroke-width: 1.25 } .step.image rect { fill: var(--image) } .step.video rect { fill: var(--video) } .step.audio rect { fill: var(--audio) } .step.voice rect { fill: var(--voice) }
.step.upload rect { stroke-dasharray: 4 3 } .step.is-good rect { stroke: var(--good) } .step.is-bad rect { stroke: var(--bad); stroke-width: 2.5 } .step.is-warn rect { stroke: var(--warn); stroke-width: 2 } .step.is-live rect { stroke: var(--live); stroke-width: 2 } .step.is-idle rect { stroke: var(--line) } .step.is-idle .name { fill: var(--soft) }
.step .name { font: 600 12px system-ui, sans-serif; fill: var(--box-ink) } .step .note { font: 11px system-ui, sans-serif; fill: var(--soft) } .edge { fill: none; stroke: var(--edge); stroke-width: 1.25 }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 0; margin: 0 0 12px; color: var(--soft); font-size: 13px }
.ph-queue { fill: var(--queue) } .ph-render { fill: var(--render) } .ph-download { fill: var(--download) } .ph-upload { fill: var(--upload) } .ph-task { fill: var(--task) } .ph-chat { fill: var(--chat) } .ph-approval { fill: var(--approval) }
.failed { fill: none; stroke: var(--bad); stroke-width: 2 } .cut { fill: var(--line) } .tick { stroke: var(--line) }
.gantt { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 10px 16px 14px }
.row { display: grid; grid-template-columns: minmax(7rem, 12rem) 1fr 6rem; gap: 12px; align-items: center; min-height: 24px }
.row .label { font-size: 13px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap } .row .duration { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.lane { display: block; overflow: visible } .scale text { font: 11px system-ui, sans-serif; fill: var(--soft) } .packed .row { min-height: 18px }
@media (max-width: 640px) { .row { grid-template-columns: 1fr auto; gap: 0 8px } .row .lane { grid-column: 1 / -1; grid-row: 2 } .scale span { display: none } .row.scale .lane { grid-row: 1 } h1 { font-size: 30px } body { padding: 0 16px 48px } body::before { margin: 0 -16px 32px } }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums } th, td { text-align: left; padding: 7px 12px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top }
thead th { color: var(--soft); font-size: 12.5px; font-weight: 550; white-space: nowrap } tbody th, tfoot th { font-weight: 550; overflow-wrap: anywhere; min-width: 8rem } tfoot th, tfoot td { font-weight: 650; border-bottom: 0 }
td:last-child, th:last-child { padding-right: 4px } .n { text-align: right; white-space: nowrap } td.bar { width: 22%; min-width: 90px; vertical-align: middle } .quoted { fill: var(--line) } .paid { fill: var(--accent) }
.incidents { list-style: none; padding: 0; margin: 0 } .incidents li { display: grid; grid-template-columns: 5rem 1fr; gap: 12px; padding: 9px 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere } .incidents time { color: var(--soft); font-variant-numeric: tabular-nums }
.card, details.step { background: var(--card); border: 1px solid var(--line); border-radius: 12px; margin: 0 0 10px } .card { padding: 4px 18px 12px; break-inside: avoid } .card:target, details.step:target { border-color: var(--accent) }
summary { cursor: pointer; padding: 9px 16px; overflow-wrap: anywhere } details > details.step { margin-left: 0 } .inside { padding: 0 18px 14px; border-top: 1px solid var(--line) } .reason, .bad-text { color: var(--bad) } .reason { margin-top: 10px }
.request { margin: 0 } .request > div { display: grid; grid-template-columns: minmax(6rem, 10rem) 1fr; gap: 12px; padding: 3px 0 } .request dt { color: var(--soft); font-size: 13px; overflow-wrap: anywhere } .request dd { margin: 0; min-width: 0; font-size: 14px } .request .request > div { grid-template-columns: minmax(4rem, 8rem) 1fr }
@media (max-width: 640px) { .request > div, .request .request > div { grid-template-columns: 1fr; gap: 0 } }
.text { white-space: pre-wrap; overflow-wrap: anywhere } .list { margin: 0; padding-left: 20px; overflow-wrap: anywhere }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
footer { margin-top: 56px; padding-top: 16px; border-top: 1px solid var(--line); color: var(--soft); font-size: 13px; overflow-wrap: anywhere }
@media print { :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #111; --soft: #444; --line: #ccc; --accent: #8a2c08; --box-ink: #111; --image: #eaf3ff; --video: #e9f8ec; --audio: #fff5e3; --voice: #f6eeff; --value: #f6f6f4; --edge: #888;
    --good: #17703a; --good-ground: #fff; --bad: #b01e2e; --bad-ground: #fff; --warn: #8a5200; --warn-ground: #fff; --live: #1c55b8; --live-ground: #fff; --idle: #444; --idle-ground: #fff;
    --queue: #c3bdb1; --render: #3b76d6; --download: #14a08d; --upload: #8a5cd6; --task: #c9940a; --chat: #d14b8f; --approval: #e2721b }
  @page { margin: 16mm 14mm } html { font-size: 12px } body { max-width: none; padding: 0 } body::before { display: none } section { margin-top: 28px } h2, h3 { break-after: avoid } tr, .row, .incidents li { break-inside: avoid }
  .strip { flex-wrap: wrap } .scroll, .diagram { overflow: visible; max-height: none } .diagram svg { max-width: 100%; height: auto; max-height: 230mm } figure.wide { flex-basis: 100mm } figure.upright { flex-basis: 56mm } figure.sound, figure.plain { flex-basis: 70mm } figure img, figure video { max-height: 90mm }
  * { print-color-adjust: exact } a { color: inherit; text-decoration: none } figcaption a { display: none } .contents { display: none } details:not(.many)::details-content { content-visibility: visible; display: block; block-size: auto } .tiles { grid-template-columns: repeat(4, 1fr) } }
`;
