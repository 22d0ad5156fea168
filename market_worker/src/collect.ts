/**
 * Collecting garbage: objects that none of the last revisions reaches and that are older than a
 * day. One request does one step; what it knows is kept in `gc/state.json`, so a step is small
 * whatever the market's size, and a collector that stops goes on later.
 *
 * Beside a publish it is safe by age and by the fence (docs/protocol.md, Collecting garbage): a
 * put renews the age of what it finds, and a head does not move when a deletion began or ended
 * since its examination began.
 */

import { refusal, result } from "./answers";
import { encode } from "./bytes";
import { LIMITS } from "./env";
import { canonical } from "./json";
import { HEAD_KEY, type Head, type Ledger, type Revision, blobKey, revisionKey } from "./records";
import { parse, readJson } from "./storage";

const FENCE_KEY = "gc/fence.json";
const STATE_KEY = "gc/state.json";
/** In the order in which they are swept: what names others goes last. */
const PREFIXES = ["blobs/sha256/", "responses/", "checks/", "revisions/"];
/** Hex digits that stand for a digest: one that looks marked by chance stays, which is no harm. */
const MARK_DIGITS = 16;

interface State {
  /** The revision that was live when the marks were made; another one makes them void. */
  readonly head: string;
  readonly keep: number;
  readonly dryRun: boolean;
  readonly revisions: readonly string[];
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
  const state = goesOn ? known : await begin(bucket, head, wish);
  if (state !== known) return save(bucket, state, "mark", wish);
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

/** Every write has other content, so that its etag tells it from every other one. */
function writeFence(bucket: R2Bucket, until: number): Promise<R2Object | null> {
  const content = JSON.stringify({ until, at: Date.now(), nonce: crypto.randomUUID() });
  return bucket.put(FENCE_KEY, content, { customMetadata: { until: String(until) } });
}

function wishOf(asked: unknown): Wish | string {
  const { keep = LIMITS.keptRevisions, dry_run: dryRun = false } = (asked ?? {}) as {
    keep?: unknown;
    dry_run?: unknown;
  };
  const whole = Number.isSafeInteger(keep) ? Number(keep) : 0;
  if (asked === null || whole < LIMITS.keptRevisions || whole > LIMITS.mostKeptRevisions) {
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

/** Walk the kept part of the chain and mark what its revisions name. */
async function begin(bucket: R2Bucket, head: string, { keep, dryRun }: Wish): Promise<State> {
  const revisions: string[] = [];
  const marks = new Set<string>();
  let ledgers: string[] = [];
  for (let name: string | null = head; name !== null && revisions.length < keep; ) {
    const revision: Revision = await readJson(bucket, revisionKey(name), name, "revision");
    revisions.push(name);
    for (const app of Object.values(revision.apps)) {
      const { icon, page } = app;
      const files = Object.values(app.current).flatMap((archive) => [archive.sha256, archive.detail]);
      const more = [icon?.sha256, page?.facts, page?.html.sha256, page?.share.sha256];
      for (const digest of [app.ledger, ...files, ...more]) if (digest) marks.add(short(digest));
    }
    // Ledgers only grow: those of the live revision list every archive that there ever was.
    if (name === head) ledgers = Object.values(revision.apps).map((app) => app.ledger);
    const parent: string | null = revision.parent;
    // The chain ends where an earlier collector has removed what was beyond it.
    name = parent !== null && revisions.length < keep && (await bucket.head(revisionKey(parent))) ? parent : null;
  }
  const sweep = { prefix: 0, cursor: null };
  return { head, keep, dryRun, revisions, marks: [...marks], ledgers, sweep, found: NOTHING };
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

/** List some pages and remove what may go, with the fence up from before the list to after it. */
async function sweep(bucket: R2Bucket, state: State, wish: Wish): Promise<Response> {
  const began = Date.now();
  if (!wish.dryRun) {
    await writeFence(bucket, began + LIMITS.fenceMs);
    // Read again behind the fence: no head has moved since the marks, and none can now.
    if ((await liveRevision(bucket)) !== state.head) {
      await writeFence(bucket, 0);
      return answer("mark", state, wish);
    }
  }
  let { prefix, cursor } = state.sweep;
  let { looked, removed, bytes } = state.found;
  const reachable = { marks: new Set(state.marks), revisions: new Set(state.revisions) };
  for (let page = 0; page < LIMITS.pagesAtOnce && prefix < PREFIXES.length; page += 1) {
    if (Date.now() - began > LIMITS.collectMs) break;
    const listed = await bucket.list({ prefix: PREFIXES[prefix] ?? "", ...(cursor !== null && { cursor }) });
    const garbage = listed.objects.filter(
      (object) =>
        began - object.uploaded.getTime() > LIMITS.collectAgeMs && !isReachable(object.key, reachable),
    );
    // Not when the list took so long that the fence may be down.
    if (Date.now() - began > LIMITS.collectMs) break;
    if (garbage.length > 0 && !wish.dryRun) await bucket.delete(garbage.map(({ key }) => key));
    looked += listed.objects.length;
    removed += garbage.length;
    bytes += garbage.reduce((sum, { size }) => sum + size, 0);
    cursor = listed.truncated ? listed.cursor : null;
    if (cursor === null) prefix += 1;
  }
  if (!wish.dryRun) await writeFence(bucket, 0);
  const next = { ...state, sweep: { prefix, cursor }, found: { looked, removed, bytes } };
  if (prefix < PREFIXES.length) return save(bucket, next, "sweep", wish);
  await bucket.delete(STATE_KEY);
  return answer("done", next, wish);
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
