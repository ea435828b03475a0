// The live part of the activity page: decisions as they come, and charts that follow them. Without it the page is read and reloaded.
"use strict";

(() => {
  const live = document.querySelector(".live");
  const log = document.getElementById("log");

  // On a wide screen there is room for the filters beside the decisions; on a small one the decisions come first.
  const filters = document.querySelector("details.filters");
  if (filters) filters.open = window.matchMedia("(min-width: 60rem)").matches;

  if (!live || !log || !("EventSource" in window)) return;

  const MOST_CARDS = 200;
  const CHARTS_EVERY_MS = 3000;
  const TELL_AFTER_MS = 1000;
  const state = live.querySelector(".live-state");
  const button = live.querySelector("button");
  const news = document.getElementById("news");
  const numbers = document.getElementById("numbers");
  let source = null;
  let untold = 0;
  let telling = null;
  let drawing = null;
  let last = log.querySelector("article")?.id.slice(2) ?? null;

  const say = (words) => { state.textContent = words; };

  const tell = () => {
    untold += 1;
    telling ??= setTimeout(() => {
      news.textContent = untold === 1 ? "One new decision" : `${untold} new decisions`;
      untold = 0;
      telling = null;
    }, TELL_AFTER_MS);
  };

  const draw = () => {
    drawing ??= setTimeout(async () => {
      drawing = null;
      const open = [...numbers.querySelectorAll("details")].map((one) => one.open);
      if (open.includes(true) || numbers.contains(document.activeElement)) return; // somebody reads a table
      try {
        const answer = await fetch(live.dataset.charts, { headers: { accept: "text/html" }, redirect: "error" });
        if (answer.ok) numbers.innerHTML = await answer.text();
      } catch { /* the next decision tries again */ }
    }, CHARTS_EVERY_MS);
  };

  const show = (event) => {
    const part = document.createElement("template");
    part.innerHTML = event.data;
    const card = part.content.querySelector("article");
    last = event.lastEventId || last;
    if (!card) return;
    document.getElementById(card.id)?.remove();
    log.prepend(card);
    document.getElementById("nothing")?.remove();
    while (log.children.length > MOST_CARDS && !log.lastElementChild.contains(document.activeElement)) log.lastElementChild.remove();
    tell();
    draw();
  };

  const follow = () => {
    const url = new URL(live.dataset.stream, location.href);
    if (last) url.searchParams.set("after", last);
    source = new EventSource(url);
    source.addEventListener("open", () => { live.classList.add("on"); say("live"); });
    source.addEventListener("decision", show);
    source.addEventListener("missed", (event) => {
      say(`${event.data} were too many to show: reload`);
      news.textContent = state.textContent;
    });
    source.addEventListener("error", () => {
      live.classList.remove("on");
      if (source.readyState === EventSource.CLOSED) {
        say("disconnected: reload");
      } else {
        say("reconnecting …");
      }
    });
  };

  button.addEventListener("click", () => {
    const paused = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(paused));
    button.textContent = paused ? "Go on" : "Pause";
    if (paused) {
      source.close();
      live.classList.remove("on");
      say("paused");
    } else {
      say("connecting …");
      follow();
    }
  });

  window.addEventListener("pagehide", () => source?.close());
  window.addEventListener("pageshow", (event) => { if (event.persisted && button.getAttribute("aria-pressed") !== "true") follow(); });
  live.hidden = false;
  follow();
})();
