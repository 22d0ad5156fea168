/**
 * Does a device take a detail document? By the table that the publisher checks by as well
 * (contract.json, written by olares_apps/market/answer_tables.py).
 */

import tables from "./contract.json";
import { LIMITS } from "./env";
import { deeperThan } from "./json";

type Json = Readonly<Record<string, unknown>>;

const isText = (value: unknown): value is string => typeof value === "string";
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

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
  if (deeperThan(value, LIMITS.depth)) {
    problems.push(`${where} is nested deeper than ${LIMITS.depth} levels`);
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
