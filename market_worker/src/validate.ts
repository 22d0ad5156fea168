/**
 * What must hold before the head moves. The live revision is complete and was examined when it
 * went live, so only what the next one changes is looked at, and the cost of a publish follows
 * the apps that it changes.
 */

import { type Bytes, decode, encode } from "./bytes";
import { LIMITS } from "./env";
import { canonical, same } from "./json";
import { agreement } from "./agreement";
import {
  type App,
  type Archive,
  type Head,
  LEDGER,
  type Ledger,
  REVISION,
  type Revision,
  archiveName,
  blobKey,
  revisionKey,
} from "./records";
import { compare, parseVersion } from "./releases";
import { Damaged, parse, prove, readRevision } from "./storage";

/** What an examination found; without problems the head may move, if the token allows it. */
export interface Verdict {
  readonly problems: readonly string[];
  readonly status: 409 | 413 | 422;
  readonly hint: string;
  /** Apps whose entry differs from the live one. */
  readonly changed: readonly string[];
  /** Whether there is a new archive, or an offer of the live revision ends. */
  readonly adds: boolean;
  readonly takesAway: boolean;
  readonly changesSource: boolean;
}

const NAME = /^[a-z][a-z0-9]{0,29}$/;
const IMAGE = /^image\/[a-z0-9.+-]+$/;
const MILLISECONDS = "2026-01-01T00:00:00.000".length;
const AT_ONCE = 32;

interface Changes {
  adds: boolean;
  takesAway: boolean;
}

/** Examine the revision that `wanted` names as the successor of the live head `base`. */
export async function examine(
  bucket: R2Bucket,
  wanted: Head,
  base: Head | null,
): Promise<Verdict> {
  const problems: string[] = [];
  const next = await load(bucket, wanted.revision, problems);
  if (!next) return verdict(problems, 422);
  if (next.parent !== (base?.revision ?? null)) {
    return verdict([`its parent is ${next.parent ?? "none"}, the live revision is not`], 409);
  }
  const live = base && (await readRevision<Revision>(bucket, base.revision));
  checkTime(next.created, live?.created ?? null, problems);
  checkNames(next, live, problems);
  const changed = Object.keys(next.apps).filter(
    (name) => !live || !same(next.apps[name], live.apps[name]),
  );
  // Three for each app (both ledgers, icon), two for each archive (the file and its detail), and
  // what a page is made of.
  const lookups = changed.reduce(
    (sum, name) => sum + 3 + lookupsOf(next.apps[name]),
    Object.keys(next.answers).length,
  );
  if (lookups > LIMITS.lookups) {
    return verdict([`${changed.length} apps change at once`], 413, "publish fewer apps at a time");
  }
  const changes: Changes = { adds: false, takesAway: false };
  if (problems.length === 0) {
    for (let at = 0; at < changed.length; at += AT_ONCE) {
      const group = changed.slice(at, at + AT_ONCE);
      await Promise.all(group.map((name) => checkApp(bucket, name, next, live, changes, problems)));
    }
    await guarded(problems, () => agreement(bucket, wanted.revision, next, problems));
  }
  const source = live ? !same(next.source, live.source) : false;
  return { ...verdict(problems, 422), changed, ...changes, changesSource: source };
}

