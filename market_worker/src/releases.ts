/** Which set of answers a device gets: a lookup in the generations that the head names. */

import type { Window } from "./records";

export const ANY = "any";
export const NONE = "none";
/** The version that a device falls back to when it cannot tell its own (contract 2.1). */
export const FALLBACK = "1.12.3";

export type Release = readonly [number, number, number];

const RELEASE = /^v?(\d{1,5})\.(\d{1,5})\.(\d{1,5})(?:[-+][\w.+-]{1,40})?$/;
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;
const VERSION_CHARACTERS = 16;

function numbers(found: RegExpExecArray | null): Release | null {
  return found && [Number(found[1]), Number(found[2]), Number(found[3])];
}

/** Return an Olares release's numbers, or null when the text names none. */
export function parseRelease(text: string | undefined): Release | null {
  return numbers(RELEASE.exec(text ?? ""));
}

/** Return an archive's version numbers, or null for another form than MAJOR.MINOR.PATCH. */
export function parseVersion(text: string): Release | null {
  return text.length <= VERSION_CHARACTERS ? numbers(VERSION.exec(text)) : null;
}

/** Return a number below, at or above 0, as `a` is below, equal to or above `b`. */
export function compare(a: Release, b: Release): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** Return the name of the set that a device of `release` is answered from. */
export function setFor(windows: readonly Window[], release: Release): string {
  const found = windows.find((window) => {
    const first = parseRelease(window.first);
    const before = window.before === null ? null : parseRelease(window.before);
    return first && compare(first, release) <= 0 && (!before || compare(release, before) < 0);
  });
  return found?.name ?? NONE;
}
