// The list of contents beside the page.

const renderContents = () => {
  const item = (id, text, ...more) => make("li", {}, make("a", { href: `#${id}` }, text), ...more);
  const items = [...byId("overview").children].filter((section) => section.matches("section, header") && !section.hidden).map((section) => {
    const text = section.id === "summary" ? "Summary" : section.querySelector("h2").textContent;
    const figures = ["curves", "bars"].includes(section.id) ? [...section.querySelectorAll("figure")] : [];
    const inner = figures.map((figure) => item(figure.id, figure.querySelector("h3").textContent));
    return item(section.id, text, ...(inner.length ? [make("ul", {}, ...inner)] : []));
  });
  byId("contents").firstElementChild.replaceChildren(...items);
  byId("contents").hidden = false;
  const links = new Map([...byId("contents").querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
  const inView = new Set();
  const observer = new IntersectionObserver(
    (entries) => {
      entries.forEach((entry) => (entry.isIntersecting ? inView.add(entry.target.id) : inView.delete(entry.target.id)));
      const first = [...links.keys()].filter((id) => inView.has(id)).at(0);
      links.forEach((link, id) => (id === first ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
    },
    { rootMargin: "-15% 0px -60% 0px" },
  );
  [...links.keys()].map(byId).forEach((section) => section && observer.observe(section));
};
