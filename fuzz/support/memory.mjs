// Loaded before a fuzzer: prints the peak memory of its process, and fails it past a limit that no file may cause to be
// passed. A bare Node takes about 50 MiB, and garbage is collected when the engine sees fit.
const limit = 512; // MiB

process.on("exit", (code) => {
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(`peak memory ${peak} MiB`);
  if (code === 0 && peak > limit) {
    console.log(`more than ${limit} MiB: a file made a parser allocate too much`);
    process.exitCode = 1;
  }
});
