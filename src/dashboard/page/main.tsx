import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme } from "./state/theme.ts";
import "./style/index.css";

applyTheme();
render(<App />, document.getElementById("app")!);
