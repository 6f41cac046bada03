// The built-in assistant: a small script, no model and no network. The same question and variant give the same answer;
// another variant gives another one, so that "regenerate" has something to show.

import { TOPICS } from "./assistantTopics.js";

const SUGGESTED = ["What can you do?", "How does a rollback work?", "Write a haiku about backups", "Count to 12 in three languages"];
export { SUGGESTED };

const pick = (list, variant) => list[((variant % list.length) + list.length) % list.length];
const fence = (language, code) => `\`\`\`${language}\n${code}\n\`\`\``;
const rest = (prompt, pattern) => prompt.replace(pattern, "").trim();

const NUMBERS = {
  English: ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
  German: ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"],
  Spanish: ["uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"],
  Japanese: ["ichi", "ni", "san", "yon", "go", "roku", "nana", "hachi", "kyū", "jū", "jū-ichi", "jū-ni"],
};

function countTo(prompt, variant) {
  const [first, second] = (prompt.match(/\d+/g) ?? ["10"]).map(Number);
  const [from, to] = second === undefined ? [1, first] : [first, second];
  if (Math.abs(to - from) > 500) return `I can count that far, but you would have to read it. I stop at 500 steps: try *count from ${from} to ${from + 100}*.`;
  if (/language/.test(prompt) && to <= 12 && from >= 1) {
    const languages = Object.keys(NUMBERS).slice(variant % 2, (variant % 2) + 3);
    const lines = Array.from({ length: to - from + 1 }, (_, i) => `${from + i}. ${languages.map((name) => NUMBERS[name][from + i - 1]).join(" · ")}`);
    return `In ${languages.join(", ")}:\n\n${lines.join("\n")}`;
  }
  const step = from <= to ? 1 : -1;
  const all = Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => from + i * step);
  return pick([
    `${all.join(", ")}.\n\nThat is ${all.length} numbers, and their sum is **${all.reduce((sum, n) => sum + n, 0)}**.`,
    `The even ones in bold:\n\n${all.map((n) => (n % 2 === 0 ? `**${n}**` : n)).join(" ")}`,
    `Backwards, because you asked again:\n\n${all.toReversed().join(" → ")}`,
  ], variant);
}

/** A sum of the four operations with brackets, without `eval`. `null` when it is none. */
function calculate(text) {
  const tokens = text.replace(/[×x]/g, "*").replace(/÷/g, "/").match(/\d+(?:\.\d+)?|[-+*/()^%]/g);
  if (!tokens || tokens.length > 60 || !/[-+*/^%]/.test(text)) return null;
  let at = 0;
  const value = () => {
    const token = tokens[at];
    at += 1;
    if (token === "-") return -value();
    if (token !== "(") return Number(token);
    const inside = sum();
    at += 1;
    return inside;
  };
  const power = () => {
    const base = value();
    if (tokens[at] !== "^") return base;
    at += 1;
    return base ** power();
  };
  const product = () => {
    let left = power();
    while (["*", "/", "%"].includes(tokens[at])) {
      const sign = tokens[at];
      at += 1;
      const right = power();
      left = sign === "*" ? left * right : sign === "/" ? left / right : left % right;
    }
    return left;
  };
  const sum = () => {
    let left = product();
    while (["+", "-"].includes(tokens[at])) {
      const sign = tokens[at];
      at += 1;
      left = sign === "+" ? left + product() : left - product();
    }
    return left;
  };
  const result = sum();
  return Number.isFinite(result) && at >= tokens.length ? Math.round(result * 1e10) / 1e10 : null;
}

function arithmetic(prompt, variant) {
  const text = prompt.match(/[-\d(][-+*/()^%.×÷x\d\s]*[\d)]/)?.[0] ?? "";
  const result = calculate(text);
  if (result === null) return null;
  return pick([`${text.trim()} = **${result}**`, `That makes **${result}**. (I parsed it with forty lines of code. No \`eval\`, no model.)`, fence("js", `${text.trim()}\n// ${result}`)], variant);
}

