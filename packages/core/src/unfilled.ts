/** Memory that the caller fills to the last byte. Throws `limit-exceeded`. */
export { allocate as unfilled } from "./tensor.js";
