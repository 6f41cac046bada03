// What the built-in assistant knows: Turnmark itself, and a little poetry. The first topic that matches answers.

const LONG = [
  "A history you can trust begins with one that admits what it does not know. If a write has not been flushed, it should say so.",
  "Nothing that once was true may be made never to have been. Going back is a step forward in the log.",
  "It must be cheap. If a checkpoint copied the whole conversation, you would soon be asked to make fewer of them.",
  "Two hands must be able to hold it. The second tab is not an edge case, it is a habit.",
  "It must survive being interrupted in the middle of a sentence, and remember which half it has.",
  "It must be readable by whoever comes after. A bundle is a text file; a key is an array that reads well in an inspector.",
  "It must not trust what it is given: not a file, not a name, not a number, not a nesting of ten thousand brackets.",
  "It must say no in words. An error that does not tell what to do next is a shrug with a stack trace.",
  "It must be possible to check. A hash that nobody compares is a decoration.",
  "And it should be quiet. The best history is one you never think about until the day you need it.",
];

export const TOPICS = [
  {
    match: /roll ?back|go(ing)? back|restore|time ?travel/,
    answers: [
      "A rollback makes an older checkpoint **live again, in place**:\n\n1. The state you are leaving is written as a *restore point*.\n2. The head of the session moves to the checkpoint you chose.\n3. A new checkpoint records that this happened (`writes: [\"rollback\"]`).\n\nAll three are one transaction: a crash leaves the state before or the state after, never a mixture. And because of step 1, **Undo** brings everything back.\n\nTry it: pick any entry in the timeline and press *Roll back*.",
      "Think of the conversation as a string of beads. Other tools that go back *cut* the string. Turnmark only moves your finger: every bead stays where it was, and the move itself becomes a bead.\n\n```js\nconst restored = await session.rollback(checkpointId);\nrestored.restorePointId; // what you just left\nawait session.undo();    // and back again\n```",
      "Rolling back costs next to nothing: a checkpoint does not hold your messages, it holds *spans* over a log (\"messages 0 to 12 of this log\"). Going back copies the older list of spans, a few dozen bytes, whether the chat has ten messages or ten thousand.",
    ],
  },
  {
    match: /\bfork|branch|tree\b/,
    answers: [
      "A fork starts a **new session** at any checkpoint of an old one. Both share everything up to that point without copying a single message, and the original is not touched.\n\nIn the pane on the left a fork hangs under the session it came from. Press *Fork* on a timeline entry to plant one.",
      "Three ways a branch appears here:\n\n- you **fork** from a checkpoint\n- you **import** a ChatGPT export: every edited question and regenerated answer in it becomes a branch\n- two tabs write to one session at once: the one that loses keeps its work as a branch, marked as a *conflict*\n\nNothing is ever overwritten to make room for something else.",
    ],
  },
  {
    match: /durab|disk|stamp|fsync|really saved|power cut|crash/,
    answers: [
      "Each timeline entry carries a stamp, and the stamp is **honest**:\n\n- **disk**: a *strict* transaction has completed; the browser says it was flushed\n- **os**: handed to the operating system, not known to be flushed\n- **memory**: gone when this page is gone\n\nMost browser storage is *relaxed* by default: in tests that pulled the plug right after \"complete\", every one of 1,349 relaxed writes was lost. Of the strict ones, none.",
      "The stamp is not stored with the checkpoint, on purpose: a row cannot truthfully say that *its own* transaction completed. It is attached after the browser has acknowledged the write, and again when a committed row is read.",
    ],
  },
  {
    match: /checkpoint|timeline|snapshot/,
    answers: [
      "A checkpoint is an immutable record of the session at one instant. This demo makes three for each turn: one **before** your question exists, one when it is in, and one when the answer is complete.\n\nA checkpoint costs what is *new*, not what exists. A thousand checkpoints of a thousand-message chat do not store a million messages; they store a thousand.",
      "Click an entry of the timeline and you see what it knows: who wrote it and why, how many messages it reaches, how large they are, the checkpoint it continues from, and how durable it really is. From there you can **roll back**, **fork** or **compare**.",
      "```js\nfor await (const cp of session.checkpoints({ limit: 3 })) {\n  console.log(cp.seq, cp.kind, cp.messageCount, cp._durability.level);\n}\n```\n\nThat is all the timeline on the right does, with buttons.",
    ],
  },
  {
    match: /undo|redo|ctrl|shortcut|keyboard/,
    answers: [
      "Every operation here can be undone: a turn, an edit, a regeneration, a rollback, an undo.\n\n- **Ctrl+Z** and **Ctrl+Shift+Z** work whenever you are not editing text\n- **Enter** sends, **Shift+Enter** makes a new line\n- **Escape** closes what is open\n\nUndo is a new operation, not an erasure: the timeline shows that it happened.",
      "Undo walks back over the *operation log*, and redo walks forward again. Since both only move the head, you can undo your way to the first message and redo all the way back, byte for byte.",
    ],
  },
  {
    match: /\btab|window|conflict|concurren|two (pages|writers)/,
    answers: [
      "Open this page in a second tab. Turns that are committed in one appear in the other at once.\n\nIf both write to the same session at the same moment, one of them wins. The other gets a `Conflict`, and its work is **kept as a branch** with a button to open it. Never a lost update, never a silent merge.",
      "Tip: send something in one tab while the other is still answering in the same chat. You will see what a conflict looks like when nothing gets lost.",
    ],
  },
  {
    match: /stream|interrupt|reload|partial/,
    answers: [
      "While I answer, the text that has arrived is saved twice a second as a *provisional* checkpoint. Close the tab in the middle of this sentence and come back: the question and the part of the answer are there, marked **interrupted**, with *Continue* and *Dismiss*.\n\nWhen the answer is complete, the provisional checkpoint is replaced by the real one, so that the timeline is not full of halves.",
      "A provisional checkpoint whose writer is gone is reported, never silently promoted: `status().interrupted` names it, and you decide. Try it now: reload while this line is still being written.",
    ],
  },
  {
    match: /import|export|bundle|chatgpt/,
    answers: [
      "**ChatGPT**: drop `conversations.json` of your export anywhere on this page. Each conversation becomes a session with one checkpoint per turn, each regenerated answer and edited question a branch. Whatever is damaged in the file is repaired and *told*.\n\n**Turnmark bundles**: *Export* writes every session with its whole history into one file. Importing is all or nothing.",
      "Importing the same ChatGPT file twice does not double anything: session ids are derived from the file. A conversation that has grown since goes on where it ended, unless you have worked in it.",
    ],
  },
  {
    match: /storage|quota|indexeddb|persist|evict|verif|safe/,
    answers: [
      "Everything is in this browser's IndexedDB; this page makes no request to any server but its own, unless you connect a model of yours. The **Settings** button shows how much there is and what the browser promises about it.\n\n- *Keep my data* asks the browser not to evict it when the disk is short\n- *Verify* reads every record and checks it against its hash",
      "A browser may throw away \"best effort\" storage when the disk gets short (and Safari after seven days without a visit). `navigator.storage.persist()` asks it not to. The answer is the browser's to give, so the panel shows what it said.",
    ],
  },
  {
    match: /devtools|console|debug|harness/,
    answers: [
      "Open the browser's console and type:\n\n```js\n__HARNESS_DEVTOOLS__.help()\n```\n\nYou get `checkpoints()`, `rollback(id)`, `fork()`, `diff()`, `undo()`, `verify()` and more, each printed as a table.",
      "There is a global called `__HARNESS_DEVTOOLS__`. Listings answer at once with real values, not with `Promise {<pending>}`, and every action prints how to undo it. Ids may be shortened to a unique beginning.",
    ],
  },
  {
    match: /diff|compare/,
    answers: [
      "Press **Compare** on one timeline entry and then on another. You see which messages were added, removed or changed, and within a changed one which *words*.\n\nTwo states of one history are compared by their spans: what they share is skipped without being read.",
    ],
  },
  {
    match: /poem|haiku|verse|rhyme/,
    answers: [
      "*Backups*\n\nOld turns under snow.\nYou step back into your print:\nit still fits your foot.",
      "*Strict durability*\n\nHe said it was saved.\nThe lights went out. They came back.\nIt had been so said.",
      "*Two tabs*\n\nTwo hands on one page;\nneither word is written out.\nLook: a second branch.",
    ],
  },
  {
    match: /story|tale/,
    answers: [
      "Once there was a librarian who never threw a page away. When a reader asked her to forget a chapter, she nodded, moved the ribbon back to the page before, and wrote in her ledger: *ribbon moved, at the reader's wish*.\n\nYears later the reader came again. \"I should have kept that chapter,\" he said.\n\nShe opened the ledger, found the line, and moved the ribbon forward. \"You did,\" she said.",
      "A lighthouse keeper wrote one line into his log each night. One stormy night the lamp went out in the middle of the line.\n\nThe next keeper found the half sentence. He did not finish it, for he had not been there. He did not strike it, for it was true. He wrote beneath it: **interrupted**. And then he lit the lamp and went on.",
    ],
  },
  {
    match: /joke|funny|laugh/,
    answers: [
      "Why did the checkpoint break up with the cache?\n\nIt wanted something more *durable*.",
      "A transaction walks into a bar. The barman says: \"The usual?\" The transaction says: \"All of it, or nothing.\"",
      "I would tell you a joke about undo, but you would only take it back.",
    ],
  },
  {
    match: /long (answer|text)|essay|stream test|lorem/,
    answers: [
      LONG.map((text, i) => `**${i + 1}.** ${text}`).join("\n\n"),
      LONG.toReversed().map((text, i) => `**${LONG.length - i}.** ${text}`).join("\n\n"),
    ],
  },
  {
    match: /what (can|do) you|help|who are you|how do(es)? (this|you|it) work|what is (this|turnmark)|\bturnmark\b/,
    answers: [
      "I am the demo's built-in assistant: a small script in this page. **No model, no network**, so I am honest about being limited. The interesting part is what happens to our conversation:\n\n- every turn is a *checkpoint* in your browser, stamped with how durable it really is\n- **edit** a question or **regenerate** an answer: the old ones stay reachable\n- **roll back**, **fork**, **compare** and **undo** from the timeline\n- reload while I am writing: what had arrived is still there\n\nAsk me about any of these, or for a *poem*, a *list*, some *code*, or \`12 * (3 + 4)\`.",
      "**Turnmark** is a library that keeps chat histories in IndexedDB, written in Rust and compiled to WebAssembly. This page is an application that uses it, and I am its resident parrot.\n\nFive things to try:\n\n1. Send me something, then *regenerate* the answer\n2. *Compare* the two in the timeline\n3. *Roll back*, then press **Undo**\n4. *Fork* from an early checkpoint\n5. Reload the page while I am still writing",
      "Short version: you type, I answer from a script, and Turnmark makes sure that **no version of it is ever lost**. The long version is in the timeline: click an entry.",
    ],
  },
  {
    match: /^(hi|hello|hey|hallo|moin|good (morning|evening|day)|yo)\b/,
    answers: [
      "Hello! I am a small script that lives in this page. Ask me how *rollback* works, have me *count to 12 in three languages*, or just talk: every turn is being kept for you.",
      "Hey! Nice to meet you (again, if you pressed *regenerate*: the first greeting is still in the timeline).",
      "Hi there. Everything we say stays in this browser. What would you like to try?",
    ],
  },
  {
    match: /thank|danke|merci|great|nice|cool|wow/,
    answers: ["You are welcome. That compliment has been checkpointed.", "My pleasure. I will remember it for exactly as long as your browser does.", "Happy to help. Ask for a *story* if you have a minute."],
  },
];
