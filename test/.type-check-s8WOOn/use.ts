import { pipeline } from "showrunner";
import { z } from "zod";
import { models } from "./models.ts";
pipeline("p", { input: z.object({}), build({ job, upload }) {
job("x", models.family00, { prompt: "x", settings: { one: "a" } });
return {}; } });
