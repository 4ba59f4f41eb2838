import { h } from "./dom.js";
import type { Row } from "./opened-file.js";
import { byteText, nameText, shapeText } from "./text.js";

const rowHeight = 44;
/** Rows that are made above and below those in sight. */
const margin = 6;
/** Characters at the end of a name that are always seen. */
const tailLength = 16;
/** Browsers draw nothing beyond some ten million pixels; longer lists scroll by more than a row a row. */
const mostPixels = 8_000_000;

/**
 * A list of any number of tensors, of which only those in sight are in the page. One option takes the focus, arrow
 * keys, Home, End, PageUp and PageDown move it, Enter and Space choose it.
 */
export class TensorList {
  readonly element: HTMLElement;
  /** Called with a row of which the header is wanted; when that was read, `refresh`. */
  onNeed: (row: Row) => void = () => {};
  readonly #onChoose: (row: Row) => void;
  readonly #filler = h("div", { class: "filler", role: "presentation" });
  readonly #shown = new Map<number, HTMLElement>();
  #rows: readonly Row[] = [];
  #active = 0;
  #chosen: Row | undefined;

  constructor(label: string, onChoose: (row: Row) => void) {
    this.#onChoose = onChoose;
    this.element = h(
      "div",
      {
        class: "list",
        role: "listbox",
        "aria-label": label,
        onkeydown: (event: KeyboardEvent) => this.#key(event),
        onscroll: () => this.#render(),
        onclick: (event: MouseEvent) => this.#click(event),
      },
      this.#filler,
    );
    new ResizeObserver(() => this.#render()).observe(this.element);
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  setRows(rows: readonly Row[]): void {
    this.#rows = rows;
    this.#active = Math.max(0, this.#chosen === undefined ? 0 : rows.indexOf(this.#chosen));
    this.#clear();
    this.element.hidden = rows.length === 0; // a list box without options is none
    this.element.scrollTop = 0;
    this.#filler.style.height = `${this.#pixels}px`;
    this.#render();
    this.#reveal(this.#active);
  }

  /** Draws the rows in sight anew. */
  refresh(): void {
    const focused = this.#shown.get(this.#active) === document.activeElement;
    this.#clear();
    this.#render();
    if (focused) this.#shown.get(this.#active)?.focus({ preventScroll: true });
  }

  choose(row: Row): void {
    const index = this.#rows.indexOf(row);
    this.#chosen = row;
    if (index >= 0) {
      this.#active = index;
      this.#reveal(index);
    }
    this.refresh();
    this.#onChoose(row);
  }

  /** The height of the whole list as it scrolls. */
  get #pixels(): number {
    return Math.min(mostPixels, this.#rows.length * rowHeight);
  }

  /** How much of the list goes by for each pixel that is scrolled. */
  get #ratio(): number {
    const inSight = this.element.clientHeight;
    const scrollable = this.#pixels - inSight;
    return scrollable <= 0 ? 1 : (this.#rows.length * rowHeight - inSight) / scrollable;
  }

  #clear(): void {
    for (const element of this.#shown.values()) element.remove();
    this.#shown.clear();
  }

  #render(): void {
    const { scrollTop, clientHeight } = this.element;
    const top = scrollTop * this.#ratio;
    const first = Math.max(0, Math.floor(top / rowHeight) - margin);
    const last = Math.min(
      this.#rows.length - 1,
      Math.ceil((top + clientHeight) / rowHeight) + margin,
    );
    for (const [index, element] of this.#shown) {
      const wanted = (index >= first && index <= last) || index === this.#active;
      if (wanted) continue;
      element.remove();
      this.#shown.delete(index);
    }
    for (let index = first; index <= last; index++) this.#show(index);
    this.#show(this.#active);
    for (const [index, element] of this.#shown) {
      element.style.top = `${index * rowHeight - top + scrollTop}px`;
    }
  }

  #show(index: number): void {
    const row = this.#rows[index];
    if (row === undefined || this.#shown.has(index)) return;
    if (row.info === undefined) this.onNeed(row);
    const element = this.#option(row, index);
    this.#shown.set(index, element);
    // In the order of the list, as reading by swipe or caret goes.
    const next = [...this.#shown.keys()].filter((other) => other > index).sort((a, b) => a - b)[0];
    const before = next === undefined ? null : (this.#shown.get(next) ?? null);
    this.#filler.insertBefore(element, before);
  }

  #option(row: Row, index: number): HTMLElement {
    const { info, place } = row;
    const slot = place?.slot;
    const name = nameText(row.name);
    const about =
      info === undefined
        ? [row.damaged ? "cannot be read" : "…"]
        : [info.dtype, shapeText(info.shape), byteText(info.byteLength)];
    return h(
      "div",
      {
        class: slot === undefined ? "row" : "row moment",
        role: "option",
        tabindex: index === this.#active ? 0 : -1,
        "data-index": index,
        "aria-selected": row === this.#chosen ? "true" : "false",
        "aria-setsize": this.#rows.length,
        "aria-posinset": index + 1,
        "aria-label": `${name} ${about.join(" · ")}`, // the name in one piece
        title: name,
      },
      h(
        "span",
        { class: "name" },
        // Of a long name the middle is left out: names begin alike, and their ends tell more.
        h("span", {}, name.slice(0, -tailLength)),
        h("span", {}, name.slice(-tailLength)),
      ),
      " ",
      h("span", { class: "about" }, about.join(" · ")),
    );
  }

  #reveal(index: number): void {
    const { clientHeight, scrollTop } = this.element;
    const ratio = this.#ratio;
    const top = scrollTop * ratio;
    if (index * rowHeight < top) this.element.scrollTop = (index * rowHeight) / ratio;
    else if ((index + 1) * rowHeight > top + clientHeight) {
      this.element.scrollTop = ((index + 1) * rowHeight - clientHeight) / ratio;
    }
  }

  #key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 1);
    const last = this.#rows.length - 1;
    const to = {
      ArrowDown: this.#active + 1,
      ArrowUp: this.#active - 1,
      PageDown: this.#active + page,
      PageUp: this.#active - page,
      Home: 0,
      End: last,
    }[event.key];
    if (to !== undefined) {
      this.#move(Math.max(0, Math.min(last, to)));
    } else if (event.key === "Enter" || event.key === " ") {
      const row = this.#rows[this.#active];
      if (row !== undefined) this.choose(row);
    } else return;
    event.preventDefault();
  }

  #move(index: number): void {
    this.#shown.get(this.#active)?.setAttribute("tabindex", "-1");
    this.#active = index;
    this.#reveal(index);
    this.#render();
    const element = this.#shown.get(index);
    element?.setAttribute("tabindex", "0");
    element?.focus({ preventScroll: true });
  }

  #click(event: MouseEvent): void {
    const option = event.target instanceof Element ? event.target.closest("[data-index]") : null;
    const row = this.#rows[Number(option?.getAttribute("data-index") ?? -1)];
    if (row === undefined) return;
    this.choose(row);
    this.#shown.get(this.#active)?.focus({ preventScroll: true });
  }
}
