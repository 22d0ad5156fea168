/**
 * What must hold before the head moves. The live revision is complete and was examined when it
 * went live, so only what the next one changes is looked at. One request asks R2 a limited
 * number of times whatever the market's size; what does not fit into one is noted in
 * `checks/<revision>.json`, and the next request goes on from there.
 */

import { type Part, answerParts, knownPolicies } from "./agreement";
import { type Changes, appPart } from "./app";
import { encode } from "./bytes";
import { LIMITS } from "./env";
import { canonical, same } from "./json";
import { type Head, REVISION, type Revision, checksKey, revisionKey } from "./records";
import { Damaged, parse, prove, readRevision, strict } from "./storage";
import { checkSuccession } from "./succession";

/** What an examination found; without problems the head may move, if the token allows it. */
export interface Verdict {
  readonly problems: readonly string[];
  readonly status: 409 | 422;
  readonly hint: string;
  /** Apps whose entry differs from the live one. */
  readonly changed: readonly string[];
  /** Whether there is a new archive, or an offer of the live revision ends. */
  readonly adds: boolean;
  readonly takesAway: boolean;
  readonly newPolicy: boolean;
  readonly changesMarket: boolean;
  /** The examined revision, and how many of its parts were checked so far. */
  readonly revision: Revision | null;
  readonly checked: number;
  readonly parts: number;
}

/** What earlier requests have checked of a revision, as successor of `base`. */
interface Checks extends Changes {
  readonly base: string | null;
  readonly fence: string | null;
  readonly done: readonly string[];
}


/**
 * Examine the revision that `wanted` names as the successor of the live head `base`. `fence` is
 * the state of the collector: what was checked before it worked counts no more.
 */
export async function examine(
  bucket: R2Bucket,
  wanted: Head,
  base: Head | null,
  fence: string | null,
): Promise<Verdict> {
  const problems: string[] = [];
  const next = await load(bucket, wanted.revision, problems);
  if (!next) return verdict(problems, 422);
  // The first revision of a copy may have a parent that its source has already forgotten.
  if (base && next.parent !== base.revision) {
    return verdict([`its parent is ${next.parent ?? "none"}, the live revision is not`], 409);
  }
  const live = base && (await readRevision<Revision>(bucket, base.revision));
  const changed = Object.keys(next.apps).filter(
    (name) => !live || !same(next.apps[name], live.apps[name]),
  );
  checkSuccession(changed, next, live, problems);
  const drawnAnew = live !== null && !same(next.generations, live.generations);
  // Which step is the one before depends on what the history calls a rollback.
  const retreats = next.action === "rollback" || next.action === "remove";
  const renamed = live !== null && !same(next.source, live.source);
  const changes: Changes = {
    adds: drawnAnew || renamed,
    takesAway: drawnAnew || retreats,
    newPolicy: changed.some((name) => bringsPolicy(next, name, live)),
  };
  const parts = [
    ...answerParts(bucket, wanted.revision, next, live, changes, problems),
    ...changed.flatMap((name) => appPart(bucket, name, next, live, changes, problems) ?? []),
  ];
  const checked =
    problems.length === 0
      ? await checkParts(bucket, wanted.revision, base?.revision ?? null, fence, parts, changes, problems)
      : 0;
  // The first revision says what the market is called, and for whom it is.
  const changesMarket = !live || drawnAnew || renamed;
  const found = { changed, ...changes, changesMarket, revision: next, checked, parts: parts.length };
  return { ...verdict(problems, 422), ...found };
}

/** Say whether the entry of an app, also one that nobody sees yet, has a policy that is new. */
function bringsPolicy(next: Revision, name: string, live: Revision | null): boolean {
  const csp = next.apps[name]?.page?.csp;
  return csp !== undefined && !knownPolicies(live).has(csp);
}

/** Run the parts that are not checked yet, as far as one request may go; return how many are. */
async function checkParts(
  bucket: R2Bucket,
  identity: string,
  base: string | null,
  fence: string | null,
  parts: readonly Part[],
  changes: Changes,
  problems: string[],
): Promise<number> {
  const whole = parts.reduce((sum, part) => sum + part.cost, 0) <= LIMITS.lookups;
  const known = whole ? null : await readChecks(bucket, identity, base, fence);
  const done = new Set(known?.done);
  changes.adds ||= known?.adds ?? false;
  changes.takesAway ||= known?.takesAway ?? false;
  changes.newPolicy ||= known?.newPolicy ?? false;
  let spent = 0;
  const now = parts.filter((part) => {
    if (done.has(part.name) || spent + part.cost > LIMITS.lookups) return false;
    spent += part.cost;
    return true;
  });
  await Promise.all(now.map((part) => guarded(problems, part.run)));
  for (const part of now) done.add(part.name);
  if (done.size < parts.length && problems.length === 0) {
    const checks: Checks = { base, fence, done: [...done], ...changes };
    await bucket.put(checksKey(identity), encode(canonical(checks)));
  }
  return done.size;
}

async function readChecks(
  bucket: R2Bucket,
  identity: string,
  base: string | null,
  fence: string | null,
): Promise<Checks | null> {
  const object = await bucket.get(checksKey(identity));
  // Only the Worker writes these. An old one says nothing about what a collector left.
  if (!object || Date.now() - object.uploaded.getTime() > LIMITS.checksMs) return null;
  const checks = parse<Checks>(new Uint8Array(await object.arrayBuffer()), checksKey(identity));
  return checks.base === base && checks.fence === fence ? checks : null;
}

function verdict(
  problems: readonly string[],
  status: Verdict["status"],
  hint = status === 409 ? "read the head again and plan on it" : "nothing was published",
): Verdict {
  const nothing = {
    changed: [],
    adds: false,
    takesAway: false,
    newPolicy: false,
    changesMarket: false,
  };
  return { problems, status, hint, ...nothing, revision: null, checked: 0, parts: 0 };
}

async function load(
  bucket: R2Bucket,
  identity: unknown,
  problems: string[],
): Promise<Revision | null> {
  if (typeof identity !== "string" || !/^[0-9a-f]{64}$/.test(identity)) {
    problems.push("the head names no revision");
    return null;
  }
  let revision: Revision | null = null;
  await guarded(problems, async () => {
    const body = await prove(bucket, revisionKey(identity), identity, "revision");
    revision = strict<Revision>(body, "revision");
    REVISION(revision, "revision", problems);
  });
  return problems.length === 0 ? revision : null;
}

/** Run a check that reads objects; what is missing or damaged is a problem like any other. */
async function guarded(problems: string[], check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    problems.push(error.message);
  }
}
