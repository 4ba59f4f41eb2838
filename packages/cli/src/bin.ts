#!/usr/bin/env node
import { outliveReader } from "./closed-pipe.js";
import { run } from "./program.js";

outliveReader(process.stdout);
outliveReader(process.stderr);
process.exitCode = await run(process.argv.slice(2));
