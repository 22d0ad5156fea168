/**
 * What a revision says of itself, beside the live one that it follows: its time, names and
 * generations, and what it tells of its changes. Nothing is looked up for it.
 */

import { LIMITS } from "./env";
import { deeperThan, order, same, storable } from "./json";
import type { Revision } from "./records";
import { ANY, NONE, type Release, compare, parseRelease } from "./releases";

const NAME = /^[a-z][a-z0-9]{0,29}$/;
const GENERATION = /^[a-z0-9][a-z0-9._-]{0,49}$/;
const MILLISECONDS = "2026-01-01T00:00:00.000".length;
/** Generations that a revision may have: one app of all of them must fit into one request. */
const GENERATIONS = 6;

/** Return the whole milliseconds of a stored time. */
export function milliseconds(time: string): number {
  return Date.parse(`${time.slice(0, MILLISECONDS)}Z`);
}

/** Add what is wrong with a revision whose apps `changed` differ from those of the live one. */
export function checkSuccession(
  changed: readonly string[],
  next: Revision,
  live: Revision | null,
  problems: string[],
): void {
  if (deeperThan(next, LIMITS.depth)) {
    problems.push(`it is nested deeper than ${LIMITS.depth} levels`);
    return;
  }
  if (!storable(next)) problems.push("it holds a NUL or half a character, which no device can store");
  checkTime(next.created, live?.created ?? null, problems);
  checkNames(next, live, problems);
  checkGenerations(next, problems);
  if (live || next.parent === null) checkChanges(changed, next, live, problems);
  checkMoments(changed, next, live, problems);
}

function checkTime(created: string, before: string | null, problems: string[]): void {
  const moment = Date.parse(created);
  const parent = before === null ? Number.NEGATIVE_INFINITY : Date.parse(before);
  if (Number.isNaN(moment)) problems.push(`created is '${created}', no date`);
  if (before !== null && created.slice(0, MILLISECONDS) <= before.slice(0, MILLISECONDS)) {
    problems.push(`created is ${created}, not after the live revision's ${before}`);
  }
  // A clock that runs ahead would carry every later revision with it: times only rise.
  if (moment > Math.max(Date.now() + LIMITS.clockAheadMs, parent + 1000)) {
    problems.push(`created is ${created}, in the future: set this machine's clock`);
  }
}

function checkNames(next: Revision, live: Revision | null, problems: string[]): void {
  const owners = new Map<string, string>();
  for (const [name, app] of Object.entries(next.apps)) {
    const other = owners.get(app.id);
    if (other !== undefined) problems.push(`${name} and ${other} have the same id ${app.id}`);
    owners.set(app.id, name);
    if (!NAME.test(name)) problems.push(`'${name}' is no app name`);
  }
  for (const name of Object.keys(live?.apps ?? {})) {
    if (!Object.hasOwn(next.apps, name)) {
      problems.push(`${name} is missing: take an app off the market with remove`);
    }
  }
}

/** Every generation serves releases of its own, and what an app offers is for one of them. */
function checkGenerations({ apps, generations }: Revision, problems: string[]): void {
  const sets = new Set(generations.map((window) => window.name));
  if (sets.size !== generations.length) problems.push("a generation stands twice");
  if (sets.size > GENERATIONS) problems.push(`it has ${sets.size} generations, limit ${GENERATIONS}`);
  let end: Release | null = [0, 0, 0];
  for (const { name, first, before } of generations) {
    const [start, stop] = [parseRelease(first), before === null ? null : parseRelease(before)];
    const follows = start && end && compare(end, start) <= 0;
    const ends = before === null || (start && stop && compare(start, stop) < 0);
    if (!GENERATION.test(name) || name === ANY || name === NONE || !follows || !ends) {
      problems.push(`the generation '${name}' from ${first} to ${before ?? "no end"} cannot be served`);
    }
    end = stop;
  }
  for (const [name, { current }] of Object.entries(apps)) {
    const lost = Object.keys(current).find((generation) => !sets.has(generation));
    if (lost !== undefined) problems.push(`${name} is on offer for ${lost}, which is no generation`);
  }
}

/** The history tells of every app that changed, and of no other, what became of its offers. */
function checkChanges(
  changed: readonly string[],
  next: Revision,
  live: Revision | null,
  problems: string[],
): void {
  const versions = (revision: Revision | null, app: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      Object.entries((Object.hasOwn(revision?.apps ?? {}, app) && revision?.apps[app]?.current) || {}).map(
        ([generation, { version }]) => [generation, version],
      ),
    );
  const told = next.changes.map(({ app, before, after }) => ({ app, before, after }));
  const expected = changed.map((app) => ({
    app,
    before: versions(live, app),
    after: versions(next, app),
  }));
  const byApp = (a: { readonly app: string }, b: { readonly app: string }): number => order(a.app, b.app);
  if (!same(told.sort(byApp), expected.sort(byApp))) {
    problems.push("its changes are not what it changes on the live revision");
  }
}

/** Times only rise, and none is later than its revision's: devices show first what is newest. */
function checkMoments(
  changed: readonly string[],
  next: Revision,
  live: Revision | null,
  problems: string[],
): void {
  const now = milliseconds(next.created);
  const late = (moment: number): boolean => moment > now;
  for (const name of changed) {
    const { modified = 0, current = {} } = next.apps[name] ?? {};
    const old = live && Object.hasOwn(live.apps, name) ? live.apps[name] : undefined;
    if (late(modified) || modified < (old?.modified ?? 0)) {
      problems.push(`${name}: modified is ${modified}, not from its last change to ${now}`);
    }
    const early = Object.values(current).find(({ published }) => late(published));
    if (early) {
      problems.push(`${name} ${early.version}: published is ${early.published}, its revision ${now}`);
    }
  }
  const { modified } = next.source;
  if (late(modified) || modified < (live?.source.modified ?? 0)) {
    problems.push(`the market's name was modified at ${modified}, the revision is of ${now}`);
  }
}
