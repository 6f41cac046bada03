// Runs hostile cases on a page: see tests/hostile.
import { Bench } from "/hostile/run.js";
import { makeIn } from "/hostile/values.js";

const frame = document.createElement("iframe");
document.body.append(frame);
makeIn({ Foreign: frame.contentWindow, Shared: SharedArrayBuffer });

globalThis.bench = (name, seed, base) => new Bench(turnmark, { options: { name, durability: "relaxed", mirror: false }, seed, base });
