// The App Router: the server's code is bundled, this package with it.
import { Chat } from "./Chat";
import { onServer } from "./server";

// Rendered by the running server, not once by the build.
export const dynamic = "force-dynamic";

export default async function Page() {
  return <main><p data-testid="server">{await onServer()}</p><Chat /></main>;
}
