/** What one set of devices sees of a revision (olares_apps/market/catalogue.py). */

import { order } from "./json";
import type { App, Archive, Revision } from "./records";
import { ANY, NONE, compare, parseVersion } from "./releases";

export interface Offer {
  readonly name: string;
  readonly app: App;
  readonly archive: Archive;
  readonly constraint: string;
}

/** A revision as one set of devices sees it. */
export interface View {
  readonly set: string;
  readonly revision: Revision;
  /** By name. */
  readonly offers: readonly Offer[];
  /** By time of publishing, newest first, ties by name. */
  readonly newestFirst: readonly Offer[];
  /** When the list last changed, in ms: an app came, changed or was removed. */
  readonly modified: number;
}

/** Return the names of all sets of answers. */
export function setNames({ generations }: Revision): string[] {
  return [...generations.map((window) => window.name), ANY, NONE];
}

/** Return what the set called `set` offers. */
export function view(revision: Revision, set: string): View {
  const offers: Offer[] = [];
  for (const [name, app] of Object.entries(revision.apps).sort(([a], [b]) => order(a, b))) {
    const served = revision.generations.flatMap(({ name: generation, constraint }) => {
      const archive = Object.hasOwn(app.current, generation) ? app.current[generation] : undefined;
      return archive && (set === ANY || set === generation) ? [{ name, app, archive, constraint }] : [];
    });
    const offer = served.sort((a, b) => byVersion(b.archive, a.archive))[0];
    if (offer) offers.push(offer);
  }
  return {
    set,
    revision,
    offers,
    newestFirst: [...offers].sort(
      (a, b) => b.archive.published - a.archive.published || order(a.name, b.name),
    ),
    modified: Object.values(revision.apps).reduce(
      (latest, { modified }) => Math.max(latest, modified),
      revision.source.modified,
    ),
  };
}

function byVersion(a: Archive, b: Archive): number {
  return compare(parseVersion(a.version) ?? [0, 0, 0], parseVersion(b.version) ?? [0, 0, 0]);
}
