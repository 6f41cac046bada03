// Light, dark, or as the system says; remembered.
import { useEffect, useState } from "react";

const KEY = "turnmark-demo.theme";
const THEMES = ["auto", "light", "dark"];

/** Storage may be forbidden; a theme is not worth failing for. */
function remembered() {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto";
  }
}

export function useTheme() {
  const [theme, setTheme] = useState(remembered);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // Not remembered, then.
    }
  }, [theme]);
  return { theme, next: () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]) };
}
