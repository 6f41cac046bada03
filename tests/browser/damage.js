// Every way in which one thing in a stored value may be wrong.

const flip = (text, at) => text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);

function wrongs(value) {
  const wrongs = [{}, [1], null];
  if (typeof value === "string") {
    wrongs.push(`${value}x`, Number(value), value === "" ? "y" : value.slice(0, -1));
    if (value !== "") wrongs.push(flip(value, 0), flip(value, value.length - 1));
  } else if (typeof value === "number") {
    wrongs.push(value + 1, -value - 1, value * 2 + 1, String(value), undefined);
  } else if (typeof value === "boolean") {
    wrongs.push(!value, Number(value));
  } else if (value instanceof Uint8Array) {
    wrongs.push(value.slice(1), Array.from(value), value.map((byte, at) => (at === 0 ? byte ^ 128 : byte)), new Uint8Array([...value, 0]));
  } else if (Array.isArray(value)) {
    wrongs.push(value.slice(1), [...value, undefined], { ...value });
    if (value.length > 1) wrongs.push([...value].reverse());
  } else if (value === undefined) {
    wrongs.push(0, "", false);
  }
  return wrongs;
}

const isSame = (a, b) => JSON.stringify([a, a === undefined]) === JSON.stringify([b, b === undefined]) && Array.isArray(a) === Array.isArray(b);

function places(value, path, into) {
  into.push(path);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return into;
  for (const name of Object.keys(value)) places(value[name], [...path, name], into);
  return into;
}

/** Copies of a row with one thing wrong, each with the place. */
export function damages(row) {
  const out = [];
  for (const path of places(row, [], [])) {
    const at = (root) => path.reduce((value, name) => value[name], root);
    for (const wrong of wrongs(at(row))) {
      // Without its checksum a row is one of an earlier release.
      if (isSame(wrong, at(row)) || (path[0] === "sum" && wrong === undefined)) continue;
      const copy = { row: structuredClone(row) };
      const whole = ["row", ...path];
      const last = whole.pop();
      whole.reduce((value, name) => value[name], copy)[last] = wrong;
      out.push([path.join("."), copy.row]);
    }
    if (path.length > 0 && path.join() !== "sum") {
      const copy = structuredClone(row);
      const owner = path.slice(0, -1).reduce((value, name) => value[name], copy);
      if (Array.isArray(owner)) owner.splice(Number(path.at(-1)), 1);
      else delete owner[path.at(-1)];
      out.push([`${path.join(".")}, gone`, copy]);
    }
  }
  return out;
}

/** What no row is: deep, wide, or without an end. */
export function monsters() {
  const cycle = { sum: 1 };
  cycle.self = cycle;
  let deep = {};
  for (let n = 0; n < 2000; n += 1) deep = { deep };
  let wide = "x".repeat(1000);
  for (let n = 0; n < 8; n += 1) wide = Array(1000).fill(wide);
  return [cycle, { sum: 1, deep }, { sum: 1, wide }];
}

/** A row as an earlier release wrote it. */
export function bare(row) {
  const copy = structuredClone(row);
  delete copy.sum;
  return copy;
}

export const has = (row) => Number.isSafeInteger(row.sum);
