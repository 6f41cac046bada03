// How numbers, times and ids are written.

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const UNITS = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000]];

/** "now", "5 min. ago", "yesterday". */
export function age(time, now = Date.now()) {
  const since = time - now;
  for (const [unit, length] of UNITS) {
    if (Math.abs(since) >= length) return relative.format(Math.trunc(since / length), unit);
  }
  return Math.abs(since) < 10_000 ? "just now" : relative.format(Math.trunc(since / 1000), "second");
}

/** Whether a stored value is a time that can be written. Another program may have stored anything. */
export const isTime = (value) => typeof value === "number" && !Number.isNaN(new Date(value).getTime());

export const clock = (time) => new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function bytes(size) {
  if (size < 1000) return `${size} B`;
  const step = Math.min(4, Math.floor(Math.log10(size) / 3));
  const value = size / 1000 ** step;
  return `${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 })} ${["B", "KB", "MB", "GB", "TB"][step]}`;
}

export const plural = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** The end of an id: the part that differs between ids made in the same minute. */
export const shortId = (id) => (id.length > 8 ? id.slice(-6) : id);

/** The first `length` characters on one line. */
export function excerpt(text, length = 60) {
  const line = text.replace(/```[\w+#-]*|[#*`>]+/g, "").replace(/\s+/g, " ").trim();
  const points = Array.from(line);
  return points.length <= length ? line : `${points.slice(0, length - 1).join("").trimEnd()}…`;
}

/** Any stored value as text. JSON cannot hold all of them: big integers and circles of references are told as they print. */
export function anyText(value) {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? `${inner}n` : inner), 2) ?? String(value);
  } catch {
    return String(value);
  }
}

/** A value as text to look at: an encoded file is told by its kind and size. */
export const shownText = (value) => anyText(value).replace(/data:([\w.+/-]+);base64,([\w+/=]{64,})/g, (_, type, data) => `(${type}, ${bytes(Math.floor(data.length * 0.75))})`);

/** The text of a message, whatever another program may have stored as its content. */
export const textOf = ({ content }) => (content === undefined ? "" : anyText(content));
