/**
 * The front page that a device's market shows for a source (olares_apps/market/front_page.py), as
 * canonical text: fields stand in the order of their names.
 */

import { type Offer, type View } from "./catalogue";
import tables from "./contract.json";
import { order, textOfMap } from "./json";

const { all: ALL, all_title: ALL_TITLE, category_icon: ICON, featured: FEATURED } = tables.front_page;
const { featured_title: FEATURED_TITLE, first_sort: FIRST_SORT, languages: LANGUAGES } = tables.front_page;
const CODES = Object.keys(LANGUAGES);

export { ICON as CATEGORY_ICON, LANGUAGES };

type Json = Readonly<Record<string, unknown>>;
type Pair = readonly [string, string];

/** Return the offers of every category, newest first; categories are ordered by name. */
export function categories(view: View): Map<string, Offer[]> {
  const found = new Map<string, Offer[]>();
  for (const offer of view.newestFirst) {
    for (const category of new Set(offer.archive.card.categories)) {
      const listed = found.get(category);
      if (listed) listed.push(offer);
      else found.set(category, [offer]);
    }
  }
  return new Map([...found].sort(([a], [b]) => order(a, b)));
}

/** Return one text for every language of the device's market. */
export function localised(text: unknown): Json {
  return Object.fromEntries(CODES.map((code) => [code, text]));
}

/** Return a time in ms as RFC 3339 with nine fractional digits. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000000Z");
}

/** Return the texts of pages, tags, topic_lists and topics; the hash is taken without `stamps`. */
export function frontPage(view: View, stamps: boolean): Readonly<Record<string, string>> {
  const byCategory = categories(view);
  const newest = { id: "Newest", type: "Default Topic" };
  const topic = (category: string): Json => ({ id: listName(category), type: "Topic" });
  const names = [...byCategory.keys()];
  const blocks = new Map<string, Json[]>(names.map((name) => [name, [topic(name), newest]]));
  blocks.set(ALL, [newest, ...names.map(topic)]);
  const pages: Pair[] = [...blocks].map(([category, content]) => {
    const { created, updated } = times(byCategory.get(category) ?? view.offers, stamps);
    return [category, JSON.stringify({ category, content: JSON.stringify(content), ...created, ...updated })];
  });
  const [tags, lists, topics]: [Pair[], Pair[], Pair[]] = [[], [], []];
  for (const [index, [category, offers]] of [...byCategory].entries()) {
    const featured = offers.slice(0, FEATURED);
    tags.push([category, tag(category, localised(category), FIRST_SORT + index, times(offers, stamps))]);
    lists.push([listName(category), topicList(category, featured, times(offers, stamps))]);
    for (const offer of featured) topics.push([offer.app.id, topicOf(offer, times([offer], stamps))]);
  }
  // Last, because the whole market's tag stands before that of a category of the same name.
  tags.push([ALL, tag(ALL, ALL_TITLE, 0, times(view.offers, stamps))]);
  return {
    pages: textOfMap(pages),
    tags: textOfMap(tags),
    topic_lists: textOfMap(lists),
    topics: textOfMap(topics),
  };
}

function listName(category: string): string {
  return `Featured in ${category}`;
}

function topicList(category: string, featured: readonly Offer[], { created, updated }: Times): string {
  const titles = Object.entries(FEATURED_TITLE).map(([code, text]) => [
    code,
    text.replace("{}", () => category),
  ]);
  return JSON.stringify({
    content: featured.map(({ app }) => app.id).join(","),
    ...created,
    description: "",
    name: listName(category),
    title: Object.fromEntries(titles),
    type: "Category",
    ...updated,
  });
}

function topicOf({ name, app, archive: { card } }: Offer, { created, updated }: Times): string {
  const texts = {
    apps: name,
    backgroundColor: "",
    des: card.description,
    detailimg: card.featured_image,
    group: "",
    iconimg: card.featured_image,
    isdelete: false,
    mobileDetailImg: card.featured_image,
    mobileRichtext: "",
    richtext: "",
    title: app.title,
  };
  return JSON.stringify({ _id: app.id, ...created, data: localised(texts), name: app.title, ...updated });
}

function tag(name: string, title: Json, sort: number, { created, updated }: Times): string {
  const slug = name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replaceAll(" ", "_");
  return JSON.stringify({ _id: `cat_${slug}`, ...created, icon: ICON, name, sort, title, ...updated });
}

interface Times {
  readonly created?: { readonly createdAt: string };
  readonly updated?: { readonly updated_at: string };
}

/** Return when the oldest and the newest of some offers were published; nothing without any. */
function times(offers: readonly Offer[], stamps: boolean): Times {
  const [first, ...others] = offers;
  if (!stamps || !first) return {};
  let [from, to] = [first.archive.published, first.archive.published];
  for (const { archive } of others) {
    from = Math.min(from, archive.published);
    to = Math.max(to, archive.published);
  }
  return { created: { createdAt: timeText(from) }, updated: { updated_at: timeText(to) } };
}
