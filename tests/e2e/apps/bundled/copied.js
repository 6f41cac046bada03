import * as turnmark from "turnmark";
import { show, tour } from "./tour.js";

show(turnmark.init(new URL("turnmark_bg.wasm", location.href)).then(() => tour(turnmark)));
