/**
 * One timer for one connection. Commands come and go thousands of times a
 * second, so setting a deadline only stores a number; a real timer wakes once a
 * second at most, looks at the number and goes back to sleep.
 * Promises: never fires before the time set, and less than a second after it
 * (at once when the time set is itself shorter than a second).
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

  /** Calls `expire` once, `ms` from now, unless set or cleared again before. */
  set(ms: number): void {
    this.#dueAt = performance.now() + ms
    if (this.#dueAt < this.#wakesAt) this.#sleep(Math.min(ms, LONGEST_SLEEP_MS))
  }

  clear(): void {
    this.#dueAt = Infinity
  }

  /** Clears it for good: no timer is left behind. */
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
