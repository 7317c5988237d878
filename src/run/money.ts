export { formatUsd, MICROS_PER_USD, parseUsd } from "../money.ts";
