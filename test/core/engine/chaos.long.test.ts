import { testChaos } from "./fixtures/chaos-lives.ts";

testChaos(1, 2);
