// The cases in Node, over memory, in a thread of their own: one that hangs is ended by whoever waits.
import { createContext, runInContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { makeBase } from "./base.js";
import { Bench } from "./run.js";
import { makeIn } from "./values.js";

const { pkg, seed, values, files, from = 0, progress } = workerData;
const turnmark = await import(pkg);
makeIn({ Foreign: runInContext("globalThis", createContext({})), Shared: SharedArrayBuffer });
const base = await makeBase(turnmark);
const told = new Int32Array(progress);
const bench = new Bench(turnmark, { options: { backend: "memory", name: "hostile" }, seed, base });
const note = (index) => Atomics.store(told, 0, index);
parentPort.postMessage({ base, values: await bench.values(from, values, note), files: await bench.files(from, files, note) });
await bench.close();
