/** A source that keeps what is asked of it in `reads`: [offset, length]. */
export function counted(source) {
  const reads = [];
  return {
    size: source.size,
    reads,
    read(offset, length, options) {
      reads.push([offset, length]);
      return source.read(offset, length, options);
    },
    close: () => source.close?.(),
  };
}
