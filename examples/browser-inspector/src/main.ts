import { breathe, h } from "./dom.js";
import { errorView, isAbort } from "./explain.js";
import { fileView } from "./file-view.js";
import { infoOf, type OpenedFile, openFiles, openUrl, type Row } from "./opened-file.js";
import { TensorList } from "./tensor-list.js";
import { tensorView } from "./tensor-view.js";
import { countText, nameText, printable, shapeText } from "./text.js";

const main = document.querySelector<HTMLElement>("#main") ?? document.body;
const opening = document.querySelector<HTMLElement>("#open") ?? document.body;
const status = h("p", { role: "status", class: "status" });
const place = h("div", {});

/** Ends all work on the file that is open. */
let current = new AbortController();
let file: OpenedFile | undefined;

function build(): void {
  const chooser = h("input", {
    type: "file",
    id: "files",
    multiple: true,
    class: "chooser",
    onchange: () => {
      void openNow([...(chooser.files ?? [])]);
      chooser.value = "";
    },
  });
  const address = h("input", {
    type: "url",
    id: "url",
    placeholder: "https://…",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
  });
  const form = h(
    "form",
    {
      onsubmit: (event: Event) => {
        event.preventDefault();
        void openNow(address.value);
      },
    },
    h("label", { for: "url" }, "or an address"),
    address,
    h("button", {}, "Open"),
  );
  opening.append(
    h(
      "div",
      { class: "choose" },
      chooser,
      h("label", { for: "files", class: "button" }, "Choose a file"),
    ),
    form,
  );
  main.append(status, place);
  place.append(invitation());
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dropping");
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) void openNow(files);
  });
}

function invitation(): HTMLElement {
  return h(
    "div",
    { class: "empty" },
    h("p", { class: "big" }, "Drop a file here"),
    h("p", {}, ".npy, .npz, safetensors, checkpoints, or a sharded model with its index"),
    h(
      "p",
      { class: "quiet" },
      "Only headers and the tensors you look at are read: a file of many gigabytes opens at once.",
    ),
  );
}

/** Opens files of this machine, or an address, in place of what is open. */
async function openNow(given: readonly File[] | string): Promise<void> {
  if (given.length === 0) return;
  current.abort();
  const mine = new AbortController();
  current = mine;
  await file?.close();
  file = undefined;
  document.title = "Tensor inspector";
  status.textContent = "Opening…";
  status.classList.remove("heard");
  try {
    const opened =
      typeof given === "string" ? await openUrl(given.trim(), mine.signal) : await openFiles(given);
    if (mine.signal.aborted) return await opened.close();
    file = opened;
    document.title = `${printable(opened.label)} – Tensor inspector`;
    status.classList.add("heard"); // what is seen says it better
    showFile(opened, mine.signal);
    status.textContent = `Opened ${printable(opened.label)}: ${countText(opened.rows.length, "tensor")}`;
  } catch (error) {
    if (isAbort(error) || mine.signal.aborted) return;
    status.textContent = "";
    const name = typeof given === "string" ? given : given[0]?.name;
    place.replaceChildren(errorView(error, name), invitation());
  }
}

function showFile(opened: OpenedFile, signal: AbortSignal): void {
  const detail = h("div", { class: "detail" });
  const narrow = matchMedia("(max-width: 55rem)");
  let looking = new AbortController();

  const show = async (row: Row): Promise<void> => {
    looking.abort();
    looking = new AbortController();
    const ending = AbortSignal.any([looking.signal, signal]);
    const view = await tensorView(opened, row, ending, choose).catch((error: unknown) =>
      errorView(error, nameText(row.name)),
    );
    if (ending.aborted) return;
    detail.replaceChildren(view);
    list.refresh();
    if (narrow.matches) {
      view.querySelector("h2")?.focus({ preventScroll: true });
      detail.scrollIntoView({ block: "start" });
    }
  };
  const list = new TensorList("Tensors", (row) => void show(row));
  const choose = (row: Row): void => {
    if (!list.rows.includes(row)) {
      search.value = "";
      filter();
    }
    list.choose(row);
    detail.scrollIntoView({ block: "nearest" });
  };

  const found = h("p", { class: "quiet", role: "status" });
  const search = h("input", {
    type: "search",
    id: "search",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "name, dtype or shape",
    oninput: () => filter(),
    onkeydown: (event: KeyboardEvent) => {
      if (event.key === "ArrowDown")
        list.element.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    },
  });
  const filter = (): void => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = opened.rows.filter((row) => {
      const text = searchText(row);
      return words.every((word) => text.includes(word));
    });
    list.setRows(rows);
    found.textContent =
      words.length === 0
        ? countText(rows.length, "tensor")
        : `${rows.length.toLocaleString("en")} of ${countText(opened.rows.length, "tensor")}`;
  };

  place.replaceChildren(
    fileView(opened, signal, choose),
    h(
      "div",
      { class: opened.rows.length < 2 ? "panes single" : "panes" },
      h(
        "section",
        { class: "tensors", "aria-label": "List of tensors" },
        h("label", { for: "search" }, "Search"),
        search,
        found,
        list.element,
      ),
      detail,
    ),
  );
  headersOf(opened, list, signal);
  filter();
  const [only] = opened.rows;
  if (only === undefined) detail.append(h("p", {}, "The file holds no tensors."));
  else if (opened.rows.length === 1) list.choose(only);
  else detail.append(h("p", { class: "quiet" }, "Choose a tensor to see its numbers."));
}

/** What is searched, made once for each row of which everything is known. */
const searchTexts = new WeakMap<Row, string>();

function searchText(row: Row): string {
  const known = searchTexts.get(row);
  if (known !== undefined) return known;
  const { name, info } = row;
  if (info === undefined) return name.toLowerCase();
  const { dtype, shape } = info;
  const shapes = [shapeText(shape), shape.join("x"), `[${shape.join(", ")}]`];
  const text = [name, dtype, ...shapes].join("\n").toLowerCase();
  searchTexts.set(row, text);
  return text;
}

/** Reads the headers that are missing: of a file here all of them, over a network those in sight. */
function headersOf(opened: OpenedFile, list: TensorList, signal: AbortSignal): void {
  let waiting = false;
  const arrived = (): void => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      if (!signal.aborted) list.refresh();
    });
  };
  const asked = new Set<Row>();
  const read = async (row: Row): Promise<void> => {
    if (asked.has(row) || signal.aborted) return;
    asked.add(row);
    await infoOf(opened, row).catch(() => {}); // looking at the tensor says what is wrong with it
    arrived();
  };
  list.onNeed = (row) => void read(row);
  if (opened.remote || opened.opened.kind === "safetensors") return;
  const all = async (): Promise<void> => {
    for (const row of opened.rows) {
      await read(row);
      await breathe();
    }
  };
  void all();
}

build();
