/**
 * Collecting garbage: objects that neither one of the last revisions reaches nor a young one, and
 * that are older than a day. One request does one step; what it knows is kept in `gc/state.json`,
 * so a step is small whatever the market's size, and a collector that stops goes on later.
 *
 * Beside a publish it is safe by age and by the fence (docs/protocol.md, Collecting garbage): a
 * put renews the age of what it finds, and a head does not move when a deletion began or ended
 * since its examination began. It is safe to stop anywhere, because the chain is cut first.
 */

import { refusal, result } from "./answers";
import { encode } from "./bytes";
import { LIMITS } from "./env";
import { canonical } from "./json";
import { HEAD_KEY, type Head, type Ledger, type Revision, blobKey, revisionKey } from "./records";
import { parse, readJson } from "./storage";

const FENCE_KEY = "gc/fence.json";
const STATE_KEY = "gc/state.json";
/** In the order in which they are swept; the first revision that goes is gone before. */
const PREFIXES = ["revisions/", "responses/", "checks/", "blobs/sha256/"];
/** Hex digits that stand for a digest: one that looks marked by chance stays, which is no harm. */
const MARK_DIGITS = 16;

interface State {
  /** The revision that was live when the marks were made; another one makes them void. */
  readonly head: string;
  readonly keep: number;
  readonly dryRun: boolean;
  /** The revisions to keep, as far as the chain was walked, newest first. */
  readonly revisions: readonly string[];
  /** The revision to look at next; null when all that are to keep are known. */
  readonly next: string | null;
  /** The first revision beyond those to keep, as long as it is not removed. */
  readonly cut: string | null;
  /** Marks of all reachable blobs. */
  readonly marks: readonly string[];
  /** Ledgers that are still to be read. */
  readonly ledgers: readonly string[];
  readonly sweep: { readonly prefix: number; readonly cursor: string | null };
  readonly found: Found;
}

interface Found {
  readonly looked: number;
  readonly removed: number;
  readonly bytes: number;
}

const NOTHING: Found = { looked: 0, removed: 0, bytes: 0 };

interface Wish {
  readonly keep: number;
  readonly dryRun: boolean;
}

/** Do one step and say how far it is; `done` when there is nothing more to do. */
export async function collect(bucket: R2Bucket, asked: unknown): Promise<Response> {
  const wish = wishOf(asked);
  if (typeof wish === "string") return refusal(400, { error: "bad request", message: wish });
  const head = await liveRevision(bucket);
  if (head === null) return answer("done", { marks: [], found: NOTHING }, wish);
  const known = await readState(bucket);
  const goesOn = known?.head === head && known.keep === wish.keep && known.dryRun === wish.dryRun;
  const state: State = goesOn ? known : begin(head, wish);
  if (state.next !== null) return save(bucket, await walk(bucket, state, state.next), "mark", wish);
  if (state.ledgers.length > 0) return save(bucket, await mark(bucket, state), "mark", wish);
  return sweep(bucket, state, wish);
}

/** The state of the collector as a publisher sees it. */
export interface Fence {
  readonly etag: string | null;
  readonly busy: boolean;
}

export async function readFence(bucket: R2Bucket): Promise<Fence> {
  const object = await bucket.head(FENCE_KEY);
  const until = Number(object?.customMetadata?.["until"] ?? 0);
  return { etag: object?.etag ?? null, busy: until > Date.now() };
}

/**
 * Write the fence over the one that was seen, or return null when it is another one by now. Every
 * write has other content, so that its etag tells it from every other one.
 */
function writeFence(bucket: R2Bucket, until: number, seen: string | null): Promise<R2Object | null> {
  const content = JSON.stringify({ until, at: Date.now(), nonce: crypto.randomUUID() });
  return bucket.put(FENCE_KEY, content, {
    customMetadata: { until: String(until) },
    onlyIf: seen === null ? { etagDoesNotMatch: "*" } : { etagMatches: seen },
  });
}

/** Say that the fence is up: neither a head moves now nor does another collector begin. */
export function collecting(): Response {
  return refusal(
    503,
    {
      error: "collecting",
      message: "unreferenced objects are being removed",
      hint: "send the same request again in a few seconds",
    },
    { "retry-after": "2" },
  );
}

