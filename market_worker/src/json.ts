/** JSON text that equals what the Python market writes for the same value. */

/** Every character that Python's `json.dumps` escapes and `JSON.stringify` does not. */
const BEYOND_ASCII = /[\u007f-\uffff]/g;

/** Return a string as a JSON text in ASCII. */
export function asciiText(value: string): string {
  return JSON.stringify(value).replace(
    BEYOND_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Return an object of texts in ASCII, spaced as Python spaces it. */
export function asciiObject(fields: Readonly<Record<string, string>>): string {
  const parts = Object.entries(fields).map(([name, text]) => `${asciiText(name)}: ${asciiText(text)}`);
  return `{${parts.join(", ")}}`;
}

/** Return a list of texts in ASCII, spaced as Python spaces it. */
export function asciiList(items: readonly string[]): string {
  return `[${items.map(asciiText).join(", ")}]`;
}

/** Return the canonical text: sorted keys, no spaces (olares_apps/market/canonical.py). */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === "" ? "[" : ","}${canonical(item)}`;
    return text === "" ? "[]" : `${text}]`;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const key of sorted(Object.keys(fields))) {
    text += `${text === "" ? "{" : ","}${JSON.stringify(key)}:${canonical(fields[key])}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

/** Return the canonical text of an object of texts: each pair is a name and the text of its value. */
export function textOfMap(pairs: Iterable<readonly [string, string]>): string {
  const fields = [...new Map(pairs)].sort(([a], [b]) => order(a, b));
  return `{${fields.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

/** Return keys by code point; those of a text that was canonical mostly are so already. */
function sorted(keys: string[]): string[] {
  for (let at = 1; at < keys.length; at += 1) {
    if (order(keys[at - 1] ?? "", keys[at] ?? "") > 0) return keys.sort(order);
  }
  return keys;
}

const HIGH = /[\ud800-\uffff]/;

/** Order by code point, as Python does; JavaScript's own order is by UTF-16 unit. */
export function order(a: string, b: string): number {
  if (a === b) return 0;
  if (!HIGH.test(a) || !HIGH.test(b)) return a < b ? -1 : 1;
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    if (a.charCodeAt(at) !== b.charCodeAt(at)) return rank(a, at) - rank(b, at);
  }
  return a.length - b.length;
}

function rank(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

/** Say whether objects and lists stand inside each other more often than readers may take. */
export function deeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => deeperThan(item, levels - 1));
}

/** Say whether every text in a parsed JSON value can be stored: no NUL, no half of a pair. */
export function storable(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, item]) => storable(key) && storable(item));
}

/** Say whether two parsed JSON values are equal; what is missing equals null. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return (a ?? null) === (b ?? null);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [one, other] = [a, b] as readonly Readonly<Record<string, unknown>>[];
  if (!one || !other) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]))
  );
}
