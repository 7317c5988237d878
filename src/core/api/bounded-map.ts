/** A map that drops its oldest entry when it is full. Setting a key again makes its entry the newest. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #capacity: number;

  constructor(capacity: number) {
    super();
    this.#capacity = capacity;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#capacity) this.delete(this.keys().next().value as K);
    return this;
  }
}
