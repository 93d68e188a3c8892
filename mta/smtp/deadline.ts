/**
 * One timer for each connection. Commands come thousands of times a second, so setting a deadline only stores a number;
 * the real timer wakes at most once a second and compares. It never fires early, and fires less than a second late (at
 * once if the deadline is shorter than a second).
 */
const LONGEST_SLEEP_MS = 1000

export class Deadline {
  readonly #expire: () => void
  #dueAt = Infinity
  #wakesAt = Infinity
  #timer: NodeJS.Timeout | null = null

  constructor(expire: () => void) {
    this.#expire = expire
  }

  /** Calls `expire` once, `ms` from now, unless set or cleared before. */
  set(ms: number): void {
    this.#dueAt = performance.now() + ms
    if (this.#dueAt < this.#wakesAt) this.#sleep(Math.min(ms, LONGEST_SLEEP_MS))
  }

  clear(): void {
    this.#dueAt = Infinity
  }

  /** Clears the deadline and its timer. */
  stop(): void {
    this.clear()
    this.#wakesAt = Infinity
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #sleep(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#wakesAt = performance.now() + ms
    this.#timer = setTimeout(() => this.#wake(), ms)
  }

  #wake(): void {
    const left = this.#dueAt - performance.now()
    if (left === Infinity) return this.stop()
    if (left > 0) return this.#sleep(Math.min(left, LONGEST_SLEEP_MS))
    this.stop()
    this.#expire()
  }
}
