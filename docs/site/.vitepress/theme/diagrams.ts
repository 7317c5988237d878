/** Draws the page's diagrams from their text, which stays beside each for those who read rather than look. */
export async function drawDiagrams(isDark: boolean): Promise<void> {
  const texts = [...document.querySelectorAll<HTMLElement>("pre.diagram")];
  if (texts.length === 0) return;
  const { default: mermaid } = await import("mermaid");
  mermaid.initialize({ startOnLoad: false, theme: isDark ? "dark" : "neutral", securityLevel: "strict" });
  for (const [at, text] of texts.entries()) {
    const { svg } = await mermaid.render(`diagram-${at}`, text.textContent ?? "");
    const picture = text.nextElementSibling?.matches(".diagram-picture")
      ? text.nextElementSibling
      : text.insertAdjacentElement("afterend", document.createElement("div"))!;
    picture.className = "diagram-picture";
    picture.setAttribute("aria-hidden", "true");
    picture.innerHTML = svg;
    text.classList.add("is-drawn");
  }
}
