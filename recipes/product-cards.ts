/**
 * Draws one picture for each product, in one run for each row of a file:
 * `npx showrunner run recipes/product-cards.ts --each recipes/assets/products.csv --budget 1`
 */
import { pipeline, text } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";

export default pipeline("product-cards", {
  input: z.object({
    name: z.string().min(1).default("Harbour mug"),
    look: z.string().min(1).default("a blue enamel mug with a white rim"),
    backdrop: z.string().min(1).default("a plain sand-coloured table"),
  }),
  build({ input, job }) {
    const prompt = text`Product photograph of ${input.look} on ${input.backdrop}, soft light from the left`;
    return { card: job("card", cast.image, { prompt, aspect_ratio: "1:1" }) };
  },
});
