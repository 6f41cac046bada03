// The Pages Router: the server loads this package from node_modules. With ?inline the browser's module is inside the page's code.
import Head from "next/head";
import { open } from "turnmark";
import { open as openInline } from "turnmark/inline";
import { TurnmarkProvider } from "turnmark/react";
import { Chat } from "../app/Chat";
import { onServer } from "../app/server";

export const getServerSideProps = async ({ query }) => ({ props: { server: await onServer(), inline: "inline" in query } });

export default function Page({ server, inline }) {
  return (
    <TurnmarkProvider options={{ name: inline ? "inline" : "pages" }} open={inline ? openInline : open}>
      <Head><link rel="icon" href="data:," /></Head>
      <main><p data-testid="server">{server}</p><Chat /></main>
    </TurnmarkProvider>
  );
}
