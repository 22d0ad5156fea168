import { describe, expect, it } from "vitest";
import { detailDecodes } from "../src/contract";

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)];
}

describe("a detail", () => {
  it.each([
    [{ categories: "AI" }, "categories is"],
    [{ version: "1.0.0-very-long-version" }, "characters, limit 16"],
    [{ appLabels: ["Suspend"] }, "devices skip it"],
    [{ title: "a\u0000b" }, "NUL"],
    [{ name: "other" }, "expected 'demo'"],
    [{ more: nested(101) }, "nested deeper than 100 levels"],
  ])("with %o is refused", (fields, fault) => {
    const found: string[] = [];
    detailDecodes({ name: "demo", ...fields }, { name: "demo" }, "detail", found);
    expect(found.join()).toContain(fault);
  });
});
