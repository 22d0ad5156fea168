/**
 * Failed attempts, per address and minute. The count lives in the memory of one isolate, so it
 * slows a guesser down; where the account binds a rate limiter, that counts for the whole
 * location. What keeps a guesser out are the 256 random bits of a token.
 */

import { type Env, LIMITS } from "./env";

const MINUTE = 60_000;
const REMEMBERED = 10_000;
/** Of 16 bits each, in an IPv6 address. */
const GROUPS = 8;

const failures = new Map<string, { since: number; count: number }>();

/** Return whose attempts are counted together: one who has an IPv6 address has 2^64 of them. */
export function addressOf(request: Request): string {
  const address = request.headers.get("cf-connecting-ip") ?? "";
  return address.includes(":") ? networkOf(address) : address;
}

/** Return the first 64 bits of an IPv6 address; of one that stands for an IPv4 address, that one. */
function networkOf(address: string): string {
  const [before = "", after] = address.split("::", 2);
  const groups = (text: string): string[] => text.split(":").filter((group) => group !== "");
  const [head, tail] = [groups(before), groups(after ?? "")];
  const last = [...head, ...tail].at(-1) ?? "";
  if (last.includes(".")) return last;
  const zeros = after === undefined ? 0 : Math.max(0, GROUPS - head.length - tail.length);
  return [...head, ...Array<string>(zeros).fill("0"), ...tail]
    .slice(0, GROUPS / 2)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
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
