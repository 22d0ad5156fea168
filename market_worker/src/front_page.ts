/** The front page that a device's market shows for a source (olares_apps/market/front_page.py). */

import { type Offer, type View } from "./catalogue";
import tables from "./contract.json";
import { canonical, order } from "./json";

const { all: ALL, all_title: ALL_TITLE, category_icon: ICON, featured: FEATURED } = tables.front_page;
const { featured_title: FEATURED_TITLE, first_sort: FIRST_SORT, languages: LANGUAGES } = tables.front_page;
const CODES = Object.keys(LANGUAGES);

export { ICON as CATEGORY_ICON, LANGUAGES };

type Json = Readonly<Record<string, unknown>>;
type Pairs = (readonly [string, Json])[];

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

/** Return recommends, pages, topics, topic_lists and tags; the hash is taken without `stamps`. */
export function frontPage(view: View, stamps: boolean): Json {
  const byCategory = categories(view);
  const listName = (category: string): string => `Featured in ${category}`;
  const newest = { type: "Default Topic", id: "Newest" };
  const topic = (category: string): Json => ({ type: "Topic", id: listName(category) });
  const names = [...byCategory.keys()];
  const blocks = new Map<string, Json[]>(names.map((name) => [name, [topic(name), newest]]));
  blocks.set(ALL, [newest, ...names.map(topic)]);
  const pages: Pairs = [...blocks].map(([name, content]) => [
    name,
    { category: name, content: canonical(content), ...times(byCategory.get(name) ?? view.offers, stamps) },
  ]);
  const tags: Pairs = [];
  const lists: Pairs = [];
  const topics: Pairs = [];
  for (const [index, [category, offers]] of [...byCategory].entries()) {
    const featured = offers.slice(0, FEATURED);
    const stamp = times(offers, stamps);
    tags.push([category, { ...tag(category, localised(category), FIRST_SORT + index), ...stamp }]);
    lists.push([
      listName(category),
      {
        name: listName(category),
        type: "Category",
        description: "",
        content: featured.map(({ app }) => app.id).join(","),
        title: Object.fromEntries(
          Object.entries(FEATURED_TITLE).map(([code, text]) => [code, text.replace("{}", () => category)]),
        ),
        ...stamp,
      },
    ]);
    for (const offer of featured) {
      topics.push([offer.app.id, { ...topicOf(offer), ...times([offer], stamps) }]);
    }
  }
  // Last, because the whole market's tag stands before that of a category of the same name.
  tags.push([ALL, { ...tag(ALL, ALL_TITLE, 0), ...times(view.offers, stamps) }]);
  return {
    recommends: {},
    pages: Object.fromEntries(pages),
    topics: Object.fromEntries(topics),
    topic_lists: Object.fromEntries(lists),
    tags: Object.fromEntries(tags),
  };
}

function topicOf({ name, app, archive: { card } }: Offer): Json {
  const texts = {
    group: "",
    title: app.title,
    des: card.description,
    iconimg: card.featured_image,
    detailimg: card.featured_image,
    richtext: "",
    mobileDetailImg: card.featured_image,
    mobileRichtext: "",
    backgroundColor: "",
    apps: name,
    isdelete: false,
  };
  return { _id: app.id, name: app.title, data: localised(texts) };
}

function tag(name: string, title: Json, sort: number): Json {
  const slug = name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replaceAll(" ", "_");
  return { _id: `cat_${slug}`, name, title, icon: ICON, sort };
}

function times(offers: readonly Offer[], stamps: boolean): Json {
  if (!stamps || offers.length === 0) return {};
  const published = offers.map(({ archive }) => archive.published);
  const ends = { first: published[0] ?? 0, last: published[0] ?? 0 };
  for (const moment of published) {
    ends.first = Math.min(ends.first, moment);
    ends.last = Math.max(ends.last, moment);
  }
  return { updated_at: timeText(ends.last), createdAt: timeText(ends.first) };
}
