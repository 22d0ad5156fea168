/**
 * Does an answer decode on a device? By the table that the publisher checks by as well
 * (contract.json, written by olares_apps/market/answer_tables.py), with the rules of Go's
 * decoder: names in any case, unknown ones ignored, null and absence mean empty, and one value
 * of a wrong type loses the whole answer.
 */

import tables from "./contract.json";

type Type =
  | string
  | { readonly list: Type }
  | { readonly map: Type }
  | { readonly struct: Readonly<Record<string, Type>> };

const ANSWERS = tables.answers as unknown as Readonly<Record<string, Type>>;
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

type Json = Readonly<Record<string, unknown>>;

const isText = (value: unknown): value is string => typeof value === "string";
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const SCALARS: Readonly<Record<string, readonly [string, (value: unknown) => boolean]>> = {
  any: ["anything", () => true],
  string: ["a string", isText],
  int: ["a whole number", Number.isSafeInteger],
  bool: ["true or false", (value) => typeof value === "boolean"],
  time: [
    "an RFC 3339 time",
    (value) => isText(value) && RFC3339.test(value) && !Number.isNaN(Date.parse(value)),
  ],
};

/** Add what a device could not decode of the answer `file`; `where` names it in messages. */
export function decodes(file: string, value: unknown, where: string, problems: string[]): void {
  const type = ANSWERS[file];
  if (type !== undefined) check(value, type, where, problems);
}

function check(value: unknown, type: Type, path: string, problems: string[]): void {
  if (value === null || value === undefined) return;
  if (typeof type === "string") {
    const [expected, good] = SCALARS[type] ?? ["a known type", (): boolean => false];
    if (!good(value)) wrong(value, expected, path, problems);
  } else if ("list" in type) {
    if (!Array.isArray(value)) wrong(value, "a list", path, problems);
    else value.forEach((item, index) => check(item, type.list, `${path}[${index}]`, problems));
  } else if (!isObject(value)) {
    wrong(value, "an object", path, problems);
  } else if ("map" in type) {
    for (const [key, item] of Object.entries(value)) check(item, type.map, `${path}.${key}`, problems);
  } else {
    for (const [key, item] of Object.entries(value)) {
      const known = fieldOf(type.struct, key);
      if (known !== undefined) check(item, known, `${path}.${key}`, problems);
    }
  }
}

function fieldOf(fields: Readonly<Record<string, Type>>, key: string): Type | undefined {
  if (Object.hasOwn(fields, key)) return fields[key];
  const folded = key.toLowerCase();
  const name = Object.keys(fields).find((field) => field.toLowerCase() === folded);
  return name === undefined ? undefined : fields[name];
}

const every = (good: (value: unknown) => boolean) => (value: unknown): boolean =>
  Array.isArray(value) && value.every(good);
const { detail } = tables;
const DETAIL: readonly (readonly [readonly string[], string, (value: unknown) => boolean])[] = [
  [detail.texts, "a string", isText],
  [detail.text_lists, "a list of strings", every(isText)],
  [detail.objects, "an object", isObject],
  [detail.object_lists, "a list of objects", every(isObject)],
  [
    detail.text_or_map,
    "a string or an object of strings",
    (value) => isText(value) || (isObject(value) && Object.values(value).every(isText)),
  ],
  [detail.booleans, "true or false", (value) => typeof value === "boolean"],
  [detail.numbers, "a number", (value) => typeof value === "number"],
];
const RULES = new Map(
  DETAIL.flatMap(([names, expected, good]) => names.map((name) => [name, { expected, good }])),
);
const HIDING = ["suspend", "remove"];

/** Add what a device would drop of a detail document, or what would make it skip the app. */
export function detailDecodes(
  value: unknown,
  expected: Readonly<Record<string, string>>,
  where: string,
  problems: string[],
): void {
  if (!isObject(value)) {
    problems.push(`${where} is no object`);
    return;
  }
  for (const [name, item] of Object.entries(value)) {
    const rule = RULES.get(name);
    if (rule && item !== null && !rule.good(item)) wrong(item, rule.expected, `${where}.${name}`, problems);
  }
  for (const [name, limit] of Object.entries(detail.characters)) {
    const size = isText(value[name]) ? [...value[name]].length : 0;
    if (size > limit) problems.push(`${where}.${name} has ${size} characters, limit ${limit}`);
  }
  for (const [name, text] of Object.entries(expected)) {
    if (value[name] !== text) wrong(value[name], `'${text}'`, `${where}.${name}`, problems);
  }
  const labels = Array.isArray(value["appLabels"]) ? value["appLabels"].filter(isText) : [];
  const hiding = labels.find((label) => HIDING.includes(label.toLowerCase()));
  if (hiding !== undefined) problems.push(`${where} carries the label ${hiding}: devices skip it`);
  if (JSON.stringify(value).includes("\\u0000")) problems.push(`${where} holds a NUL character`);
}

function wrong(value: unknown, expected: string, path: string, problems: string[]): void {
  const shown = value === undefined ? "missing" : JSON.stringify(value);
  problems.push(`${path} is ${shown.length <= 60 ? shown : `${shown.slice(0, 57)}...`}, expected ${expected}`);
}
