// Prints the first free port from the given one on.
import { createServer } from "node:net";

function tryPort(port) {
  const server = createServer();
  server.once("error", () => tryPort(port + 1));
  server.listen(port, "localhost", () => server.close(() => console.log(port)));
}

tryPort(Number(process.argv[2]));