const LISTS = {
  fruit: ["Quince", "Mango", "Damson", "Pomelo", "Medlar", "Guava", "Cloudberry", "Persimmon", "Greengage", "Lychee"],
  animal: ["Axolotl", "Pangolin", "Capybara", "Kākāpō", "Narwhal", "Wombat", "Okapi", "Fennec", "Tardigrade", "Quokka"],
  color: ["Ochre", "Teal", "Vermilion", "Celadon", "Umber", "Periwinkle", "Chartreuse", "Indigo", "Saffron", "Mauve"],
  city: ["Lisbon", "Kyoto", "Valparaíso", "Tbilisi", "Ghent", "Hội An", "Oaxaca", "Ljubljana", "Accra", "Tromsø"],
  name: ["Ada", "Grace", "Edsger", "Barbara", "Donald", "Radia", "Niklaus", "Frances", "Tony", "Margaret"],
  idea: [
    "Fork this chat at its first checkpoint and take the other road", "Ask the same thing twice and compare the two answers",
    "Close the tab in the middle of an answer, then come back", "Open a second tab and watch it follow the first",
    "Export a bundle and import it under another name", "Press Verify and see what a clean bill of health looks like",
    "Open the console and type `__HARNESS_DEVTOOLS__.help()`", "Roll back three turns, then undo it",
  ],
};

function list(prompt, variant) {
  const wanted = Object.keys(LISTS).find((name) => prompt.includes(name) || prompt.includes(name.replace(/y$/, "ies")) || (name === "color" && prompt.includes("colour"))) ?? "idea";
  const items = LISTS[wanted];
  const number = Math.max(1, Math.min(items.length, Number(prompt.match(/\d+/)?.[0] ?? 5)));
  const start = (variant * 3) % items.length;
  const chosen = Array.from({ length: number }, (_, i) => items[(start + i) % items.length]);
  if (wanted === "idea") return `Things worth trying here:\n\n${chosen.map((item) => `- ${item}`).join("\n")}`;
  return `${pick(["Here you go", "A different selection", "Fresh ones"], variant)}:\n\n${chosen.map((item, i) => `${i + 1}. **${item}**`).join("\n")}\n\nMy whole vocabulary of these is ${items.length} words long.`;
}

const CODE = [
  { match: /react|hook|jsx/, language: "jsx", text: "A component that follows a session and rolls it back:", code: "import { useSession, useCheckpoints } from \"turnmark/react\";\n\nfunction Timeline({ id }) {\n  const { rollback } = useSession(id);\n  const { checkpoints } = useCheckpoints(id, { limit: 20 });\n  return checkpoints.map((cp) => (\n    <button key={cp.id} onClick={() => rollback(cp.id)}>\n      {cp.name ?? cp.kind} · {cp._durability.level}\n    </button>\n  ));\n}" },
  { match: /rust/, language: "rust", text: "The heart of a span list, in Rust:", code: "/// A run of consecutive messages of one log.\n#[derive(Clone, Copy, PartialEq, Eq)]\nstruct Span { log: LogId, from: u64, to: u64 }\n\n/// Messages that both lists begin with.\nfn common_prefix(a: &[Span], b: &[Span]) -> u64 {\n    a.iter().zip(b).take_while(|(x, y)| x == y).map(|(x, _)| x.to - x.from).sum()\n}" },
  { match: /python|fizz/, language: "python", text: "FizzBuzz, the traditional way:", code: "for n in range(1, 101):\n    print(\"Fizz\" * (n % 3 == 0) + \"Buzz\" * (n % 5 == 0) or n)" },
  { match: /sort|quick|algorithm/, language: "js", text: "A merge sort that keeps equal items in order:", code: "const mergeSort = (items) => {\n  if (items.length < 2) return items;\n  const half = items.length >> 1;\n  const [a, b] = [mergeSort(items.slice(0, half)), mergeSort(items.slice(half))];\n  const merged = [];\n  while (a.length && b.length) merged.push(a[0] <= b[0] ? a.shift() : b.shift());\n  return [...merged, ...a, ...b];\n};" },
  { match: /css|style/, language: "css", text: "A focus ring that shows for the keyboard and not for the mouse:", code: ":focus-visible {\n  outline: 2px solid var(--accent);\n  outline-offset: 2px;\n}" },
  { match: /./, language: "js", text: "The whole tour of Turnmark, in one snippet:", code: "import { open } from \"turnmark\";\n\nconst store = await open();\nconst session = await store.session(\"hello\");\nawait session.append([{ id: \"m1\", role: \"user\", content: \"Hi\" }]);\nconst mark = await session.append([{ id: \"m2\", role: \"assistant\", content: \"Hello!\" }]);\nconsole.log(mark._durability.level); // \"disk\"\n\nawait session.rollback(mark.parentCheckpointId);\nawait session.undo(); // nothing is ever lost by going back" },
];

