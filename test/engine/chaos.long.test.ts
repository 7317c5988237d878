import { testChaos } from "./fixtures/chaos-lives.ts";

testChaos(6, Number(process.env.SHOWRUNNER_TEST_RUNS ?? 0) > 0 ? 5000 : 65);
