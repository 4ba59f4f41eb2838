import { abortable } from "@tensorjar/core/codec";
import { expect, test } from "vitest";
import { onAbort } from "../src/abort.js";
import { deferred, turns } from "./deferred.js";

const reason = new Error("enough");

/** A signal that counts the listeners it has. */
function counted(): { signal: AbortSignal; abort(): void; listeners(): number } {
  const controller = new AbortController();
  const { signal } = controller;
  const listening = new Set<unknown>();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listening.add(args[1]);
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listening.delete(args[1]);
    removeEventListener.apply(signal, args);
  };
  return { signal, abort: () => controller.abort(reason), listeners: () => listening.size };
}

test("without a signal, and with one that stays quiet, work settles as it does", async () => {
  const { signal, listeners } = counted();
  expect(await abortable(Promise.resolve(5))).toBe(5);
  expect(await abortable(Promise.resolve(5), signal)).toBe(5);
  const failure = new Error("disk");
  await expect(abortable(Promise.reject(failure), signal)).rejects.toBe(failure);
  await turns();
  expect(listeners()).toBe(0);
});

test("an abort rejects at once, before or during the work, whatever becomes of it", async () => {
  const { signal, abort } = counted();
  const work = deferred<number>();
  const during = abortable(work.promise, signal);
  abort();
  await expect(during).rejects.toBe(reason);
  await expect(abortable(work.promise, signal)).rejects.toBe(reason);
  work.reject(new Error("too late to matter"));
  await turns();
});

test("a hundred that wait for a signal cost it one listener, and none when they are done", async () => {
  const { signal, abort, listeners } = counted();
  const works = Array.from({ length: 100 }, () => deferred<number>());
  const waits = works.map(({ promise }) => abortable(promise, signal));
  expect(listeners()).toBe(1);
  works.slice(0, 50).forEach(({ resolve }, i) => {
    resolve(i);
  });
  expect(await Promise.all(waits.slice(0, 50))).toEqual(Array.from({ length: 50 }, (_, i) => i));
  expect(listeners()).toBe(1);
  abort();
  for (const wait of waits.slice(50)) await expect(wait).rejects.toBe(reason);
  const quiet = counted();
  const stops = Array.from({ length: 3 }, () => onAbort(quiet.signal, abort));
  for (const stop of [...stops, ...stops]) stop();
  expect(quiet.listeners()).toBe(0);
});

test("who has stopped waiting is not called; the same function waits as often as it was given", () => {
  const { signal, abort } = counted();
  let calls = 0;
  const callback = (): void => {
    calls++;
  };
  const stop = onAbort(signal, callback);
  onAbort(signal, callback);
  onAbort(signal, callback);
  stop();
  abort();
  expect(calls).toBe(2);
  stop();
});

test("an abort in the middle of others being told stops those not told yet", () => {
  const { signal, abort } = counted();
  const called: string[] = [];
  let stopSecond = (): void => {};
  onAbort(signal, () => {
    called.push("first");
    stopSecond();
  });
  stopSecond = onAbort(signal, () => void called.push("second"));
  abort();
  expect(called).toEqual(["first"]);
});
