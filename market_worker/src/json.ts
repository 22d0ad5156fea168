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
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
}

/** Say whether two parsed JSON values are equal. */
export function same(a: unknown, b: unknown): boolean {
  return canonical(a ?? null) === canonical(b ?? null);
}
