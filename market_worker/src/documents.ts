/**
 * The answers for devices, as they follow from a revision: what a publisher prepares is compared
 * with these, byte by byte, so no publisher can say anything of an app that its entry does not
 * say (olares_apps/market/{prepare,documents,documents_v2}.py make the same). They are canonical
 * texts: fields stand in the order of their names, since sorting them is what costs time.
 */

import { encode, sha256 } from "./bytes";
import { type Offer, type View, setNames } from "./catalogue";
import tables from "./contract.json";
import { CATEGORY_ICON, LANGUAGES, categories, frontPage, localised, timeText } from "./front_page";
import { textOfMap } from "./json";
import { FILES, type Revision } from "./records";
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
export function hashOf(seen: View): Promise<string> {
  const objects = textOfMap(
    seen.offers.map(({ name, app, archive }) => [
      name,
      JSON.stringify({
        chart: archive.sha256,
        detail: archive.detail,
        icon: app.icon?.sha256 ?? null,
        id: app.id,
        labels: archive.card.labels,
        version: archive.version,
      }),
    ]),
  );
  const visible = `{"info":${infoData(seen, false)},"items":${JSON.stringify(items(seen, false))},"taxonomy":${JSON.stringify(taxonomy(seen, false))}}`;
  return sha256(encode(`{"objects":${objects},"visible":${visible}}`));
}

/** Return the answers of a set, whose hash is `hash`, as texts by path. */
export function answersOf(seen: View, hash: string): ReadonlyMap<string, string> {
  const { set, revision } = seen;
  const change = `"hash":${JSON.stringify(hash)},"last_updated":${JSON.stringify(revision.created)}}`;
  const texts: Readonly<Record<string, () => string>> = {
    "applications.json": () => JSON.stringify(applications(seen)),
    "catalog.json": () =>
      JSON.stringify({
        apps_filter_digest: hash,
        apps_last_modify_time: seen.modified,
        schema_version: "v2",
        taxonomy_last_modify_time: seen.modified,
      }),
    "taxonomy.json": () => JSON.stringify(taxonomy(seen, true)),
    "details.json": () =>
      textOfMap(seen.offers.map(({ app, archive }) => [app.id, JSON.stringify(archive.detail)])),
    "hash.json": () => `{${change}`,
    "info.json": () => `{"data":${infoData(seen, true)},${change}`,
  };
  return new Map(filesOf(set).map((file) => [`${set}/${file}`, texts[file]?.() ?? ""]));
}

/** Return the answer that holds for every set: which ledger and which icon an app has. */
export function filesAnswer(revision: Revision): string {
  const apps = Object.entries(revision.apps);
  const icons = apps.flatMap(([name, { icon }]) => {
    if (!icon) return [];
    const { sha256: digest, size, type } = icon;
    return [[name, JSON.stringify({ sha256: digest, size, type })] as const];
  });
  const ledgers = apps.map(([name, { ledger }]) => [name, JSON.stringify(ledger)] as const);
  return `{"icons":${textOfMap(icons)},"ledgers":${textOfMap(ledgers)}}`;
}

function infoData(seen: View, stamps: boolean): string {
  const latest = seen.newestFirst.map(({ name }) => name);
  const tops = latest.slice(0, RANKED).map((appId, index) => ({ appId, rank: index + 1 }));
  const apps = textOfMap(seen.offers.map((offer) => [offer.app.id, summary(offer, stamps)]));
  const page = frontPage(seen, stamps);
  return (
    `{"apps":${apps},"latest":${JSON.stringify(latest)},"pages":${page["pages"]},"recommends":{},` +
    `"tags":${page["tags"]},"topic_lists":${page["topic_lists"]},"topics":${page["topics"]},` +
    `"tops":${JSON.stringify(tops)}}`
  );
}

function summary({ name, app, archive }: Offer, stamps: boolean): string {
  const { card } = archive;
  return JSON.stringify({
    categories: card.categories,
    category: card.categories[0] ?? "",
    description: card.description,
    icon: card.icon,
    id: app.id,
    name,
    title: app.title,
    ...(stamps ? { updated_at: timeText(archive.published) } : {}),
    version: archive.version,
  });
}

function taxonomy(seen: View, stamps: boolean): Json {
  const { source } = seen.revision;
  const names = [...categories(seen).keys()];
  return {
    categories: names.map((name, index) => ({
      builtin: false,
      description: {},
      icon: CATEGORY_ICON,
      id: name,
      sort: index + tables.front_page.first_sort,
      title: localised(name),
    })),
    languages: Object.entries(LANGUAGES).map(([code, name], index) => ({
      code,
      display_name: name,
      enabled: true,
      sort: index + 1,
    })),
    ...(stamps ? { last_modify_time: seen.modified } : {}),
    nav: names,
    pages: names.map((name) => ({ category_id: name, items: [{ id: "all", type: "all" }] })),
    recommends: [],
    source: {
      display_name: localised(source.label),
      icon: source.icon || CATEGORY_ICON,
      is_official: false,
      short_label: source.label,
      source_id: source.id,
    },
    tags: [],
    topic_lists: [],
    topics: [],
  };
}

function applications(seen: View): Json {
  const listed = items(seen, true);
  return {
    has_more: false,
    items: listed,
    max_last_modify_time: seen.modified,
    page: 1,
    page_size: listed.length,
    removed: [],
    total: listed.length,
  };
}

function items(seen: View, stamps: boolean): Json[] {
  return seen.offers.map(({ name, app, archive: { version, card }, constraint }) => ({
    app_id: app.id,
    app_labels: card.labels,
    categories: card.categories,
    categories_v2: card.categories,
    cfg_type: card.cfg_type,
    featured_image: card.featured_image,
    icon: card.icon,
    ...(stamps ? { last_modify_time: app.modified } : {}),
    name,
    olares_version_constraint: constraint,
    tags: [],
    title: app.title,
    ...(stamps ? { updated_at: Math.floor(app.modified / 1000) } : {}),
    version,
  }));
}
