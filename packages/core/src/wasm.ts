/** What a WebAssembly module in base64 exports. Throws where there is no WebAssembly or the page forbids it. */
export function wasmExports(base64: string): unknown {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
}
