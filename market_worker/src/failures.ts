/**
 * Failed attempts, per address and minute. The count lives in the memory of one isolate, so it
 * slows a guesser down; where the account binds a rate limiter, that counts for the whole
 * location. What keeps a guesser out are the 256 random bits of a token.
 */

import { type Env, LIMITS } from "./env";

const MINUTE = 60_000;
const REMEMBERED = 10_000;

const failures = new Map<string, { since: number; count: number }>();

/** Return whose attempts are counted together: one who has an IPv6 address has 2^64 of them. */
export function addressOf(request: Request): string {
  const address = request.headers.get("cf-connecting-ip") ?? "";
  return address.includes(":") ? address.split(":").slice(0, 4).join(":") : address;
}

/** Return for how many seconds an address has to wait. */
export function blockedFor(address: string, now: number): number {
  const entry = failures.get(address);
  if (!entry || now - entry.since >= MINUTE || entry.count < LIMITS.failuresPerMinute) return 0;
  return Math.ceil((MINUTE - (now - entry.since)) / 1000);
}

/** Count one more; return whether it is still within the limit of the location. */
export async function noteFailure(address: string, now: number, env: Env): Promise<boolean> {
  const entry = failures.get(address);
  if (entry && now - entry.since < MINUTE) {
    entry.count += 1;
  } else {
    failures.delete(address);
    failures.set(address, { since: now, count: 1 });
    // A map keeps the order of insertion: the oldest goes, not all, whoever sends from where.
    const [oldest] = failures.keys();
    if (failures.size > REMEMBERED && oldest !== undefined) failures.delete(oldest);
  }
  return env.FAILURES ? (await env.FAILURES.limit({ key: address })).success : true;
}
