import { defineConfig } from "vitepress";
import { GROUPS } from "../pages.ts";

const items = GROUPS.map(({ title, pages }) => ({
  text: title,
  items: pages.map(([file, text]) => ({ text, link: `/${file.replace(/index$/, "")}` })),
}));

export default defineConfig({
  title: "Showrunner",
  description:
    "Runs pipelines of paid media jobs: priced before they start, never paid for twice, resumed after any crash.",
  lang: "en",
  srcDir: ".pages",
  outDir: "dist",
  // The Markdown beside each page is served as it is.
  srcExclude: ["public/**"],
  base: process.env.SITE_BASE ?? "/",
  cleanUrls: true,
  // Pages are plain Markdown; what looks like a tag is text.
  markdown: {
    html: false,
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(md) {
      // Double braces are text, not Vue's.
      const braces = (text: string) => md.utils.escapeHtml(text).replaceAll("{{", "<span v-pre>{{</span>");
      md.renderer.rules.text = (tokens, index) => braces(tokens[index]?.content ?? "");
      md.renderer.rules.code_inline = (tokens, index) => `<code>${braces(tokens[index]?.content ?? "")}</code>`;
      const fence = md.renderer.rules.fence!;
      // Drawn in the reader's browser, in the colors of the page (theme/diagrams.ts); its text stands there until then.
      md.renderer.rules.fence = (tokens, index, ...rest) => {
        const { info, content } = tokens[index]!;
        if (info !== "mermaid") return fence(tokens, index, ...rest);
        return `<pre class="diagram" v-pre tabindex="0">${md.utils.escapeHtml(content)}</pre>`;
      };
      // The corner of a table is no header.
      md.core.ruler.push("empty-headers", ({ tokens }) => {
        for (const [at, token] of tokens.entries()) {
          if (token.type !== "th_open" || tokens[at + 1]?.content !== "") continue;
          token.tag = "td";
          const close = tokens.slice(at).find(({ type }) => type === "th_close");
          if (close) close.tag = "td";
        }
      });
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Tutorial", link: "/tutorial" },
      { text: "How-to", link: "/how-to" },
      { text: "Command line", link: "/cli" },
      { text: "API", link: "/api/" },
      { text: "Guarantees", link: "/guarantees" },
    ],
    sidebar: items,
  },
});
