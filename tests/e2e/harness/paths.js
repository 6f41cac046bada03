// Where things are. TURNMARK_PKG and TURNMARK_DEMO name another built package and demo, with a slash at the end.
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

export const E2E = here("../");
export const PAGES = here("../pages/");
export const APPS = here("../apps/");
export const PKG = process.env.TURNMARK_PKG ?? here("../../../pkg/");
/** The demo's sources, and where it is built already, if it is. */
export const WWW = here("../../../www/");
export const DEMO = process.env.TURNMARK_DEMO;
export const README = here("../../../README.md");
export const FIXTURES = here("../../fixtures/");
export const HOSTILE = here("../../hostile/");
/** Where what the tests write down is put. */
export const TARGET = here("../../../target/turnmark/");
