/**
 * An object as a difference from the one that it replaces: bytes to copy out of that, and texts
 * that are new. olares_apps/market/differences.py makes them; nothing is parsed but the steps.
 */

import { type Bytes, TooLarge, concat, decode, encode } from "./bytes";
import { LIMITS } from "./env";

/** The content type of a body that holds steps. */
export const DIFFERENCE = "application/vnd.olapps.difference+json";

/** Steps that cannot be done with their base. */
export class Impossible extends Error {}

/** Do the steps of `text` with `base`; throws Impossible, and TooLarge before anything is copied. */
export function assemble(base: Bytes, text: Bytes, limit: number): Bytes {
  const parts = readSteps(text).map((step, index) => part(base, step, index));
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  if (size > limit) throw new TooLarge(size, limit);
  return concat(parts);
}

function readSteps(text: Bytes): readonly unknown[] {
  let steps: unknown;
  try {
    steps = JSON.parse(decode(text));
  } catch {
    throw new Impossible("the difference is no JSON");
  }
  if (!Array.isArray(steps)) throw new Impossible("the difference is no list of steps");
  const most = LIMITS.differenceSteps;
  if (steps.length > most) throw new Impossible(`the difference has ${steps.length} steps, limit ${most}`);
  return steps;
}

/** Return what a step adds: a view of the base, or the bytes of a text. */
function part(base: Bytes, step: unknown, index: number): Bytes {
  if (typeof step === "string") return encode(step);
  if (Array.isArray(step) && step.length === 2) {
    const [offset, length] = step as readonly unknown[];
    // Both are whole numbers below 2^53 here, and so is their difference.
    if (isCount(offset) && isCount(length) && offset <= base.length && length <= base.length - offset) {
      return base.subarray(offset, offset + length);
    }
  }
  throw new Impossible(`step ${index} is no text, and no part of the ${base.length} bytes of the base`);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