function code(prompt, variant) {
  const matching = CODE.filter(({ match }) => match.test(prompt));
  const { language, text, code: source } = pick(matching.length > 1 ? [matching[0], ...CODE.filter((sample) => sample !== matching[0])] : CODE, variant);
  return `${text}\n\n${fence(language, source)}`;
}

const TRANSFORMS = [
  ["reversed", (text) => Array.from(text).reverse().join("")],
  ["in capitals", (text) => text.toUpperCase()],
  ["in pig latin", (text) => text.replace(/\b([b-df-hj-np-tv-z]*)([a-z]+)\b/gi, (_, head, tail) => `${tail}${head}${head ? "ay" : "way"}`.toLowerCase())],
  ["without vowels", (text) => text.replace(/[aeiou]/gi, "")],
  ["sorted by length", (text) => text.split(/\s+/).toSorted((a, b) => a.length - b.length).join(" ")],
  ["as an acrostic", (text) => Array.from(text.replace(/[^a-z]/gi, "").slice(0, 12)).map((letter) => `- **${letter.toUpperCase()}**${pick(["ll turns are kept", "very step can be undone", "othing is lost", "ewind without regret", "aved before it is said", "n your own disk"], letter.charCodeAt(0))}`).join("\n")],
];

function transform(prompt, variant) {
  const text = rest(prompt, /^(please\s+)?(echo|repeat|say|reverse|shout|transform|pig latin|uppercase|spell)\b:?/i).replace(/^["“]|["”]$/g, "") || "Turnmark keeps every turn";
  const start = /^(please\s+)?reverse/i.test(prompt) ? 0 : /shout|uppercase/i.test(prompt) ? 1 : /pig latin/i.test(prompt) ? 2 : /^(please\s+)?(echo|say|repeat)/i.test(prompt) ? -1 : 3;
  if (start < 0 && variant === 0) return text;
  const [name, change] = pick(TRANSFORMS, Math.max(0, start) + variant + (start < 0 ? -1 : 0));
  return `Your words, ${name}:\n\n${change(text)}`;
}

function aboutYourWords(prompt, variant) {
  const all = prompt.match(/[\p{L}\p{N}'’-]+/gu) ?? [];
  const longest = all.toSorted((a, b) => b.length - a.length)[0] ?? "";
  const facts = `You wrote ${all.length === 1 ? "one word" : `${all.length} words`}${longest ? `, the longest is **${longest}** (${Array.from(longest).length} letters)` : ""}.`;
  return pick([
    `I did not understand that, and I would rather say so than make something up: I am a small script in this page, without a model or a network. ${facts}\n\nWhat I do understand:\n\n- questions about Turnmark (*checkpoints, rollback, fork, undo, durability, tabs, storage*)\n- *count to 20*, *list 5 animals*, \`12 * (3 + 4)\`\n- *show me some Rust*, *write a poem*, *tell me a story*\n- *reverse: your words here*`,
    `${facts} That is about as far as my understanding goes. Here they are in alphabetical order:\n\n${all.toSorted((a, b) => a.localeCompare(b)).join(" ") || "(nothing)"}\n\nAsk *what can you do?* for things I am better at.`,
    `Another try, and still no idea. What I can do with it: ${TRANSFORMS[variant % 5][1](prompt)}\n\nThat was your message ${TRANSFORMS[variant % 5][0]}. The answer before this one is still in the **timeline**: compare the two checkpoints and see.`,
  ], variant);
}

const INTENTS = [
  [/^(count|countdown|zähl)|count (to|from|down)/, countTo],
  [/^(please )?(echo|repeat|say|reverse|shout|transform|pig latin|uppercase|spell)\b/, transform],
  [/\b(list|name|give me|suggest)\b.*\b(fruit|animal|colou?r|cit(y|ies)|name|idea|thing)|^list\b/, list],
  [/\b(code|snippet|program|function|example|rust|python|javascript|jsx|css|fizz|algorithm)\b/, code],
  [/\d\s*[-+*/^%×÷x]\s*\(?\d/, arithmetic],
];

/** The answer to a prompt. `variant` counts the answers given to it before. */
export function answer(prompt, variant = 0) {
  const question = prompt.toLowerCase().trim();
  for (const [pattern, make] of INTENTS) {
    const text = pattern.test(question) ? make(make === transform ? prompt.trim() : question, variant) : null;
    if (text !== null) return text;
  }
  const topic = TOPICS.find(({ match }) => match.test(question));
  return topic ? pick(topic.answers, variant) : aboutYourWords(prompt, variant);
}
