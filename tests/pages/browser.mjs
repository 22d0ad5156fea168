// Looks at a market's pages as people do and prints what it saw as one JSON object.
// Usage: node browser.mjs MARKET_URL APP FOLDER_FOR_SCREENSHOTS CHROMIUM MODULES
import { createRequire } from "node:module";

const [base, app, folder, executablePath, modules] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const axe = require("axe-core").source;
const PATHS = { catalogue: "/", app: `/apps/${app}`, leaderboard: "/leaderboard" };
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
  "--disable-background-networking", "--disable-component-update"];

const browser = await chromium.launch({ executablePath, args });
const seen = { complaints: [], violations: [], wide: [], grounds: {} };

async function open(path, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on("console", (message) => seen.complaints.push(`${path}: ${message.text()}`));
  page.on("pageerror", (error) => seen.complaints.push(`${path}: ${error.message}`));
  page.on("requestfailed", (request) => seen.complaints.push(`${path}: ${request.url()} failed`));
  page.on("response", (reply) => reply.status() >= 400 && seen.complaints.push(`${reply.url()}: ${reply.status()}`));
  page.on("dialog", (dialog) => seen.complaints.push(`${path}: dialog ${dialog.message()}`));
  await page.goto(base + path);
  return page;
}

const titles = (page) => page.locator("#apps > li:visible h2").allTextContents();

for (const colorScheme of ["light", "dark"]) {
  for (const [name, path] of Object.entries(PATHS)) {
    const page = await open(path, { colorScheme, viewport: { width: 360, height: 800 } });
    seen.grounds[colorScheme] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.evaluate(axe);
    for (const width of [360, 390, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const all = await page.evaluate(() => document.documentElement.scrollWidth);
      if (all > width) seen.wide.push(`${name} at ${width}: ${all}`);
      if (width === 360) continue;
      await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true });
      // Both colour schemes have the same content: the wide page is examined in one of them.
      if (width > 390 && colorScheme === "dark") continue;
      await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
      const { violations } = await page.evaluate(() => axe.run());
      for (const item of violations) {
        const where = item.nodes.map((node) => node.html).slice(0, 3);
        seen.violations.push({ page: `${name} ${colorScheme} ${width}`, rule: item.id, where });
      }
      await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = false)));
    }
    await page.context().close();
  }
}

{
  const page = await open("/", { viewport: { width: 1280, height: 800 } });
  seen.all = await titles(page);
  await page.getByLabel("Search").fill("demobravo");
  seen.searched = await titles(page);
  seen.count = await page.locator("#count").textContent();
  seen.address = page.url();
  await page.reload();
  seen.reloaded = await titles(page);
  await page.getByLabel("Search").fill("nothing is called so");
  seen.nothing = await page.locator("#none").isVisible();
  await page.getByRole("button", { name: "Show all" }).click();
  seen.reset = await titles(page);
  await page.getByLabel("Modality").selectOption("vision");
  seen.vision = await titles(page);
  await page.getByLabel("Modality").selectOption("");
  await page.getByLabel("Context").selectOption("128000");
  seen.long = await titles(page);
  await page.getByLabel("Context").selectOption("");
  await page.getByLabel("GPU memory").selectOption("16");
  seen.small = await titles(page);
  await page.getByLabel("GPU memory").selectOption("");
  await page.locator("#apps > li:visible h2 a").first().click();
  seen.opened = new URL(page.url()).pathname;
  await page.context().close();
}

{
  const permissions = ["clipboard-read", "clipboard-write"];
  const page = await open(PATHS.app, { permissions });
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByText("Copied").waitFor();
  seen.copied = await page.evaluate(() => navigator.clipboard.readText());
  seen.pictures = await page.evaluate(() => [...document.images].map((image) => image.naturalWidth));
  await page.context().close();
}

{
  const page = await open("/", { javaScriptEnabled: false });
  seen.plain = { titles: await titles(page), form: await page.locator("#filters").isVisible() };
  await page.context().close();
}

{
  // The policy at work: what a page did not bring itself does not run.
  const page = await open("/", {});
  const before = seen.complaints.length;
  seen.injected = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "window.injected = true";
    document.body.append(script);
    return window.injected ?? false;
  });
  seen.blocked = seen.complaints.splice(before).length;
  await page.context().close();
}

await browser.close();
console.log(JSON.stringify(seen));
