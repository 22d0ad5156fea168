/**
 * Do the prepared answers of a revision belong to it? The publisher decodes them as a device
 * does (olares_apps/market/agreement.py); here every answer is read and proved, and the lists,
 * digests and hashes in it are compared with the catalogue.
 */

import { same } from "./json";
import { FILES, PAGES, type Archive, type Revision, answerKey } from "./records";
import { ANY, NONE, compare, parseVersion } from "./releases";
import { prove, readJson } from "./storage";

interface Offer {
  readonly name: string;
  readonly id: string;
  readonly archive: Archive;
}

const V2 = ["applications.json", "catalog.json", "taxonomy.json"];
const V1 = ["details.json", "hash.json", "info.json"];

/** Add what is wrong to `problems`; throws Damaged for an answer that is missing or damaged. */
export async function agreement(
  bucket: R2Bucket,
  identity: string,
  revision: Revision,
  problems: string[],
): Promise<void> {
  const sets = [...revision.generations.map((window) => window.name), ANY, NONE];
  const pages = Object.values(revision.apps).some((app) => app.page && app.state === "live") ? PAGES : [];
  const paths = [FILES, ...pages, ...sets.flatMap((set) => filesOf(set).map((file) => `${set}/${file}`))];
  if (!same(paths.sort(), Object.keys(revision.answers).sort())) {
    problems.push("the answers are not those of its generations");
    return;
  }
  const digest = (path: string): string => revision.answers[path] ?? "";
  await Promise.all(
    // Not from memory: an answer of an older revision may have the same bytes under another key.
    paths.map((path) => prove(bucket, answerKey(identity, path), digest(path), "prepared answer")),
  );
  const document = <T>(path: string): Promise<T> =>
    readJson<T>(bucket, answerKey(identity, path), digest(path), "prepared answer");

  const apps = Object.entries(revision.apps);
  const files = {
    ledgers: Object.fromEntries(apps.map(([name, app]) => [name, app.ledger])),
    icons: Object.fromEntries(apps.flatMap(([name, app]) => (app.icon ? [[name, app.icon]] : []))),
  };
  if (!same(await document(FILES), files)) problems.push(`${FILES} is not that of the catalogue`);
  for (const set of sets) await checkSet(set, offersOf(revision, set), document, problems);
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
  readonly data?: { readonly apps?: Readonly<Record<string, { id?: unknown; version?: unknown }>> };
}

async function checkSet(
  set: string,
  offers: readonly Offer[],
  document: <T>(path: string) => Promise<T>,
  problems: string[],
): Promise<void> {
  const expected = Object.fromEntries(offers.map(({ id, archive }) => [id, archive.version]));
  const catalog = await document<{ apps_filter_digest?: unknown }>(`${set}/catalog.json`);
  const list = await document<{ items?: readonly { app_id?: unknown; version?: unknown }[] }>(
    `${set}/applications.json`,
  );
  const listed = Object.fromEntries((list.items ?? []).map((item) => [item.app_id, item.version]));
  if (!same(listed, expected)) problems.push(`${set}/applications.json does not list what is on offer`);
  if (set === ANY) return;
  const info = await document<Info>(`${set}/info.json`);
  const change = await document<{ hash?: unknown }>(`${set}/hash.json`);
  const apps = Object.entries(info.data?.apps ?? {});
  if (!apps.every(([key, entry]) => entry.id === key)) {
    problems.push(`${set}/info.json: data.apps holds a key that is not its entry's id`);
  }
  if (!same(Object.fromEntries(apps.map(([key, entry]) => [key, entry.version])), expected)) {
    problems.push(`${set}/info.json does not list what is on offer`);
  }
  const details = Object.fromEntries(offers.map(({ id, archive }) => [id, archive.detail]));
  if (!same(await document(`${set}/details.json`), details)) {
    problems.push(`${set}/details.json does not name the details on offer`);
  }
  if (!info.hash || info.hash !== change.hash || info.hash !== catalog.apps_filter_digest) {
    problems.push(`${set}: hash, info and catalog do not carry the same hash`);
  }
}
