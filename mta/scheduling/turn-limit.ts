/**
 * Lets one waiter begin in each turn of the event loop, first come first served. Preparing a message keeps the main
 * thread busy for up to some milliseconds, and replies that arrive together end many deliveries in one turn. If the
 * next ones all began in that turn, everything else would wait for them: each of the ten or so turns that instant mail
 * needs would be long. The order of the work changes, not its amount.
 */
export class TurnLimit<Waiter> {
  readonly #wake: (waiter: Waiter) => void
  readonly #waiting = new Set<Waiter>()
  #isUsed = false

  /** `wake`: the waiter may begin now if it calls `use`; one that has nothing to begin does not. */
  constructor(wake: (waiter: Waiter) => void) {
    this.#wake = wake
  }

  /** Nothing has begun in this turn. */
  get isFree(): boolean {
    return !this.#isUsed
  }

  /** Something begins in this turn. */
  use(): void {
    this.#isUsed = true
    setImmediate(() => this.#nextTurn())
  }

  /** The waiter is woken in a later turn, once. */
  wait(waiter: Waiter): void {
    this.#waiting.add(waiter)
  }

  #nextTurn(): void {
    this.#isUsed = false
    for (const waiter of this.#waiting) {
      if (this.#isUsed) return
      this.#waiting.delete(waiter)
      this.#wake(waiter)
    }
  }
}
