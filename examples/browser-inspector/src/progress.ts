import { h } from "./dom.js";
import { nameText } from "./text.js";

/** A bar for work that takes a while, with a button that ends it. */
export function progressBar(
  label: string,
  onCancel: () => void,
): { element: HTMLElement; set(part: number, text?: string): void } {
  const bar = h("progress", { max: 1, value: 0, "aria-label": label });
  const text = h("span", { class: "quiet" }, label);
  return {
    element: h(
      "div",
      { class: "progress" },
      bar,
      text,
      h("button", { type: "button", onclick: onCancel }, "Cancel"),
    ),
    set(part, name) {
      bar.value = part;
      text.textContent = `${Math.floor(part * 100)} %${name === undefined ? "" : `, ${nameText(name)}`}`;
    },
  };
}
