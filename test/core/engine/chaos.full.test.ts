import { isFull } from "../../support/sample.ts";
import { testChaos } from "./fixtures/chaos-lives.ts";

testChaos(6, isFull ? 5000 : 25);
