import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The development server injects inline scripts, which the page's own policy forbids: there, and only there, it is lifted. */
const policyOnlyInBuild = {
  name: "policy-only-in-build",
  apply: "serve",
  transformIndexHtml: (html, { server }) => (server ? html.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, "") : html),
};

export default defineConfig({
  base: "./",
  plugins: [react(), policyOnlyInBuild],
  // The package is linked from ../pkg, outside of this folder: its peers are ours.
  resolve: { dedupe: ["react", "react-dom"] },
  server: { fs: { allow: [".."] } },
  build: { target: "es2022", cssTarget: ["chrome123", "firefox120", "safari17.5"], modulePreload: { polyfill: false } },
});
