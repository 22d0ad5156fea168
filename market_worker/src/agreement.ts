/**
 * Do the prepared answers of a revision belong to it, and does a device take them? Every answer
 * is read, proved and decoded, and the lists, digests and hashes in it are compared with the
 * catalogue. The publisher has done the same (olares_apps/market/agreement.py).
 */

import { same } from "./json";
import type { Bytes } from "./bytes";
import { decodes } from "./contract";
import { FILES, PAGES, PAGE_ROUTES, type Archive, type Files, type Revision, answerKey } from "./records";
import { ANY, NONE, compare, parseVersion } from "./releases";
import { prove, strict } from "./storage";

interface Offer {
  readonly name: string;
  readonly id: string;
  readonly archive: Archive;
}

const V2 = ["applications.json", "catalog.json", "taxonomy.json"];
const V1 = ["details.json", "hash.json", "info.json"];

/** A part of an examination that one request can do: `cost` is how often it asks R2 at most. */
export interface Part {
  readonly name: string;
  readonly cost: number;
  readonly run: () => Promise<void>;
}

/** Return the checks of the answers of a revision; they add what is wrong to `problems`. */
export function answerParts(
  bucket: R2Bucket,
  identity: string,
  revision: Revision,
  problems: string[],
): Part[] {
  const sets = [...revision.generations.map((window) => window.name), ANY, NONE];
  const common = [FILES, ...pagesOf(revision)];
  const paths = [...common, ...sets.flatMap((set) => filesOf(set).map((file) => `${set}/${file}`))];
  if (!same(paths.sort(), Object.keys(revision.answers).sort())) {
    problems.push("the answers are not those of its generations");
    return [];
  }
  // Not from memory: an answer of an older revision may have the same bytes under another key.
  const body = (path: string): Promise<Bytes> =>
    prove(bucket, answerKey(identity, path), revision.answers[path] ?? "", "prepared answer");
  const part = (name: string, files: readonly string[], check: (read: Read) => void): Part => ({
    name,
    cost: files.length,
    run: async () => {
      const bodies = await Promise.all(files.map(body));
      const documents = new Map<string, unknown>();
      check((path) => {
        const known = documents.get(path) ?? strict(bodies[files.indexOf(path)] ?? EMPTY, path);
        documents.set(path, known);
        return known;
      });
    },
  });
  return [
    part("files", common, (read) => {
      if (!same(read(FILES), filesAnswer(revision))) problems.push(`${FILES} is not that of the catalogue`);
      if (common.length > 1) checkRoutes(revision, read(PAGE_ROUTES), problems);
    }),
    ...sets.map((set) => {
      const files = filesOf(set).map((file) => `${set}/${file}`);
      return part(`set ${set}`, files, (read) => checkSet(set, offersOf(revision, set), read, problems));
    }),
  ];
}

type Read = (path: string) => unknown;

const EMPTY = new Uint8Array();
const HTML = "text/html; charset=utf-8";

function pagesOf(revision: Revision): readonly string[] {
  return Object.values(revision.apps).some((app) => app.page && app.state !== "removed") ? PAGES : [];
}

/** What is served to people is a page or picture of an app that is shown, under its own path only. */
function checkRoutes(revision: Revision, document: unknown, problems: string[]): void {
  const { routes = {} } = (document ?? {}) as { readonly routes?: Readonly<Record<string, unknown>> };
  const expected: Record<string, Readonly<Record<string, unknown>>> = {
    "/": { answer: PAGES[1] },
    "/leaderboard": { answer: PAGES[2] },
  };
  for (const [name, { page, state }] of Object.entries(revision.apps)) {
    if (!page || state === "removed") continue;
    expected[`/apps/${name}`] = { blob: page.html.sha256, type: page.html.type, csp: page.csp };
    expected[`/share/${name}.png`] = { blob: page.share.sha256, type: page.share.type };
  }
  if (!same(Object.keys(expected).sort(), Object.keys(routes).sort())) {
    problems.push(`${PAGE_ROUTES} does not name the pages on offer`);
    return;
  }
  for (const [path, wanted] of Object.entries(expected)) {
    const route = (routes[path] ?? {}) as Readonly<Record<string, unknown>>;
    const { type, csp } = route;
    const strictly = typeof csp === "string" && csp.startsWith("default-src 'none'");
    const known = typeof type === "string" && (type === HTML || /^image\/(?:png|webp)$/.test(type));
    if (!strictly || !known || !same({ ...route, ...wanted }, route)) {
      problems.push(`${PAGE_ROUTES}: ${path} is not served as its app says`);
    }
  }
}

