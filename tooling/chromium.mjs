/** How Playwright starts the Chromium of the machine, wherever this repository needs one. */
export const chromiumOptions = {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    // Pages get shared memory without the headers of cross-origin isolation.
    "--enable-features=SharedArrayBuffer",
  ],
};
