"use strict";
(() => {
  const get = (id) => document.getElementById(id);
  const address = get("address");
  const copy = get("copy");
  if (address && copy && location.protocol.startsWith("http")) {
    // Where the page was really read is the better answer, the market may have moved.
    address.textContent = new URL(address.dataset.root, location.href).href.replace(/\/$/, "");
  }
  if (copy) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(address.textContent);
        get("copied").textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(address);
        get("copied").textContent = "Selected: copy it with the keyboard";
      }
    });
  }
  const form = get("filters");
  if (!form) return;
  const cards = [...get("apps").children].map((card) => ({
    card,
    text: card.textContent.toLowerCase(),
    modality: (card.dataset.modality || "").split(" "),
    gpu: Number(card.dataset.gpu || 0),
    ctx: Number(card.dataset.ctx || 0),
  }));
  const value = (name) => form.elements.namedItem(name).value;
  const names = ["q", "modality", "gpu", "ctx"];
  function apply() {
    const words = value("q").toLowerCase().split(/\s+/).filter(Boolean);
    const modality = value("modality");
    const gpu = Number(value("gpu"));
    const ctx = Number(value("ctx"));
    let shown = 0;
    for (const item of cards) {
      const fits =
        words.every((word) => item.text.includes(word)) &&
        (!modality || item.modality.includes(modality)) &&
        (!gpu || (item.gpu > 0 && item.gpu <= gpu)) &&
        item.ctx >= ctx;
      item.card.hidden = !fits;
      if (fits) shown += 1;
    }
    get("count").textContent = `${shown} of ${cards.length} apps`;
    get("none").hidden = shown > 0;
    const query = new URLSearchParams();
    for (const name of names) if (value(name)) query.set(name, value(name));
    const text = query.toString();
    history.replaceState(null, "", text ? `?${text}` : location.pathname);
  }
  const asked = new URLSearchParams(location.search);
  for (const name of names) {
    if (asked.has(name)) form.elements.namedItem(name).value = asked.get(name);
  }
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  get("reset").addEventListener("click", () => {
    form.reset();
    apply();
  });
  apply();
})();