function filesAnswer(revision: Revision): Files {
  const apps = Object.entries(revision.apps);
  return {
    ledgers: Object.fromEntries(apps.map(([name, app]) => [name, app.ledger])),
    icons: Object.fromEntries(apps.flatMap(([name, app]) => (app.icon ? [[name, app.icon]] : []))),
  };
}

function filesOf(set: string): readonly string[] {
  return set === ANY ? V2 : [...V2, ...V1];
}

function offersOf(revision: Revision, set: string): Offer[] {
  const offers: Offer[] = [];
  for (const [name, { id, current }] of Object.entries(revision.apps)) {
    const archive = set === ANY ? newest(Object.values(current)) : current[set];
    if (archive) offers.push({ name, id, archive });
  }
  return offers;
}

function newest(archives: readonly Archive[]): Archive | undefined {
  const order = (a: Archive): readonly [number, number, number] => parseVersion(a.version) ?? [0, 0, 0];
  return [...archives].sort((a, b) => compare(order(b), order(a)))[0];
}

interface Info {
  readonly hash?: unknown;
  readonly data?: { readonly apps?: Readonly<Record<string, { id?: unknown; version?: unknown } | null>> };
}

function checkSet(set: string, offers: readonly Offer[], read: Read, problems: string[]): void {
  for (const file of filesOf(set)) {
    const path = `${set}/${file}`;
    const faults: string[] = [];
    decodes(file, read(path), path, faults);
    problems.push(...faults);
    // What has another form cannot be compared with anything.
    if (faults.length > 0) return;
  }
  const document = <T>(path: string): T => (read(path) ?? {}) as T;
  const expected = Object.fromEntries(offers.map(({ id, archive }) => [id, archive.version]));
  const catalog = document<{ apps_filter_digest?: unknown }>(`${set}/catalog.json`);
  const list = document<{ items?: readonly ({ app_id?: unknown; version?: unknown } | null)[] }>(
    `${set}/applications.json`,
  );
  const listed = Object.fromEntries((list.items ?? []).map((item) => [item?.app_id, item?.version]));
  if (!same(listed, expected)) problems.push(`${set}/applications.json does not list what is on offer`);
  if (set === ANY) return;
  const info = document<Info>(`${set}/info.json`);
  const change = document<{ hash?: unknown }>(`${set}/hash.json`);
  const apps = Object.entries(info.data?.apps ?? {});
  if (!apps.every(([key, entry]) => entry?.id === key)) {
    problems.push(`${set}/info.json: data.apps holds a key that is not its entry's id`);
  }
  if (!same(Object.fromEntries(apps.map(([key, entry]) => [key, entry?.version])), expected)) {
    problems.push(`${set}/info.json does not list what is on offer`);
  }
  const details = Object.fromEntries(offers.map(({ id, archive }) => [id, archive.detail]));
  if (!same(document(`${set}/details.json`), details)) {
    problems.push(`${set}/details.json does not name the details on offer`);
  }
  if (!info.hash || info.hash !== change.hash || info.hash !== catalog.apps_filter_digest) {
    problems.push(`${set}: hash, info and catalog do not carry the same hash`);
  }
}
