/**
 * The answers for devices, as they follow from a revision: what a publisher prepares is compared
 * with these, byte by byte, so no publisher can say anything of an app that its entry does not
 * say (olares_apps/market/{prepare,documents,documents_v2}.py make the same).
 */

import { encode, sha256 } from "./bytes";
import { type Offer, type View, setNames, view } from "./catalogue";
import tables from "./contract.json";
import { CATEGORY_ICON, LANGUAGES, categories, frontPage, localised, timeText } from "./front_page";
import { canonical } from "./json";
import { FILES, type Files, type Revision } from "./records";
import { ANY } from "./releases";

type Json = Readonly<Record<string, unknown>>;

const { ranked: RANKED } = tables.front_page;
const V2 = ["applications.json", "catalog.json", "taxonomy.json"];
const V1 = ["details.json", "hash.json", "info.json"];

/** Return the paths of all answers for devices of a revision. */
export function devicePaths(revision: Revision): string[] {
  return [FILES, ...setNames(revision).flatMap((set) => filesOf(set).map((file) => `${set}/${file}`))];
}

/** Return the names of the answers of a set. */
export function filesOf(set: string): readonly string[] {
  return set === ANY ? V2 : [...V2, ...V1];
}

/** Return the digest of everything that a device of a set can get; no clock takes part. */
export function hashOf(revision: Revision, set: string): Promise<string> {
  const seen = view(revision, set);
  const objects = seen.offers.map(({ name, app, archive }) => [
    name,
    {
      id: app.id,
      version: archive.version,
      chart: archive.sha256,
      detail: archive.detail,
      labels: archive.card.labels,
      icon: app.icon?.sha256 ?? null,
    },
  ]);
  const visible = { info: infoData(seen, false), taxonomy: taxonomy(seen, false), items: items(seen, false) };
  return sha256(encode(canonical({ objects: Object.fromEntries(objects), visible })));
}

/** Return the answers of a set, whose hash is `hash`, as texts by path. */
export function answersOf(revision: Revision, set: string, hash: string): ReadonlyMap<string, string> {
  const seen = view(revision, set);
  const change = { hash, last_updated: revision.created };
  const documents: Record<string, Json> = {
    "catalog.json": {
      schema_version: "v2",
      taxonomy_last_modify_time: seen.modified,
      apps_last_modify_time: seen.modified,
      apps_filter_digest: hash,
    },
    "taxonomy.json": taxonomy(seen, true),
    "applications.json": applications(seen),
    "hash.json": change,
    "info.json": { ...change, data: infoData(seen, true) },
    "details.json": Object.fromEntries(seen.offers.map(({ app, archive }) => [app.id, archive.detail])),
  };
  return new Map(filesOf(set).map((file) => [`${set}/${file}`, canonical(documents[file])]));
}

/** Return the answer that holds for every set: which ledger and which icon an app has. */
export function filesAnswer(revision: Revision): Files {
  const apps = Object.entries(revision.apps);
  return {
    ledgers: Object.fromEntries(apps.map(([name, app]) => [name, app.ledger])),
    icons: Object.fromEntries(apps.flatMap(([name, app]) => (app.icon ? [[name, app.icon]] : []))),
  };
}

function infoData(seen: View, stamps: boolean): Json {
  const newest = seen.newestFirst.map(({ name }) => name);
  return {
    apps: Object.fromEntries(seen.offers.map((offer) => [offer.app.id, summary(offer, stamps)])),
    latest: newest,
    tops: newest.slice(0, RANKED).map((appId, index) => ({ appId, rank: index + 1 })),
    ...frontPage(seen, stamps),
  };
}

function summary({ name, app, archive }: Offer, stamps: boolean): Json {
  const { card } = archive;
  return {
    id: app.id,
    name,
    title: app.title,
    version: archive.version,
    category: card.categories[0] ?? "",
    categories: card.categories,
    description: card.description,
    icon: card.icon,
    ...(stamps ? { updated_at: timeText(archive.published) } : {}),
  };
}

function taxonomy(seen: View, stamps: boolean): Json {
  const { source } = seen.revision;
  const names = [...categories(seen).keys()];
  return {
    source: {
      source_id: source.id,
      short_label: source.label,
      display_name: localised(source.label),
      icon: source.icon || CATEGORY_ICON,
      is_official: false,
    },
    languages: Object.entries(LANGUAGES).map(([code, name], index) => ({
      code,
      display_name: name,
      sort: index + 1,
      enabled: true,
    })),
    categories: names.map((name, index) => ({
      id: name,
      builtin: false,
      sort: index + tables.front_page.first_sort,
      icon: CATEGORY_ICON,
      title: localised(name),
      description: {},
    })),
    nav: names,
    pages: names.map((name) => ({ category_id: name, items: [{ id: "all", type: "all" }] })),
    tags: [],
    topic_lists: [],
    topics: [],
    recommends: [],
    ...(stamps ? { last_modify_time: seen.modified } : {}),
  };
}

function applications(seen: View): Json {
  const listed = items(seen, true);
  return {
    items: listed,
    removed: [],
    has_more: false,
    max_last_modify_time: seen.modified,
    total: listed.length,
    page: 1,
    page_size: listed.length,
  };
}

function items(seen: View, stamps: boolean): Json[] {
  return seen.offers.map(({ name, app, archive: { version, card }, constraint }) => ({
    app_id: app.id,
    name,
    title: app.title,
    version,
    icon: card.icon,
    featured_image: card.featured_image,
    cfg_type: card.cfg_type,
    categories: card.categories,
    categories_v2: card.categories,
    tags: [],
    app_labels: card.labels,
    olares_version_constraint: constraint,
    ...(stamps
      ? { last_modify_time: app.modified, updated_at: Math.floor(app.modified / 1000) }
      : {}),
  }));
}
