// A chat of assistant-ui with its own local runtime, whose history is a session of Turnmark. The model answers by itself.
import { StrictMode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import {
  ActionBarPrimitive, AssistantRuntimeProvider, BranchPickerPrimitive, ComposerPrimitive, MessagePrimitive, SimpleTextAttachmentAdapter, ThreadPrimitive,
  useLocalRuntime, type AssistantRuntime, type ChatModelAdapter, type ThreadHistoryAdapter,
} from "@assistant-ui/react";
import type { Turnmark } from "turnmark";
import { createHistoryAdapter } from "turnmark/assistant-ui";
import { open } from "turnmark/inline";

declare global {
  interface Window {
    runtime: AssistantRuntime;
    store: Promise<Turnmark>;
    failures: string[];
  }
}

const store = open({ name: "assistant-ui" });
window.store = store;
window.failures = [];

let answers = 0;
const model: ChatModelAdapter = {
  async *run({ messages, abortSignal }) {
    const asked = messages.at(-1)?.content.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
    const text = `answer ${(answers += 1)} to ${asked}`;
    for (let length = 4; length < text.length && !abortSignal.aborted; length += 4) {
      yield { content: [{ type: "text", text: text.slice(0, length) }] };
      await new Promise((resolve) => { setTimeout(resolve, 1); });
    }
    yield { content: [{ type: "text", text }] };
  },
};

function Message({ role }: { role: "user" | "assistant" }) {
  return (
    <MessagePrimitive.Root data-testid={role}>
      <div data-testid="text"><MessagePrimitive.Content /></div>
      <BranchPickerPrimitive.Root data-testid="branches">
        <BranchPickerPrimitive.Previous>previous</BranchPickerPrimitive.Previous>
        <span data-testid="branch"><BranchPickerPrimitive.Number /> / <BranchPickerPrimitive.Count /></span>
        <BranchPickerPrimitive.Next>next</BranchPickerPrimitive.Next>
      </BranchPickerPrimitive.Root>
      <ActionBarPrimitive.Root>
        {role === "user" ? <ActionBarPrimitive.Edit>edit</ActionBarPrimitive.Edit> : <ActionBarPrimitive.Reload>reload</ActionBarPrimitive.Reload>}
      </ActionBarPrimitive.Root>
    </MessagePrimitive.Root>
  );
}

const UserMessage = () => <Message role="user" />;
const AssistantMessage = () => <Message role="assistant" />;

function EditComposer() {
  return (
    <ComposerPrimitive.Root data-testid="editor">
      <ComposerPrimitive.Input />
      <ComposerPrimitive.Send>save</ComposerPrimitive.Send>
    </ComposerPrimitive.Root>
  );
}

function Chat() {
  const history: ThreadHistoryAdapter = useMemo(() => createHistoryAdapter({
    store,
    sessionId: "chat",
    onError: (error, { operation, messageIds }) => window.failures.push(`${error.code} ${operation} ${messageIds.length}`),
  }), []);
  const runtime = useLocalRuntime(model, { adapters: { history, attachments: new SimpleTextAttachmentAdapter() } });
  window.runtime = runtime;
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root data-testid="thread">
        <ThreadPrimitive.Viewport>
          <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage, EditComposer }} />
        </ThreadPrimitive.Viewport>
        <ComposerPrimitive.Root data-testid="composer">
          <ComposerPrimitive.Input placeholder="ask" />
          <ComposerPrimitive.Send>send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

function Root() {
  const [mount, setMount] = useState(1);
  return (
    <>
      <button data-testid="remount" onClick={() => setMount(mount + 1)}>mount anew</button>
      <Chat key={mount} />
    </>
  );
}

createRoot(document.getElementById("root") as HTMLElement).render(<StrictMode><Root /></StrictMode>);
