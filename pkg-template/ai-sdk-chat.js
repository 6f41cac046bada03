// Reading a chat of the AI SDK at any moment, not only in a render. Not an entry of the package.

const STOP = {};
/** Which chat a `setMessages` belongs to. That of AI SDK 6 is always the newest chat's; that of 7 is one chat's for good. */
const owners = new WeakMap();

/** Says in a render whose `setMessages` it is: AI SDK 6 exchanges the chat in a render, too. */
export const hold = (chat) => void owners.set(chat.setMessages, chat.stop);

/** Whether the functions of `chat` still all belong to one chat. */
export const holds = (chat) => owners.get(chat.setMessages) === chat.stop;

/**
 * The chat's messages at this very moment. A render may show older ones; the updater of `setMessages` never does. It throws, so
 * that nothing is set and nothing renders.
 */
export function readMessages(chat) {
  let messages;
  try {
    chat.setMessages((current) => {
      messages = current;
      throw STOP;
    });
  } catch (thrown) {
    if (thrown !== STOP) throw thrown;
  }
  return messages;
}
