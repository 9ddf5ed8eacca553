import { parentPort, workerData } from 'node:worker_threads';
import { simulate } from './simulate.ts';

/** A thread that simulates as many seeds as it is given, and reports each run. */
for (let seed = 1; seed <= workerData; seed++) parentPort?.postMessage(await simulate(seed));
