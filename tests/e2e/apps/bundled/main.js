import * as turnmark from "turnmark";
import { show, tour } from "./tour.js";

show(tour(turnmark));
