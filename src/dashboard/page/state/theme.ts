export type Theme = "system" | "light" | "dark";

const KEY = "showrunner.theme";

export function savedTheme(): Theme {
  const saved = localStorage.getItem(KEY);
  return saved === "light" || saved === "dark" ? saved : "system";
}

export function applyTheme(theme: Theme = savedTheme()): void {
  localStorage.setItem(KEY, theme);
  document.documentElement.dataset.theme = theme;
}
