/** The records of a market, as olares_apps/market/{records,entries}.py write them. */

import { count, digest, listOf, mapOf, nullable, object, oneOf, type Shape, struct, text, time } from "./shape";

export const HEAD_KEY = "head.json";
export const FILES = "files.json";
/** The answers of the pages for people, there when at least one app on offer has one. */
export const PAGE_ROUTES = "pages.json";
export const PAGES = [PAGE_ROUTES, "pages/index.html", "pages/leaderboard.html"] as const;

export interface Window {
  readonly name: string;
  readonly first: string;
  readonly before: string | null;
  readonly constraint: string;
}

export interface Head {
  readonly schema: number;
  readonly revision: string;
  readonly hash: string;
  readonly updated: string;
  readonly apps: number;
  readonly source: string;
  readonly label: string;
  readonly generations: readonly Window[];
  readonly answers: Readonly<Record<string, string>>;
}

/** What the lists of a market show of an archive. */
export interface Card {
  readonly description: string;
  readonly icon: string;
  readonly categories: readonly string[];
  readonly cfg_type: string;
  readonly featured_image: string;
  readonly labels: readonly string[];
}

export interface Archive {
  readonly version: string;
  readonly sha256: string;
  readonly size: number;
  readonly detail: string;
  /** In ms. */
  readonly published: number;
  readonly card: Card;
}

export interface StoredFile {
  readonly sha256: string;
  readonly size: number;
  readonly type: string;
}

export interface App {
  readonly id: string;
  readonly title: string;
  /** Only a live app is on offer; a listed one has a page that says why it cannot be installed. */
  readonly state: "live" | "listed" | "removed";
  readonly greatest: string;
  /** When its offer last changed, in ms. */
  readonly modified: number;
  readonly ledger: string;
  readonly current: Readonly<Record<string, Archive>>;
  readonly icon: StoredFile | null;
  readonly page?: Page;
}

/** The page of an app for people; there where its publisher prepared one. */
export interface Page {
  readonly facts: string;
  readonly html: StoredFile;
  readonly csp: string;
  readonly share: StoredFile;
}

/** What one revision did to one app: versions per generation before and after. */
export interface Change {
  readonly app: string;
  readonly before: Readonly<Record<string, string>>;
  readonly after: Readonly<Record<string, string>>;
}

export interface Revision {
  readonly parent: string | null;
  readonly created: string;
  readonly source: {
    readonly id: string;
    readonly label: string;
    readonly icon: string;
    readonly modified: number;
  };
  readonly generations: readonly Window[];
  readonly apps: Readonly<Record<string, App>>;
  readonly action: string;
  readonly changes: readonly Change[];
  readonly hash: string;
  readonly answers: Readonly<Record<string, string>>;
}

export interface Ledger {
  readonly app: string;
  readonly charts: Readonly<Record<string, Archive>>;
}

/** How a path for people is served: an answer of the revision or a blob, its type and its policy. */
export type Routes = Readonly<Record<string, Route>>;
export type Route = { readonly type: string; readonly csp: string } & (
  | { readonly answer: string }
  | { readonly answer?: undefined; readonly blob: string }
);

export interface Files {
  readonly ledgers: Readonly<Record<string, string>>;
  readonly icons: Readonly<Record<string, StoredFile>>;
}

const schema = oneOf(1);
const file = { sha256: digest, size: count, type: text };
const archive = {
  version: text,
  sha256: digest,
  size: count,
  tar_sha256: digest,
  content: digest,
  detail: digest,
  published: count,
  card: struct({
    description: text,
    icon: text,
    categories: listOf(text),
    cfg_type: text,
    featured_image: text,
    labels: listOf(text),
  }),
};
const page = struct({
  facts: digest,
  html: struct(file),
  csp: text,
  share: struct(file),
  brief: object,
});
const app = struct(
  {
    id: text,
    title: text,
    state: oneOf("live", "listed", "removed"),
    greatest: text,
    modified: count,
    ledger: digest,
    current: mapOf(struct(archive)),
    icon: nullable(struct(file)),
    notes: text,
  },
  { page },
);
const change = struct({ app: text, action: text, before: mapOf(text), after: mapOf(text) });

export const LEDGER: Shape = struct({
  schema,
  app: text,
  charts: mapOf(struct({ generation: text, ...archive })),
});

export const REVISION: Shape = struct({
  schema,
  parent: nullable(digest),
  created: time,
  action: oneOf("publish", "republish", "rollback", "remove"),
  publisher: text,
  note: text,
  restores: nullable(digest),
  source: struct({ id: text, label: text, icon: text, modified: count }),
  generations: listOf(struct({ name: text, first: text, before: nullable(text), constraint: text })),
  apps: mapOf(app),
  changes: listOf(change),
  hash: digest,
  answers: mapOf(digest),
});

export function archiveName(name: string, version: string): string {
  return `${name}-${version}.tgz`;
}

export function blobKey(sha256: string): string {
  return `blobs/sha256/${sha256}`;
}

export function revisionKey(identity: string): string {
  return `revisions/${identity}.json`;
}

/** Return the key of what was checked so far of a revision; no publisher can write there. */
export function checksKey(identity: string): string {
  return `checks/${identity}.json`;
}

export function answerKey(identity: string, path: string): string {
  return `responses/${identity}/${path}`;
}

/** Return the head that makes a revision the live one: everything in it follows from it. */
export function headOf(identity: string, revision: Revision): Head {
  return {
    schema: 1,
    revision: identity,
    hash: revision.hash,
    updated: revision.created,
    apps: Object.values(revision.apps).filter((entry) => entry.state === "live").length,
    source: revision.source.id,
    label: revision.source.label,
    generations: revision.generations,
    answers: revision.answers,
  };
}
