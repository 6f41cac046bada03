// turnmark/chatgpt: reads ChatGPT's `conversations.json` and writes it into a store.
export { CHATGPT_LIMITS, parseChatGPTExport } from "./chatgpt-parse.js";
export { importChatGPT } from "./chatgpt-import.js";
