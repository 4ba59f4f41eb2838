/** What `@tensorflow/tfjs` puts together, as far as it is used here; the whole of it is 140 MB. */
import "@tensorflow/tfjs-backend-cpu";

export * from "@tensorflow/tfjs-core";
export * from "@tensorflow/tfjs-layers";