/** Return what is asked for, or what is wrong with it: a misspelt field must not start anything. */
function wishOf(asked: unknown): Wish | string {
  if (typeof asked !== "object" || asked === null || Array.isArray(asked)) return "the body is no object";
  const { keep = LIMITS.keptRevisions, dry_run: dryRun = false, ...others } = asked as {
    keep?: unknown;
    dry_run?: unknown;
  };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `${unknown.slice(0, 50)} is no known field: there are keep and dry_run`;
  const whole = Number.isSafeInteger(keep) ? Number(keep) : 0;
  if (whole < LIMITS.keptRevisions || whole > LIMITS.mostKeptRevisions) {
    return `keep is no number from ${LIMITS.keptRevisions} to ${LIMITS.mostKeptRevisions}`;
  }
  return typeof dryRun === "boolean" ? { keep: whole, dryRun } : "dry_run is neither true nor false";
}

async function liveRevision(bucket: R2Bucket): Promise<string | null> {
  const object = await bucket.get(HEAD_KEY);
  return object && parse<Head>(new Uint8Array(await object.arrayBuffer()), HEAD_KEY).revision;
}

async function readState(bucket: R2Bucket): Promise<State | null> {
  const object = await bucket.get(STATE_KEY);
  return object && parse<State>(new Uint8Array(await object.arrayBuffer()), STATE_KEY);
}

function begin(head: string, { keep, dryRun }: Wish): State {
  const sweep = { prefix: 0, cursor: null };
  const nothing = { revisions: [], marks: [], ledgers: [], found: NOTHING };
  return { head, keep, dryRun, next: head, cut: null, sweep, ...nothing };
}

/** Walk the chain on from a revision, to the end of what is to keep, and mark what is named. */
async function walk(bucket: R2Bucket, state: State, from: string): Promise<State> {
  const revisions = [...state.revisions];
  const marks = new Set(state.marks);
  let { ledgers, cut } = state;
  let next: string | null = from;
  for (let step = 0; step < LIMITS.revisionsAtOnce && next !== null; step += 1) {
    const name: string = next;
    const found = await bucket.head(revisionKey(name));
    // The chain ends where an earlier collector has removed what was beyond it.
    if (!found && name !== state.head) return { ...state, revisions, marks: [...marks], ledgers, next: null };
    if (found && revisions.length >= state.keep && isOld(found, Date.now())) {
      [cut, next] = [name, null];
      break;
    }
    const revision: Revision = await readJson(bucket, revisionKey(name), name, "revision");
    revisions.push(name);
    for (const app of Object.values(revision.apps)) {
      const { icon, page } = app;
      const files = Object.values(app.current).flatMap((archive) => [archive.sha256, archive.detail]);
      const more = [icon?.sha256, page?.facts, page?.html.sha256, page?.share.sha256];
      for (const digest of [app.ledger, ...files, ...more]) if (digest) marks.add(short(digest));
    }
    // Ledgers only grow: those of the live revision list every archive that there ever was.
    if (name === state.head) ledgers = Object.values(revision.apps).map((app) => app.ledger);
    next = revision.parent;
  }
  return { ...state, revisions, marks: [...marks], ledgers, next, cut };
}

function isOld(object: R2Object, now: number): boolean {
  return now - object.uploaded.getTime() > LIMITS.collectAgeMs;
}

async function mark(bucket: R2Bucket, state: State): Promise<State> {
  const now = state.ledgers.slice(0, LIMITS.ledgersAtOnce);
  const read = await Promise.all(
    now.map((digest) => readJson<Ledger>(bucket, blobKey(digest), digest, "ledger")),
  );
  const marks = new Set(state.marks);
  for (const archive of read.flatMap((ledger) => Object.values(ledger.charts))) {
    marks.add(short(archive.sha256)).add(short(archive.detail));
  }
  return { ...state, marks: [...marks], ledgers: state.ledgers.slice(now.length) };
}

