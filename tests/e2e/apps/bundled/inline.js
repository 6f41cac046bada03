import * as turnmark from "turnmark/inline";
import { show, tour } from "./tour.js";

show(tour(turnmark));
