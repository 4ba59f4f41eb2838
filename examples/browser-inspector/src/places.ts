/** What a tensor of a checkpoint is to a parameter, told by its name as docs/formats.md has it. */
export interface Place {
  /** The parameter's path. */
  readonly path: string;
  /** `exp_avg`, `step`…; undefined for the parameter itself. */
  readonly slot?: string;
  readonly optimizer?: string;
}

/** Places of all tensors of a checkpoint; those that belong to no single parameter are left out. */
export function placesOf(format: string, names: readonly string[]): Map<string, Place> {
  return format === "npz" ? npzPlaces(names) : safetensorsPlaces(names);
}

function safetensorsPlaces(names: readonly string[]): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const name of names) {
    const [, parameter] = /^param\/(.*)$/s.exec(name) ?? [];
    const [, optimizer, path, slot] = /^optimizer\/([^/]+)\/(.*)\/([^/]+)$/s.exec(name) ?? [];
    if (parameter !== undefined) places.set(name, { path: parameter });
    else if (optimizer !== undefined && path !== undefined && slot !== undefined)
      places.set(name, { path, slot, optimizer });
  }
  return places;
}

/** In the gem's schema a parameter has an optimizer of its name, or a group in a common one. */
function npzPlaces(names: readonly string[]): Map<string, Place> {
  const places = new Map<string, Place>();
  const paths = new Set<string>();
  for (const name of names) {
    const [, path] = /^param___(.+)$/s.exec(name) ?? [];
    if (path === undefined) continue;
    paths.add(path);
    places.set(name, { path });
  }
  for (const name of names) {
    const [, optimizer, group, slot] =
      /^optimizer___(\w+)___(\w+)___(step|exp_avg|exp_avg_sq)$/.exec(name) ?? [];
    const path = [group, optimizer].find((part) => part !== undefined && paths.has(part));
    if (path !== undefined && optimizer !== undefined && slot !== undefined)
      places.set(name, { path, slot, optimizer });
  }
  return places;
}

/** Parameters in their order, each before its moments; then whatever belongs to none. */
export function byParameter(
  names: readonly string[],
  places: ReadonlyMap<string, Place>,
): string[] {
  const groups = new Map<string, string[]>();
  const others: string[] = [];
  for (const name of names) {
    const place = places.get(name);
    if (place === undefined) {
      others.push(name);
      continue;
    }
    const group = groups.get(place.path);
    if (group === undefined) groups.set(place.path, [name]);
    else if (place.slot === undefined) group.unshift(name);
    else group.push(name);
  }
  return [...groups.values()].flat().concat(others);
}
