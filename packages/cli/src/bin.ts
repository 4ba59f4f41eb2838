#!/usr/bin/env node
import { outliveReader } from "./closed-pipe.js";
import { interruptible } from "./interrupt.js";
import { run } from "./program.js";

outliveReader(process.stdout);
outliveReader(process.stderr);
process.exitCode = await interruptible((signal) => run(process.argv.slice(2), signal), process);
