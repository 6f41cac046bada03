// A server component that renders the provider directly: `turnmark/react` says itself that it is the client's.
import { TurnmarkProvider } from "turnmark/react";

export default function Layout({ children }) {
  return (
    <html lang="en">
      <head><link rel="icon" href="data:," /></head>
      <body><TurnmarkProvider options={{ name: "app" }}>{children}</TurnmarkProvider></body>
    </html>
  );
}