/** Sweep a part, with the fence up from before the first look to after the last removal. */
async function sweep(bucket: R2Bucket, state: State, wish: Wish): Promise<Response> {
  const now = Date.now();
  if (wish.dryRun) return proceed(bucket, await sweepPages(bucket, state, now), wish);
  const seen = await readFence(bucket);
  const fence = seen.busy ? null : await writeFence(bucket, now + LIMITS.fenceMs, seen.etag);
  // Another collector would take its fence down while this one still removes.
  if (!fence) return collecting();
  // Read again behind the fence: no head has moved since the marks, and none can now.
  const valid = (await liveRevision(bucket)) === state.head;
  const cut = valid ? await removeCut(bucket, state, now) : null;
  const after = cut && (await sweepPages(bucket, cut, now));
  await writeFence(bucket, 0, fence.etag);
  if (after) return proceed(bucket, after, wish);
  await bucket.delete(STATE_KEY);
  return answer("mark", state, wish);
}

function proceed(bucket: R2Bucket, state: State, wish: Wish): Promise<Response> | Response {
  return state.sweep.prefix < PREFIXES.length ? save(bucket, state, "sweep", wish) : finish(bucket, state, wish);
}

async function finish(bucket: R2Bucket, state: State, wish: Wish): Promise<Response> {
  await bucket.delete(STATE_KEY);
  return answer("done", state, wish);
}

/**
 * Remove the first revision beyond the kept ones: readers of the chain end there, so that nobody
 * misses what goes after it, in any order and however far. Null when somebody put it again: then
 * what it reaches is wanted, and the marks are void.
 */
async function removeCut(bucket: R2Bucket, state: State, began: number): Promise<State | null> {
  if (state.cut === null) return state;
  const found = await bucket.head(revisionKey(state.cut));
  if (!found) return { ...state, cut: null };
  if (!isOld(found, began)) return null;
  await bucket.delete(found.key);
  const { looked, removed, bytes } = state.found;
  return { ...state, cut: null, found: { looked: looked + 1, removed: removed + 1, bytes: bytes + found.size } };
}

/** List some pages and remove from them what may go; the fence went up at `began`. */
async function sweepPages(bucket: R2Bucket, state: State, began: number): Promise<State> {
  let { prefix, cursor } = state.sweep;
  let { looked, removed, bytes } = state.found;
  const reachable = { marks: new Set(state.marks), revisions: new Set(state.revisions) };
  for (let page = 0; page < LIMITS.pagesAtOnce && prefix < PREFIXES.length; page += 1) {
    if (Date.now() - began > LIMITS.collectMs) break;
    const listed = await bucket.list({ prefix: PREFIXES[prefix] ?? "", ...(cursor !== null && { cursor }) });
    const garbage = listed.objects.filter(
      (object) => isOld(object, began) && !isReachable(object.key, reachable),
    );
    // Not when the list took so long that the fence may be down.
    if (Date.now() - began > LIMITS.collectMs) break;
    if (garbage.length > 0 && !state.dryRun) await bucket.delete(garbage.map(({ key }) => key));
    looked += listed.objects.length;
    removed += garbage.length;
    bytes += garbage.reduce((sum, { size }) => sum + size, 0);
    cursor = listed.truncated ? listed.cursor : null;
    if (cursor === null) prefix += 1;
  }
  return { ...state, sweep: { prefix, cursor }, found: { looked, removed, bytes } };
}

interface Reachable {
  readonly marks: ReadonlySet<string>;
  readonly revisions: ReadonlySet<string>;
}

function isReachable(key: string, { marks, revisions }: Reachable): boolean {
  const digest = /[0-9a-f]{64}/.exec(key)?.[0] ?? "";
  return key.startsWith("blobs/") ? marks.has(short(digest)) : revisions.has(digest);
}

async function save(bucket: R2Bucket, state: State, phase: string, wish: Wish): Promise<Response> {
  await bucket.put(STATE_KEY, encode(canonical(state)));
  return answer(phase, state, wish);
}

function answer(phase: string, state: Pick<State, "marks" | "found">, { keep, dryRun }: Wish): Response {
  const { marks, found } = state;
  const done = phase === "done";
  return result(200, { phase, done, keep, dry_run: dryRun, marked: marks.length, ...found });
}

function short(digest: string): string {
  return digest.slice(0, MARK_DIGITS);
}
