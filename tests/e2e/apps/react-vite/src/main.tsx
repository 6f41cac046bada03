import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { TurnmarkProvider, type TurnmarkConnection } from "turnmark/react";
import { Chat } from "./Chat";

function Waiting({ status, error }: TurnmarkConnection) {
  return <p data-testid="waiting">{status === "error" ? `${error.code}: ${error.message}` : "opening"}</p>;
}

function Root() {
  const [mounted, setMounted] = useState(true);
  return (
    <>
      <button data-testid="toggle" onClick={() => setMounted(!mounted)}>{mounted ? "unmount" : "mount"}</button>
      {mounted && (
        <TurnmarkProvider options={{ name: "react-app" }} onError={(error) => console.info(`reported ${error.code}`)} fallback={(connection) => <Waiting {...connection} />}>
          <Chat sessionId="chat" />
          {/* A second look at the same session shares what the first has read. */}
          <Chat sessionId="chat" quiet />
        </TurnmarkProvider>
      )}
    </>
  );
}

createRoot(document.getElementById("root") as HTMLElement).render(<StrictMode><Root /></StrictMode>);
