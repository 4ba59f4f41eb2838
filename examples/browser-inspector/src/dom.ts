type Attribute = string | number | boolean | undefined | ((event: never) => void);

/** An element with attributes, children and, under `on…`, listeners; `true` is an attribute without value. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener); // its event is that of its name
    } else if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children);
  return element;
}

/** A part of what is said about a tensor, under its own heading. */
export function section(title: string, ...content: readonly Node[]): HTMLElement {
  return h("section", {}, h("h3", {}, title), ...content);
}

let count = 0;

/** An id that no other element has. */
export function newId(): string {
  count += 1;
  return `id-${count}`;
}

/** A table with a caption; the first cell of each row heads it. */
export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): HTMLTableElement {
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
    h(
      "tbody",
      {},
      ...rows.map(([first = "", ...cells]) =>
        h("tr", {}, h("th", { scope: "row" }, first), ...cells.map((text) => h("td", {}, text))),
      ),
    ),
  );
}

/** What may be wider or higher than its place: scrolled by keys too. */
export function scrolled(label: string, ...children: readonly Node[]): HTMLElement {
  return h(
    "div",
    { class: "scrolled", tabindex: 0, role: "region", "aria-label": label },
    ...children,
  );
}

/** Something longer that opens on demand; `content` is asked for when it first does. */
export function disclosed(summary: string, content: () => Node): HTMLDetailsElement {
  const details = h("details", {}, h("summary", {}, summary));
  details.addEventListener("toggle", () => details.append(content()), { once: true });
  return details;
}

/** Lets the page answer its user between two pieces of work. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/** The value of a custom property of the style sheet, as the colour scheme has it now. */
export function styleOf(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}
