/** What the Worker is given, and every number that limits a request. */

export interface Env {
  /** The bucket that holds the market. */
  readonly MARKET: R2Bucket;
  /** Secret: JSON list of who may write, see auth.ts. Without it the market is read only. */
  readonly TOKENS?: string;
  /** Secret: JSON of who may write with a token that a provider signed, see oidc.ts. */
  readonly OIDC?: string;
  /** Counts failed attempts for the whole location, see failures.ts; without it an isolate does. */
  readonly FAILURES?: RateLimit;
  /** Seconds, as text, for which an isolate may use a head that it has read; at most 30. */
  readonly HEAD_CACHE_SECONDS?: string;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const LIMITS = {
  /** Body of a request for details; a hundred ids need 2 KiB. */
  detailsBytes: 64 * KIB,
  /** Ids in one request for details; devices send ten (contract 2.4). */
  detailsIds: 100,
  /** What is read and dropped of a body that is too large, so that its sender gets the answer. */
  drainedBytes: 16 * MIB,
  /** Archives stay below 1 MiB, images below a few. */
  blobBytes: 8 * MIB,
  /** A device reads ten details at once: one that is too large, or nested too deep, loses ten. */
  detailBytes: MIB,
  /** Objects and lists inside each other, in a detail and in a revision, which every publisher reads. */
  depth: 100,
  /** The revision has one entry per app, so one app must not fill it. */
  entryBytes: 64 * KIB,
  /** Devices show icons of 256x256 (contract 5.6). */
  iconBytes: 512 * KIB,
  /** A thousand apps in two generations take 4 MiB. */
  revisionBytes: 16 * MIB,
  answerBytes: 16 * MIB,
  headBytes: 256 * KIB,
  /** An object that comes as a difference: the steps as JSON, and how many. */
  differenceBytes: MIB,
  differenceSteps: 10_000,
  /**
   * How often the checks of one request ask R2. With the head, both revisions, the fence, the notes
   * and the write of the result it stays below the 50 sub-requests of the free plan.
   */
  lookups: 42,
  /** How long what one request has checked counts for the next. */
  checksMs: 60 * 60 * 1000,
  headCacheSeconds: 30,
  collectBytes: KIB,
  /** Revisions that a collector keeps besides the young ones: the request may ask for more. */
  keptRevisions: 10,
  mostKeptRevisions: 20,
  /** Younger objects may belong to a publish in progress. */
  collectAgeMs: 24 * 60 * 60 * 1000,
  /** Revisions that one request of a collector looks at; each takes two sub-requests. */
  revisionsAtOnce: 20,
  /** Ledgers that one request of a collector reads, and pages of a thousand keys that it lists. */
  ledgersAtOnce: 36,
  pagesAtOnce: 10,
  /** After this time a collector's request deletes nothing more, and its fence ends. */
  collectMs: 10_000,
  fenceMs: 30_000,
  /** Objects kept in the memory of an isolate, which has 128 MiB in all. */
  cacheBytes: 20 * MIB,
  /** How far ahead of this clock a publisher's clock may be. */
  clockAheadMs: 10 * 60 * 1000,
  /** Failed attempts to authenticate that one address has per minute and isolate. */
  failuresPerMinute: 10,
} as const;

export function headCacheMs(env: Env): number {
  const seconds = Number(env.HEAD_CACHE_SECONDS ?? LIMITS.headCacheSeconds);
  return Number.isFinite(seconds) && seconds >= 0
    ? Math.min(seconds, LIMITS.headCacheSeconds) * 1000
    : LIMITS.headCacheSeconds * 1000;
}