function verdict(
  problems: readonly string[],
  status: Verdict["status"],
  hint = status === 409 ? "read the head again and plan on it" : "nothing was published",
): Verdict {
  const nothing = { changed: [], adds: false, takesAway: false, changesSource: false };
  return { problems, status, hint, ...nothing };
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

/**
 * Return the value of a record; throws Damaged when its text is not the canonical one. Python
 * refuses a key that stands twice and a number that is not whole, where JavaScript takes both.
 */
function strict<T>(body: Bytes, what: string): T {
  const value = parse<T>(body, what);
  if (canonical(value) !== decode(body)) throw new Damaged(`the ${what} is not in canonical form`);
  return value;
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
  const sets = next.generations.map((window) => window.name);
  if (new Set(sets).size !== sets.length) problems.push("a generation stands twice");
}

async function checkApp(
  bucket: R2Bucket,
  name: string,
  next: Revision,
  live: Revision | null,
  changes: Changes,
  problems: string[],
): Promise<void> {
  const app = next.apps[name];
  if (!app) return;
  const old = live && Object.hasOwn(live.apps, name) ? live.apps[name] : undefined;
  if (app.id !== (await appId(name))) problems.push(`${name}: the id ${app.id} is not its md5`);
  checkVersions(name, app, old, next, problems);
  if (old?.state === "live" && lost(old, app)) changes.takesAway = true;
  await guarded(problems, async () => {
    const known = old ? await readLedger(bucket, old, name) : { app: name, charts: {} };
    const ledger = await readLedger(bucket, app, name);
    checkLedger(name, app, old, known, ledger, problems);
    const offered = Object.values(app.current);
    for (const archive of offered) {
      const file = archiveName(name, archive.version);
      if (!Object.hasOwn(known.charts, file)) changes.adds = true;
      else if (!offeredBefore(archive, old)) changes.takesAway = true;
    }
    const added = Object.entries(ledger.charts).filter(([file]) => !Object.hasOwn(known.charts, file));
    await Promise.all([
      ...added.map(([file, archive]) => blobExists(bucket, archive, file, problems)),
      ...added.map(([file, { detail }]) => blobExists(bucket, { sha256: detail }, `detail of ${file}`, problems)),
      app.icon ? iconExists(bucket, name, app, problems) : null,
      ...pageBlobs(app).map((blob) => blobExists(bucket, blob, `page of ${name}`, problems)),
    ]);
  });
}

/** Say whether a generation's offer ended, or an app was removed. */
function lost(old: App, app: App): boolean {
  return Object.keys(old.current).some((generation) => !Object.hasOwn(app.current, generation));
}

function offeredBefore(archive: Archive, old: App | undefined): boolean {
  return Object.values(old?.current ?? {}).some((known) => same(known, archive));
}

function checkVersions(
  name: string,
  app: App,
  old: App | undefined,
  next: Revision,
  problems: string[],
): void {
  const greatest = parseVersion(app.greatest);
  if (!greatest) problems.push(`${name}: greatest is '${app.greatest}', no version`);
  const before = old && parseVersion(old.greatest);
  if (greatest && before && compare(greatest, before) < 0) {
    problems.push(`${name}: greatest went down from ${old.greatest} to ${app.greatest}`);
  }
  const generations = new Set(next.generations.map((window) => window.name));
  for (const [generation, archive] of Object.entries(app.current)) {
    const version = parseVersion(archive.version);
    if (!generations.has(generation)) problems.push(`${name}: ${generation} is no generation`);
    if (!version) problems.push(`${name}: '${archive.version}' is no version`);
    else if (greatest && compare(version, greatest) > 0) {
      problems.push(`${name} ${archive.version} is above its greatest ${app.greatest}`);
    }
  }
  if ((app.state === "live") !== Object.keys(app.current).length > 0) {
    problems.push(`${name} is ${app.state} with ${Object.keys(app.current).length} archives`);
  }
}

/** A ledger only grows, by versions above every one that the app ever had. */
function checkLedger(
  name: string,
  app: App,
  old: App | undefined,
  known: Ledger,
  ledger: Ledger,
  problems: string[],
): void {
  const before = old && parseVersion(old.greatest);
  for (const [file, archive] of Object.entries(known.charts)) {
    const now = Object.hasOwn(ledger.charts, file) ? ledger.charts[file] : undefined;
    if (!same(now, archive)) {
      problems.push(
        now && now.sha256 !== archive.sha256
          ? `${file} is published with sha256 ${archive.sha256}, now it is ${now.sha256}`
          : `${file} is no longer in the ledger as it was`,
      );
    }
  }
  for (const [file, archive] of Object.entries(ledger.charts)) {
    if (Object.hasOwn(known.charts, file)) continue;
    const version = parseVersion(archive.version);
    if (file !== archiveName(name, archive.version)) problems.push(`${file} is misnamed`);
    if (!version) problems.push(`${name}: '${archive.version}' is no version`);
    else if (before && compare(version, before) <= 0) {
      problems.push(`${name} ${archive.version} is not greater than published ${old.greatest}`);
    }
  }
  for (const [generation, archive] of Object.entries(app.current)) {
    const file = archiveName(name, archive.version);
    const listed = Object.hasOwn(ledger.charts, file) ? ledger.charts[file] : undefined;
    if (!same(listed, { generation, ...archive })) {
      problems.push(`${file} is offered and not in the ledger`);
    }
  }
}

async function readLedger(bucket: R2Bucket, app: App, name: string): Promise<Ledger> {
  const what = `ledger of ${name}`;
  const ledger = strict<Ledger>(await prove(bucket, blobKey(app.ledger), app.ledger, what), what);
  const faults: string[] = [];
  LEDGER(ledger, what, faults);
  if (faults[0] !== undefined) throw new Damaged(faults[0]);
  if (ledger.app !== name) throw new Damaged(`the ${what} is that of ${ledger.app}`);
  return ledger;
}

async function iconExists(
  bucket: R2Bucket,
  name: string,
  app: App,
  problems: string[],
): Promise<void> {
  if (!app.icon) return;
  if (!IMAGE.test(app.icon.type)) problems.push(`icon of ${name} has the type ${app.icon.type}`);
  await blobExists(bucket, app.icon, `icon of ${name}`, problems);
}

function lookupsOf(app: App | undefined): number {
  return app ? 2 * Object.keys(app.current).length + pageBlobs(app).length : 0;
}

function pageBlobs({ page }: App): readonly { readonly sha256: string; readonly size?: number }[] {
  return page ? [page.html, page.share, { sha256: page.facts }] : [];
}

/** Blobs were hashed when they came in: that one exists, with its size, is enough. */
async function blobExists(
  bucket: R2Bucket,
  blob: { readonly sha256: string; readonly size?: number },
  what: string,
  problems: string[],
): Promise<void> {
  const found = await bucket.head(blobKey(blob.sha256));
  if (!found) problems.push(`${what}: ${blobKey(blob.sha256)} is missing`);
  else if (blob.size !== undefined && found.size !== blob.size) {
    problems.push(`${what} has ${found.size} bytes, the catalogue says ${blob.size}`);
  }
}

/** The first 8 hex digits of the md5 of a name (contract 4). */
async function appId(name: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("MD5", encode(name)));
  return Array.from(digest.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
