/**
 * Objects that come and go quickly, such as the requests that are being served. A `Set` in their place keeps them in
 * memory long after they have left. V8 replaces the table of a Set whenever its members have changed about as often as
 * the table has places. The old table still contains the members of that moment, and points to the new one. Once one of
 * these tables is in the old generation, young collections consider all that follow it as used, with their members and
 * everything that these refer to. So each request and its body stay until the next full collection, which the memory
 * that they take makes frequent. A Map is the same, and an array whose first item is removed is similar.
 *
 * Here the members are in an array that is only replaced when it grows, and a place that becomes free is emptied.
 * Members are found by a linear search: use it for up to some hundreds.
 */
export class LiveSet<T extends object> implements Iterable<T> {
  /** The members, then empty places. */
  readonly #places: (T | null)[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The member must not be in the set yet. */
  add(member: T): void {
    this.#places[this.#size++] = member
  }

  /** Does nothing if it is no member. */
  delete(member: T): void {
    const place = this.#places.indexOf(member)
    if (place < 0) return
    this.#places.copyWithin(place, place + 1, this.#size)
    this.#places[--this.#size] = null
  }

  /** Those that are members now, in the order in which they were added. */
  [Symbol.iterator](): Iterator<T> {
    return (this.#places.slice(0, this.#size) as T[]).values()
  }
}
