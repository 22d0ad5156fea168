/** Reading the bucket: every object proves itself, and is kept while the isolate lives. */

import { type Bytes, decode, sha256 } from "./bytes";
import { LIMITS } from "./env";
import { canonical } from "./json";
import {
  FILES,
  HEAD_KEY,
  PAGE_ROUTES,
  type Files,
  type Head,
  type Routes,
  answerKey,
  blobKey,
  revisionKey,
} from "./records";

/** An object that is missing, or does not hold what its name promises. */
export class Damaged extends Error {}

/** What an isolate remembers, by digest: such an object never changes, so it is never stale. */
export class Memory<T> {
  readonly #entries = new Map<string, { value: T; size: number }>();
  #size = 0;

  constructor(readonly limit: number) {}

  get(digest: string): T | undefined {
    const entry = this.#entries.get(digest);
    if (!entry) return undefined;
    // A map keeps the order of insertion: what was used last goes to the end.
    this.#entries.delete(digest);
    this.#entries.set(digest, entry);
    return entry.value;
  }

  set(digest: string, value: T, size: number): void {
    if (size > this.limit || this.#entries.has(digest)) return;
    this.#entries.set(digest, { value, size });
    this.#size += size;
    for (const [oldest, entry] of this.#entries) {
      if (this.#size <= this.limit) break;
      this.#entries.delete(oldest);
      this.#size -= entry.size;
    }
  }
}

const bodies = new Memory<Bytes>(LIMITS.cacheBytes);
const documents = new Memory<unknown>(LIMITS.cacheBytes);

/** Return an object whose digest is known; throws Damaged. `what` says in messages what it is. */
export async function read(
  bucket: R2Bucket,
  key: string,
  digest: string,
  what: string,
): Promise<Bytes> {
  return bodies.get(digest) ?? (await prove(bucket, key, digest, what));
}

/** Read an object from the bucket, whatever is remembered: it is there, and right; or Damaged. */
export async function prove(
  bucket: R2Bucket,
  key: string,
  digest: string,
  what: string,
): Promise<Bytes> {
  const object = await bucket.get(key);
  if (!object) throw new Damaged(`${key} is missing (${what})`);
  const body = new Uint8Array(await object.arrayBuffer());
  const found = await sha256(body);
  if (found !== digest) {
    throw new Damaged(`${key} is damaged (${what}): its sha256 is ${found}, expected ${digest}`);
  }
  bodies.set(digest, body, body.length);
  return body;
}

/** Return the value of a JSON object whose digest is known; throws Damaged. */
export async function readJson<T>(
  bucket: R2Bucket,
  key: string,
  digest: string,
  what: string,
): Promise<T> {
  const kept = documents.get(digest);
  if (kept !== undefined) return kept as T;
  const body = await read(bucket, key, digest, what);
  const value = parse<T>(body, key);
  documents.set(digest, value, body.length);
  return value;
}

/** Return the value of a stored JSON text; throws Damaged. */
export function parse<T>(body: Bytes, what: string): T {
  try {
    return JSON.parse(decode(body)) as T;
  } catch {
    throw new Damaged(`${what} is no JSON`);
  }
}

/**
 * Return the value of a record; throws Damaged when it has another text too. Python refuses a key
 * that stands twice and a number that is not whole, where JavaScript takes both.
 */
export function strict<T>(body: Bytes, what: string): T {
  const value = parse<T>(body, what);
  if (!isCanonical(value, decode(body))) throw new Damaged(`the ${what} is not in canonical form`);
  return value;
}

function isCanonical(value: unknown, text: string): boolean {
  try {
    // Names that are numbers change their places when they are read; the canonical text has them right.
    return JSON.stringify(value) === text || canonical(value) === text;
  } catch {
    // Nested so deep that the stack ends.
    return false;
  }
}

/** Return a revision by its name; throws Damaged. */
export function readRevision<T>(bucket: R2Bucket, identity: string): Promise<T> {
  return readJson<T>(bucket, revisionKey(identity), identity, "revision");
}

let cached: { head: Head; etag: string; at: number } | null = null;

/** Return the live head, at most `maxAge` ms old; null when nothing was published yet. */
export async function readHead(bucket: R2Bucket, maxAge: number): Promise<Head | null> {
  const fresh = freshHead(maxAge);
  if (fresh) return fresh;
  const known = cached;
  const changed = known ? { onlyIf: { etagDoesNotMatch: known.etag } } : {};
  const object = await bucket.get(HEAD_KEY, changed);
  if (!object) return null;
  if (known && !("body" in object)) {
    rememberHead(known.head, known.etag);
    return known.head;
  }
  const body = new Uint8Array(await (object as R2ObjectBody).arrayBuffer());
  const head = parse<Head>(body, HEAD_KEY);
  rememberHead(head, object.etag);
  return head;
}

/** Return the head that an isolate may use without asking, at most `maxAge` ms old, or null. */
export function freshHead(maxAge: number): Head | null {
  return cached && Date.now() - cached.at < maxAge ? cached.head : null;
}

/** Use a head that was just seen in the bucket. */
export function rememberHead(head: Head, etag: string): void {
  cached = { head, etag, at: Date.now() };
}

/** One revision, as the read side looks things up in it. */
export class Snapshot {
  constructor(
    readonly bucket: R2Bucket,
    readonly head: Head,
  ) {}

  answer(path: string): Promise<Bytes> {
    const digest = this.head.answers[path] ?? "";
    return read(this.bucket, answerKey(this.head.revision, path), digest, "prepared answer");
  }

  document<T>(path: string): Promise<T> {
    const digest = this.head.answers[path] ?? "";
    const key = answerKey(this.head.revision, path);
    return readJson<T>(this.bucket, key, digest, "prepared answer");
  }

  blob(digest: string, what: string): Promise<Bytes> {
    return read(this.bucket, blobKey(digest), digest, what);
  }

  blobDocument<T>(digest: string, what: string): Promise<T> {
    return readJson<T>(this.bucket, blobKey(digest), digest, what);
  }

  /** Return how the paths for people are served; none in a market without pages. */
  async pages(): Promise<Routes> {
    if (!Object.hasOwn(this.head.answers, PAGE_ROUTES)) return {};
    return (await this.document<{ routes: Routes }>(PAGE_ROUTES)).routes;
  }

  files(): Promise<Files> {
    return this.document<Files>(FILES);
  }
}
