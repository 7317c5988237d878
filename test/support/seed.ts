import { configureGlobal } from "fast-check";

// A check of every change draws the same examples each time; a full check draws new ones, and says their seed on a failure.
if (process.env.SHOWRUNNER_TEST_RUNS === undefined) configureGlobal({ seed: 20_261_122 });
