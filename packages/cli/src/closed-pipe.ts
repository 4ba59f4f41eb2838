/** Lets a program go on, and end with its own exit code, after the reader of a pipe (`head`) has gone. */
export function outliveReader(stream: NodeJS.WritableStream): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}
