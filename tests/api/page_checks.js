// What a person with a screen reader, a keyboard or weak eyes would stumble over; returns a list of complaints.
() => {
  const complaints = [];
  const shown = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility !== "hidden";
  const name = (node) => `${node.tagName.toLowerCase()}${node.className && typeof node.className === "string" ? "." + node.className : ""} ${JSON.stringify(node.textContent.trim().slice(0, 40))}`;

  // Structure
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) complaints.push(`id ${id} stands twice`);
  for (const landmark of ["header", "main", "footer"]) if (document.querySelectorAll(`body > ${landmark}`).length !== 1) complaints.push(`not one ${landmark}`);
  if (!document.documentElement.lang || !document.title) complaints.push("no language or title");
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].filter(shown).map((node) => Number(node.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) complaints.push(`${levels.filter((level) => level === 1).length} first headings`);
  levels.forEach((level, place) => { if (place && level > levels[place - 1] + 1) complaints.push(`a heading of level ${level} follows ${levels[place - 1]}`); });
  for (const node of document.querySelectorAll("input:not([type=hidden]), select, textarea")) if (shown(node) && !node.labels.length && node.getAttribute("aria-hidden") !== "true") complaints.push(`${name(node)} has no label`);
  for (const node of document.querySelectorAll("a[href], button, summary")) if (shown(node) && !(node.innerText || node.getAttribute("aria-label") || "").trim()) complaints.push(`${node.outerHTML.slice(0, 80)} has no name`);
  for (const node of document.querySelectorAll("svg")) if (node.getAttribute("aria-hidden") !== "true" && !node.getAttribute("aria-label")) complaints.push("a drawing without a name");
  for (const node of document.querySelectorAll("[aria-labelledby], [aria-describedby]")) for (const id of (node.getAttribute("aria-labelledby") || node.getAttribute("aria-describedby")).split(" ")) if (!document.getElementById(id)) complaints.push(`${id} names nothing`);
  if (document.querySelector("[style]")) complaints.push("a style stands in the page");

  // Width
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) complaints.push(`the page is ${document.documentElement.scrollWidth} wide on ${width}`);

  // Targets of fingers (WCAG 2.2, 2.5.8: 24 by 24, but for links in a line of text)
  for (const node of document.querySelectorAll("button, select, input:not([type=hidden]):not([type=checkbox])")) {
    const box = node.getBoundingClientRect();
    if (shown(node) && !node.matches(".unseen") && (box.width < 24 || box.height < 24)) complaints.push(`${name(node)} is ${box.width} by ${box.height}`);
  }

  // Contrast (WCAG 2.2, 1.4.3)
  const parse = (colour) => { const parts = colour.match(/[\d.]+/g).map(Number); return { rgb: parts.slice(0, 3), alpha: parts[3] ?? 1 }; };
  const over = (top, below) => top.rgb.map((part, i) => part * top.alpha + below[i] * (1 - top.alpha));
  const ground = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => { const c = part / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(node) || node.closest(".unseen, title, script, option")) continue;
    const style = getComputedStyle(node);
    const below = ground(node);
    const text = over(parse(style.color), below);
    const [high, low] = [light(text), light(below)].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (low + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (large ? 3 : 4.5)) seen.add(`${name(node)}: contrast ${contrast.toFixed(2)}`);
  }
  return complaints.concat([...seen]);
}
