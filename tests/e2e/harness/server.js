// A small static server on the loopback interface, for pages, packages and builds.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";

const TYPES = new Map(Object.entries({
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
  ".json": "application/json", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".png": "image/png",
}));

/** The file of an address, from the most specific mount. Never one outside of it. */
function fileOf(mounts, path) {
  const prefix = Object.keys(mounts).filter((mount) => path.startsWith(mount)).sort((a, b) => b.length - a.length)[0];
  if (prefix === undefined) return null;
  const file = normalize(join(mounts[prefix], path.slice(prefix.length) || "index.html"));
  return file.startsWith(normalize(mounts[prefix] + sep)) ? file : null;
}

async function answer(request, response, { mounts, routes, headers, onRequest }) {
  const { pathname } = new URL(request.url, "http://127.0.0.1");
  onRequest?.(pathname);
  const path = decodeURIComponent(pathname);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("Cache-Control", "no-store");
  if (routes[path]) return routes[path](request, response);
  const file = fileOf(mounts, path.endsWith("/") ? `${path}index.html` : path);
  const size = file && (await stat(file).then((found) => (found.isFile() ? found.size : null), () => null));
  if (size === null) return response.writeHead(404, { "Content-Type": "text/plain" }).end("not found");
  response.writeHead(200, { "Content-Type": TYPES.get(extname(file)) ?? "application/octet-stream", "Content-Length": size });
  return createReadStream(file).pipe(response);
}

/**
 * Serves folders (`mounts`: address prefix, ending in "/", to folder) and functions (`routes`: address to handler);
 * `onRequest` hears of each path that is asked for.
 *
 * @returns {Promise<{ origin: string, close: () => Promise<void> }>}
 */
export async function serve({ mounts = {}, routes = {}, headers = {}, onRequest }) {
  const server = createServer((request, response) => {
    answer(request, response, { mounts, routes, headers, onRequest }).catch((error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}

/** The whole body of a request. */
export async function bodyOf(request) {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}
