/** Shapes of stored JSON: a description of the fields, and a check that names what is wrong. */

export type Shape = (value: unknown, path: string, problems: string[]) => void;

function scalar(expected: string, good: (value: unknown) => boolean): Shape {
  return (value, path, problems) => {
    if (!good(value)) problems.push(`${path} is ${shown(value)}, expected ${expected}`);
  };
}

function matching(expected: string, form: RegExp): Shape {
  return scalar(expected, (value) => typeof value === "string" && form.test(value));
}

export const text = scalar("text", (value) => typeof value === "string");
export const digest = matching("64 hex digits", /^[0-9a-f]{64}$/);
export const time = matching(
  "a time with nine fractional digits",
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{9}Z$/,
);
export const count = scalar("a whole number", (value) => Number.isSafeInteger(value) && Number(value) >= 0);

export function oneOf(...values: readonly unknown[]): Shape {
  return scalar(values.join(" or "), (value) => values.includes(value));
}

export function nullable(shape: Shape): Shape {
  return (value, path, problems) => {
    if (value !== null) shape(value, path, problems);
  };
}

export function listOf(shape: Shape): Shape {
  return (value, path, problems) => {
    if (!Array.isArray(value)) problems.push(`${path} is ${shown(value)}, expected a list`);
    else value.forEach((item, index) => shape(item, `${path}[${index}]`, problems));
  };
}

export function mapOf(shape: Shape): Shape {
  return (value, path, problems) => {
    if (!isObject(value)) problems.push(`${path} is ${shown(value)}, expected an object`);
    else for (const [key, item] of Object.entries(value)) shape(item, `${path}.${key}`, problems);
  };
}

/** An object whose content is not looked at. */
export const object = scalar("an object", isObject);

/** An object with exactly these fields, and those of `optional` that it has. */
export function struct(
  fields: Readonly<Record<string, Shape>>,
  optional: Readonly<Record<string, Shape>> = {},
): Shape {
  return (value, path, problems) => {
    if (!isObject(value)) {
      problems.push(`${path} is ${shown(value)}, expected an object`);
      return;
    }
    for (const [name, shape] of Object.entries(fields)) {
      if (Object.hasOwn(value, name)) shape(value[name], `${path}.${name}`, problems);
      else problems.push(`${path}.${name} is missing`);
    }
    for (const [name, shape] of Object.entries(optional)) {
      if (Object.hasOwn(value, name)) shape(value[name], `${path}.${name}`, problems);
    }
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(fields, name) && !Object.hasOwn(optional, name)) {
        problems.push(`${path}.${name} is not a known field`);
      }
    }
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  const written = value === undefined ? "missing" : JSON.stringify(value);
  return written.length <= 60 ? written : `${written.slice(0, 57)}...`;
}
